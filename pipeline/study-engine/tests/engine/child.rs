//! Whole runs in other processes: this test program started again.

use crate::lab::{CALC, Files, Maker, REPORT, SEEDED};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use study_engine::{RunEvent, RunOptions, State, run};
use study_store::{FaultPoint, Store};

const STORE: &str = "STUDY_ENGINE_TEST_STORE";
const FAULT: &str = "STUDY_ENGINE_TEST_FAULT";

/// A study of 24 nodes in layers, each node working for about a millisecond.
pub fn layered() -> Maker {
    let mut m = Maker::new();
    let mut below: Vec<usize> = Vec::new();
    for layer in 0..5usize {
        let width = if layer == 0 { 3 } else { 5 };
        let here = (0..width)
            .map(|i| {
                let inputs: Vec<usize> = below.iter().copied().filter(|j| !(j + i).is_multiple_of(3)).collect();
                let mut params = m.calc((layer * 10 + i) as i64);
                params.rows = 50;
                let kind: &'static dyn study_stage::Kind = if i == 1 { &SEEDED } else { &CALC };
                m.add(&format!("layer{layer}[i={i}]"), kind, params, &inputs)
            })
            .collect();
        below = here;
    }
    m.add("report", &REPORT, m.calc(0), &below);
    m
}

/// Where runs on a store note what they begin (`S id`) and what they have on record (`F id`).
pub fn log_of(store: &Path) -> PathBuf {
    store.with_extension("log")
}

/// Starts a run of the layered study in another process. `fault` is `point,count`: where it dies.
pub fn start(store: &Path, fault: Option<&str>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::entry", "--nocapture"])
        .env(STORE, store)
        .env(FAULT, fault.unwrap_or_default())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the other process does; a test that does nothing when nobody asked for it.
#[test]
fn entry() {
    let Ok(dir) = std::env::var(STORE) else { return };
    let dir = Path::new(&dir);
    let mut store = Store::open(dir).unwrap();
    if let Some((point, count)) = std::env::var(FAULT).unwrap().split_once(',') {
        let (point, count, seen) = (point.to_owned(), count.parse::<u32>().unwrap(), AtomicU32::new(0));
        store = store.with_fault_hook(Arc::new(move |at: FaultPoint| {
            if format!("{at:?}") == point && seen.fetch_add(1, Ordering::Relaxed) + 1 == count {
                std::process::abort();
            }
            Ok(())
        }));
    }
    let log = log_of(dir);
    let note = move |what: &str, id: &str| {
        // One write per line, so that lines of several processes do not mix.
        let mut file = std::fs::File::options().append(true).create(true).open(&log).unwrap();
        file.write_all(format!("{what} {id}\n").as_bytes()).unwrap();
    };
    let m = layered();
    let noted = note.clone();
    *m.script.on_start.lock().unwrap() = Some(Box::new(move |id| {
        noted("S", id);
        std::thread::sleep(Duration::from_millis(1));
    }));
    let events = |event: RunEvent<'_>| {
        if let RunEvent::Finished { report, .. } = event
            && report.state == State::Executed
        {
            note("F", &report.id);
        }
    };
    let options = RunOptions { jobs: 2, ..RunOptions::default() };
    let report = run(&m.study, &store, &Files::default(), &options, &AtomicBool::new(false), &events).unwrap();
    assert_eq!(report.count(State::Executed) + report.count(State::Cached), m.study.nodes.len());
}
