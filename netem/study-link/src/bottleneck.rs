//! A direction whose queue decides when packets leave, or that several flows share.
//!
//! Purpose: the event-driven form of a direction. [`Bottleneck::offer`] takes a packet in; its fate is told by
//! [`Bottleneck::pop`] once it is known: when its transmission begins, or when it is dropped. All that is not the queue
//! (outages, loss, policer, shaper, rate, delay, jitter) is the same as in a [`crate::Direction`], and with `drop_tail`
//! so are the answers, bit for bit.
//!
//! Rules of time. The transmitter takes the next packet at the instant at which it is free. A departure at the instant of
//! an arrival comes first. [`Bottleneck::offer`] brings the state up to its `now`, so nothing is decided too late; the
//! fates of a flow come in the order of its offers.
//!
//! Random streams: those of [`crate::Direction`].

use crate::direction::{Direction, Server, overhead};
use crate::entry::Entry;
use crate::exit::Exit;
use crate::loss::Phase;
use crate::queue::{Discipline, Item};
use crate::{DirectionParams, LinkCounters, Verdict};
use std::collections::VecDeque;
use study_ident::SeedPath;
use study_units::{SimDuration, SimTime};

/// The fate of a packet that had been offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The flow that it was offered for.
    pub flow: u32,
    /// What the caller calls it.
    pub token: u64,
    /// What happens to it.
    pub verdict: Verdict,
    /// When that was decided.
    pub at: SimTime,
    /// How long it waited until then: before its first bit left, or before it was dropped.
    pub waited: SimDuration,
}

/// The state of one direction with a queue of any discipline. `now` never goes back.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    entry: Entry,
    queue: Discipline,
    server: Server,
    /// Bytes in transmission until `server.free_at`.
    on_wire: u32,
    last_offer: u64,
    exit: Exit,
    overhead: u32,
    decided: VecDeque<Departure>,
    dropped: Vec<Item>,
    counters: LinkCounters,
}

impl Bottleneck {
    /// A bottleneck at time 0 with an empty queue. Equal parameters and seed paths give equal fates.
    ///
    /// # Panics
    /// When the parameters still wait for a file: call [`crate::LinkParams::resolve`] first.
    #[must_use]
    pub fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        Self {
            entry: Entry::new(params, seed),
            queue: Discipline::new(&params.queue),
            server: Server::new(params),
            on_wire: 0,
            last_offer: 0,
            exit: Exit::new(params, seed),
            overhead: overhead(params),
            decided: VecDeque::new(),
            dropped: Vec::new(),
            counters: LinkCounters::default(),
        }
    }
    /// Offers a packet of `ip_bytes` (IP header included, link overhead not) of a flow. `Some` when it is lost at once;
    /// else its fate comes from [`Bottleneck::pop`] under its `token`.
    pub fn offer(&mut self, now: SimTime, flow: u32, ip_bytes: u32, phase: Phase, token: u64) -> Option<Verdict> {
        self.run_to(now.as_nanos());
        self.last_offer = now.as_nanos();
        let wire = ip_bytes.saturating_add(self.overhead);
        self.counters.count(now, wire);
        let spike = match self.entry.judge(now.as_nanos(), wire, phase, &mut self.counters) {
            Ok(spike) => spike,
            Err(verdict) => return Some(verdict),
        };
        let item = Item { flow, token, wire, at: now.as_nanos(), spike, phase };
        self.queue.enqueue(item, self.on_wire, &mut self.dropped);
        if self.dropped.last() == Some(&item) && self.dropped.len() == 1 {
            self.dropped.clear();
            self.counters.lost_queue += 1;
            return Some(Verdict::DroppedQueue);
        }
        self.tell_drops(now.as_nanos());
        self.run_to(now.as_nanos());
        None
    }
    /// When something is decided next, if nothing is offered before: at once when a fate waits to be told.
    #[must_use]
    pub fn next_event(&self) -> SimTime {
        match self.decided.front() {
            Some(departure) => departure.at,
            None if self.queue.len() > 0 => SimTime::from_nanos(self.server.free_at),
            None => SimTime::NEVER,
        }
    }
    /// The next fate that is known at `now`.
    pub fn pop(&mut self, now: SimTime) -> Option<Departure> {
        if self.decided.is_empty() {
            self.run_to(now.as_nanos());
        }
        self.decided.pop_front()
    }
    /// What it has seen so far. Packets that still wait count as having come.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
    /// Packets that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
    /// Lets the transmitter take packets as long as it is free by `now`.
    fn run_to(&mut self, now: u64) {
        while self.server.free_at <= now {
            self.on_wire = 0;
            if self.queue.len() == 0 {
                return;
            }
            // Whoever waits for a busy transmitter is taken when it is free; who finds it idle, when it comes.
            self.take_next(self.server.free_at.max(self.last_offer));
        }
    }
    fn take_next(&mut self, at: u64) {
        let next = self.queue.dequeue(at, &mut self.dropped);
        self.tell_drops(at);
        let Some(item) = next else { return };
        let (start, finish) = self.server.serve(at, item.wire);
        self.on_wire = item.wire;
        self.counters.busy = self.counters.busy + SimDuration::from_nanos(finish - start);
        self.counters.carried_bytes += u64::from(item.wire);
        let verdict = match self.entry.judge_sent(start, item.wire, item.phase, &mut self.counters) {
            Ok(sent) => Verdict::Deliver(self.exit.arrival(finish, item.spike + sent, &mut self.counters.last_arrival)),
            Err(verdict) => verdict,
        };
        self.decided.push_back(departure(&item, verdict, at, start));
    }
    fn tell_drops(&mut self, at: u64) {
        self.counters.lost_queue += self.dropped.len() as u64;
        self.decided.extend(self.dropped.drain(..).map(|item| departure(&item, Verdict::DroppedQueue, at, at)));
    }
}

const fn departure(item: &Item, verdict: Verdict, at: u64, until: u64) -> Departure {
    Departure {
        flow: item.flow,
        token: item.token,
        verdict,
        at: SimTime::from_nanos(at),
        waited: SimDuration::from_nanos(until - item.at),
    }
}

/// One direction in the form that its queue needs.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "nearly all are `Immediate`, and every packet would pay for a pointer")]
pub enum Channel {
    /// Every fate is known when the packet is sent.
    Immediate(Direction),
    /// Some fates are known later.
    Deferred(Box<Bottleneck>),
}

impl Channel {
    /// The plainest form that will do.
    ///
    /// # Panics
    /// When the parameters still wait for a file: call [`crate::LinkParams::resolve`] first.
    #[must_use]
    pub fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        if params.queue.decides_at_arrival() {
            Self::Immediate(Direction::new(params, seed))
        } else {
            Self::Deferred(Box::new(Bottleneck::new(params, seed)))
        }
    }
    /// Sends a packet of the only flow; `None`: its fate comes from [`Channel::pop`], in the order of sending.
    #[inline]
    pub fn send_as(&mut self, now: SimTime, ip_bytes: u32, phase: Phase) -> Option<Verdict> {
        self.offer(now, 0, ip_bytes, phase, 0)
    }
    /// Offers a packet of a flow; `None`: its fate comes from [`Channel::pop`] under its `token`.
    #[inline]
    pub fn offer(&mut self, now: SimTime, flow: u32, ip_bytes: u32, phase: Phase, token: u64) -> Option<Verdict> {
        match self {
            Self::Immediate(direction) => Some(direction.send_as(now, ip_bytes, phase)),
            Self::Deferred(bottleneck) => bottleneck.offer(now, flow, ip_bytes, phase, token),
        }
    }
    /// How long a packet that came now would wait; `None` when only its departure will tell.
    #[must_use]
    pub fn queue_delay_now(&self, now: SimTime) -> Option<SimDuration> {
        match self {
            Self::Immediate(direction) => Some(direction.queue_delay_now(now)),
            Self::Deferred(_) => None,
        }
    }
    /// When a fate is decided next; `NEVER` when none waits.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> SimTime {
        match self {
            Self::Immediate(_) => SimTime::NEVER,
            Self::Deferred(bottleneck) => bottleneck.next_event(),
        }
    }
    /// The next fate that is known at `now`.
    pub fn pop(&mut self, now: SimTime) -> Option<Departure> {
        match self {
            Self::Immediate(_) => None,
            Self::Deferred(bottleneck) => bottleneck.pop(now),
        }
    }
    /// What it has seen so far.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        match self {
            Self::Immediate(direction) => direction.counters(),
            Self::Deferred(bottleneck) => bottleneck.counters(),
        }
    }
}
