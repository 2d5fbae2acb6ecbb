//! The validity record: clean evidence passes, and each planted fault is caught by the check that is there for it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod clean;
mod deployed;
mod plants;
mod real;
mod registry;
mod repeats;

use clean::block;
use std::collections::BTreeSet;
use study_trial::validity::{Check, Evidence, Status, record};

/// The checks that did not pass, by identifier.
fn complaints(rows: &[Check]) -> BTreeSet<&str> {
    rows.iter().filter(|row| row.status >= Status::Warn).map(|row| row.id.as_str()).collect()
}

/// The record of a clean block with a fault planted.
fn planted(fault: impl Fn(&mut Vec<Evidence>)) -> Vec<Check> {
    let mut arms = block();
    fault(&mut arms);
    record(&arms)
}

#[test]
fn clean_evidence_passes_every_check() {
    let rows = record(&block());
    let other: Vec<_> = rows.iter().filter(|row| row.status != Status::Pass).collect();
    assert!(other.is_empty(), "{other:#?}");
    assert!(rows.iter().all(|row| !row.measured.is_empty() && !row.expected.is_empty()));
}

#[test]
fn evidence_survives_its_way_between_processes() {
    for evidence in block() {
        let text = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
    }
    let rows = record(&block());
    assert_eq!(serde_json::from_str::<Vec<Check>>(&serde_json::to_string(&rows).unwrap()).unwrap(), rows);
}
