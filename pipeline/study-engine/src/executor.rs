//! Doing the work of one node.
//!
//! An executor is handed [`Work`] and gives an [`Outcome`]; what counts is the record in the store, so that one on another
//! machine needs the same document and the same store, and nothing else.

mod in_process;

pub(crate) use in_process::{Surroundings, execute};

use crate::files::LoadedFile;
use crate::{NodeError, Reason, RepetitionCount};
use serde_json::Value;
use std::collections::BTreeMap;
use study_ident::Digest;
use study_store::{Claim, OutputRecord, StoreError};

/// One node to run.
pub(crate) struct Work {
    /// Its position in the plan.
    pub node: usize,
    /// Its key.
    pub key: Digest,
    /// Its key document.
    pub document: Value,
    /// What it reads: by frame, in the order of its bindings.
    pub inputs: BTreeMap<String, Vec<OutputRecord>>,
    /// Its files.
    pub files: Vec<LoadedFile>,
    /// Keeps other processes from doing the same work; released when the record is written, or the work given up.
    pub claim: Claim,
}

/// What came of it.
pub(crate) enum Outcome {
    /// The result is on record.
    Recorded {
        /// What it made.
        outputs: Vec<OutputRecord>,
        /// Wall time in seconds.
        seconds: f64,
        /// Counters of the work.
        counters: BTreeMap<String, u64>,
        /// Of a node that appends them: its repetitions.
        repetitions: Option<RepetitionCount>,
        /// There was a record under the same key with other content: the node is not deterministic.
        differs: bool,
    },
    /// It was interrupted.
    Cancelled,
    /// It gave no result.
    Failed(NodeError),
    /// The store failed.
    StoreFailed(StoreError),
    /// An object that it reads is corrupt or missing: its giver must run again.
    InputLost {
        /// Position of the giver in the plan.
        giver: usize,
        /// Why the giver runs again.
        reason: Reason,
    },
}
