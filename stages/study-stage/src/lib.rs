//! The contract between the engine and the stage kinds.
//!
//! A stage is a pure function of its parameters, the content of its inputs, the study's seed and its own code. The
//! engine sees [`Kind`] only; kinds implement [`StageKind`] with their own typed parameters.

mod context;
mod kind;
mod ports;
mod repetitions;

pub use context::{Cancelled, StageCx, StageError, StudyInfo};
pub use kind::{Determinism, Kind, Params, Registry, Section, StageKind};
pub use ports::{InputPart, Inputs, Outputs};
pub use repetitions::{Repetitions, Series, Unrecorded};
