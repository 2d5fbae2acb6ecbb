//! What a connection tells its recorder: plain data, without a format.

use study_units::SimDuration;

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vantage {
    /// The sender of the responses: congestion control and loss recovery are here.
    Server,
    /// The receiver of the responses.
    Client,
}

impl Vantage {
    /// `server` or `client`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The draft's `PacketType`, as far as packets occur here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    Initial,
    Handshake,
    ZeroRtt,
    OneRtt,
}

/// A frame other than an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of the TLS handshake.
    Crypto { offset: u64, length: u64 },
    /// Bytes of a request or response.
    Stream { stream: u32, offset: u64, length: u64, fin: bool },
    /// Limit of all streams in bytes.
    MaxData { maximum: u64 },
    /// Limit of a stream in bytes.
    MaxStreamData { stream: u32, maximum: u64 },
    /// A probe.
    Ping,
}

/// A packet and its content.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    pub kind: PacketKind,
    /// None for packets that the model does not number (see the table in [`qlog`](crate::qlog)).
    pub number: Option<u64>,
    /// With the IP header.
    pub bytes: u32,
    /// The bytes that count as in flight; none where nothing does.
    pub payload: Option<u32>,
    pub frames: &'a [Frame],
    /// Inclusive ranges of the other side's packet numbers.
    pub acked: &'a [(u64, u64)],
    /// How long the acknowledgement was held.
    pub ack_delay: Option<SimDuration>,
}

/// Why a packet was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossTrigger {
    /// Enough later ones are acknowledged.
    Reordering,
    /// A later one is acknowledged, and it is late.
    Time,
    /// A retransmission timeout.
    Timeout,
}

/// Values of a moment; in an event the ones that have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    pub min_rtt: Option<SimDuration>,
    pub smoothed_rtt: Option<SimDuration>,
    pub latest_rtt: Option<SimDuration>,
    pub rtt_variance: Option<SimDuration>,
    pub pto_count: Option<u64>,
    /// Bytes.
    pub congestion_window: Option<u64>,
    /// Bytes.
    pub bytes_in_flight: Option<u64>,
    /// Bytes; none while it is unknown.
    pub ssthresh: Option<u64>,
    pub packets_in_flight: Option<u64>,
    /// Bits per second; none where the controller names no rate.
    pub pacing_rate: Option<u64>,
}

impl Metrics {
    /// What differs from `before`.
    pub fn changed_since(&self, before: &Self) -> Self {
        fn new<T: PartialEq>(now: Option<T>, before: Option<T>) -> Option<T> {
            if now == before { None } else { now }
        }
        Self {
            min_rtt: new(self.min_rtt, before.min_rtt),
            smoothed_rtt: new(self.smoothed_rtt, before.smoothed_rtt),
            latest_rtt: new(self.latest_rtt, before.latest_rtt),
            rtt_variance: new(self.rtt_variance, before.rtt_variance),
            pto_count: new(self.pto_count, before.pto_count),
            congestion_window: new(self.congestion_window, before.congestion_window),
            bytes_in_flight: new(self.bytes_in_flight, before.bytes_in_flight),
            ssthresh: new(self.ssthresh, before.ssthresh),
            packets_in_flight: new(self.packets_in_flight, before.packets_in_flight),
            pacing_rate: new(self.pacing_rate, before.pacing_rate),
        }
    }
}

/// What the loss timer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerKind {
    /// Packets to become late.
    Ack,
    /// An answer to come at all.
    Pto,
}

/// What happened to the loss timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerChange {
    Set(SimDuration),
    Expired,
    Cancelled,
}

/// Initial parameters of recovery and congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    pub reordering_threshold: u64,
    /// As a multiple of the round-trip time, in eighths; none where the wait is not a multiple (RACK).
    pub time_threshold_eighths: Option<u64>,
    pub initial_timeout: SimDuration,
    /// Bytes.
    pub packet_payload: u64,
    /// Bytes.
    pub initial_window: u64,
    pub congestion_control: &'static str,
}

/// Something that happened on a connection.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The connection begins.
    Started { tcp: bool, id: &'a str },
    /// It reached this state.
    State(&'static str),
    /// What recovery works with.
    Parameters(Parameters),
    /// A packet left.
    Sent(Packet<'a>),
    /// A packet arrived.
    Received(Packet<'a>),
    /// A packet was given up.
    Lost { kind: PacketKind, number: u64, trigger: LossTrigger },
    /// Packets that a timeout gave up are in flight again: the timeout was false.
    Restored(&'a [u64]),
    /// Packets in flight that carry nothing new any more are no longer waited for.
    Settled(&'a [u64]),
    /// Values that have changed.
    Metrics(Metrics),
    /// The congestion controller changed its ways.
    Congestion { old: Option<&'static str>, new: &'static str, persistent: bool },
    /// The loss timer.
    Timer { kind: TimerKind, change: TimerChange },
    /// A stream reached this state.
    Stream { stream: u32, new: &'static str },
    /// The connection is over.
    Closed { gave_up: bool },
    /// The log is full: what follows is missing.
    Cut { cap: u64, missing: u64 },
}
