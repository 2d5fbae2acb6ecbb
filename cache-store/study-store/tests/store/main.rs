//! The store as its users see it, one file per promise.
#![allow(clippy::unwrap_used)]

mod child;
mod concurrency;
mod crash;
mod disk;
mod gc;
mod objects;
mod opening;
mod records;

use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use study_ident::{Digest, canonical_digest};
use study_store::{OutputRecord, Record, Store};

/// A store in a fresh folder; the folder goes with the first value.
fn fresh() -> (tempfile::TempDir, Store) {
    // In memory, where the system has that: each of many small files is synced to disk.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    (dir, store)
}

/// Stores `content` and a record that names it, under the key of a small document.
fn put_action(store: &Store, name: &str, content: &[u8]) -> (Digest, Record) {
    let key_document = json!({ "name": name });
    let key = canonical_digest("action-key", &key_document);
    let object = store.put_object(content).unwrap();
    let record = record_of(key_document, object, content.len() as u64);
    store.put_record(&key, &record).unwrap();
    (key, record)
}

fn record_of(key_document: serde_json::Value, object: Digest, bytes: u64) -> Record {
    Record {
        key_document,
        kind: "fake".to_owned(),
        outputs: vec![OutputRecord {
            name: "frame".to_owned(),
            frame: true,
            logical: object,
            object,
            bytes,
            rows: Some(1),
        }],
        files: Vec::new(),
        seconds: 0.25,
        counters: BTreeMap::from([("events".to_owned(), 7)]),
    }
}

/// Where an object lies.
fn object_path(store: &Store, digest: &Digest) -> PathBuf {
    let hex = digest.to_string();
    store.dir().join("objects").join(&hex[..2]).join(hex)
}

/// All files below a folder, sorted, without lock files.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if !entry.file_name().to_string_lossy().ends_with("lock") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Overwrites a file whatever its mode, and puts its time of change back.
fn tamper(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    use std::os::unix::fs::PermissionsExt as _;
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(path, bytes).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
}
