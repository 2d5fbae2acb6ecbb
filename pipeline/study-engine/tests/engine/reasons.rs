//! What is said about why a node runs.

use crate::lab::{CALC_2, Lab, Maker, READER, SAMPLED, diamond, in_state, options, reasons_of};
use std::collections::BTreeSet;
use study_engine::{RunEvent, State, run, why};

/// Plan and run say the same about a node, unless the plan could not know.
fn said(lab: &Lab, m: &Maker, id: &str) -> Vec<String> {
    let planned = reasons_of(&lab.plan(&m.study), id);
    let explained = why(&m.study, Some(&lab.store), &lab.files, id).unwrap();
    let explained: Vec<String> = explained.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(explained, planned, "plan and why");
    let ran = reasons_of(&lab.run(&m.study).nodes, id);
    assert_eq!(ran, planned, "plan and run");
    ran
}

#[test]
fn each_cause_is_named_with_its_field_and_both_values() {
    let (lab, mut m) = (Lab::new(), diamond());
    let reader = m.add("reader", &READER, m.calc(0), &[]);
    m.reads_file("reader", "data/a.csv");
    let put = |text: &str| lab.files.content.lock().unwrap().insert("data/a.csv".into(), text.into());
    put("1");
    assert_eq!(said(&lab, &m, "source"), ["never-run"]);
    assert_eq!(said(&lab, &m, "source"), [""; 0]);
    m.change("source", |p| p.add = 12);
    assert_eq!(said(&lab, &m, "source"), ["param params.add: 10 -> 12"]);
    m.study.nodes[0].kind = &CALC_2;
    assert_eq!(said(&lab, &m, "source"), ["stage-version version: 1 -> 2"]);
    put("2");
    let changed = said(&lab, &m, "reader");
    assert!(changed.len() == 1 && changed[0].starts_with("input files.data/a.csv: "), "{changed:?}");
    assert!(changed[0].contains(" -> "));
    m.study.seed = 2;
    m.study.info.seed = 2;
    assert_eq!(said(&lab, &m, "right[x=2]"), ["seed seed: 1 -> 2"]);
    m.study.title = "Another".into();
    m.study.info.title = "Another".into();
    assert_eq!(said(&lab, &m, "report"), ["param study.title: A made-up study -> Another"]);
    assert_eq!(m.study.nodes[reader].id, "reader");
}

#[test]
fn the_seed_matters_to_those_who_use_it_and_the_title_to_those_who_see_it() {
    let (lab, mut m) = (Lab::new(), diamond());
    lab.run(&m.study);
    m.study.seed = 2;
    let stale = lab.plan(&m.study);
    assert_eq!(in_state(&stale, State::Execute), BTreeSet::from(["right[x=2]", "join", "report"]));
    m.study.seed = 1;
    m.study.info.title = "Another".into();
    assert_eq!(in_state(&lab.plan(&m.study), State::Execute), BTreeSet::from(["report"]));
}

#[test]
fn an_input_that_changed_is_named_once_it_is_known() {
    let (lab, mut m) = (Lab::new(), diamond());
    lab.run(&m.study);
    m.change("left", |p| p.add = 21);
    let planned = lab.plan(&m.study);
    assert_eq!(reasons_of(&planned, "join"), ["input inputs.out[left]"]);
    assert!(planned[4].key.is_none() && !planned[4].certain);
    let ran = reasons_of(&lab.run(&m.study).nodes, "join");
    assert!(ran.len() == 1 && ran[0].starts_with("input inputs.out[left]: ") && ran[0].contains(" -> "), "{ran:?}");
}

#[test]
fn what_ran_is_remembered_at_once_so_that_a_run_after_a_kill_can_explain_itself() {
    let (lab, m) = (Lab::new(), diamond());
    let check = |event: RunEvent<'_>| {
        if let RunEvent::Finished { report, .. } = event {
            assert_eq!(lab.store.last_key("made_up", &report.id), report.key);
        }
    };
    run(&m.study, &lab.store, &lab.files, &options(|_| ()), &lab.cancel, &check).unwrap();
}

#[test]
fn a_plan_says_how_long_a_stale_node_took_last_time() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    m.change("source", |p| p.add = 11);
    let planned = lab.plan(&m.study);
    for (before, now) in first.nodes.iter().zip(&planned) {
        assert_eq!((now.state, now.seconds), (State::Execute, before.seconds), "{}", now.id);
    }
}

#[test]
fn why_shows_the_document_and_the_nearest_earlier_one() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = why(&m.study, None, &lab.files, "join").unwrap();
    assert!(first.nearest.is_none() && first.differences.is_empty());
    assert!(first.document["inputs"][0]["digest"].is_null(), "not known yet");
    lab.run(&m.study);
    m.change("source", |p| (p.add, p.rows) = (11, 6));
    lab.run(&m.study);
    m.change("source", |p| (p.add, p.rows) = (10, 5));
    let why_source = why(&m.study, Some(&lab.store), &lab.files, "source").unwrap();
    assert_eq!(why_source.document["params"]["rows"], 5);
    assert_eq!(why_source.nearest.unwrap()["params"]["rows"], 4, "one field differs, not two");
    assert_eq!(why_source.differences.len(), 1);
    assert_eq!(why_source.reasons.len(), 2, "since the last run, two");
    let cached = why(&m.study, Some(&lab.store), &lab.files, "right").unwrap_err();
    assert!(cached.to_string().contains("2 nodes") && cached.help().unwrap().contains("right[x=1]"));
}

#[test]
fn a_record_that_is_gone_or_edited_is_said_to_be_so() {
    let (lab, m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    let key = first.nodes[0].key.unwrap().to_string();
    let path = lab.store.dir().join("actions").join(&key[..2]).join(format!("{key}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"seconds\":0", "\"seconds\":1")).unwrap();
    assert_eq!(said(&lab, &m, "source"), ["corrupt record"]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(said(&lab, &m, "source"), ["missing-blob record"]);
    assert!(lab.plan(&m.study).iter().all(|n| n.state == State::Cached));
}

#[test]
fn a_sampled_node_is_recorded_as_such() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    m.add("measured", &SAMPLED, m.calc(1), &[]);
    lab.run(&m.study);
    let planned = serde_json::to_value(lab.plan_with(&m.study, &options(|_| ()))).unwrap();
    assert_eq!((&planned[0]["determinism"], &planned[0]["state"]), (&"sampled".into(), &"cached".into()));
}
