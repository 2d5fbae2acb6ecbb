//! A process that is killed loses its own unfinished work and nothing else.

use super::{child, files_below, put_action};
use std::time::Duration;
use study_store::{Store, StoreError};

#[test]
fn a_crash_at_each_point_leaves_a_store_that_works_at_once() {
    // An action is two files, so each point inside the writing of a file comes twice.
    let points = [
        ("BeforeTemp", 1, false),
        ("MidWrite", 1, false),
        ("BeforeRename", 1, false),
        ("BeforeRecord", 1, false),
        ("BeforeTemp", 2, false),
        ("MidWrite", 2, false),
        ("BeforeRename", 2, false),
        ("AfterRecord", 1, true),
    ];
    for (point, count, recorded) in points {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        drop(Store::open(&root).unwrap());
        let status = child::start(&format!("die-at:{point},{count}"), &root).wait().unwrap();
        assert!(!status.success(), "{point} {count} was not reached");
        if point != "BeforeTemp" {
            assert!(!files_below(&root.join("tmp")).is_empty() || point.contains("Record"), "{point} left its file");
        }
        let store = Store::open(&root).unwrap();
        assert_eq!(files_below(&root.join("tmp")), Vec::<std::path::PathBuf>::new(), "{point}: swept");
        assert_eq!(store.stats().unwrap().records, u64::from(recorded), "{point} {count}");
        assert!(store.verify().unwrap().bad.is_empty(), "{point} {count}: nothing half done is visible");
        let (key, record) = put_action(&store, "crash", &[7; 5000]);
        assert_eq!(store.record(&key).unwrap().unwrap(), record);
        let once = tempfile::tempdir().unwrap();
        let reference = Store::open(&once.path().join("store")).unwrap();
        put_action(&reference, "crash", &[7; 5000]);
        assert_eq!(store.stats().unwrap(), reference.stats().unwrap(), "{point}: as if nothing had happened");
    }
}

#[test]
fn unfinished_files_of_the_living_stay_and_of_the_dead_go() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let store = Store::open(&root).unwrap();
    let key = study_ident::Digest::of(b"key");
    let mut other = child::start(&format!("hold:{key}"), &root);
    let ready = root.with_extension("ready");
    while !ready.exists() {
        assert!(other.try_wait().unwrap().is_none(), "the other process ended early");
        std::thread::sleep(Duration::from_millis(2));
    }
    let folders = || std::fs::read_dir(root.join("tmp")).unwrap().flatten().filter(|e| e.path().is_dir()).count();
    drop(Store::open(&root).unwrap());
    assert_eq!(folders(), 1, "it is alive");
    let busy = store.gc(&study_store::GcOptions::default()).unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }));
    assert!(busy.to_string().contains(&format!("process {}", other.id())), "says who: {busy}");
    other.kill().unwrap();
    other.wait().unwrap();
    // No flag, no unlocking: the claim and the lease died with it.
    drop(store.claim(&key).unwrap());
    drop(Store::open(&root).unwrap());
    assert_eq!(folders(), 0);
    store.gc(&study_store::GcOptions::default()).unwrap();
}
