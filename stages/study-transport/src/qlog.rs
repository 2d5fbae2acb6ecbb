//! qlog of a connection: what the sender and the receiver saw, for the tools that draw it (qvis).
//!
//! Purpose: a log per side in the format that qvis opens: JSON text sequences (RFC 7464, `.sqlog`) of `qlog_version` 0.3
//! (draft-ietf-quic-qlog-main-schema-03 and -quic-events-03). Its loader of JSON-SEQ takes a version from the list `draft-02`,
//! `draft-02-RC1`, `qlog-03-WIP`, `0.3` and nothing else, so the later drafts' 0.4 would not open
//! (github.com/quiclog/qvis, `QlogSchema02.ts`, `QlogLoaderV2.ts`, `textsequencejsontoqlog.ts`). TCP uses the same schema.
//!
//! A recorder is asked for when a connection is opened ([`Connection::open_recorded`](crate::Connection::open_recorded)); a
//! connection without one pays a test of a pointer for each packet. Times are milliseconds after the connection's start,
//! exact to the nanosecond; `reference_time` is when that was on the simulation's clock, so that logs of one run align. A log never grows beyond [`Recording::cap`]; one that would ends with an event that says so.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the draft knows QUIC | TCP in the same schema: transmissions are numbered as packets, SYN and TLS are of type `handshake`, all else `1RTT` | both plot alike; no sequence numbers |
//! | HTTP/2 numbers streams 1, 3, 5 | request `n` is stream `4 n` under every protocol (RFC 9000 section 2.1) | qvis, which knows only multiples of 4 as requests, draws them |
//! | three packet number spaces | one, as in the model | none in the tools |
//! | QUIC numbers all packets | the server's packets that only acknowledge have no number (it is optional in the draft); the client's have | they cannot be told apart |
//! | an ACK frame repeats ranges until they are settled | the server's view lists what is acknowledged for the first time, the client's what is not known to have arrived | smaller logs |
//! | `raw.length` of a QUIC packet | with IP and UDP (or TCP) headers; `payload_length` is what counts as in flight | sizes are those on the link |
//! | `loss_timer_updated` at every change | when the timer is armed, changes its kind, expires or is cancelled; not when it is only moved | smaller logs |
//! | metrics at every change | once per step of the simulation, those that have changed | none |
//! | no event for false losses | own event `recovery:packets_restored`: packets that a false timeout had given up are in flight again | - |
//! | a duplicate in flight stays there until it is acknowledged or lost | `transport:packets_acked` with trigger `content_acknowledged`: its content is acknowledged, so the model waits no longer | - |
//! | `initial_rtt` | own field `initial_timeout` | - |
//!
//! Random streams consumed: none.

mod event;
mod json;
mod recorder;

pub(crate) use event::{Event, Frame, LossTrigger, Metrics, Packet, PacketKind, Parameters, TimerKind};
pub(crate) use recorder::{Carried, Recorder, ranges};

pub use event::Vantage;

/// What is to be recorded, and what the log says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Title of the log, for people.
    pub title: String,
    /// Identity of the connection, 8 bytes; in the log as `ODCID`, the last byte raised by the number of the connection where a
    /// client has several.
    pub id: [u8; 8],
    /// Bytes of a log at most. Below 1 KiB the header and the last event alone may be longer; both are always written.
    pub cap: u64,
}

/// A log that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Which of the client's connections, from 0.
    pub connection: usize,
    /// Whose view.
    pub vantage: Vantage,
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Whether events are missing because the log was full.
    pub cut: bool,
}
