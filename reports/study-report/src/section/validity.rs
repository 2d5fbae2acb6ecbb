//! The validity record: what was checked, warnings first.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};
use std::collections::BTreeMap;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Failed: the results must not be relied on.
    Fail,
    /// To be known by a reader.
    Warn,
    /// The evidence is missing.
    Unknown,
    /// As it should be.
    Pass,
}

/// One row of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Node that it is about.
    pub node: String,
    /// Name of the check.
    pub check: String,
    /// Outcome.
    pub status: Status,
    /// Arm that it is about, if one.
    pub arm: String,
    /// Measured value with its unit.
    pub measured: String,
    /// Expected value with its unit.
    pub expected: String,
    /// What it means.
    pub message: String,
}

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut notable: Vec<&Check> = findings.validity.iter().filter(|c| c.status != Status::Pass).collect();
    notable.sort_by_key(|c| c.status);
    let mut blocks = Vec::new();
    if !notable.is_empty() {
        let heads = ["check", "outcome", "node", "arm", "measured", "expected", "meaning"];
        let mut table = Table::new("Checks that failed or warn", &heads);
        table.rows = notable.iter().map(|c| row(c)).collect();
        blocks.push(Block::Table(table));
    }
    let mut passed: BTreeMap<&str, u64> = BTreeMap::new();
    for check in findings.validity.iter().filter(|c| c.status == Status::Pass) {
        *passed.entry(&check.check).or_default() += 1;
    }
    if !passed.is_empty() {
        let total: u64 = passed.values().sum();
        let names: Vec<String> = passed.iter().map(|(name, n)| format!("`{name}` ({n})")).collect();
        let checks = if total == 1 { "1 check passed".to_owned() } else { format!("{total} checks passed") };
        blocks.push(Block::paragraph(format!("{checks}: {}.", names.join(", "))));
    }
    section("Validity", blocks)
}

fn row(check: &Check) -> Vec<Cell> {
    let outcome = match check.status {
        Status::Fail => "FAIL",
        Status::Warn => "warn",
        Status::Unknown => "unknown",
        Status::Pass => "pass",
    };
    [&check.check, outcome, &check.node, &check.arm, &check.measured, &check.expected, &check.message]
        .map(Cell::from)
        .to_vec()
}
