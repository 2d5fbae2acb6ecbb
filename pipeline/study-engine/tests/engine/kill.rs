//! SIGKILL at random moments, and crashes at chosen ones: the next run needs no flag and loses nothing.
//!
//! `STUDY_KILLS=200` kills that often instead of 20 times; `STUDY_KILL_SEED` chooses other moments.

use crate::child::{layered, log_of, start};
use crate::lab::{Lab, digests, folder, options};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use study_engine::{RunOptions, State};
use study_ident::{Digest, SeedPath};
use study_store::Store;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What an undisturbed run gives.
fn reference() -> BTreeMap<String, Digest> {
    digests(&Lab::new().run(&layered().study))
}

/// The run after a crash ends as an undisturbed one does, repeats nothing that was on record, and leaves no litter.
fn assert_recovers(store: &Path, expected: &BTreeMap<String, Digest>, about: &str) {
    assert!(start(store, None).wait().unwrap().success(), "{about}: the next run needs no flag");
    let mut on_record = BTreeSet::new();
    for line in std::fs::read_to_string(log_of(store)).unwrap_or_default().lines() {
        match line.split_once(' ') {
            Some(("F", id)) => drop(on_record.insert(id.to_owned())),
            Some((_, id)) => assert!(!on_record.contains(id), "{about}: {id} was on record and ran again"),
            None => panic!("{about}: {line}"),
        }
    }
    let mut lab = Lab::new();
    lab.store = Store::open(store).unwrap();
    let m = layered();
    let report = lab.run_with(&m.study, &RunOptions { jobs: 1, ..RunOptions::default() });
    assert_eq!(report.count(State::Cached), m.study.nodes.len(), "{about}");
    assert_eq!(&digests(&report), expected, "{about}");
    assert!(lab.store.verify().unwrap().bad.is_empty(), "{about}");
    let left = |folder: &str| {
        std::fs::read_dir(store.join(folder)).map_or(0, |d| d.flatten().filter(|e| e.path().is_dir()).count())
    };
    assert_eq!(left("tmp"), 0, "{about}");
}

#[test]
fn killed_at_random_moments_a_run_is_continued_by_the_next() {
    let (kills, seed) = (number("STUDY_KILLS", 20), number("STUDY_KILL_SEED", 1));
    let expected = reference();
    let dir = folder();
    let begun = Instant::now();
    assert!(start(&dir.path().join("undisturbed"), None).wait().unwrap().success());
    let whole = begun.elapsed();
    println!("STUDY_KILL_SEED={seed} STUDY_KILLS={kills}, an undisturbed run takes {whole:?}");
    let mut random = SeedPath::root(seed).stream("kills");
    let (mut done, mut hit, mut stores) = (0, 0, 0);
    while done < kills {
        let store = dir.path().join(format!("store {stores}"));
        stores += 1;
        // A few kills in a row on one store, each wherever the run before left it.
        for _ in 0..1 + random.below(4) {
            let moment = whole.mul_f64(random.uniform());
            let mut child = start(&store, None);
            std::thread::sleep(moment);
            hit += u32::from(child.try_wait().unwrap().is_none());
            let _ = child.kill();
            child.wait().unwrap();
            done += 1;
        }
        assert_recovers(&store, &expected, &format!("seed {seed}, store {stores}"));
    }
    println!("{done} kills on {stores} stores, {hit} of them while the run was under way: 0 lost, 0 stale, 0 flags");
    assert!(hit > 0, "no kill came early enough");
}

#[test]
fn crashed_at_each_point_of_writing_a_run_is_continued_by_the_next() {
    let expected = reference();
    let dir = folder();
    for point in ["BeforeTemp", "MidWrite", "BeforeRename", "BeforeRecord", "AfterRecord"] {
        for count in [1, 4, 17] {
            let about = format!("{point} {count}");
            let store = dir.path().join(&about);
            let status = start(&store, Some(&format!("{point},{count}"))).wait().unwrap();
            assert!(!status.success(), "{about} was not reached");
            assert_recovers(&store, &expected, &about);
        }
    }
}

#[test]
fn opening_a_store_disturbs_nobody_who_writes_to_it() {
    let dir = folder();
    let store = dir.path().join("store");
    let mut child = start(&store, None);
    std::thread::sleep(Duration::from_millis(15));
    let lab = Lab::new();
    let other = Store::open(&store).unwrap();
    let m = layered();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let report = study_engine::run(&m.study, &other, &lab.files, &options(|_| ()), &cancel, &|_| ()).unwrap();
    assert_eq!(report.count(State::Executed) + report.count(State::Cached), m.study.nodes.len());
    assert!(child.wait().unwrap().success(), "sweeping does not touch what the living write");
}
