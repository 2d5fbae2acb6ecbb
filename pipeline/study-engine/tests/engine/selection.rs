//! `--force`, `--from`, `--only`, `--until`.

use crate::lab::{Lab, diamond, in_state, options, reasons_of};
use std::collections::BTreeSet;
use study_engine::{EngineError, RunOptions, State, plan, run};

#[test]
fn force_runs_what_is_cached_and_the_rest_stays() {
    let (lab, m) = (Lab::new(), diamond());
    lab.run(&m.study);
    m.ran();
    let force = options(|o| o.force = vec!["right".into()]);
    let planned = lab.plan_with(&m.study, &force);
    assert_eq!(reasons_of(&planned, "right[x=1]"), ["forced"]);
    assert!(planned[2].certain && planned[2].key.is_some());
    let report = lab.run_with(&m.study, &force);
    assert_eq!(m.ran(), ["right[x=1]", "right[x=2]"], "a stage stands for all its nodes");
    assert_eq!(report.count(State::Cached), 4, "the same again: nothing below runs");
    assert!(!lab.events().iter().any(|e| e.starts_with("differs")));
}

#[test]
fn from_runs_a_node_and_all_below_it() {
    let (lab, m) = (Lab::new(), diamond());
    lab.run(&m.study);
    m.ran();
    let report = lab.run_with(&m.study, &options(|o| o.from = vec!["left".into()]));
    assert_eq!(m.ran(), ["join", "left", "report"]);
    assert_eq!(reasons_of(&report.nodes, "report"), ["forced"]);
    assert_eq!(report.count(State::Cached), 3);
}

#[test]
fn until_runs_a_node_and_what_it_needs() {
    let (lab, m) = (Lab::new(), diamond());
    let until = options(|o| o.until = vec!["right[x=1]".into()]);
    assert_eq!(in_state(&lab.plan_with(&m.study, &until), State::Skipped).len(), 4);
    let report = lab.run_with(&m.study, &until);
    assert_eq!(m.ran(), ["right[x=1]", "source"]);
    assert_eq!(in_state(&report.nodes, State::Skipped), BTreeSet::from(["left", "right[x=2]", "join", "report"]));
    assert!(!report.interrupted);
    assert!(report.outputs[5].is_none());
}

#[test]
fn only_runs_one_node_and_refuses_when_it_cannot() {
    let (lab, mut m) = (Lab::new(), diamond());
    let only = options(|o| o.only = vec!["join".into()]);
    let refused = run(&m.study, &lab.store, &lab.files, &only, &lab.cancel, &|_| ()).unwrap_err();
    let EngineError::InputsNotCached { node, inputs } = &refused else { panic!("{refused}") };
    assert_eq!((node.as_str(), inputs.len()), ("join", 3));
    assert!(refused.to_string().contains("`left`, `right[x=1]`, `right[x=2]` are not cached"), "{refused}");
    assert!(refused.help().unwrap().contains("--until"));
    assert!(plan(&m.study, Some(&lab.store), &lab.files, &only).is_err(), "a plan refuses it too");
    assert!(m.ran().is_empty());
    lab.run(&m.study);
    m.ran();
    m.change("join", |p| p.add = 41);
    let report = lab.run_with(&m.study, &only);
    assert_eq!(m.ran(), ["join"]);
    assert_eq!(report.count(State::Skipped), 5, "the report is stale now, and not asked for");
    assert!(report.outputs[4].is_some() && report.outputs[0].is_none());
    m.change("source", |p| p.add = 11);
    assert!(plan(&m.study, Some(&lab.store), &lab.files, &only).is_err(), "its inputs are out of date");
    let both = options(|o| (o.only, o.force) = (vec!["source".into()], vec!["source".into(), "left".into()]));
    lab.run_with(&m.study, &both);
    assert_eq!(m.ran(), ["source"], "what is not asked for is not forced");
}

#[test]
fn a_name_that_is_neither_node_nor_stage_gets_a_suggestion() {
    let (lab, m) = (Lab::new(), diamond());
    let refused = |change: fn(&mut RunOptions)| plan(&m.study, None, &lab.files, &options(change)).unwrap_err();
    for error in [
        refused(|o| o.force = vec!["jion".into()]),
        refused(|o| o.from = vec!["jion".into()]),
        refused(|o| o.only = vec!["jion".into()]),
        refused(|o| o.until = vec!["jion".into()]),
    ] {
        assert_eq!(error.to_string(), "`jion` is neither a node nor a stage of this study");
        assert_eq!(error.help().unwrap(), "did you mean `join`?");
    }
    assert!(refused(|o| o.only = vec!["banana".into()]).help().unwrap().contains("source"));
}
