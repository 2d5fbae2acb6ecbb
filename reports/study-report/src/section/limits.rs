//! What limits the result.

use super::{Findings, section};
use crate::document::Block;

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    if findings.limits.is_empty() {
        return Vec::new();
    }
    section("Limits", vec![Block::List(findings.limits.clone())])
}
