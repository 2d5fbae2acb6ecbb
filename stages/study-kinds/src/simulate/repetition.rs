//! What is on record of one run of an emulated simulation: its block as it was measured. Frames are made of it.

use serde::{Deserialize, Serialize};
use study_stage::{StageCx, StageError};
use study_trial::{Backend, BlockRecord};

/// One run.
#[derive(Serialize, Deserialize)]
pub struct Repetition {
    /// Trials that warmed the machine up before the first block of the worker that carried it out.
    pub warm_ups: usize,
    /// The block; `run` is the number of the run.
    pub block: BlockRecord,
}

impl Repetition {
    /// What is on record of a run.
    pub fn recorded(cx: &StageCx<'_>, run: u64) -> Result<Option<Self>, StageError> {
        let unreadable = |error| StageError::failed(format!("what is on record of run {run}: {error}"));
        cx.repetitions.get(run)?.map(|content| serde_json::from_slice(&content).map_err(unreadable)).transpose()
    }

    /// Puts it on record.
    pub fn record(&self, cx: &StageCx<'_>, run: u64) -> Result<(), StageError> {
        let content = serde_json::to_vec(self).map_err(|error| StageError::failed(format!("run {run}: {error}")))?;
        cx.repetitions.put(run, &content)
    }

    /// What carried its links.
    pub fn backend(&self) -> Option<Backend> {
        self.block.trials.first().map(|trial| trial.backend)
    }
}
