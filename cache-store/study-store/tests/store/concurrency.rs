//! Several threads and processes on one store.

use super::{child, fresh, put_action};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use study_ident::Digest;
use study_store::{Attempt, Store};

#[test]
fn a_claim_is_held_by_one_at_a_time_and_leaves_no_file() {
    let (_dir, store) = fresh();
    let key = Digest::of(b"key");
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let claim = store.claim(&key).unwrap();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(claim);
                }
            });
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert_eq!(std::fs::read_dir(store.dir().join("claims")).unwrap().count(), 0);
}

#[test]
fn who_does_not_wait_is_told_who_holds_the_claim() {
    let (_dir, store) = fresh();
    let key = Digest::of(b"key");
    let held = store.try_claim(&key).unwrap();
    let Attempt::Busy { holder } = store.try_claim(&key).unwrap() else { panic!("claimed twice") };
    assert!(holder.contains(&format!("process {}", std::process::id())), "{holder}");
    assert!(matches!(store.try_claim(&Digest::of(b"other")).unwrap(), Attempt::Held(_)));
    drop(held);
    assert!(matches!(store.try_claim(&key).unwrap(), Attempt::Held(_)));
}

#[test]
fn three_processes_compute_each_key_once() {
    let (_dir, store) = fresh();
    let mut children: Vec<_> = (0..3).map(|_| child::start("compute:40", store.dir())).collect();
    assert!(children.iter_mut().all(|c| c.wait().unwrap().success()));
    let log = std::fs::read_to_string(store.dir().with_extension("log")).unwrap();
    let mut computed: Vec<u32> = log.lines().map(|line| line.parse().unwrap()).collect();
    computed.sort_unstable();
    assert_eq!(computed, (0..40).collect::<Vec<_>>());
    assert!(store.verify().unwrap().bad.is_empty());
}

#[test]
fn threads_writing_the_same_and_different_things_agree() {
    let (_dir, store) = fresh();
    let second = Store::open(store.dir()).unwrap();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let store = if t % 2 == 0 { &store } else { &second };
            scope.spawn(move || {
                for i in 0..10 {
                    put_action(store, &format!("{i}"), format!("content {}", i / 2).as_bytes());
                    store.remember("s", "n", &Digest::of(&[i])).unwrap();
                }
            });
        }
    });
    assert_eq!(store.stats().unwrap().objects, 5);
    assert_eq!(store.stats().unwrap().records, 10);
    assert!(store.verify().unwrap().bad.is_empty());
}

#[test]
fn garbage_collection_waits_for_no_run_and_runs_wait_for_it() {
    let (_dir, store) = fresh();
    let first = store.lease().unwrap();
    let second = store.lease().unwrap();
    let options = study_store::GcOptions::default();
    assert!(store.gc(&options).is_err(), "two runs");
    drop(first);
    assert!(store.gc(&options).is_err(), "one run");
    drop(second);
    store.gc(&options).unwrap();
    let done = AtomicBool::new(false);
    let mut lost = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = store.gc(&options);
            }
        });
        for _ in 0..300 {
            std::thread::sleep(Duration::from_micros(100));
            let _lease = store.lease().unwrap();
            // What is written under a lease is there at the end of it, whatever is collected around it.
            let digest = store.put_object(b"in the making").unwrap();
            std::thread::sleep(Duration::from_micros(100));
            lost += u32::from(!store.has_object(&digest, 13));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(lost, 0);
}
