//! The link model applied to real packets: namespaces, devices and a relay between them.
//!
//! Purpose: the link that a study file describes, for real stacks. The model is [`study_link`], the same that the simulator
//! asks; this crate brings the packets to it. It works without root and without a container on an ordinary Linux machine.
//!
//! ```text
//!   namespace `client`          relay thread (one per link)            namespace `origin`
//!   application - stack - link0 == port - Direction (up) --> port == link0 - stack - application
//!                               == port <- (down) Direction - port ==
//! ```
//!
//! How a trial uses it:
//!
//! 1. `main` begins with [`early_main`]: a probe or a worker is the same program, executed again.
//! 2. [`probe_all`] tries the [`Backend`]s, [`choose`] takes the first that works; with a `userns-*` backend the rest happens in
//!    a worker ([`worker_command`]).
//! 3. [`Rig::build`] makes nodes and links from a [`Topology`] and sees a packet cross each link.
//! 4. [`Link::start`], [`calibrate`], [`Link::reset_indices`]: the next packet of each direction has index 0.
//! 5. Threads of the trial call [`Rig::enter`] and then build their runtimes and sockets; [`TimingWatch`] looks on.
//! 6. [`Link::record`] says what the link did, [`TimingWatch::end`] how good the timing was.
//!
//! Nothing has a name outside of the process: when it ends, by whatever way, nothing is left.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a cable | two interfaces and a relay thread | a round trip takes about 0.1 to 0.2 ms more (calibrated before each trial) |
//! | a link takes any packet | IPv4 only; others are counted and dropped before they get an index | none for studies over IPv4 |
//! | packets of both stacks on the wire | offloads off, MTU 1500: what the relay sees is what a wire would | no statement about offload or processor cost |
//!
//! Random streams: `up` and `down` under each link's seed path, as in the simulator.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod backend;
pub mod calibration;
pub mod child;
pub mod clock;
pub mod counters;
pub mod doctor;
pub mod error;
pub mod histogram;
pub mod leftovers;
pub mod machine;
pub mod namespace;
pub mod netlink;
mod phase;
mod port;
mod readiness;
pub mod record;
mod relay;
pub mod rig;
pub mod schedstat;
pub mod selftest;
mod sys;
pub mod sysctl;
pub mod timing;
pub mod topology;

pub use backend::Backend;
pub use calibration::{Calibration, CalibrationOptions, MeasuredRate, RoundTrips, calibrate};
pub use child::{
    Children, Early, Outcome, Probe, choose, early_main, end_with_parent, plain_worker_command, probe, probe_all,
    worker_command,
};
pub use counters::Counters;
pub use doctor::{BackendReport, Diagnosis};
pub use error::{ShaperError, Step, StepError};
pub use histogram::{Histogram, Summary};
pub use leftovers::{Fate, Leftover, Search};
pub use machine::Machine;
pub use namespace::Namespace;
pub use record::{DirectionRecord, LinkRecord, LossBits, Losses, RealisedLoss};
pub use rig::{ACCURATE_RATE, BEST_EFFORT_RATE, Link, Rig, RigOptions};
pub use schedstat::{ThreadUse, ThreadWatch};
pub use selftest::{CarriedRate, SelfTest, Verdict};
pub use timing::{Canary, Quality, Signal, SignalKind, Timing, TimingWatch};
pub use topology::{End, LinkSpec, Topology};
