//! One direction of a link at run time.
//!
//! Purpose: the answer for each packet. Order: loss, queue, transmitter, base delay, jitter.
//!
//! Equations, all in integer nanoseconds. A packet of `w` bytes (overhead included) that comes at `now`, is not lost and
//! finds room, begins at `start = max(now, free_at)`; its last bit leaves at `finish`, the first instant by which the
//! rate has carried `8 w` bits since `start`; then `free_at = finish`. It arrives at
//! `max(finish + base + jitter(finish), previous arrival)`, without the maximum when reordering is allowed.
//!
//! Sources: D. V. Lindley, Proc. Cambridge Phil. Soc. 48 (1952), for the recursion of a single server.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a radio link transmits a packet before it is lost | a randomly lost packet takes no capacity | up to a share `L` more carried bytes at full load |
//! | the receiver of a store-and-forward link | the same: delivery when the last bit has arrived | none |
//!
//! Random streams: `loss` and `jitter` under the given path.

use crate::DirectionParams;
use crate::jitter::JitterProcess;
use crate::loss::LossGate;
use crate::queue::QueueState;
use crate::rate::Transmitter;
use study_ident::SeedPath;
use study_units::{SimDuration, SimTime};

/// What happens to a packet. Every loss has a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives at that instant.
    Deliver(SimTime),
    /// The loss process took it.
    LostRandom,
    /// It found no room in the queue.
    DroppedQueue,
}

/// What a direction has seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Packets that came, lost ones included.
    pub packets: u64,
    /// Bytes of those packets, overhead included.
    pub bytes: u64,
    /// Bytes of the packets that were transmitted, overhead included.
    pub carried_bytes: u64,
    /// Packets that the loss process took.
    pub lost_random: u64,
    /// Packets that found no room.
    pub lost_queue: u64,
    /// Time during which a packet was on the wire or held by rate 0, until the last admitted one has left.
    pub busy: SimDuration,
    /// When the last delivered packet arrives; 0 when there was none.
    pub last_arrival: SimTime,
}

/// The state of one direction. Ask in the order of time: `now` never goes back.
#[derive(Debug, Clone)]
pub struct Direction {
    loss: LossGate,
    queue: QueueState,
    transmitter: Transmitter,
    jitter: Option<JitterProcess>,
    keeps_order: bool,
    overhead: u32,
    base_delay: SimDuration,
    free_at: u64,
    #[cfg(debug_assertions)]
    last_now: SimTime,
    counters: LinkCounters,
}

impl Direction {
    /// A direction at time 0 with an empty queue. Equal parameters and seed paths give equal verdicts.
    ///
    /// # Panics
    /// When the parameters still wait for a file: call [`crate::LinkParams::resolve`] first.
    #[must_use]
    pub fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        Self {
            loss: LossGate::new(&params.loss, seed),
            queue: QueueState::new(&params.queue),
            transmitter: Transmitter::new(&params.rate),
            jitter: params.jitter.as_ref().map(|j| JitterProcess::new(j, seed)),
            keeps_order: params.jitter.as_ref().is_none_or(|j| !j.reorder),
            overhead: u32::try_from(params.overhead.get()).unwrap_or(u32::MAX),
            base_delay: params.one_way,
            free_at: 0,
            #[cfg(debug_assertions)]
            last_now: SimTime::ZERO,
            counters: LinkCounters::default(),
        }
    }
    /// Sends a packet of `ip_bytes` (IP header included, link overhead not) at `now`.
    pub fn send(&mut self, now: SimTime, ip_bytes: u32) -> Verdict {
        #[cfg(debug_assertions)]
        {
            debug_assert!(now >= self.last_now, "packets must be sent in the order of time");
            self.last_now = now;
        }
        let wire = ip_bytes.saturating_add(self.overhead);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(wire);
        if self.loss.loses(now.as_nanos()) {
            self.counters.lost_random += 1;
            return Verdict::LostRandom;
        }
        if !self.queue.admits(now.as_nanos(), wire) {
            self.counters.lost_queue += 1;
            return Verdict::DroppedQueue;
        }
        let start = self.free_at.max(now.as_nanos());
        let finish = self.transmitter.finish(start, wire);
        self.queue.push(finish, wire);
        self.free_at = finish;
        self.counters.busy = self.counters.busy + SimDuration::from_nanos(finish - start);
        self.counters.carried_bytes += u64::from(wire);
        Verdict::Deliver(self.arrival(finish))
    }
    #[inline]
    fn arrival(&mut self, finish: u64) -> SimTime {
        let mut arrival = SimTime::from_nanos(finish) + self.base_delay;
        if let Some(jitter) = &mut self.jitter {
            arrival += SimDuration::from_nanos(jitter.at(finish));
            if self.keeps_order {
                arrival = arrival.max(self.counters.last_arrival);
            }
        }
        self.counters.last_arrival = self.counters.last_arrival.max(arrival);
        arrival
    }
    /// How long a packet that came now would wait before its first bit leaves.
    #[must_use]
    pub fn queue_delay_now(&self, now: SimTime) -> SimDuration {
        SimTime::from_nanos(self.free_at).since(now)
    }
    /// What it has seen so far.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
}
