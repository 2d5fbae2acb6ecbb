//! The registry and the catalogue: every pitfall is either checked or ruled out somewhere, and has its words.

use crate::clean::block;
use std::collections::BTreeSet;
use study_trial::validity::registry::{CHECKS, ELSEWHERE, find};
use study_trial::validity::{Status, record, worst};

#[test]
fn the_whole_catalogue_is_accounted_for_once() {
    let catalogue = (1..=20).map(|n| format!("E{n}")).chain((1..=22).map(|n| format!("H{n}")));
    let mut rows: Vec<&str> = CHECKS.iter().map(|check| check.id).chain(ELSEWHERE.iter().map(|row| row.0)).collect();
    let known: BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!(known.len(), rows.len(), "an identifier stands twice");
    rows.retain(|id| *id != "taint-rate");
    assert_eq!(rows.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), catalogue.collect());
}

#[test]
fn each_row_says_what_why_and_what_to_do() {
    for check in CHECKS {
        for text in [check.what, check.why, check.cure] {
            assert!(text.len() > 20 && text.ends_with('.'), "{}: `{text}`", check.id);
        }
        assert!(check.text().starts_with(check.title) && !check.text().contains('\n'), "{}", check.id);
        assert!(check.looks_at_arms() || check.compares_arms() || check.id == "taint-rate", "{}", check.id);
    }
    assert_eq!(find("e4").unwrap().id, "E4");
    assert!(find("E3").is_none());
}

#[test]
fn a_record_has_a_row_of_each_check_that_applies() {
    let arms = block();
    let rows = record(&arms);
    for check in CHECKS {
        for arm in &arms {
            // HTTP/2 has no UDP socket.
            let applies = check.looks_at_arms() && !(check.id == "H6" && arm.arm == "h2-hyper");
            let found = rows.iter().any(|row| row.id == check.id && row.arm.as_ref() == Some(&arm.arm));
            assert_eq!(found, applies, "{} of {}", check.id, arm.arm);
        }
    }
    let alone = record(&arms[..1]);
    assert!(alone.iter().all(|row| row.arm.is_some()), "one arm is not compared with itself");
    assert_eq!(worst(&alone), Status::Pass);
}

#[test]
fn exposure_to_loss_is_on_record_per_packet_megabyte_and_millisecond() {
    let rows = record(&block());
    let figures: Vec<_> = rows
        .iter()
        .filter(|row| row.id == "E15" && row.arm.as_deref() == Some("h2-hyper"))
        .map(|row| (row.unit.as_str(), row.measured.as_str()))
        .collect();
    // 3 of 700 packets of 1,400 bytes down, of 350 up.
    let down = [("1/packet", "0.004286"), ("1/MB", "3.061224"), ("1/ms", "0.003000")];
    let up = [("1/packet", "0.008571"), ("1/MB", "6.122449"), ("1/ms", "0.003000")];
    assert_eq!(figures, [down, up].concat());
}

#[test]
fn missing_evidence_is_unknown_and_never_a_pass() {
    let mut arms = block();
    for arm in &mut arms {
        arm.timing.signals.clear();
        arm.threads.clear();
        arm.nodes.iter_mut().for_each(|node| node.sysctls.clear());
        arm.host.clean_share = None;
        for hop in &mut arm.hops {
            hop.calibration = None;
            hop.dialed.clear();
            hop.accepted.clear();
        }
    }
    let rows = record(&arms);
    // That quinn paces and the kernel's CUBIC does not is known without evidence.
    let judged: Vec<_> = rows.iter().filter(|row| row.status > Status::Unknown && row.id != "H17").collect();
    assert!(judged.is_empty(), "{judged:#?}");
    let unknown: BTreeSet<&str> =
        rows.iter().filter(|row| row.status == Status::Unknown).map(|row| row.id.as_str()).collect();
    let expected = [
        "E1", "E16", "E17", "E2", "H1", "H11", "H12", "H13", "H18", "H2", "H22", "H3", "H4", "H5", "H6", "H7", "H8",
        "H9",
    ];
    assert_eq!(unknown, BTreeSet::from(expected));
}
