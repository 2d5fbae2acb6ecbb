//! Samples that append: only missing repetitions are carried out, and none is ever carried out again.

use crate::lab::{Behaviour, CALC, Calc, Files, Lab, Maker, folder, in_state, options, reasons_of, states, table};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use study_engine::{NodeReport, RepetitionCount, RunOptions, RunReport, State, load_frame, run, why};
use study_stage::{Determinism, Inputs, Outputs, Series, StageCx, StageError, StageKind};
use study_store::{FaultPoint, Store};
use study_tree::{Cx, Node};

/// Measures `rows` repetitions, each from the row of its own of what it reads, and no two measurements are alike.
struct SurveyKind;
static SURVEY: SurveyKind = SurveyKind;
static MEASURED: AtomicI64 = AtomicI64::new(0);

impl StageKind for SurveyKind {
    type Params = Calc;
    const NAME: &'static str = "survey";
    const SUMMARY: &'static str = "made up";
    const VERSION: u32 = 1;
    const TAKES: &'static [&'static str] = &["out"];
    const GIVES: &'static [&'static str] = &["out"];

    fn decode(&self, _: &Node, _: &mut Cx<'_>) -> Option<Calc> {
        None
    }
    fn schema(&self) -> Value {
        json!({})
    }
    fn source_fingerprint(&self) -> &'static str {
        "fingerprint"
    }
    fn determinism(&self, _: &Calc) -> Determinism {
        Determinism::Sampled
    }
    fn series(&self, p: &Calc) -> Option<Series> {
        let mut params = serde_json::to_value(p).unwrap();
        params.as_object_mut().unwrap().remove("rows");
        Some(Series { repetitions: p.rows as u64, params, by_repetition: &[("out", "row")] })
    }
    fn run(&self, p: &Calc, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let behaviour = p.script.behaviours.lock().unwrap().get(cx.node).cloned();
        let mut values = Vec::new();
        for index in 0..p.rows as u64 {
            let name = format!("{}#{index}", cx.node);
            if cx.repetitions.get(index)?.is_none() {
                if let Some(hook) = &*p.script.on_start.lock().unwrap() {
                    hook(&name);
                }
                match behaviour {
                    Some(Behaviour::Fail) if index >= 2 => return Err(StageError::failed("no third")),
                    Some(Behaviour::ForgetFrame) => continue,
                    _ => {}
                }
                cx.check_cancelled()?;
                p.script.log.lock().unwrap().push(name);
                let read = inputs.parts("out").iter().map(|part| part.table.ints("x").unwrap()[index as usize]);
                let noise = MEASURED.fetch_add(1, Ordering::Relaxed) + 1_000 * i64::from(std::process::id());
                let value = noise * 1_000_000 + read.sum::<i64>() + p.add;
                cx.repetitions.put(index, value.to_string().as_bytes())?;
                // One that is on record stays.
                cx.repetitions.put(index, b"0")?;
            }
            let content = cx.repetitions.get(index)?.unwrap();
            values.push(std::str::from_utf8(&content).unwrap().parse().unwrap());
        }
        let mut outputs = Outputs::default();
        outputs.frames.insert("out".to_owned(), table(&values));
        Ok(outputs)
    }
}

/// source (of so many rows) -> measured (so often) -> below
fn survey(rows: i64, repetitions: i64) -> Maker {
    let mut m = Maker::new();
    let source = m.add("source", &CALC, Calc { rows, ..m.calc(10) }, &[]);
    let measured = m.add("measured", &SURVEY, Calc { rows: repetitions, ..m.calc(20) }, &[source]);
    m.add("below", &CALC, m.calc(30), &[measured]);
    m
}

fn of<'a>(nodes: &'a [NodeReport], id: &str) -> &'a NodeReport {
    nodes.iter().find(|node| node.id == id).unwrap()
}

const fn counted(asked: u64, on_record: u64, ran: Option<u64>) -> Option<RepetitionCount> {
    Some(RepetitionCount { asked, on_record, ran })
}

/// What the second node measured.
fn measured(lab: &Lab, report: &RunReport) -> Vec<i64> {
    let output = &report.outputs[1].as_ref().unwrap()[0];
    load_frame(&lab.store, output).unwrap().ints("x").unwrap().to_vec()
}

/// Names of what was measured since the last call.
fn names(m: &Maker) -> Vec<String> {
    m.ran().into_iter().filter(|name| name.contains('#')).collect()
}

#[test]
fn more_repetitions_run_only_what_is_missing() {
    let (lab, mut m) = (Lab::new(), survey(8, 3));
    let planned = lab.plan(&m.study);
    assert_eq!(of(&planned, "measured").repetitions, None, "not known before its inputs are made");
    let first = lab.run(&m.study);
    assert_eq!(names(&m), ["measured#0", "measured#1", "measured#2"]);
    assert_eq!(of(&first.nodes, "measured").repetitions, counted(3, 0, Some(3)));
    let values = measured(&lab, &first);

    m.change("measured", |p| p.rows = 5);
    let planned = lab.plan(&m.study);
    assert_eq!(of(&planned, "measured").state, State::Execute);
    assert_eq!(of(&planned, "measured").repetitions, counted(5, 3, None));
    let reasons = ["repetitions: 3 of 5 on record", "param params.rows: 3 -> 5"];
    assert_eq!(reasons_of(&planned, "measured"), reasons);
    let why = why(&m.study, Some(&lab.store), &lab.files, "measured").unwrap();
    assert_eq!(why.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), reasons);
    let json = serde_json::to_value(of(&planned, "measured")).unwrap();
    assert_eq!(json["repetitions"], json!({ "asked": 5, "on_record": 3 }));
    assert_eq!(json["reasons"][0], json!({ "code": "repetitions", "old": "3", "new": "5" }));

    let second = lab.run(&m.study);
    assert_eq!(names(&m), ["measured#3", "measured#4"]);
    assert_eq!(of(&second.nodes, "measured").repetitions, counted(5, 3, Some(2)));
    assert_eq!(of(&second.nodes, "measured").state, State::Executed);
    assert_eq!(measured(&lab, &second)[..3], values, "what is on record is never measured again");
    let third = lab.run(&m.study);
    assert_eq!(third.count(State::Cached), 3);
    assert_eq!(of(&third.nodes, "measured").repetitions, counted(5, 5, None));
    assert_eq!(of(&third.nodes, "measured").seconds, of(&second.nodes, "measured").seconds);
}

#[test]
fn fewer_repetitions_use_the_first_of_those_on_record_and_run_nothing() {
    let (lab, mut m) = (Lab::new(), survey(8, 5));
    let values = measured(&lab, &lab.run(&m.study));
    m.ran();
    m.change("measured", |p| p.rows = 2);
    let planned = lab.plan(&m.study);
    assert_eq!(of(&planned, "measured").state, State::Cached);
    assert_eq!(of(&planned, "measured").repetitions, counted(2, 2, None));
    assert_eq!(reasons_of(&planned, "measured"), [""; 0]);
    assert!(!of(&planned, "below").certain, "its input is still to be put together");
    let report = lab.run(&m.study);
    assert_eq!(names(&m), [""; 0]);
    assert_eq!(in_state(&report.nodes, State::Cached), ["measured", "source"].into());
    assert_eq!(of(&report.nodes, "measured").repetitions, counted(2, 2, Some(0)));
    assert_eq!(measured(&lab, &report), values[..2]);
    m.change("measured", |p| p.rows = 5);
    let report = lab.run(&m.study);
    assert_eq!((report.count(State::Cached), names(&m)), (3, vec![]));
    assert_eq!(measured(&lab, &report), values);
}

#[test]
fn more_rows_for_more_repetitions_leave_those_on_record_as_they_are() {
    let (lab, m) = (Lab::new(), survey(3, 3));
    let values = measured(&lab, &lab.run(&m.study));
    // As when `runs` of the whole study is raised.
    let mut m = survey(5, 5);
    let report = lab.run(&m.study);
    assert_eq!(names(&m), ["measured#3", "measured#4"]);
    assert_eq!(measured(&lab, &report)[..3], values);
    assert_eq!(reasons_of(&report.nodes, "measured")[0], "repetitions: 3 of 5 on record");
    // Other rows are other repetitions, and so are other parameters.
    m.change("source", |p| p.add += 1);
    lab.run(&m.study);
    assert_eq!(names(&m).len(), 5);
    m.change("measured", |p| p.add += 1);
    let report = lab.run(&m.study);
    assert_eq!(names(&m).len(), 5);
    let reasons = ["repetitions: 0 of 5 on record", "param params.add: 20 -> 21"];
    assert_eq!(reasons_of(&report.nodes, "measured"), reasons);
}

#[test]
fn what_was_finished_before_a_failure_is_kept() {
    let (lab, m) = (Lab::new(), survey(8, 4));
    m.behave("measured", Some(Behaviour::Fail));
    let report = lab.run(&m.study);
    assert_eq!(states(&report.nodes)["measured"], State::Failed);
    assert_eq!(names(&m), ["measured#0", "measured#1"]);
    m.behave("measured", None);
    let planned = lab.plan(&m.study);
    assert_eq!(reasons_of(&planned, "measured"), ["repetitions: 2 of 4 on record"], "it has run before");
    let report = lab.run(&m.study);
    assert_eq!(names(&m), ["measured#2", "measured#3"]);
    assert_eq!(of(&report.nodes, "measured").repetitions, counted(4, 2, Some(2)));
}

#[test]
fn what_was_finished_before_an_interruption_is_kept() {
    let (lab, m) = (Lab::new(), survey(8, 4));
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    *m.script.on_start.lock().unwrap() = Some(Box::new(move |id| flag.store(id == "measured#3", Ordering::Relaxed)));
    let report = run(&m.study, &lab.store, &lab.files, &options(|_| ()), &cancel, &|_| ()).unwrap();
    assert!(report.interrupted);
    assert_eq!(names(&m).len(), 3);
    *m.script.on_start.lock().unwrap() = None;
    lab.run(&m.study);
    assert_eq!(names(&m), ["measured#3"]);
}

#[test]
fn machines_share_no_repetitions() {
    let (lab, m) = (Lab::new(), survey(8, 3));
    "one".clone_into(&mut lab.files.host.lock().unwrap());
    let values = measured(&lab, &lab.run(&m.study));
    m.ran();
    "other".clone_into(&mut lab.files.host.lock().unwrap());
    let planned = lab.plan(&m.study);
    let reasons = ["repetitions: 0 of 3 on record", "environment environment.host: one -> other"];
    assert_eq!(reasons_of(&planned, "measured"), reasons);
    let there = measured(&lab, &lab.run(&m.study));
    assert_eq!(names(&m).len(), 3);
    assert!(there.iter().all(|value| !values.contains(value)));
    "one".clone_into(&mut lab.files.host.lock().unwrap());
    assert_eq!(measured(&lab, &lab.run(&m.study)), values);
    assert_eq!(names(&m), [""; 0]);
}

#[test]
fn a_forced_node_is_put_together_again_and_measures_nothing() {
    let (lab, m) = (Lab::new(), survey(8, 3));
    let values = measured(&lab, &lab.run(&m.study));
    m.ran();
    let forced = options(|o| o.force = vec!["measured".to_owned()]);
    let report = lab.run_with(&m.study, &forced);
    assert_eq!((names(&m), measured(&lab, &report)), (vec![], values));
    assert_eq!(of(&report.nodes, "measured").state, State::Executed);
    assert_eq!(of(&report.nodes, "measured").repetitions, counted(3, 3, Some(0)));
    assert_eq!(reasons_of(&report.nodes, "measured"), ["repetitions: 3 of 3 on record", "forced"]);
}

#[test]
fn a_lost_frame_is_made_of_the_repetitions_and_a_lost_repetition_is_measured_again() {
    let (lab, mut m) = (Lab::new(), survey(8, 3));
    let first = lab.run(&m.study);
    let values = measured(&lab, &first);
    m.ran();
    let path = |object: &study_ident::Digest| {
        let hex = object.to_string();
        lab.store.dir().join("objects").join(&hex[..2]).join(hex)
    };
    std::fs::remove_file(path(&first.outputs[1].as_ref().unwrap()[0].object)).unwrap();
    let report = lab.run(&m.study);
    assert_eq!((names(&m), measured(&lab, &report)), (vec![], values.clone()));

    let second = path(&study_ident::Digest::of(values[1].to_string().as_bytes()));
    let bytes = std::fs::read(&second).unwrap();
    std::fs::remove_file(&second).unwrap();
    std::fs::write(&second, vec![b'7'; bytes.len()]).unwrap();
    m.change("measured", |p| p.rows = 4);
    let report = lab.run(&m.study);
    assert_eq!(names(&m), ["measured#1", "measured#3"]);
    let now = measured(&lab, &report);
    assert_eq!((now[0], now[2]), (values[0], values[2]));
    assert_eq!(of(&report.nodes, "measured").repetitions, counted(4, 2, Some(2)));
}

#[test]
fn repetitions_that_read_the_same_are_samples_of_their_own() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    m.add("source", &CALC, m.calc(10), &[]);
    m.add("measured", &SURVEY, Calc { rows: 3, ..m.calc(20) }, &[]);
    let values: std::collections::BTreeSet<i64> = measured(&lab, &lab.run(&m.study)).into_iter().collect();
    assert_eq!(values.len(), 3);
    m.ran();
    m.change("measured", |p| p.rows = 5);
    lab.run(&m.study);
    assert_eq!(names(&m), ["measured#3", "measured#4"]);
}

#[test]
fn repetitions_of_a_node_in_use_are_in_use() {
    let (lab, mut m) = (Lab::new(), survey(8, 3));
    lab.run(&m.study);
    m.ran();
    let days = |n: u64| Duration::from_secs(n * 24 * 3600);
    for folder in std::fs::read_dir(lab.store.dir().join("actions")).unwrap().flatten() {
        for record in std::fs::read_dir(folder.path()).unwrap().flatten() {
            let file = std::fs::File::options().write(true).open(record.path()).unwrap();
            file.set_modified(std::time::SystemTime::now() - days(10)).unwrap();
        }
    }
    assert_eq!(lab.run(&m.study).count(State::Cached), 3);
    let old = study_store::GcOptions { older_than: Some(days(5)), ..Default::default() };
    assert_eq!(lab.store.gc(&old).unwrap().removed_bytes(), 0);
    m.change("measured", |p| p.rows = 4);
    lab.run(&m.study);
    assert_eq!(names(&m), ["measured#3"]);
}

#[test]
fn nodes_that_differ_in_their_number_alone_share_what_they_measure() {
    let (lab, mut m) = (Lab::new(), Maker::new());
    let source = m.add("source", &CALC, Calc { rows: 8, ..m.calc(10) }, &[]);
    for rows in [4, 2, 6] {
        m.add(&format!("measured[n={rows}]"), &SURVEY, Calc { rows, ..m.calc(20) }, &[source]);
    }
    *m.script.on_start.lock().unwrap() = Some(Box::new(|_| std::thread::sleep(Duration::from_millis(3))));
    let report = lab.run_with(&m.study, &RunOptions { jobs: 4, ..RunOptions::default() });
    let mut indices: Vec<String> = names(&m).iter().map(|name| name.split('#').nth(1).unwrap().to_owned()).collect();
    indices.sort();
    assert_eq!(indices, ["0", "1", "2", "3", "4", "5"]);
    let of = |node: usize| load_frame(&lab.store, &report.outputs[node].as_ref().unwrap()[0]).unwrap();
    let all = of(3).ints("x").unwrap().to_vec();
    assert_eq!((of(1).ints("x").unwrap(), of(2).ints("x").unwrap()), (&all[..4], &all[..2]));
}

#[test]
fn a_store_that_cannot_be_written_to_ends_the_run_and_keeps_what_is_there() {
    let (mut lab, m) = (Lab::new(), survey(8, 4));
    let dir = lab.dir.path().join("store");
    let seen = AtomicI64::new(0);
    lab.store = Store::open(&dir).unwrap().with_fault_hook(Arc::new(move |at: FaultPoint| {
        // The source and two repetitions.
        let full = at == FaultPoint::BeforeRecord && seen.fetch_add(1, Ordering::Relaxed) >= 3;
        if full { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }));
    let report = lab.run(&m.study);
    assert!(report.store_error.is_some(), "{:?}", report.nodes);
    assert_eq!(names(&m).len(), 3);
    lab.store = Store::open(&dir).unwrap();
    lab.run(&m.study);
    assert_eq!(names(&m), ["measured#2", "measured#3"]);
}

#[test]
fn a_kind_that_leaves_out_a_repetition_has_failed() {
    let (lab, m) = (Lab::new(), survey(8, 2));
    m.behave("measured", Some(Behaviour::ForgetFrame));
    let report = lab.run(&m.study);
    let error = of(&report.nodes, "measured").error.clone().unwrap();
    assert_eq!(error.message, "`survey` did not carry out repetition 0");
}

const STORE: &str = "STUDY_ENGINE_TEST_SURVEY";

/// What the other process does: measures slowly, and notes what is begun.
#[test]
fn entry() {
    let Ok(dir) = std::env::var(STORE) else { return };
    let dir = Path::new(&dir);
    let log = dir.with_extension("log");
    let m = survey(8, 6);
    *m.script.on_start.lock().unwrap() = Some(Box::new(move |id| {
        let mut file = std::fs::File::options().append(true).create(true).open(&log).unwrap();
        std::io::Write::write_all(&mut file, format!("{id}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(if id.contains('#') { 30 } else { 0 }));
    }));
    let store = Store::open(dir).unwrap();
    run(&m.study, &store, &Files::default(), &options(|_| ()), &AtomicBool::new(false), &|_| ()).unwrap();
}

#[test]
fn killed_in_the_middle_a_node_goes_on_after_its_last_repetition() {
    let dir = folder();
    let store = dir.path().join("store");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "repetitions::entry", "--nocapture"])
        .env(STORE, &store)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = store.with_extension("log");
    let begun = || std::fs::read_to_string(&log).unwrap_or_default().matches('#').count();
    let since = Instant::now();
    while begun() < 4 && since.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = begun();
    assert!((4..6).contains(&begun), "{begun} begun");

    let mut lab = Lab::new();
    lab.store = Store::open(&store).unwrap();
    let m = survey(8, 6);
    let report = lab.run(&m.study);
    let again = names(&m);
    // The one under way when it was killed may have been on record already.
    assert!(again.len() == 6 - begun || again.len() == 7 - begun, "{begun} begun, then {again:?}");
    assert_eq!(again.last().unwrap(), "measured#5");
    let count = of(&report.nodes, "measured").repetitions.unwrap();
    assert_eq!(count.on_record + count.ran.unwrap(), 6);
    assert_eq!(count.ran, Some(again.len() as u64));
    assert!(lab.store.verify().unwrap().bad.is_empty());
}
