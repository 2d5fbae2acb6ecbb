//! What a running stage is given besides its parameters and inputs.

use crate::Repetitions;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use study_ident::SeedPath;

/// What a report may say about the study itself. Comments, order of keys and paths are not in it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StudyInfo {
    /// `study:`.
    pub name: String,
    /// `title:`, or the name.
    pub title: String,
    /// `seed:`.
    pub seed: u64,
    /// `full`, or the variant that was asked for (`ci`).
    pub variant: String,
    /// Canonical parameters of every node, by node id, with `kind`; what the report prints as the exact configuration.
    pub nodes: Value,
}

/// Given to [`StageKind::run`](crate::StageKind::run).
pub struct StageCx<'a> {
    /// Root of the study's random streams; equal for all stages, so that streams pair across cells and arms by name.
    pub seed: SeedPath,
    /// The study (empty unless the kind `SEES_STUDY`).
    pub study: &'a StudyInfo,
    /// Id of the node, e.g. `transport[scheduler=sequential]`; for logs only, never for results.
    pub node: &'a str,
    /// Content of the files asked for, by slot.
    pub files: &'a [Arc<[u8]>],
    /// Set when the run is interrupted.
    pub cancel: &'a AtomicBool,
    /// Called with (done, total) units of work.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Repetitions on record, for kinds with a [`Series`](crate::Series).
    pub repetitions: &'a dyn Repetitions,
}

/// The run was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl StageCx<'_> {
    /// Call between units of work.
    ///
    /// # Errors
    /// [`Cancelled`] when the run is interrupted.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        if self.cancel.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

/// Why a stage gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageError {
    /// The run was interrupted.
    Cancelled,
    /// This machine lacks something that the study asks for.
    Environment {
        /// What: lower case, values in backticks.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// It cannot be done with these inputs.
    Failed {
        /// What went wrong: lower case, values in backticks.
        message: String,
        /// What to do.
        help: Option<String>,
    },
}

impl StageError {
    /// A failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), help: None }
    }
    /// A failure with what to do about it.
    pub fn failed_with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), help: Some(help.into()) }
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("interrupted"),
            Self::Environment { message, .. } | Self::Failed { message, .. } => f.write_str(message),
        }
    }
}
impl std::error::Error for StageError {}

impl From<Cancelled> for StageError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
impl From<study_table::TableError> for StageError {
    fn from(error: study_table::TableError) -> Self {
        Self::failed(error.to_string())
    }
}
