//! Emulated trials: the twin of the simulator with real stacks on real packets.
//!
//! Purpose: the same run of a study - viewers, titles, tickets, edges, caches, links and their losses - with HTTP/2 by hyper over
//! the kernel's TCP and HTTP/3 by quinn, over links that `study-shaper` carries by the model of `study-link`. Times are measured;
//! losses of a link are a function of the study's seed, as in the simulator.
//!
//! A *block* is the arms of one run in random order. A *trial* is one arm of it on a fresh network with empty caches. Each trial
//! carries its own validity record: what was asked of stacks and links beside what they did, and how good the timing was.
//!
//! | simulator | here | effect |
//! |---|---|---|
//! | an edge has a pool of connections to the origin | one multiplexed connection | misses at once share it |
//! | each connection to the origin has a link of its own | edges have one link each | the same |
//! | cache outcomes of a replay are those of the schedule | real caches decide | a hit may be a miss where viewers arrive almost together |
//! | a viewer whose transfer fails waits for ever | the session ends, the transfer is a row without a time | |
//!
//! Random streams: those of the links (`viewer/<c>`, `edge/<name>/origin/0`), and `order/<attempt>` under each run.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod block;
mod error;
mod evidence;
mod job;
mod network;
mod params;
mod record;
mod roles;
mod schedule;
mod trial;
pub mod validity;
mod viewer;
mod worker;

pub use error::TrialError;
pub use job::{Arm, Edge, Job, Planned, Run, TitleSizes, Viewer};
pub use params::{BackendChoice, EmulationParams, Pacing};
pub use record::{BlockRecord, EdgeTotals, SessionRecord, TransferRecord, TrialRecord};
pub use schedule::blocks_at_once;
pub use study_shaper::Backend;
pub use worker::{find_backend, run_job, this_program, worker_main};
