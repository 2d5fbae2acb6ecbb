//! Why there is no trial.

use serde::{Deserialize, Serialize};
use study_shaper::{ShaperError, StepError};
use study_stacks::StackError;

/// Why there is no trial. Crosses the pipe between a worker and its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct TrialError {
    /// Whether this machine or its stacks lack something (exit code 3), not the study.
    pub environment: bool,
    /// What went wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl TrialError {
    /// Something failed that should not have.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { environment: false, message: message.into(), help: None }
    }
    /// This machine lacks something.
    pub fn environment(message: impl Into<String>, help: Option<String>) -> Self {
        Self { environment: true, message: message.into(), help }
    }
    /// With where it happened in front.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl From<StackError> for TrialError {
    fn from(error: StackError) -> Self {
        Self {
            environment: error.is_environment(),
            message: error.to_string(),
            help: error.cure().map(|cure| cure.to_string()),
        }
    }
}

impl From<StepError> for TrialError {
    fn from(error: StepError) -> Self {
        Self::environment(error.to_string(), error.cure().map(str::to_owned))
    }
}

impl From<ShaperError> for TrialError {
    fn from(error: ShaperError) -> Self {
        match error {
            ShaperError::Step(step) => step.into(),
            ShaperError::Rate { .. } => Self::environment(
                error.to_string(),
                Some("give the link a rate that this machine can carry (`study doctor` measures it), or use `mode: modeled`".to_owned()),
            ),
            ShaperError::Backend { .. } => {
                Self::environment(error.to_string(), Some("`study doctor` says what this machine can do; `mode: modeled` needs none of it".to_owned()))
            }
            ShaperError::Topology(_) | ShaperError::Unanswered { .. } => Self::failed(error.to_string()),
        }
    }
}
