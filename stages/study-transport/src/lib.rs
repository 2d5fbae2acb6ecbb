//! Transport protocols as packet-level state machines: TCP with TLS and HTTP/2, QUIC with HTTP/3.
//!
//! Purpose: one connection between a client and a server, every packet and every acknowledgement simulated, in
//! integer nanoseconds of virtual time. Both protocols run on the same code; what differs between them is written
//! down in [`RecoveryRules`] and [`WireFormat`], so that a difference in a result has a name.
//!
//! Time and packets are arguments: the network is a [`Path`], the application drives [`Connection::advance`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod account;
pub mod analytic;
mod client;
mod config;
pub mod congestion;
mod connection;
pub mod features;
mod flow;
mod lane;
mod pacing;
mod pool;
pub mod qlog;
mod receiver;
mod recovery;
mod rtt;
mod send_queue;
mod stats;

pub use account::Parts;
pub use config::{
    AckPolicy, ConnectionConfig, FlowRules, Framing, HandshakeRules, Limit, Priority, Profile, Protocol, RecoveryRules,
    Scheduler, SenderRules, SessionState, TailProbe, TlsVersion, TransportParams, WireFormat,
};
pub use congestion::CongestionControl;
pub use connection::{AppEvent, Connection, Fate, Flight, Heading, Path, StreamId};
pub use pool::Pool;
pub use rtt::RttEstimator;
pub use send_queue::Availability;
pub use stats::{ConnectionStats, RttHistogram, StreamReport};
