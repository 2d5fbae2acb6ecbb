//! How to make it again: command, seeds, exact configuration.

use super::{Findings, section};
use crate::document::Block;

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    // A measurement on real stacks is another sample each time.
    let exact = findings.design.stages.iter().all(|s| s.mode == "modeled");
    let bytes = if exact { " The same study gives the same bytes on any machine." } else { "" };
    let mut blocks = vec![
        Block::Code("sh", findings.command.clone()),
        Block::paragraph(format!(
            "The seed of the study is {}. Every random stream is derived from it by name (`run/3/viewer/17/loss`), not by \
             order, so that results do not depend on threads, and arms and cells see the same randomness.{bytes}",
            findings.seed
        )),
    ];
    if !findings.configuration.is_empty() {
        let inside = findings
            .configuration
            .iter()
            .flat_map(|(name, text)| [Block::paragraph(format!("`{name}`")), Block::Code("yaml", text.clone())]);
        blocks.push(Block::Details("Exact configuration, defaults filled in".into(), inside.collect()));
    }
    section("How to reproduce", blocks)
}
