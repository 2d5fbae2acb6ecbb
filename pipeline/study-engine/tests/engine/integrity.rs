//! A store that was damaged never gives a wrong result.

use crate::lab::{Behaviour, CALC, Lab, Maker, diamond, digests, in_state, options, reasons_of};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_engine::{RunReport, State};

fn object_of(lab: &Lab, report: &RunReport, node: usize) -> PathBuf {
    let hex = report.outputs[node].as_ref().unwrap()[0].object.to_string();
    lab.store.dir().join("objects").join(&hex[..2]).join(hex)
}

/// Changes one byte and puts size, time and mode back.
fn tamper(path: &PathBuf) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(path, bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
}

#[test]
fn a_corrupt_input_is_made_anew_before_it_is_used() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    tamper(&object_of(&lab, &first, 0));
    tamper(&object_of(&lab, &first, 1));
    m.change("join", |p| p.add = 41);
    m.ran();
    assert!(lab.plan(&m.study)[1].state == State::Cached, "looking cannot tell");
    let second = lab.run(&m.study);
    // `join` finds `left` corrupt; `left`, made anew, finds `source` corrupt.
    assert_eq!(reasons_of(&second.nodes, "left"), ["corrupt outputs.out"]);
    assert_eq!(reasons_of(&second.nodes, "source"), ["corrupt outputs.out"]);
    assert_eq!(in_state(&second.nodes, State::Cached), BTreeSet::from(["right[x=1]", "right[x=2]"]));
    assert_eq!(m.ran(), ["join", "left", "report", "source"], "and nothing twice");
    assert_eq!(lab.store.stats().unwrap().quarantined, 2);
    assert!(lab.store.verify().unwrap().bad.is_empty());
    let fresh = Lab::new();
    assert_eq!(digests(&second), digests(&fresh.run(&m.study)));
    assert!(!lab.events().iter().any(|e| e.starts_with("differs")));
}

#[test]
fn a_truncated_or_missing_object_is_seen_by_a_plan() {
    let (lab, m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    let left = object_of(&lab, &first, 1);
    fs::set_permissions(&left, fs::Permissions::from_mode(0o644)).unwrap();
    fs::File::options().write(true).open(&left).unwrap().set_len(3).unwrap();
    fs::remove_file(object_of(&lab, &first, 3)).unwrap();
    m.ran();
    let planned = lab.plan(&m.study);
    assert_eq!(reasons_of(&planned, "left"), ["corrupt outputs.out"]);
    assert_eq!(reasons_of(&planned, "right[x=2]"), ["missing-blob outputs.out"]);
    let second = lab.run(&m.study);
    assert_eq!(m.ran(), ["left", "right[x=2]"], "their content is as before, so nothing below runs");
    assert_eq!(reasons_of(&second.nodes, "left"), ["corrupt outputs.out"]);
    assert_eq!(digests(&second), digests(&first));
    assert_eq!(lab.run(&m.study).count(State::Cached), 6);
}

#[test]
fn an_object_that_was_set_aside_when_it_was_read_is_made_anew_by_the_next_run() {
    let (lab, m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    tamper(&object_of(&lab, &first, 5));
    let output = &first.outputs[5].as_ref().unwrap()[0];
    assert!(study_engine::load_frame(&lab.store, output).is_err());
    m.ran();
    let second = lab.run(&m.study);
    assert_eq!(reasons_of(&second.nodes, "report"), ["corrupt outputs.out"]);
    assert_eq!(m.ran(), ["report"]);
    study_engine::load_frame(&lab.store, output).unwrap();
}

#[test]
fn a_frame_that_this_version_cannot_read_is_made_anew() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    // Whole and sound, but written in a form of its own.
    let key = first.nodes[1].key.unwrap();
    let mut record = lab.store.record(&key).unwrap().unwrap();
    record.outputs[0].object = lab.store.put_object(b"STBL of another time").unwrap();
    record.outputs[0].bytes = 20;
    lab.store.put_record(&key, &record).unwrap();
    m.change("join", |p| p.add = 41);
    m.ran();
    let second = lab.run(&m.study);
    assert_eq!(m.ran(), ["join", "left", "report"]);
    assert_eq!(reasons_of(&second.nodes, "left"), ["corrupt outputs.out"]);
    assert_eq!(digests(&second), digests(&Lab::new().run(&m.study)));
}

#[test]
fn a_giver_that_fails_on_being_made_anew_blocks_its_reader() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    tamper(&object_of(&lab, &first, 1));
    m.change("join", |p| p.add = 41);
    m.behave("left", Some(Behaviour::Fail));
    let second = lab.run(&m.study);
    assert_eq!(in_state(&second.nodes, State::Failed), BTreeSet::from(["left"]));
    assert_eq!(in_state(&second.nodes, State::Blocked), BTreeSet::from(["join", "report"]));
}

#[test]
fn a_reader_that_was_blocked_while_it_waited_stays_blocked() {
    let lab = Lab::new();
    let build = |shift: i64| {
        let mut m = Maker::new();
        let slow = m.add("slow", &CALC, m.calc(1), &[]);
        let broken = m.add("broken", &CALC, m.calc(2), &[]);
        m.add("both", &CALC, m.calc(3 + shift), &[slow, broken]);
        m.add("one", &CALC, m.calc(4 + shift), &[broken]);
        m
    };
    let first = lab.run(&build(0).study);
    (0..2).for_each(|node| tamper(&object_of(&lab, &first, node)));
    let m = build(100);
    let gate = Arc::new(AtomicBool::new(false));
    m.behave("slow", Some(Behaviour::Gate(Arc::clone(&gate))));
    m.behave("broken", Some(Behaviour::Fail));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !lab.events().contains(&"Blocked both".to_owned()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            gate.store(true, Ordering::Relaxed);
        });
        let report = lab.run(&m.study);
        assert_eq!(in_state(&report.nodes, State::Blocked), BTreeSet::from(["both", "one"]));
    });
    assert!(!m.ran().contains(&"both".to_owned()));
}

#[test]
fn only_does_not_make_anything_else_anew() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    tamper(&object_of(&lab, &first, 1));
    m.change("join", |p| p.add = 41);
    m.ran();
    let report = lab.run_with(&m.study, &options(|o| o.only = vec!["join".into()]));
    let error = report.nodes[4].error.as_ref().unwrap();
    assert_eq!(error.message, "what `left` made is corrupt in the store");
    assert!(error.help.as_ref().unwrap().contains("--only"));
    assert!(m.ran().is_empty());
}

#[test]
fn several_readers_of_a_lost_object_share_one_rebuild() {
    let lab = Lab::new();
    let build = |shift: i64| {
        let mut m = Maker::new();
        let source = m.add("source", &CALC, m.calc(1), &[]);
        for i in 0..6 {
            m.add(&format!("cell[i={i}]"), &CALC, m.calc(i + shift), &[source]);
        }
        m
    };
    let first = lab.run(&build(0).study);
    tamper(&object_of(&lab, &first, 0));
    let m = build(100);
    let report = lab.run_with(&m.study, &options(|o| o.jobs = 4));
    assert_eq!(report.count(State::Executed), 7);
    let ran = m.ran();
    assert_eq!(ran.iter().filter(|id| *id == "source").count(), 1, "{ran:?}");
}

#[test]
fn all_readers_of_a_lost_object_are_blocked_when_it_cannot_be_made_anew() {
    let lab = Lab::new();
    let build = |shift: i64| {
        let mut m = Maker::new();
        let mut large = m.calc(1);
        large.rows = 200_000;
        let large = m.add("large", &CALC, large, &[]);
        let source = m.add("source", &CALC, m.calc(1), &[]);
        (0..3).for_each(|i| {
            m.add(&format!("cell[i={i}]"), &CALC, m.calc(i + shift), &[source]);
        });
        // Still busy with reading when the others have found out already.
        m.add("late", &CALC, m.calc(shift), &[large, source]);
        m
    };
    let first = lab.run(&build(0).study);
    tamper(&object_of(&lab, &first, 1));
    let m = build(100);
    m.behave("source", Some(Behaviour::Fail));
    let report = lab.run_with(&m.study, &options(|o| o.jobs = 6));
    assert_eq!((report.count(State::Failed), report.count(State::Blocked)), (1, 4));
    assert!(report.nodes.iter().skip(2).all(|n| n.blocked_by.as_deref() == Some("source")));
    assert_eq!(m.ran(), ["source"], "tried once");
}

#[test]
fn a_node_that_gives_something_else_under_the_same_key_is_found_out() {
    let (lab, m) = (Lab::new(), diamond());
    m.behave("left", Some(Behaviour::Random));
    let first = lab.run(&m.study);
    let second = lab.run_with(&m.study, &options(|o| o.force = vec!["left".into()]));
    assert!(lab.events().contains(&"differs left".to_owned()), "{:?}", lab.events());
    assert_ne!(digests(&first)["left.out"], digests(&second)["left.out"]);
    assert_eq!(second.count(State::Executed), 3, "what reads it follows the new content");
    assert_eq!(lab.run(&m.study).count(State::Cached), 6, "and is consistent");
}

#[test]
fn after_garbage_collection_an_unchanged_study_still_runs_nothing() {
    let (lab, mut m) = (Lab::new(), diamond());
    lab.run(&m.study);
    m.change("source", |p| p.add = 11);
    let kept = lab.run(&m.study);
    lab.store.put_object(b"rubbish").unwrap();
    let report = lab.store.gc(&study_store::GcOptions::default()).unwrap();
    assert_eq!(report.removed["unreferenced"].items, 1);
    m.ran();
    assert_eq!(digests(&lab.run(&m.study)), digests(&kept));
    assert!(m.ran().is_empty());
}
