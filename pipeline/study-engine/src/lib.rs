//! Plans a study, runs what is not cached, and says why.
//!
//! ```text
//! for each node, in topological order:
//!   key document = kind, version, source, parameters, content of inputs and files, seed   (keys)
//!   key          = blake3 of its canonical encoding
//!   record of that key, with all its objects there?                                       (judge)
//!     yes: cached      no: execute, and say what differs from the last time               (reasons)
//! ```
//!
//! [`plan`], [`run()`] and [`why`] share one function (module `judge`) that takes this decision, so they cannot disagree. Inputs
//! enter a key by the logical digest of their content: a node that runs again and gives the same leaves everything
//! below it untouched (early cut-off). What is not in a key cannot change a result: stages are given neither paths nor
//! clocks, the seed only if they declare it, and the study only if they declare it.
//!
//! [`run()`] has one dispatcher, which owns all state and emits one ordered stream of [`RunEvent`]s. Nodes run on a pool of
//! `jobs` threads, and the parallel loops inside a stage use the same pool. At most `jobs` nodes are under way at once, no
//! thread of the pool ever waits for another node, and waiting for another process is done by the dispatcher.
//!
//! Nothing is recorded but whole, successful results, objects before records; so a run that is killed is continued by
//! the next one, without a flag.
//!
//! What is measured can be a series of repetitions, each with a record of its own (module `repetitions`): the node is made of those
//! on record, and only missing ones are carried out.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod dispatch;
mod error;
mod executor;
mod files;
mod graph;
mod judge;
mod keys;
mod options;
mod outputs;
mod plan;
mod reasons;
mod repetitions;
mod report;
mod run;
mod select;
mod tables;

pub use error::{EngineError, FileProblem, NodeError};
pub use files::FileSource;
pub use options::RunOptions;
pub use outputs::{load_file, load_frame};
pub use plan::{plan, why};
pub use reasons::differences;
pub use report::{NodeReport, Reason, RepetitionCount, RunEvent, RunReport, State, Why};
pub use run::run;
