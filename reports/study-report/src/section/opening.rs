//! Question and answer.

use super::{Findings, Status};
use crate::document::{Block, Tone};

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(question) = &findings.question {
        blocks.extend([Block::section("Question"), Block::paragraph(question)]);
    }
    blocks.push(Block::section("Answer"));
    let failed = findings.validity.iter().filter(|c| c.status == Status::Fail).count();
    if failed > 0 {
        let checks = if failed == 1 { "validity check has" } else { "validity checks have" };
        blocks.push(Block::Note(
            Tone::Warning,
            format!("{failed} {checks} failed: what follows must not be relied on before that is understood."),
        ));
    }
    if findings.variant != "full" {
        blocks.push(Block::Note(
            Tone::Warning,
            format!("This is the small variant `{}`, made to test the study; it answers nothing.", findings.variant),
        ));
    }
    blocks.push(Block::paragraph(findings.evidence.sentences().join(" ")));
    if let Some(runs) = findings.few_runs {
        blocks.push(Block::Note(Tone::Warning, few_runs(runs)));
    }
    blocks
}

/// Why fewer than 20 runs weaken an interval.
fn few_runs(runs: u64) -> String {
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    format!(
        "There are {runs} only. Intervals over fewer than 20 runs tend to be too narrow: with 10 runs of skewed data a \
         percentile interval that claims 95 % covers about 84 %."
    )
}
