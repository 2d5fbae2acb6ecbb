//! Second processes: this test program started again, doing one thing.

use super::{put_action, record_of};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use study_ident::canonical_digest;
use study_store::{FaultPoint, Store};

const TASK: &str = "STUDY_STORE_TEST_TASK";
const STORE: &str = "STUDY_STORE_TEST_DIR";

/// Starts this program again for one task.
pub fn start(task: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::entry", "--nocapture"])
        .env(TASK, task)
        .env(STORE, store)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a second process does; a test that does nothing when nobody asked for it.
#[test]
fn entry() {
    let (Ok(task), Ok(dir)) = (std::env::var(TASK), std::env::var(STORE)) else { return };
    let store = Store::open(Path::new(&dir)).unwrap();
    match task.split_once(':') {
        Some(("die-at", point)) => die_at(store, point),
        Some(("hold", key)) => {
            let _lease = store.lease().unwrap();
            let _claim = store.claim(&key.parse().unwrap()).unwrap();
            store.put_object(b"of the other process").unwrap();
            std::fs::write(Path::new(&dir).with_extension("ready"), b"").unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        Some(("compute", n)) => compute(&store, Path::new(&dir), n.parse().unwrap()),
        _ => panic!("unknown task {task}"),
    }
}

/// Writes an action and is gone, without any clean-up, at the second time that it reaches the point.
fn die_at(store: Store, point: &str) {
    let (name, count) = point.split_once(',').unwrap();
    let (name, count) = (name.to_owned(), count.parse::<u32>().unwrap());
    let seen = AtomicU32::new(0);
    let store = store.with_fault_hook(Arc::new(move |at: FaultPoint| {
        if format!("{at:?}") == name && seen.fetch_add(1, Ordering::Relaxed) + 1 == count {
            std::process::abort();
        }
        Ok(())
    }));
    put_action(&store, "crash", &[7; 5000]);
}

/// Computes each of `n` keys if nobody else does, and notes each computation in a file beside the store.
fn compute(store: &Store, dir: &Path, n: u32) {
    for i in 0..n {
        let document = json!({ "n": i });
        let key = canonical_digest("action-key", &document);
        let _claim = store.claim(&key).unwrap();
        if store.record(&key).unwrap().is_some() {
            continue;
        }
        let mut log = std::fs::File::options().append(true).create(true).open(dir.with_extension("log")).unwrap();
        log.write_all(format!("{i}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        let content = format!("content {i}");
        let object = store.put_object(content.as_bytes()).unwrap();
        store.put_record(&key, &record_of(document, object, content.len() as u64)).unwrap();
    }
}
