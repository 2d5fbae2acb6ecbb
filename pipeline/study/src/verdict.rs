//! What claims and validity checks say about the results, and the exit code that follows.

use crate::exit::{Exit, Failure};
use crate::publish::Source;
use serde_json::{Value, json};
use study_table::{Cell, Table};

/// One claim of the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `id`.
    pub id: String,
    /// `statement`.
    pub statement: String,
    /// `reproduced`, `not_reproduced` or `inconclusive`.
    pub verdict: String,
}

/// One validity check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Node whose frame has the row.
    pub node: String,
    /// Name of the check.
    pub check: String,
    /// It failed, rather than warned.
    pub failed: bool,
    /// What it says.
    pub message: String,
}

/// All claims and doubts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Claims, in the order of the study.
    pub claims: Vec<Claim>,
    /// Checks that did not pass.
    pub doubts: Vec<Doubt>,
}

impl Verdict {
    /// Reads the frames `claims` and `validity` of all nodes.
    pub fn read(source: &Source<'_>) -> Result<Self, Failure> {
        let mut verdict = Self::default();
        for (index, outputs) in source.outputs.iter().enumerate() {
            for output in outputs.iter().flatten().filter(|output| output.frame && output.rows != Some(0)) {
                let take: fn(&mut Self, &str, &Table) = match output.name.as_str() {
                    "claims" => Self::take_claims,
                    "validity" => Self::take_validity,
                    _ => continue,
                };
                take(&mut verdict, &source.study.nodes[index].id, &source.read(output)?);
            }
        }
        Ok(verdict)
    }
    fn take_claims(&mut self, _: &str, table: &Table) {
        let claim = |row| Claim {
            id: text(table, row, "id"),
            statement: text(table, row, "statement"),
            verdict: text(table, row, "verdict"),
        };
        self.claims.extend((0..table.rows()).map(claim));
    }
    fn take_validity(&mut self, node: &str, table: &Table) {
        for row in 0..table.rows() {
            let status = text(table, row, "status");
            if status != "pass" {
                self.doubts.push(Doubt {
                    node: node.to_owned(),
                    check: text(table, row, "check"),
                    failed: status == "fail",
                    message: text(table, row, "message"),
                });
            }
        }
    }
    /// The exit code. Claims are about the full study: of a variant they are reported and decide nothing.
    pub fn exit(&self, variant: &str, strict: bool) -> Exit {
        let claim_fails = |claim: &Claim| match claim.verdict.as_str() {
            "reproduced" => false,
            "inconclusive" => strict,
            _ => true,
        };
        let claims = variant == "full" && self.claims.iter().any(claim_fails);
        let doubts = self.doubts.iter().any(|doubt| doubt.failed || strict);
        if claims || doubts { Exit::Unproven } else { Exit::Ok }
    }
    /// Lines for people: what is not as it should be.
    pub fn lines(&self) -> Vec<String> {
        let claims = self.claims.iter().filter(|claim| claim.verdict != "reproduced");
        let claims = claims
            .map(|claim| format!("claim `{}` {}: {}", claim.id, claim.verdict.replace('_', " "), claim.statement));
        let doubts = self.doubts.iter().map(|doubt| {
            let word = if doubt.failed { "failed" } else { "warns" };
            format!("check `{}` of `{}` {word}: {}", doubt.check, doubt.node, doubt.message)
        });
        claims.chain(doubts).collect()
    }
    /// The same for scripts.
    pub fn as_json(&self) -> (Value, Value) {
        let claims =
            self.claims.iter().map(|c| json!({ "id": c.id, "statement": c.statement, "verdict": c.verdict })).collect();
        let doubts = self.doubts.iter().map(|d| {
            let status = if d.failed { "fail" } else { "warn" };
            json!({ "node": d.node, "check": d.check, "status": status, "message": d.message })
        });
        (Value::Array(claims), Value::Array(doubts.collect()))
    }
}

/// A text of a row; empty when there is none.
fn text(table: &Table, row: usize, column: &str) -> String {
    match table.schema().position(column).map(|c| table.cell(row, c)) {
        Some(Cell::Str(text)) => text.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(claim: &str, failed: Option<bool>) -> Verdict {
        let text = str::to_owned;
        Verdict {
            claims: vec![Claim { id: text("C1"), statement: text("s"), verdict: text(claim) }],
            doubts: failed
                .map(|failed| Doubt { node: text("n"), check: text("c"), failed, message: text("m") })
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn a_claim_that_is_not_reproduced_makes_1_in_the_full_study_only() {
        assert_eq!(verdict("not_reproduced", None).exit("full", false), Exit::Unproven);
        assert_eq!(verdict("not_reproduced", None).exit("ci", false), Exit::Ok);
        assert_eq!(verdict("reproduced", None).exit("full", true), Exit::Ok);
        assert_eq!(verdict("something new", None).exit("full", false), Exit::Unproven);
    }

    #[test]
    fn a_failed_check_always_makes_1_and_a_warning_only_when_strict() {
        assert_eq!(verdict("reproduced", Some(true)).exit("ci", false), Exit::Unproven);
        assert_eq!(verdict("reproduced", Some(false)).exit("full", false), Exit::Ok);
        assert_eq!(verdict("reproduced", Some(false)).exit("full", true), Exit::Unproven);
        assert_eq!(verdict("inconclusive", None).exit("full", false), Exit::Ok);
        assert_eq!(verdict("inconclusive", None).exit("full", true), Exit::Unproven);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_said() {
        let lines = verdict("not_reproduced", Some(true)).lines();
        assert_eq!(lines, ["claim `C1` not reproduced: s", "check `c` of `n` failed: m"]);
    }
}
