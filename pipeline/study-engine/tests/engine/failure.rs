//! Stages that fail, panic, lie or are interrupted.

use crate::lab::{Behaviour, CALC, Lab, Maker, diamond, digests, in_state, options};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_engine::{RunOptions, State};

#[test]
fn a_failure_blocks_what_needs_it_and_nothing_else() {
    let (lab, m) = (Lab::new(), diamond());
    m.behave("left", Some(Behaviour::Fail));
    let report = lab.run(&m.study);
    assert_eq!(in_state(&report.nodes, State::Failed), BTreeSet::from(["left"]));
    assert_eq!(in_state(&report.nodes, State::Blocked), BTreeSet::from(["join", "report"]));
    assert_eq!(report.count(State::Executed), 3, "independent branches finish");
    let error = report.nodes[1].error.as_ref().unwrap();
    assert_eq!((error.message.as_str(), error.help.as_deref()), ("it cannot be", Some("try something else")));
    assert_eq!(report.nodes[5].blocked_by.as_deref(), Some("left"));
    assert!(report.outputs[1].is_none() && report.outputs[5].is_none() && !report.interrupted);
    assert_eq!(lab.store.stats().unwrap().records, 3, "a failure is not recorded");
    m.behave("left", None);
    m.ran();
    assert_eq!(lab.run(&m.study).count(State::Executed), 3);
    assert_eq!(m.ran(), ["join", "left", "report"]);
}

#[test]
fn a_node_that_waits_for_another_without_reading_it_is_held_up_too() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    let first = m.add("first", &CALC, m.calc(1), &[]);
    let second = m.add("second", &CALC, m.calc(2), &[]);
    m.study.nodes[second].needs.push(first);
    m.behave("first", Some(Behaviour::Fail));
    assert_eq!(lab.run(&m.study).nodes[1].state, State::Blocked);
    m.behave("first", None);
    m.ran();
    lab.run_with(&m.study, &options(|o| o.jobs = 1));
    assert_eq!(lab.events()[..3], ["start first", "Executed first", "start second"]);
    m.change("first", |p| p.add = 9);
    assert_eq!(lab.plan(&m.study)[1].state, State::Cached, "waiting is not reading");
}

#[test]
fn fail_fast_starts_nothing_more() {
    let (lab, m) = (Lab::new(), diamond());
    m.behave("left", Some(Behaviour::Fail));
    let fast = RunOptions { jobs: 1, fail_fast: true, ..RunOptions::default() };
    let report = lab.run_with(&m.study, &fast);
    assert_eq!(m.ran(), ["left", "source"]);
    assert_eq!(in_state(&report.nodes, State::Skipped), BTreeSet::from(["right[x=1]", "right[x=2]"]));
    assert!(!report.interrupted);
}

#[test]
fn a_panic_is_a_failure_of_its_node() {
    let (lab, m) = (Lab::new(), diamond());
    m.behave("right[x=1]", Some(Behaviour::Panic));
    let report = lab.run(&m.study);
    let error = report.nodes[2].error.as_ref().unwrap();
    assert_eq!(error.message, "the stage panicked: index 7 out of bounds");
    assert!(error.help.as_ref().unwrap().contains("report"));
    assert_eq!(report.count(State::Executed), 3);
}

#[test]
fn what_a_stage_declares_is_what_it_must_give() {
    for (behaviour, expected) in [
        (Behaviour::ForgetFrame, "`calc` did not make its frame `out`"),
        (Behaviour::ExtraFrame, "`calc` made the frame `extra`, which it does not declare"),
        (Behaviour::FileOutside, "`calc` made the file `../../etc/passwd`, which is not inside the results"),
    ] {
        let (lab, m) = (Lab::new(), diamond());
        m.behave("source", Some(behaviour));
        let report = lab.run(&m.study);
        assert_eq!(report.nodes[0].error.as_ref().unwrap().message, expected);
        assert_eq!(report.count(State::Blocked), 5);
        assert_eq!(lab.store.stats().unwrap().records, 0);
    }
}

#[test]
fn an_interrupted_run_keeps_what_has_finished_and_the_next_goes_on() {
    let (lab, m) = (Lab::new(), diamond());
    let flag = Arc::new(AtomicBool::new(false));
    // `left` never ends by itself; `right[x=1]` sets the flag that ends it.
    m.behave("left", Some(Behaviour::UntilCancelled));
    m.behave("right[x=1]", Some(Behaviour::Interrupt(Arc::clone(&flag))));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !flag.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            lab.cancel.store(true, Ordering::Relaxed);
        });
        lab.run(&m.study)
    });
    assert!(report.interrupted);
    assert!(in_state(&report.nodes, State::Executed).contains("source"));
    assert!(in_state(&report.nodes, State::Skipped).is_superset(&BTreeSet::from(["left", "join", "report"])));
    lab.cancel.store(false, Ordering::Relaxed);
    m.behave("left", None);
    m.behave("right[x=1]", None);
    m.ran();
    let resumed = lab.run(&m.study);
    assert!(!resumed.interrupted && !m.ran().contains(&"source".to_owned()));
    let other = Lab::new();
    assert_eq!(digests(&resumed), digests(&other.run(&diamond().study)));
}

#[test]
fn a_run_that_was_cancelled_before_it_began_does_nothing() {
    let (lab, m) = (Lab::new(), diamond());
    lab.cancel.store(true, Ordering::Relaxed);
    let report = lab.run(&m.study);
    assert!(report.interrupted && m.ran().is_empty());
    assert_eq!(report.count(State::Skipped), 6);
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let (mut lab, m) = (Lab::new(), diamond());
    lab.run_with(&m.study, &options(|o| o.until = vec!["left".into()]));
    m.ran();
    let full = study_store::Store::open(lab.store.dir()).unwrap().with_fault_hook(Arc::new(|point| match point {
        study_store::FaultPoint::MidWrite => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }));
    let good = std::mem::replace(&mut lab.store, full);
    let report = lab.run_with(&m.study, &options(|o| o.jobs = 1));
    assert!(matches!(report.store_error, Some(study_store::StoreError::Full { .. })));
    assert_eq!(in_state(&report.nodes, State::Failed), BTreeSet::from(["right[x=1]"]));
    assert_eq!(in_state(&report.nodes, State::Skipped), BTreeSet::from(["right[x=2]"]), "nothing more is started");
    let error = report.nodes[2].error.as_ref().unwrap();
    assert!(error.message.contains("no space left") && error.help.as_ref().unwrap().contains("cache gc"));
    lab.store = good;
    m.ran();
    assert_eq!(lab.run(&m.study).count(State::Executed), 4);
    assert!(lab.store.verify().unwrap().bad.is_empty());
}

#[test]
fn a_wide_study_of_nested_parallel_stages_neither_blocks_nor_overflows() {
    let mut m = Maker::new();
    let mut wide = m.calc(1);
    wide.rows = 2000;
    let source = m.add("source", &CALC, wide.clone(), &[]);
    let cells: Vec<usize> = (0..150)
        .map(|i| {
            let mut params = wide.clone();
            params.add = i;
            m.add(&format!("cell[i={i}]"), &CALC, params, &[source])
        })
        .collect();
    m.add("all", &CALC, wide, &cells);
    let reports: Vec<_> = [1, 4].map(|jobs| Lab::new().run_with(&m.study, &options(|o| o.jobs = jobs))).into();
    assert_eq!(reports[0].count(State::Executed), 152);
    assert_eq!(digests(&reports[0]), digests(&reports[1]));
}
