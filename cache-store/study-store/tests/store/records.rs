//! Records and histories.

use super::{fresh, put_action, tamper};
use std::fs;
use std::time::{Duration, SystemTime};
use study_ident::Digest;
use study_store::StoreError;

fn path_of(store: &study_store::Store, key: &Digest) -> std::path::PathBuf {
    store.dir().join("actions").join(&key.to_string()[..2]).join(format!("{key}.json"))
}

#[test]
fn a_record_comes_back_whole_and_is_json_for_people() {
    let (_dir, store) = fresh();
    let (key, record) = put_action(&store, "a", b"content");
    assert_eq!(store.record(&key).unwrap().unwrap(), record);
    let head = store.record_head(&key).unwrap().unwrap();
    assert_eq!((&head.outputs, head.seconds, &head.counters), (&record.outputs, 0.25, &record.counters));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path_of(&store, &key)).unwrap()).unwrap();
    assert_eq!(json["record"]["key_document"]["name"], "a");
    assert!(store.record(&Digest::of(b"other")).unwrap().is_none());
}

#[test]
fn every_changed_byte_of_a_record_is_noticed() {
    let (_dir, store) = fresh();
    let (key, _) = put_action(&store, "a", b"content");
    let path = path_of(&store, &key);
    let good = fs::read(&path).unwrap();
    for i in 0..good.len() {
        tamper(&path, |bytes| {
            bytes.clone_from(&good);
            bytes[i] ^= 1;
        });
        assert!(matches!(store.record_head(&key), Err(StoreError::Corrupt { .. })), "byte {i}");
        tamper(&path, |bytes| {
            bytes.clone_from(&good);
            bytes.truncate(i);
        });
        assert!(matches!(store.record(&key), Err(StoreError::Corrupt { .. })), "truncated at {i}");
    }
    tamper(&path, |bytes| bytes.clone_from(&good));
    assert!(store.record(&key).unwrap().is_some());
    // A sound record under another key's name.
    let (other, _) = put_action(&store, "b", b"content");
    fs::copy(&path, path_of(&store, &other)).unwrap();
    assert!(matches!(store.record(&other), Err(StoreError::Corrupt { .. })));
    assert_eq!(store.verify().unwrap().bad.len(), 1);
    store.repair().unwrap();
    assert!(store.record(&other).unwrap().is_none(), "repair removes it");
    put_action(&store, "b", b"content");
    assert!(store.record(&other).unwrap().is_some(), "and it can be made again");
}

#[test]
fn histories_hold_the_newest_keys_first_and_each_once() {
    let (_dir, store) = fresh();
    let key = |i: u8| Digest::of(&[i]);
    assert_eq!(store.last_key("s", "n"), None);
    for i in 0..12 {
        store.remember("s", "n", &key(i)).unwrap();
    }
    store.remember("s", "n", &key(9)).unwrap();
    let expected: Vec<_> = [9, 11, 10, 8, 7, 6, 5, 4].map(key).into();
    assert_eq!(store.history("s", "n"), expected);
    assert_eq!(store.history("S", "n"), []);
    assert_eq!(store.history("s", "N"), []);
}

#[test]
fn a_run_with_the_same_keys_writes_no_history_and_a_changed_one_does() {
    let (_dir, store) = fresh();
    let (a, b, c) = (Digest::of(b"a"), Digest::of(b"b"), Digest::of(b"c"));
    store.remember_run("s", &[("x", a), ("y", b)]).unwrap();
    let file = store.dir().join("nodes/s/x.json");
    let old = SystemTime::now() - Duration::from_secs(1000);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    store.remember_run("s", &[("x", a), ("y", b)]).unwrap();
    assert!(fs::metadata(&file).unwrap().modified().unwrap() <= old + Duration::from_secs(1));
    store.remember_run("s", &[("x", c), ("y", b)]).unwrap();
    assert_eq!(store.history("s", "x"), [c, a]);
    // A part of the study ran with another key in between: the next whole run must see that.
    store.remember("s", "x", &a).unwrap();
    store.remember_run("s", &[("x", c), ("y", b)]).unwrap();
    assert_eq!(store.last_key("s", "x"), Some(c));
}
