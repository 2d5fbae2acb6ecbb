//! Garbage collection keeps what results need, and says what it removes.

use super::{fresh, put_action};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime};
use study_ident::Digest;
use study_store::{GcOptions, Store};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn set_last_use(store: &Store, key: &Digest, age: Duration) {
    let path = store.dir().join("actions").join(&key.to_string()[..2]).join(format!("{key}.json"));
    fs::File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn what_no_record_names_goes_and_the_rest_stays() {
    let (_dir, store) = fresh();
    let (key, record) = put_action(&store, "a", b"needed");
    store.put_object(b"not needed").unwrap();
    let dry = store.gc(&GcOptions { dry_run: true, ..GcOptions::default() }).unwrap();
    assert_eq!(store.stats().unwrap().objects, 2, "a dry run removes nothing");
    let wet = store.gc(&GcOptions::default()).unwrap();
    assert_eq!(dry.removed, wet.removed, "and tells the truth");
    assert_eq!((wet.removed["unreferenced"].items, wet.removed["unreferenced"].bytes), (1, 10));
    assert_eq!(wet.removed_bytes(), 10);
    assert_eq!(wet.kept.items, 2);
    assert_eq!(store.get_object(&record.outputs[0].object).unwrap(), b"needed");
    assert!(store.record(&key).unwrap().is_some());
    let again = store.gc(&GcOptions::default()).unwrap();
    assert!(again.removed.is_empty(), "idempotent: {again:?}");
}

#[test]
fn records_go_by_last_use_and_shared_objects_stay_as_long_as_one_needs_them() {
    let (_dir, store) = fresh();
    let (old, _) = put_action(&store, "old", b"shared");
    let (older, own) = put_action(&store, "older", b"own");
    let (new, _) = put_action(&store, "new", b"shared");
    store.remember("s", "old", &old).unwrap();
    store.remember("s", "new", &new).unwrap();
    set_last_use(&store, &old, 10 * DAY);
    set_last_use(&store, &older, 11 * DAY);
    store.touch(&old, &store.record_head(&old).unwrap().unwrap());
    assert_eq!(store.gc(&GcOptions { older_than: Some(30 * DAY), ..GcOptions::default() }).unwrap().removed.len(), 0);
    let report = store.gc(&GcOptions { older_than: Some(5 * DAY), ..GcOptions::default() }).unwrap();
    assert_eq!(
        report.removed["older-than"].items, 2,
        "the record `older` and its own object; `old` was used: {report:?}"
    );
    assert!(store.record(&older).unwrap().is_none());
    assert!(!store.has_object(&own.outputs[0].object, 3));
    set_last_use(&store, &old, 10 * DAY);
    let pinned = BTreeSet::from([old]);
    let pin = GcOptions { older_than: Some(5 * DAY), pinned, ..GcOptions::default() };
    assert!(store.gc(&pin).unwrap().removed.is_empty(), "pinned");
    store.gc(&GcOptions { older_than: Some(5 * DAY), ..GcOptions::default() }).unwrap();
    assert!(store.record(&old).unwrap().is_none());
    assert_eq!(store.last_key("s", "old"), None, "a history of keys that are gone is gone");
    assert_eq!(store.last_key("s", "new"), Some(new));
    assert!(store.verify().unwrap().bad.is_empty(), "`new` still has the shared object");
    assert_eq!(store.stats().unwrap().objects, 1);
}

#[test]
fn a_store_is_brought_down_to_a_size_least_recently_used_first() {
    let (_dir, store) = fresh();
    let mut keys = Vec::new();
    for i in 0..6u8 {
        let (key, _) = put_action(&store, &format!("{i}"), &[i; 10_000]);
        set_last_use(&store, &key, DAY * u32::from(10 - i));
        keys.push(key);
    }
    let options = GcOptions { max_size: Some(35_000), pinned: BTreeSet::from([keys[0]]), ..GcOptions::default() };
    let report = store.gc(&options).unwrap();
    let left: Vec<bool> = keys.iter().map(|key| store.record(key).unwrap().is_some()).collect();
    assert_eq!(left, [true, false, false, false, true, true], "0 is pinned, then the newest");
    assert!(report.kept.bytes <= 35_000);
    let stats = store.stats().unwrap();
    assert_eq!(report.kept.bytes, stats.object_bytes + stats.record_bytes);
    assert!(store.verify().unwrap().bad.is_empty());
}

#[test]
fn corrupt_leftovers_go_and_files_of_others_stay() {
    let (_dir, store) = fresh();
    let (key, record) = put_action(&store, "a", b"content");
    super::tamper(&super::object_path(&store, &record.outputs[0].object), |bytes| bytes[0] = 0);
    assert!(store.get_object(&record.outputs[0].object).is_err());
    let path = store.dir().join("actions").join(&key.to_string()[..2]).join(format!("{key}.json"));
    super::tamper(&path, |bytes| bytes.truncate(10));
    fs::create_dir_all(store.dir().join("objects/zz")).unwrap();
    fs::write(store.dir().join("objects/zz/notes.txt"), "mine").unwrap();
    let report = store.gc(&GcOptions::default()).unwrap();
    assert_eq!(report.removed["quarantined"].items, 1);
    assert_eq!(report.removed["corrupt-record"].items, 1);
    assert!(store.dir().join("objects/zz/notes.txt").exists());
}

#[test]
fn a_clock_that_went_backwards_makes_nothing_old() {
    let (_dir, store) = fresh();
    let (key, _) = put_action(&store, "a", b"content");
    let path = store.dir().join("actions").join(&key.to_string()[..2]).join(format!("{key}.json"));
    fs::File::open(path).unwrap().set_modified(SystemTime::now() + 100 * DAY).unwrap();
    store.touch(&key, &store.record_head(&key).unwrap().unwrap());
    store.gc(&GcOptions { older_than: Some(DAY), ..GcOptions::default() }).unwrap();
    assert!(store.record(&key).unwrap().is_some());
}
