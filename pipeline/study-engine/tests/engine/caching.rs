//! What runs and what does not.

use crate::lab::{Behaviour, CALC, Lab, Maker, READER, diamond, digests, in_state, options, states};
use std::collections::BTreeSet;
use study_engine::{State, load_file, load_frame, plan};
use study_ident::SeedPath;
use study_store::OutputRecord;

#[test]
fn a_second_run_executes_nothing_and_a_plan_says_so() {
    let (lab, m) = (Lab::new(), diamond());
    let planned = plan(&m.study, None, &lab.files, &options(|_| ())).unwrap();
    assert!(planned.iter().all(|n| n.state == State::Execute));
    let first = lab.run(&m.study);
    assert_eq!(first.count(State::Executed), 6);
    assert_eq!(m.ran().len(), 6);
    let stats = lab.store.stats().unwrap();
    assert!(lab.plan(&m.study).iter().all(|n| n.state == State::Cached && n.certain && n.reasons.is_empty()));
    let second = lab.run(&m.study);
    assert_eq!(second.count(State::Cached), 6);
    assert_eq!(m.ran(), [""; 0]);
    assert_eq!(digests(&second), digests(&first));
    assert_eq!(lab.store.stats().unwrap(), stats, "nothing was written");
    for (a, b) in first.nodes.iter().zip(&second.nodes) {
        assert_eq!((&a.key, &a.counters, a.seconds), (&b.key, &b.counters, b.seconds));
        assert!(a.seconds.unwrap() > 0.0);
    }
}

#[test]
fn a_plan_on_nothing_knows_the_first_keys_and_no_others() {
    let (lab, m) = (Lab::new(), diamond());
    let planned = plan(&m.study, None, &lab.files, &options(|_| ())).unwrap();
    assert_eq!(planned, lab.plan(&m.study), "an empty store is no different");
    let json = serde_json::to_value(&planned).unwrap();
    assert_eq!(json[0]["reasons"], serde_json::json!([{ "code": "never-run" }]));
    assert_eq!(
        (&json[0]["state"], &json[0]["certain"], json[0]["key"].is_string()),
        (&"execute".into(), &true.into(), true)
    );
    assert_eq!(json[1]["reasons"], serde_json::json!([{ "code": "input", "field": "inputs.out[source]" }]));
    assert_eq!((&json[1]["certain"], json[1]["key"].is_null()), (&false.into(), true));
    assert_eq!((&json[1]["determinism"], &json[1]["kind"]), (&"exact".into(), &"calc".into()));
    assert!(!lab.dir.path().join("store/tmp").exists(), "planning writes nothing");
}

#[test]
fn a_node_that_gives_the_same_again_stops_the_wave() {
    let (lab, mut m) = (Lab::new(), diamond());
    m.change("left", |p| p.shift = 20);
    let before = lab.run(&m.study);
    m.ran();
    // `left` throws the difference away; `right` does not exist for it.
    m.change("left", |p| p.add += 1);
    let planned = lab.plan(&m.study);
    assert_eq!(in_state(&planned, State::Execute), BTreeSet::from(["left", "join", "report"]));
    assert_eq!(planned.iter().filter(|n| !n.certain).count(), 2);
    let after = lab.run(&m.study);
    assert_eq!(m.ran(), ["left"]);
    assert_eq!(in_state(&after.nodes, State::Executed), BTreeSet::from(["left"]));
    assert_eq!(digests(&after), digests(&before));
}

#[test]
fn the_stored_form_of_a_frame_is_not_its_identity() {
    let (lab, m) = (Lab::new(), diamond());
    let before = lab.run(&m.study);
    m.behave("left", Some(Behaviour::OtherEncoding));
    m.ran();
    let after = lab.run_with(&m.study, &options(|o| o.force = vec!["left".into()]));
    let object = |report: &study_engine::RunReport| report.outputs[1].as_ref().unwrap()[0].object;
    assert_ne!(object(&before), object(&after), "other bytes");
    assert_eq!(m.ran(), ["left"], "the same table");
    assert_eq!(digests(&before), digests(&after));
    assert!(!lab.events().iter().any(|e| e.starts_with("differs")));
}

#[test]
fn a_stage_is_shown_nothing_that_is_not_in_its_key() {
    let (lab, m) = (Lab::new(), diamond());
    lab.run(&m.study);
    let shown = m.script.shown.lock().unwrap();
    let (none, study) = (SeedPath::root(0), SeedPath::root(1));
    assert_eq!(shown["left"], (none, String::new()));
    assert_eq!(shown["right[x=2]"], (study, String::new()), "it declares that it uses the seed");
    assert_eq!(shown["report"], (none, "A made-up study".to_owned()), "it declares that it sees the study");
}

#[test]
fn going_back_to_earlier_parameters_runs_nothing() {
    let (lab, mut m) = (Lab::new(), diamond());
    let first = lab.run(&m.study);
    m.change("source", |p| p.add = 11);
    lab.run(&m.study);
    m.change("source", |p| p.add = 10);
    m.ran();
    assert_eq!(digests(&lab.run(&m.study)), digests(&first));
    assert_eq!(m.ran(), [""; 0]);
}

#[test]
fn one_more_cell_runs_that_cell_and_what_reads_it() {
    let lab = Lab::new();
    let build = |cells: i64| {
        let mut m = Maker::new();
        let source = m.add("source", &CALC, m.calc(1), &[]);
        let cells: Vec<usize> =
            (0..cells).map(|i| m.add(&format!("cell[i={i}]"), &CALC, m.calc(i), &[source])).collect();
        m.add("all", &CALC, m.calc(0), &cells);
        m
    };
    lab.run(&build(5).study);
    let m = build(6);
    lab.run(&m.study);
    assert_eq!(m.ran(), ["all", "cell[i=5]"]);
}

#[test]
fn threads_change_no_digest_and_no_key() {
    let m = diamond();
    let all: Vec<_> = [1, 2, 5].map(|jobs| Lab::new().run_with(&m.study, &options(|o| o.jobs = jobs))).into();
    for other in &all[1..] {
        assert_eq!(digests(other), digests(&all[0]));
        let keys = |report: &study_engine::RunReport| report.nodes.iter().map(|n| n.key).collect::<Vec<_>>();
        assert_eq!(keys(other), keys(&all[0]));
    }
}

#[test]
fn two_nodes_with_one_key_are_computed_once() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    m.add("a", &CALC, m.calc(1), &[]);
    m.add("b", &CALC, m.calc(1), &[]);
    let report = lab.run(&m.study);
    assert_eq!(m.ran().len(), 1);
    assert_eq!((report.count(State::Executed), report.count(State::Cached)), (1, 1));
    assert_eq!(report.nodes[0].key, report.nodes[1].key);
}

#[test]
fn results_can_be_read_back() {
    let (lab, m) = (Lab::new(), diamond());
    let report = lab.run(&m.study);
    let outputs = report.outputs[5].as_ref().unwrap();
    let named = |name: &str| -> &OutputRecord { outputs.iter().find(|o| o.name == name).unwrap() };
    let table = load_frame(&lab.store, named("out")).unwrap();
    assert_eq!((table.rows() as u64, table.digest()), (named("out").rows.unwrap(), named("out").logical));
    let text = String::from_utf8(load_file(&lab.store, named("report.md")).unwrap()).unwrap();
    assert!(text.starts_with("# A made-up study\n"));
    assert_eq!(report.nodes[5].counters["rows"], 4);
}

#[test]
fn files_are_read_once_and_a_restless_file_spoils_nothing() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    for id in ["a", "b"] {
        m.add(id, &READER, m.calc(i64::from(id == "a")), &[]);
        m.reads_file(id, "data/bbb.json");
    }
    lab.files.restless.store(true, std::sync::atomic::Ordering::Relaxed);
    lab.run(&m.study);
    assert_eq!(lab.files.reads.lock().unwrap().len(), 1, "one path, one read");
    let why = study_engine::why(&m.study, Some(&lab.store), &lab.files, "a").unwrap();
    let recorded = why.nearest.expect("the file has changed since")["files"][0].as_str().unwrap().to_owned();
    // What is on record is what the stage saw, although the file was another one a moment later.
    let bytes = lab.store.get_object(&recorded.parse().unwrap()).unwrap();
    assert_eq!(bytes, [1]);
}

#[test]
fn a_missing_file_is_reported_with_its_place_and_all_at_once() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    m.add("a", &READER, m.calc(1), &[]);
    m.reads_file("a", "x.csv");
    m.reads_file("a", "y.csv");
    let error = plan(&m.study, None, &lab.files, &options(|_| ())).unwrap_err();
    let study_engine::EngineError::Files(problems) = &error else { panic!("{error}") };
    let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, ["x.csv", "y.csv"]);
    assert_eq!((problems[0].node.as_str(), problems[0].span.start), ("a", 10));
    assert!(error.to_string().contains("`x.csv`") && error.help().unwrap().contains("relative"));
}

#[test]
fn a_plan_out_of_order_is_refused() {
    let (lab, mut m) = (Lab::new(), diamond());
    m.study.nodes.swap(0, 1);
    let error = plan(&m.study, None, &lab.files, &options(|_| ())).unwrap_err();
    assert!(error.to_string().contains("`left`"), "{error}");
}

#[test]
fn events_come_in_order() {
    let (lab, m) = (Lab::new(), diamond());
    lab.run_with(&m.study, &options(|o| o.jobs = 1));
    let mut expected = Vec::new();
    for id in ["source", "left", "right[x=1]", "right[x=2]", "join", "report"] {
        expected.push(format!("start {id}"));
        expected.push(format!("Executed {id}"));
    }
    assert_eq!(lab.events(), expected);
    lab.run(&m.study);
    assert!(lab.events().iter().all(|e| e.starts_with("Cached ")));
    assert_eq!(states(&lab.plan(&m.study)).len(), 6);
}
