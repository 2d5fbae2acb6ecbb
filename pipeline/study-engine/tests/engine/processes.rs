//! Several runs on one store at once.

use crate::child::{layered, log_of, start};
use crate::lab::{Behaviour, Lab, diamond, digests, folder, options};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_engine::State;
use study_store::Store;

#[test]
fn processes_share_the_work_and_do_each_node_once() {
    let dir = folder();
    let store = dir.path().join("geteilter Speicher");
    let mut children: Vec<_> = (0..3).map(|_| start(&store, None)).collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let mut starts: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(log_of(&store)).unwrap().lines() {
        if let Some(id) = line.strip_prefix("S ") {
            *starts.entry(id.to_owned()).or_default() += 1;
        }
    }
    let m = layered();
    assert_eq!(starts.len(), m.study.nodes.len());
    assert!(starts.values().all(|n| *n == 1), "{starts:?}");
    let mut lab = Lab::new();
    lab.store = Store::open(&store).unwrap();
    assert_eq!(digests(&lab.run(&m.study)), digests(&Lab::new().run(&m.study)));
}

#[test]
fn a_node_in_flight_elsewhere_is_waited_for_and_others_go_on() {
    let (lab, m) = (Lab::new(), diamond());
    let mut second = Lab::new();
    second.store = Store::open(lab.store.dir()).unwrap();
    let mine = diamond();
    let gate = Arc::new(AtomicBool::new(false));
    m.behave("left", Some(Behaviour::Gate(Arc::clone(&gate))));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| lab.run_with(&m.study, &options(|o| o.until = vec!["left".into()])));
        while m.script.log.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The other one finishes `left` only when everything else is done here.
        scope.spawn(|| {
            while !second.events().contains(&"Executed right[x=2]".to_owned()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            gate.store(true, Ordering::Relaxed);
        });
        let report = second.run_with(&mine.study, &options(|o| o.jobs = 1));
        assert_eq!(report.count(State::Cached), 2);
        assert_eq!(mine.ran(), ["join", "report", "right[x=1]", "right[x=2]"]);
        assert!(second.events().contains(&"wait left".to_owned()));
        assert_eq!(other.join().unwrap().count(State::Executed), 2);
    });
}

#[test]
fn when_the_other_one_fails_the_node_is_done_here() {
    let (lab, m) = (Lab::new(), diamond());
    let mut second = Lab::new();
    second.store = Store::open(lab.store.dir()).unwrap();
    let mine = diamond();
    *m.script.on_start.lock().unwrap() = Some(Box::new(|_| std::thread::sleep(Duration::from_millis(60))));
    m.behave("source", Some(Behaviour::Fail));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| lab.run(&m.study));
        while m.script.log.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(second.run(&mine.study).count(State::Executed), 6);
        assert_eq!(other.join().unwrap().count(State::Blocked), 5);
    });
}

#[test]
fn waiting_for_another_process_can_be_interrupted() {
    let (lab, m) = (Lab::new(), diamond());
    let key = lab.plan(&m.study)[0].key.unwrap();
    let held = lab.store.claim(&key).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !lab.events().contains(&"wait source".to_owned()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            lab.cancel.store(true, Ordering::Relaxed);
        });
        assert!(lab.run(&m.study).interrupted);
    });
    drop(held);
    assert!(m.ran().is_empty());
}
