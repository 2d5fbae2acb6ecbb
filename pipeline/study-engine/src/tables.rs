//! Decoded frames shared between the nodes of a run.

use crate::outputs::load_frame;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use study_store::{OutputRecord, Store, StoreError};
use study_table::Table;

/// Frames are kept for later consumers up to about this many bytes; beyond it they are read again.
const KEPT_BYTES: u64 = 512 << 20;

/// One frame; locked while it is read, so that two consumers do not both read it.
type Slot = Arc<Mutex<Option<Arc<Table>>>>;

#[derive(Default)]
struct Kept {
    slots: BTreeMap<usize, BTreeMap<String, Slot>>,
    /// Consumers of each node that have not finished yet.
    consumers: Vec<usize>,
    bytes: u64,
    bytes_of: BTreeMap<usize, u64>,
}

impl Kept {
    /// Whether a frame of `giver` is worth keeping, and if so notes its size.
    fn admit(&mut self, giver: usize, bytes: u64) -> bool {
        let admitted = self.consumers[giver] > 0 && self.bytes + bytes <= KEPT_BYTES;
        if admitted {
            self.bytes += bytes;
            *self.bytes_of.entry(giver).or_default() += bytes;
        }
        admitted
    }
}

/// The frames that nodes under way, or still to come, read.
pub(crate) struct Tables(Mutex<Kept>);

impl Tables {
    /// `consumers` says how many nodes read from each node.
    pub fn new(consumers: Vec<usize>) -> Self {
        Self(Mutex::new(Kept { consumers, ..Kept::default() }))
    }

    /// A frame that `giver` made, from memory or from the store.
    pub fn get(&self, store: &Store, giver: usize, output: &OutputRecord) -> Result<Arc<Table>, StoreError> {
        let slot = self.slot(giver, &output.name);
        // Reading uses no other thread of the pool, so whoever waits here waits for reading only.
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = &*held {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(load_frame(store, output)?);
        if self.kept().admit(giver, output.bytes) {
            *held = Some(Arc::clone(&table));
        }
        Ok(table)
    }

    /// Keeps a frame that has just been made, if somebody will read it.
    pub fn offer(&self, giver: usize, output: &OutputRecord, table: Table) {
        if self.kept().admit(giver, output.bytes) {
            let slot = self.slot(giver, &output.name);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(table));
        }
    }

    /// One consumer of `giver` needs it no more.
    pub fn consumer_done(&self, giver: usize) {
        let mut kept = self.kept();
        kept.consumers[giver] = kept.consumers[giver].saturating_sub(1);
        if kept.consumers[giver] == 0 {
            kept.slots.remove(&giver);
            kept.bytes -= kept.bytes_of.remove(&giver).unwrap_or(0);
        }
    }

    fn slot(&self, giver: usize, frame: &str) -> Slot {
        let mut kept = self.kept();
        let frames = kept.slots.entry(giver).or_default();
        match frames.get(frame) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(frames.entry(frame.to_owned()).or_default()),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
