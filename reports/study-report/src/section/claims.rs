//! Claims and their verdicts.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval meets the bound, less the tolerance.
    Reproduced,
    /// The whole interval misses it.
    NotReproduced,
    /// Neither.
    Inconclusive,
}

impl Verdict {
    /// The name in the frame `claims`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not_reproduced",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// An evaluated claim, as text.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow {
    /// Its id.
    pub id: String,
    /// What it says.
    pub statement: String,
    /// What was expected, e.g. `improvement at least 5.0 %, tolerance 2.0 %`.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Why it is inconclusive, if that needs saying.
    pub reason: String,
    /// Figure or table that shows it.
    pub shown_in: String,
}

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    if findings.claims.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("Claims", &["claim", "statement", "expected", "found", "verdict", "shown in"]);
    for claim in &findings.claims {
        let verdict = match claim.verdict {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "NOT reproduced",
            Verdict::Inconclusive => "inconclusive",
        };
        let verdict = if claim.reason.is_empty() { verdict.to_owned() } else { format!("{verdict}: {}", claim.reason) };
        let texts = [&claim.id, &claim.statement, &claim.expected, &claim.found, &verdict, &claim.shown_in];
        table.rows.push(texts.map(|t| Cell::from(t.as_str())).to_vec());
    }
    let rule = "A claim is reproduced when its whole interval meets the bound, moved by the tolerance; it is not \
                reproduced when the whole interval misses that; otherwise it is inconclusive.";
    section("Claims", vec![Block::Table(table), Block::paragraph(rule)])
}
