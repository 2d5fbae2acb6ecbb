//! One direction of a link at run time.
//!
//! Purpose: the answer for each packet. Order: outage, loss, policer, queue, shaper, transmitter, base and extra delay, jitter.
//!
//! Equations, all in integer nanoseconds. A packet of `w` bytes (overhead included) that comes at `now`, is not lost and
//! finds room, begins at `start = max(now, free_at)`, or when the shaper has tokens for it; its last bit leaves at `finish`,
//! the first instant by which the rate has carried `8 w` bits since `start`; then `free_at = finish`. It arrives at
//! `max(finish + base + extra(finish) + jitter(finish), previous arrival)`, without the maximum when reordering is allowed.
//!
//! Sources: D. V. Lindley, Proc. Cambridge Phil. Soc. 48 (1952), for the recursion of a single server.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a radio link transmits a packet before it is lost | a randomly lost packet takes no capacity unless `loss_at: transmission` | up to a share `L` more carried bytes at full load |
//! | the receiver of a store-and-forward link | the same: delivery when the last bit has arrived | none |
//!
//! Random streams: `loss`, `arq` and `jitter` under the given path.

use crate::DirectionParams;
use crate::bucket::Bucket;
use crate::entry::Entry;
use crate::exit::Exit;
use crate::loss::Phase;
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
    /// It found no room in the queue, or the queue dropped it later.
    DroppedQueue,
    /// The policer had no tokens for it.
    DroppedPolicer,
    /// It was sent into an outage.
    LostOutage,
}

/// What a direction has seen so far. Each packet that came and was decided is carried, or counted under one label.
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
    /// Bytes of those packets, overhead included.
    pub lost_random_bytes: u64,
    /// Packets that the queue dropped: no room, or its delay control.
    pub lost_queue: u64,
    /// Packets that the policer dropped.
    pub lost_policer: u64,
    /// Packets that were sent into an outage.
    pub lost_outage: u64,
    /// Packets that the loss process took and the link layer repaired; not lost.
    pub repaired: u64,
    /// Time during which a packet was on the wire or held by rate 0, until the last admitted one has left.
    pub busy: SimDuration,
    /// When the first packet came.
    pub first: SimTime,
    /// When the last packet came.
    pub last: SimTime,
    /// When the last delivered packet arrives; 0 when there was none.
    pub last_arrival: SimTime,
}

impl LinkCounters {
    /// Packets lost under any label.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost_random + self.lost_queue + self.lost_policer + self.lost_outage
    }
    /// Realised share of packets that the loss process took, 0 to 1.
    #[must_use]
    pub fn random_loss_per_packet(&self) -> f64 {
        self.lost_random as f64 / (self.packets as f64).max(1.0)
    }
    /// Realised share of bytes that the loss process took, 0 to 1.
    #[must_use]
    pub fn random_loss_per_byte(&self) -> f64 {
        self.lost_random_bytes as f64 / (self.bytes as f64).max(1.0)
    }
    /// Packets that the loss process took per millisecond between the first packet and the last; 0 without a span.
    #[must_use]
    pub fn random_losses_per_ms(&self) -> f64 {
        let ms = self.last.since(self.first).as_millis_f64();
        if ms > 0.0 { self.lost_random as f64 / ms } else { 0.0 }
    }
    pub(crate) const fn count(&mut self, now: SimTime, wire: u32) {
        if self.packets == 0 {
            self.first = now;
        }
        self.last = now;
        self.packets += 1;
        self.bytes += wire as u64;
    }
}

/// The transmitter behind its shaper.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    transmitter: Transmitter,
    shaper: Option<Box<Bucket>>,
    /// When the last bit of the last packet has left.
    pub(crate) free_at: u64,
}

impl Server {
    pub(crate) fn new(params: &DirectionParams) -> Self {
        Self {
            transmitter: Transmitter::new(&params.rate),
            shaper: params.shaper.as_ref().map(|shaper| Box::new(Bucket::new(shaper))),
            free_at: 0,
        }
    }
    /// Whether there is no shaper, so that [`Server::serve_plain`] will do.
    pub(crate) const fn is_plain(&self) -> bool {
        self.shaper.is_none()
    }
    /// [`Server::serve`] where [`Server::is_plain`].
    #[inline]
    pub(crate) fn serve_plain(&mut self, now: u64, wire: u32) -> (u64, u64) {
        let start = self.free_at.max(now);
        self.free_at = self.transmitter.finish(start, wire);
        (start, self.free_at)
    }
    /// Transmits `wire` bytes that may begin at `now`: when they begin and when their last bit has left.
    pub(crate) fn serve(&mut self, now: u64, wire: u32) -> (u64, u64) {
        let start = self.free_at.max(now);
        let start = self.shaper.as_mut().map_or(start, |shaper| shaper.begin(start, wire));
        self.serve_plain(start, wire)
    }
}

/// Bytes on the wire of a packet of `ip` bytes.
pub(crate) fn overhead(params: &DirectionParams) -> u32 {
    u32::try_from(params.overhead.get()).unwrap_or(u32::MAX)
}

/// The state of one direction. Ask in the order of time: `now` never goes back.
#[derive(Debug, Clone)]
pub struct Direction {
    entry: Entry,
    queue: QueueState,
    server: Server,
    exit: Exit,
    overhead: u32,
    /// Nothing but loss, queue, rate, base delay and jitter: what nearly all links have.
    plain: bool,
    #[cfg(debug_assertions)]
    last_now: SimTime,
    counters: LinkCounters,
}

impl Direction {
    /// A direction at time 0 with an empty queue. Equal parameters and seed paths give equal verdicts.
    ///
    /// # Panics
    /// When the parameters still wait for a file: call [`crate::LinkParams::resolve`] first. When the queue decides at
    /// departure ([`crate::Queue::decides_at_arrival`]): use a [`crate::Bottleneck`] or a [`crate::Channel`].
    #[must_use]
    pub fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        let (entry, server, exit) = (Entry::new(params, seed), Server::new(params), Exit::new(params, seed));
        Self {
            plain: entry.is_plain() && server.is_plain() && exit.is_plain(),
            entry,
            queue: QueueState::new(&params.queue),
            server,
            exit,
            overhead: overhead(params),
            #[cfg(debug_assertions)]
            last_now: SimTime::ZERO,
            counters: LinkCounters::default(),
        }
    }
    /// Sends a packet of `ip_bytes` (IP header included, link overhead not) at `now`, as data of a response.
    #[inline]
    pub fn send(&mut self, now: SimTime, ip_bytes: u32) -> Verdict {
        self.send_as(now, ip_bytes, Phase::Response)
    }
    /// Sends a packet that belongs to `phase`, which matters to losses with `phases: split` only.
    pub fn send_as(&mut self, now: SimTime, ip_bytes: u32, phase: Phase) -> Verdict {
        #[cfg(debug_assertions)]
        {
            debug_assert!(now >= self.last_now, "packets must be sent in the order of time");
            self.last_now = now;
        }
        let wire = ip_bytes.saturating_add(self.overhead);
        self.counters.count(now, wire);
        if !self.plain {
            return self.send_through_all(now, wire, phase);
        }
        if self.entry.loses(now.as_nanos(), wire, phase, &mut self.counters) {
            return Verdict::LostRandom;
        }
        if !self.queue.admits(now.as_nanos(), wire) {
            self.counters.lost_queue += 1;
            return Verdict::DroppedQueue;
        }
        let (start, finish) = self.server.serve_plain(now.as_nanos(), wire);
        self.carry(start, finish, wire);
        Verdict::Deliver(self.exit.arrival_plain(finish, &mut self.counters.last_arrival))
    }
    /// The same with all that a link may have.
    #[inline(never)]
    fn send_through_all(&mut self, now: SimTime, wire: u32, phase: Phase) -> Verdict {
        let entered = match self.entry.judge(now.as_nanos(), wire, phase, &mut self.counters) {
            Ok(spike) => spike,
            Err(verdict) => return verdict,
        };
        if !self.queue.admits(now.as_nanos(), wire) {
            self.counters.lost_queue += 1;
            return Verdict::DroppedQueue;
        }
        let (start, finish) = self.server.serve(now.as_nanos(), wire);
        self.carry(start, finish, wire);
        match self.entry.judge_sent(start, wire, phase, &mut self.counters) {
            Ok(sent) => Verdict::Deliver(self.exit.arrival(finish, entered + sent, &mut self.counters.last_arrival)),
            Err(verdict) => verdict,
        }
    }
    #[inline]
    fn carry(&mut self, start: u64, finish: u64, wire: u32) {
        self.queue.push(finish, wire);
        self.counters.busy = self.counters.busy + SimDuration::from_nanos(finish - start);
        self.counters.carried_bytes += u64::from(wire);
    }
    /// How long a packet that came now would wait before its first bit leaves (a shaper's tokens apart).
    #[must_use]
    pub fn queue_delay_now(&self, now: SimTime) -> SimDuration {
        SimTime::from_nanos(self.server.free_at).since(now)
    }
    /// What it has seen so far.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
}
