//! Full disks and read-only stores.

use super::{files_below, fresh, put_action, record_of};
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use study_store::{FaultPoint, Store, StoreError};

#[test]
fn a_disk_that_fills_up_anywhere_loses_nothing_and_leaves_nothing() {
    let (_dir, good) = fresh();
    let (kept, record) = put_action(&good, "kept", b"kept");
    for point in [FaultPoint::BeforeTemp, FaultPoint::MidWrite, FaultPoint::BeforeRename, FaultPoint::BeforeRecord] {
        for nth in 0..2 {
            let left = AtomicU32::new(nth);
            let store = Store::open(good.dir()).unwrap().with_fault_hook(Arc::new(move |at| {
                let full = at == point
                    && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
                if full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
            }));
            let content = format!("{point:?} {nth}");
            let written = store
                .put_object(content.as_bytes())
                .and_then(|object| store.put_record(&object, &record_of(json!({}), object, content.len() as u64)));
            if point != FaultPoint::BeforeRecord || nth == 0 {
                let error = written.unwrap_err();
                assert!(matches!(error, StoreError::Full { .. }) && error.stops_writing(), "{error}");
                assert!(error.to_string().contains("no space left") && error.help().unwrap().contains("cache gc"));
            }
            assert!(files_below(&store.dir().join("tmp")).is_empty(), "{point:?}: the temporary file is gone");
        }
    }
    assert_eq!(good.record(&kept).unwrap().unwrap(), record);
    assert!(good.verify().unwrap().bad.is_empty());
}

/// A small file system in memory; unmounted when dropped.
struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self { dir }),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                println!("skipped: no file system can be mounted here ({why})");
                None
            }
            Err(error) => {
                println!("skipped: no `mount` here ({error})");
                None
            }
        }
    }
    fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }
    fn remount_read_only(&self) {
        let done = Command::new("mount").args(["-o", "remount,ro"]).arg(self.dir.path()).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).status();
    }
}

fn fill(store: &Store) -> (u32, StoreError) {
    for i in 0..10_000u32 {
        if let Err(error) = store.put_object(&i.to_le_bytes().repeat(2500)) {
            return (i, error);
        }
    }
    panic!("the disk did not fill up");
}

#[test]
fn a_really_full_disk_is_reported_as_such_and_what_was_there_stays() {
    let Some(disk) = SmallDisk::new("512k") else { return };
    let store = Store::open(&disk.path()).unwrap();
    let (key, record) = put_action(&store, "kept", b"kept");
    let (stored, error) = fill(&store);
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(files_below(&store.dir().join("tmp")).is_empty());
    assert_eq!(store.record(&key).unwrap().unwrap(), record);
    assert_eq!(store.stats().unwrap().objects, u64::from(stored) + 1);
    assert!(store.verify().unwrap().bad.is_empty());
    let freed = store.gc(&study_store::GcOptions::default()).unwrap();
    assert_eq!(freed.removed["unreferenced"].items, u64::from(stored));
    put_action(&store, "again", &[1; 10_000]);
}

#[test]
fn a_read_only_store_can_be_read_and_says_that_it_cannot_be_written() {
    let Some(disk) = SmallDisk::new("4m") else { return };
    let store = Store::open(&disk.path()).unwrap();
    let (key, record) = put_action(&store, "kept", b"kept");
    drop(store);
    disk.remount_read_only();
    let store = Store::open(&disk.path()).unwrap();
    let _lease = store.lease().unwrap();
    assert_eq!(store.record(&key).unwrap().unwrap(), record);
    store.touch(&key, &store.record_head(&key).unwrap().unwrap());
    assert_eq!(store.get_object(&record.outputs[0].object).unwrap(), b"kept");
    for error in [
        store.put_object(b"new").unwrap_err(),
        store.put_record(&key, &record).unwrap_err(),
        store.claim(&key).unwrap_err(),
        Store::open(&disk.dir.path().join("other")).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("cannot be written") && error.help().unwrap().contains("--store"));
    }
}
