//! Repetitions on record: each is one record with one object, written as soon as the repetition is over and never replaced.

use crate::RepetitionCount;
use crate::keys::RepetitionKeys;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use study_ident::Digest;
use study_stage::{Repetitions, StageError};
use study_store::{ObjectState, OutputRecord, Record, RecordHead, Store, StoreError};

/// Name of the one output of such a record.
const OUTPUT: &str = "repetition";

/// The head of a repetition's record, if it is on record and whole.
fn head_of(store: &Store, key: &Digest) -> Option<RecordHead> {
    let head = store.record_head(key).ok()??;
    let [output] = &head.outputs[..] else { return None };
    (store.object_state(&output.object, output.bytes) == ObjectState::Present).then_some(head)
}

/// How many of those asked for are on record, and what they took, in seconds. Changes nothing.
pub(crate) fn count(store: Option<&Store>, keys: &RepetitionKeys) -> (RepetitionCount, f64) {
    let heads = |index| head_of(store?, &keys.of(index)?.0);
    let (on_record, seconds) =
        (0..keys.repetitions).filter_map(heads).fold((0, 0.0), |(n, seconds), head| (n + 1, seconds + head.seconds));
    (RepetitionCount { asked: keys.repetitions, on_record, ran: None }, seconds)
}

/// Notes that they were used, so that garbage collection does not take them for forgotten while their node is in use.
pub(crate) fn touch(store: &Store, keys: &RepetitionKeys) {
    for key in (0..keys.repetitions).filter_map(|index| Some(keys.of(index)?.0)) {
        if let Ok(Some(head)) = store.record_head(&key) {
            store.touch(&key, &head);
        }
    }
}

/// The record of one node's repetitions while the node runs.
pub(crate) struct Recorder<'a> {
    store: &'a Store,
    kind: &'a str,
    keys: RepetitionKeys,
    state: Mutex<Held>,
    on_record: u64,
    ran: AtomicU64,
}

struct Held {
    contents: BTreeMap<u64, Arc<[u8]>>,
    /// Of all that are in the result.
    seconds: f64,
    /// When the last one was over.
    since: Instant,
    /// Why one could not be written down.
    failure: Option<StoreError>,
}

impl<'a> Recorder<'a> {
    /// Reads what is on record. What is lost or corrupt counts as missing.
    pub fn open(store: &'a Store, kind: &'a str, keys: RepetitionKeys) -> Self {
        let mut state = Held { contents: BTreeMap::new(), seconds: 0.0, since: Instant::now(), failure: None };
        for index in 0..keys.repetitions {
            let Some((key, _)) = keys.of(index) else { continue };
            let Some(head) = head_of(store, &key) else { continue };
            if let Ok(content) = store.get_object(&head.outputs[0].object) {
                store.touch(&key, &head);
                state.seconds += head.seconds;
                state.contents.insert(index, content.into());
            }
        }
        state.since = Instant::now();
        let on_record = state.contents.len() as u64;
        Self { store, kind, keys, state: Mutex::new(state), on_record, ran: AtomicU64::new(0) }
    }

    /// What there is now, with the seconds that all of it took.
    pub fn counted(&self) -> (RepetitionCount, f64) {
        let ran = Some(self.ran.load(Ordering::Relaxed));
        (RepetitionCount { asked: self.keys.repetitions, on_record: self.on_record, ran }, self.state().seconds)
    }

    /// The first that is not on record.
    pub fn missing(&self) -> Option<u64> {
        let state = self.state();
        (0..self.keys.repetitions).find(|index| !state.contents.contains_key(index))
    }

    /// Why one could not be written down.
    pub fn failure(&self) -> Option<StoreError> {
        self.state().failure.take()
    }

    fn state(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, index: u64) -> Result<(Digest, serde_json::Value), StageError> {
        let known = (index < self.keys.repetitions).then(|| self.keys.of(index)).flatten();
        known.ok_or_else(|| StageError::failed(format!("there is no repetition {index}")))
    }

    fn write(&self, key: &Digest, document: serde_json::Value, content: &[u8], seconds: f64) -> Result<(), StoreError> {
        let object = self.store.put_object(content)?;
        let bytes = content.len() as u64;
        let output = OutputRecord { name: OUTPUT.to_owned(), frame: false, logical: object, object, bytes, rows: None };
        let record = Record {
            key_document: document,
            kind: self.kind.to_owned(),
            outputs: vec![output],
            files: Vec::new(),
            seconds,
            counters: BTreeMap::new(),
        };
        self.store.put_record(key, &record)
    }
}

impl Repetitions for Recorder<'_> {
    fn get(&self, index: u64) -> Result<Option<Arc<[u8]>>, StageError> {
        self.key(index)?;
        Ok(self.state().contents.get(&index).cloned())
    }

    fn put(&self, index: u64, content: &[u8]) -> Result<(), StageError> {
        let (key, document) = self.key(index)?;
        // Held while it is written: the time between two is that of the later one.
        let mut state = self.state();
        if state.contents.contains_key(&index) {
            return Ok(());
        }
        let seconds = state.since.elapsed().as_secs_f64();
        if let Err(error) = self.write(&key, document, content, seconds) {
            let message = error.to_string();
            state.failure.get_or_insert(error);
            return Err(StageError::failed(message));
        }
        state.contents.insert(index, content.into());
        state.seconds += seconds;
        state.since = Instant::now();
        self.ran.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
