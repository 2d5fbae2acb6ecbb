//! Bytes come back as they were, or not at all.

use super::{fresh, object_path, tamper};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use study_ident::Digest;
use study_store::{ObjectState, StoreError};

#[test]
fn bytes_come_back_and_equal_bytes_are_stored_once() {
    let (_dir, store) = fresh();
    for content in [&b""[..], b"a", &[9; 100_000]] {
        let digest = store.put_object(content).unwrap();
        assert_eq!(digest, Digest::of(content));
        assert_eq!(store.put_object(content).unwrap(), digest);
        assert_eq!(store.get_object(&digest).unwrap(), content);
        assert!(store.has_object(&digest, content.len() as u64));
        assert!(!store.has_object(&digest, content.len() as u64 + 1));
        let mode = fs::metadata(object_path(&store, &digest)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444, "objects are read-only");
    }
    assert_eq!(store.stats().unwrap().objects, 3);
    assert_eq!(store.stats().unwrap().object_bytes, 100_001);
}

#[test]
fn tampering_is_noticed_although_size_and_time_are_as_before() {
    let (_dir, store) = fresh();
    let digest = store.put_object(b"the truth").unwrap();
    tamper(&object_path(&store, &digest), |bytes| bytes[4] ^= 1);
    assert_eq!(store.object_state(&digest, 9), ObjectState::Present, "only reading can tell");
    assert_eq!(store.verify().unwrap().bad.len(), 1);
    let Err(StoreError::Corrupt { quarantined, .. }) = store.get_object(&digest) else { panic!("accepted") };
    assert_eq!(fs::read(quarantined.unwrap()).unwrap(), b"the uruth", "the evidence is kept");
    assert!(matches!(store.get_object(&digest), Err(StoreError::Missing { .. })), "and never met again");
    assert_eq!(store.object_state(&digest, 9), ObjectState::Corrupt, "but remembered");
    assert_eq!(store.stats().unwrap().quarantined, 1);
    store.put_object(b"the truth").unwrap();
    assert_eq!(store.object_state(&digest, 9), ObjectState::Present);
    assert_eq!(store.get_object(&digest).unwrap(), b"the truth");
}

#[test]
fn truncation_and_absence_are_noticed_without_reading() {
    let (_dir, store) = fresh();
    let digest = store.put_object(b"the whole truth").unwrap();
    tamper(&object_path(&store, &digest), |bytes| bytes.truncate(5));
    assert_eq!(store.object_state(&digest, 15), ObjectState::Corrupt);
    assert!(matches!(store.get_object(&digest), Err(StoreError::Corrupt { .. })));
    let absent = Digest::of(b"never stored");
    assert_eq!(store.object_state(&absent, 12), ObjectState::Missing);
    assert!(matches!(store.get_object(&absent), Err(StoreError::Missing { .. })));
}

#[test]
fn storing_bytes_again_heals_a_corrupt_object_that_nobody_read() {
    let (_dir, store) = fresh();
    let digest = store.put_object(b"the truth").unwrap();
    tamper(&object_path(&store, &digest), |bytes| bytes[0] = b'T');
    store.put_object(b"the truth").unwrap();
    assert_eq!(store.get_object(&digest).unwrap(), b"the truth");
    assert_eq!(store.stats().unwrap().quarantined, 1);
}

#[test]
fn verify_reads_everything_and_repair_sets_aside_what_is_corrupt() {
    let (_dir, store) = fresh();
    let (key, record) = super::put_action(&store, "a", b"first");
    super::put_action(&store, "b", b"second");
    let clean = store.verify().unwrap();
    assert_eq!((clean.objects, clean.records, clean.bytes), (2, 2, 11));
    assert!(clean.bad.is_empty());
    tamper(&object_path(&store, &record.outputs[0].object), |bytes| bytes[0] = b'F');
    fs::write(store.dir().join("objects/notes.txt"), "mine").unwrap();
    fs::create_dir_all(store.dir().join("objects/zz")).unwrap();
    fs::write(store.dir().join("objects/zz/notes.txt"), "mine").unwrap();
    let report = store.verify().unwrap();
    let mut what: Vec<_> = report.bad.iter().map(|b| b.what).collect();
    what.sort_unstable();
    assert_eq!(what, ["object", "record", "stray"], "{report:?}");
    assert!(report.bad.iter().any(|b| b.what == "record" && b.name == key.to_string()));
    store.repair().unwrap();
    assert_eq!(store.stats().unwrap().quarantined, 1);
    assert!(store.record(&key).unwrap().is_some(), "the record is sound, only its object is gone");
    assert!(store.dir().join("objects/zz/notes.txt").exists(), "files of others are left alone");
}
