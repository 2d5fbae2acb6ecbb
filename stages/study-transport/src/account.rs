//! Where the time of a response went: parts that add up, to the nanosecond, to the time from request to last byte.
//!
//! The path is walked back from the packet whose arrival brought the last missing bytes of the stream (the *completing
//! chunk*), over these instants, each no earlier than the one before:
//!
//! ```text
//! asked -> request left -> answered -> chunk first sent -> its arriving transmission sent -> arrived -> readable   [ns]
//! handshake   request      sending         recovery            queueing + propagation          hol
//! ```
//!
//! *Sending* is divided by what held the server back: the connection keeps one running total of time per cause, and a
//! stream takes differences. Time held by window or pacing is shared with the other streams by the bytes that were first sent
//! in between: `scheduling = held * others / all`. Propagation is the smallest one-way delay of a data packet seen so far.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a lost request is repaired | inside `request` | none on the sum |
//! | data that waits for its keys (QUIC early data) | inside `queueing` | none on the sum |
//! | what would have happened without the other streams | their share of the bytes | `scheduling` is an attribution, no counterfactual |
//!
//! Consumes no random numbers.

use study_units::{SimDuration, SimTime};

/// What holds the server back between two instants at which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The limit for an address that is not validated.
    Address,
    /// Window or pacing in slow start.
    SlowStart,
    /// Window or pacing after it.
    Avoidance,
    /// Windows and buffers of flow control.
    FlowControl,
    /// No data.
    Application,
}

/// Running totals at an instant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    at: SimTime,
    held: [u64; 5],
    bytes: u64,
}

/// The connection's running totals.
#[derive(Debug)]
pub struct Account {
    cause: Cause,
    totals: Totals,
    least_delay: SimDuration,
}

impl Account {
    pub fn new(now: SimTime) -> Self {
        let totals = Totals { at: now, ..Totals::default() };
        Self { cause: Cause::Application, totals, least_delay: SimDuration::from_nanos(u64::MAX) }
    }
    /// The totals up to now.
    #[inline]
    pub fn totals(&mut self, now: SimTime) -> Totals {
        self.totals.held[self.cause as usize] += now.since(self.totals.at).as_nanos();
        self.totals.at = now;
        self.totals
    }
    /// From now on this holds the server back.
    #[inline]
    pub fn held_by(&mut self, now: SimTime, cause: Cause) {
        self.totals(now);
        self.cause = cause;
    }
    /// A chunk is sent for the first time; the totals before it.
    #[inline]
    pub fn on_first_sent(&mut self, now: SimTime, size: u32) -> Totals {
        let before = self.totals(now);
        self.totals.bytes += u64::from(size);
        before
    }
    /// A data packet has arrived.
    #[inline]
    pub fn on_arrival(&mut self, delay: SimDuration) {
        self.least_delay = self.least_delay.min(delay);
    }
    /// Parts of a stream whose last missing bytes arrive now; `hol` is still to come.
    pub fn parts(
        &self,
        now: SimTime,
        asked: SimTime,
        way: &Milestones,
        before_in_stream: u64,
        first_sent: &Totals,
        sent: SimTime,
    ) -> Parts {
        let held = |cause: Cause| first_sent.held[cause as usize] - way.answered.held[cause as usize];
        let all = (first_sent.bytes - way.answered.bytes).max(1);
        // First transmissions of a stream are in order, so these bytes of it had left before the completing chunk.
        let others = all.saturating_sub(before_in_stream);
        let shared = |ns: u64| (u128::from(ns) * u128::from(others) / u128::from(all)) as u64;
        let (slow, avoid) = (held(Cause::SlowStart), held(Cause::Avoidance));
        let flight = now.since(sent).as_nanos();
        let propagation = flight.min(self.least_delay.as_nanos());
        Parts([
            way.left.since(asked).as_nanos() + held(Cause::Address),
            way.answered.at.since(way.left).as_nanos(),
            slow - shared(slow),
            avoid - shared(avoid),
            shared(slow) + shared(avoid),
            held(Cause::Application),
            held(Cause::FlowControl),
            sent.since(first_sent.at).as_nanos(),
            flight - propagation,
            propagation,
            0,
        ])
    }
}

/// Instants of a stream before its data is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Milestones {
    /// The request left.
    pub left: SimTime,
    /// The server began to answer.
    pub answered: Totals,
}

/// What is known of a response's time: one or the other, so that a connection's memory holds one for each stream.
#[derive(Debug, Clone, Copy)]
pub enum Spent {
    /// Its last bytes have not come.
    UnderWay(Milestones),
    /// All of it but the wait for holes of other streams.
    Known(Parts),
}

impl Spent {
    /// The instants, while they are needed.
    pub const fn under_way(&mut self) -> Option<&mut Milestones> {
        match self {
            Self::UnderWay(way) => Some(way),
            Self::Known(_) => None,
        }
    }
    /// The parts, once they are known.
    pub const fn parts(&self) -> Option<Parts> {
        match self {
            Self::UnderWay(_) => None,
            Self::Known(parts) => Some(*parts),
        }
    }
}

/// Time from request to last byte by what it was spent on; nanoseconds, in the order of [`Parts::NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts([u64; 11]);

impl Parts {
    /// The parts, in the order in which they happen.
    pub const NAMES: [&'static str; 11] = [
        "handshake",
        "request",
        "slow_start",
        "congestion_avoidance",
        "scheduling",
        "application",
        "flow_control",
        "recovery",
        "queueing",
        "propagation",
        "hol",
    ];
    /// Each part with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, SimDuration)> + '_ {
        Self::NAMES.into_iter().zip(self.0.iter().map(|ns| SimDuration::from_nanos(*ns)))
    }
    /// Their sum.
    #[must_use]
    pub fn sum(&self) -> SimDuration {
        SimDuration::from_nanos(self.0.iter().sum())
    }
    /// One part by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<SimDuration> {
        self.iter().find(|(n, _)| *n == name).map(|(_, time)| time)
    }
    /// The wait for holes of other streams is known.
    pub(crate) fn with_hol(mut self, hol: SimDuration) -> Self {
        self.0[10] = hol.as_nanos();
        self
    }
}
