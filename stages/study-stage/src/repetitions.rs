//! Samples that append: the repetitions of a measured node, each on record by itself.
//!
//! A kind whose result is measured says by [`StageKind::series`](crate::StageKind::series) how many repetitions are asked for and what each of
//! them depends on. The engine gives it those that are on record; the kind carries out the others, puts each on record as soon as it
//! is over, and makes its frames of all of them. So more repetitions run only what is missing, fewer use the first of them, and a
//! run that is killed goes on after the last that was finished.

use crate::StageError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The repetitions of a node, as its kind declares them.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Repetitions asked for, at least 1; their indices count from 0.
    pub repetitions: u64,
    /// The canonical parameters without their number: what a repetition depends on. What is left out must not change one.
    pub params: Value,
    /// Inputs of which a repetition reads some rows only, as (frame, column): those whose column holds its index. All other frames
    /// count whole.
    pub by_repetition: &'static [(&'static str, &'static str)],
}

/// The record of the repetitions of one node. Content is the kind's own.
pub trait Repetitions: Sync {
    /// What is on record of a repetition.
    ///
    /// # Errors
    /// There is no such repetition.
    fn get(&self, index: u64) -> Result<Option<Arc<[u8]>>, StageError>;
    /// Puts a repetition on record, before it returns. One that is on record stays as it is.
    ///
    /// # Errors
    /// There is no such repetition, or it cannot be written down.
    fn put(&self, index: u64, content: &[u8]) -> Result<(), StageError>;
}

/// Repetitions in memory: for kinds without a [`Series`], and for tests.
#[derive(Debug, Default)]
pub struct Unrecorded(Mutex<BTreeMap<u64, Arc<[u8]>>>);

impl Repetitions for Unrecorded {
    fn get(&self, index: u64) -> Result<Option<Arc<[u8]>>, StageError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&index).cloned())
    }
    fn put(&self, index: u64, content: &[u8]) -> Result<(), StageError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(index).or_insert_with(|| content.into());
        Ok(())
    }
}
