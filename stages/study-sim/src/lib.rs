//! Simulation of a CDN's viewers: every viewer a connection with every packet, on caches that all viewers of a run share.
//!
//! A *trial* is one arm of one run. Viewers are simulated one by one as far as they do not touch each other, which is
//! until a request reaches an edge; there they are put in the order of time, so that a cache never knows an object that
//! arrives later. A miss pays the origin's path on a connection of its own, byte by byte (cut-through): the viewer's
//! response can only carry what has arrived at the edge.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | viewers behind one access link share it | each viewer has a link of its own | no competition between viewers |
//! | fetches of one edge share the origin's link | each has the link's full rate | only when several misses at once fill it |
//! | an edge reuses one multiplexed connection | a pool of persistent connections, one request at a time (as proxies with HTTP/1.1 upstreams do) | an early fetch may pay a handshake |
//!
//! Random streams, all under `run/<r>`: `viewer/<c>/{title, session, early_data, down/*, up/*}`, `edge/<name>/origin/<k>/{down, up}/*`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod edge;
mod network;
mod origin;
mod session;
mod shared;
mod trial;

pub use edge::{CacheOutcome, EdgeSpec};
pub use network::LinkPath;
pub use session::{SegmentResult, SessionResult};
pub use shared::{FlowLoad, FlowPackets, FlowResult, FlowSpec, SharedResult, SharedSpec, jain_index, run_shared};
pub use trial::{
    ArmSpec, Blend, Resumption, SessionPlan, TrialCounters, TrialLinks, TrialPlan, TrialResult, TrialSpec, Viewer,
    run_trial, session_of, title_of,
};
