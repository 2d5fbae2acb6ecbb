//! Several connections on one bottleneck: cross traffic and fairness.
//!
//! Purpose: what a single flow on a link of its own cannot show: how flows share a queue. All connections run in one virtual
//! time, event by event, over one pair of directions; each has its own configuration, start, load and extra delay on the
//! far side of the bottleneck.
//!
//! Order at equal times: the bottleneck's decisions first, then the flows by number, each with the order of
//! [`study_transport::Connection`]. With one flow the times are those of a connection over [`crate::LinkPath`], bit for bit.
//!
//! Equation. Jain's index of `n` shares `x`: `(sum x)^2 / (n sum x^2)`, from `1/n` (one has all) to 1 (all equal).
//!
//! Sources: R. Jain, D. Chiu, W. Hawe, DEC technical report TR-301 (1984).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | hosts and access links of their own | one shared direction each way, extra delay without a queue | only the shared queue drops |
//! | a sender that stops | a bulk flow that has lasted its time is abandoned: nothing of it is sent any more, what is queued is served | none on the others but that |
//!
//! Random streams: `down/*` and `up/*` under the given seed, shared by the flows.

use crate::network::{arrival, phase};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use study_ident::SeedPath;
use study_link::{Channel, LinkCounters, LinkParams, Verdict};
use study_transport::{
    AppEvent, Availability, Connection, ConnectionConfig, ConnectionStats, Fate, Flight, Heading, Path,
};
use study_units::{SimDuration, SimTime};

/// What a flow transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowLoad {
    /// Objects of these sizes in bytes, one after the other, each asked for when the one before is complete.
    Objects(Vec<u64>),
    /// As much as it can for this long.
    Bulk(SimDuration),
}

/// A connection that shares the bottleneck.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its configuration.
    pub config: ConnectionConfig,
    /// When its first packet leaves.
    pub start: SimTime,
    /// What it transfers.
    pub load: FlowLoad,
    /// Delay that it has each way beyond that of the link.
    pub extra_one_way: SimDuration,
}

/// Connections on one link.
#[derive(Debug, Clone)]
pub struct SharedSpec<'a> {
    /// The link.
    pub link: &'a LinkParams,
    /// Seed of its realisation.
    pub seed: SeedPath,
    /// The flows.
    pub flows: &'a [FlowSpec],
    /// When the run ends at the latest.
    pub until: SimTime,
    /// From when to when goodput and queue delay are measured.
    pub measured: (SimTime, SimTime),
}

/// Packets of one flow in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowPackets {
    /// Sent.
    pub sent: u64,
    /// Taken by the loss process.
    pub lost_random: u64,
    /// Dropped by the queue.
    pub lost_queue: u64,
    /// Dropped by the policer.
    pub lost_policer: u64,
    /// Sent into an outage.
    pub lost_outage: u64,
    /// Delivered ones that were sent in the measured time.
    pub measured: u64,
    /// How long these waited in the queue, together.
    pub waited: SimDuration,
}

impl FlowPackets {
    /// Packets lost under any label.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost_random + self.lost_queue + self.lost_policer + self.lost_outage
    }
    /// Mean wait in the queue of the delivered packets that were sent in the measured time; `None` when there is none.
    #[must_use]
    pub fn mean_wait(&self) -> Option<SimDuration> {
        self.waited.as_nanos().checked_div(self.measured).map(SimDuration::from_nanos)
    }
    fn count(&mut self, verdict: Verdict, waited: SimDuration, measured: bool) {
        match verdict {
            Verdict::Deliver(_) if measured => {
                self.measured += 1;
                self.waited = self.waited + waited;
            }
            Verdict::Deliver(_) => {}
            Verdict::LostRandom => self.lost_random += 1,
            Verdict::DroppedQueue => self.lost_queue += 1,
            Verdict::DroppedPolicer => self.lost_policer += 1,
            Verdict::LostOutage => self.lost_outage += 1,
        }
    }
}

/// What became of a flow.
#[derive(Debug, Clone)]
pub struct FlowResult {
    /// When its handshake was complete; `NEVER` when it was not.
    pub established: SimTime,
    /// When each object was complete, in order; those missing never were.
    pub completed: Vec<SimTime>,
    /// Response bytes (headers included) delivered in order within the measured time.
    pub bytes: u64,
    /// The same per second, in bit/s.
    pub goodput: f64,
    /// Packets towards the client.
    pub down: FlowPackets,
    /// Packets from the client.
    pub up: FlowPackets,
    /// The connection's own counters.
    pub stats: ConnectionStats,
}

impl FlowResult {
    /// A flow that did not start in time.
    fn idle() -> Self {
        Self {
            established: SimTime::NEVER,
            completed: Vec::new(),
            bytes: 0,
            goodput: 0.0,
            down: FlowPackets::default(),
            up: FlowPackets::default(),
            stats: ConnectionStats::default(),
        }
    }
}

/// What became of all.
#[derive(Debug, Clone)]
pub struct SharedResult {
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// The bottleneck towards the clients.
    pub down: LinkCounters,
    /// The bottleneck from the clients.
    pub up: LinkCounters,
}

impl SharedResult {
    /// Jain's index of the flows' goodputs.
    #[must_use]
    pub fn jain(&self) -> f64 {
        jain_index(&self.flows.iter().map(|flow| flow.goodput).collect::<Vec<_>>())
    }
}

/// Jain's fairness index of shares that are at least 0; 1 when there is nothing to share.
#[must_use]
pub fn jain_index(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

/// What the network knows of a flow.
#[derive(Debug, Default)]
struct Side {
    extra: SimDuration,
    /// Fates that the connection has not asked for yet.
    decided: VecDeque<(Heading, Option<SimTime>)>,
    packets: [FlowPackets; 2],
}

#[derive(Debug)]
struct Network {
    directions: [Channel; 2],
    sides: Vec<Side>,
    measured: (SimTime, SimTime),
}

impl Network {
    fn next_event(&self) -> SimTime {
        self.directions[0].next_event().min(self.directions[1].next_event())
    }
    fn send(&mut self, now: SimTime, flow: u32, heading: Heading, ip_bytes: u32, flight: Flight) -> Fate {
        let side = &mut self.sides[flow as usize];
        let packets = &mut side.packets[heading as usize];
        packets.sent += 1;
        let measured = (self.measured.0..self.measured.1).contains(&now);
        let channel = &mut self.directions[heading as usize];
        let waited = channel.queue_delay_now(now).unwrap_or(SimDuration::ZERO);
        // The token says when it was sent.
        let Some(verdict) = channel.offer(now, flow, ip_bytes, phase(flight), now.as_nanos()) else {
            return Fate::Undecided;
        };
        packets.count(verdict, waited, measured);
        arrival(verdict).map(|at| at + side.extra).into()
    }
    /// Hands the fates that are known at `now` to their flows; which flows got one is added to `touched`.
    fn settle(&mut self, now: SimTime, touched: &mut Vec<usize>) {
        for (i, heading) in [Heading::Down, Heading::Up].into_iter().enumerate() {
            let channel = &mut self.directions[i];
            while channel.next_event() <= now
                && let Some(departure) = channel.pop(now)
            {
                let flow = departure.flow as usize;
                let side = &mut self.sides[flow];
                let sent = SimTime::from_nanos(departure.token);
                let measured = (self.measured.0..self.measured.1).contains(&sent);
                side.packets[i].count(departure.verdict, departure.waited, measured);
                side.decided.push_back((heading, arrival(departure.verdict).map(|at| at + side.extra)));
                touched.push(flow);
            }
        }
    }
}

/// A flow's view of the network.
#[derive(Debug)]
struct SharedPath {
    network: Rc<RefCell<Network>>,
    flow: u32,
}

impl Path for SharedPath {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        self.send(now, Heading::Down, ip_bytes, Flight::Response)
    }
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        self.send(now, Heading::Up, ip_bytes, Flight::Ack)
    }
    fn send(&mut self, now: SimTime, heading: Heading, ip_bytes: u32, flight: Flight) -> Fate {
        self.network.borrow_mut().send(now, self.flow, heading, ip_bytes, flight)
    }
    fn next_event(&self) -> SimTime {
        // A fate that waits is known already.
        let waits = !self.network.borrow().sides[self.flow as usize].decided.is_empty();
        if waits { SimTime::ZERO } else { SimTime::NEVER }
    }
    fn resolve(&mut self, _now: SimTime) -> Option<(Heading, Option<SimTime>)> {
        self.network.borrow_mut().sides[self.flow as usize].decided.pop_front()
    }
}

/// Larger than anything that is transferred in simulated time.
const ENDLESS: u64 = 1 << 50;

#[derive(Debug)]
struct Running {
    connection: Connection<SharedPath>,
    sizes: Vec<u64>,
    asked: usize,
    completed: Vec<SimTime>,
    ends: SimTime,
}

impl Running {
    fn open(spec: &FlowSpec, path: SharedPath, until: SimTime) -> Self {
        let (sizes, ends) = match &spec.load {
            FlowLoad::Objects(sizes) => (sizes.clone(), until),
            FlowLoad::Bulk(duration) => (vec![ENDLESS], until.min(spec.start + *duration)),
        };
        let connection = Connection::open(spec.config.clone(), path, spec.start);
        let mut running = Self { connection, sizes, asked: 0, completed: Vec::new(), ends };
        running.connection.record_curve();
        running.ask();
        running
    }
    fn ask(&mut self) {
        if self.asked < self.sizes.len() {
            self.connection.request();
            self.asked += 1;
        }
    }
    /// Runs to `now`; when it has something to do next.
    fn run(&mut self, now: SimTime) -> SimTime {
        while let Some(event) = self.connection.advance(now) {
            match event {
                AppEvent::RequestArrived(stream) => {
                    self.connection.respond(stream, self.sizes[stream.0 as usize], Availability::Full);
                }
                AppEvent::Completed(_) => {
                    self.completed.push(self.connection.now());
                    self.ask();
                }
            }
        }
        self.next()
    }
    fn next(&self) -> SimTime {
        let next = self.connection.next_time();
        if next > self.ends { SimTime::NEVER } else { next }
    }
    fn finish(mut self, side: &Side, measured: (SimTime, SimTime)) -> FlowResult {
        let curve = self.connection.take_curve();
        let by = |at: SimTime| {
            let past = curve.partition_point(|(t, _)| *t < at);
            past.checked_sub(1).map_or(0, |last| curve[last].1)
        };
        let bytes = by(measured.1) - by(measured.0);
        let seconds = measured.1.since(measured.0).as_secs_f64();
        FlowResult {
            established: self.connection.established_at(),
            completed: self.completed,
            bytes,
            goodput: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
            down: side.packets[0],
            up: side.packets[1],
            stats: self.connection.stats().clone(),
        }
    }
}

/// Runs connections over one link until all have what they want or the time is over.
#[must_use]
pub fn run_shared(spec: &SharedSpec<'_>) -> SharedResult {
    let directions =
        [Channel::new(&spec.link.down, spec.seed.child("down")), Channel::new(&spec.link.up, spec.seed.child("up"))];
    let sides = spec.flows.iter().map(|f| Side { extra: f.extra_one_way, ..Side::default() }).collect();
    let network = Rc::new(RefCell::new(Network { directions, sides, measured: spec.measured }));
    let mut running: Vec<Option<Running>> = spec.flows.iter().map(|_| None).collect();
    // When each flow has something to do: opening it is the first.
    let mut due: Vec<SimTime> = spec.flows.iter().map(|f| f.start).collect();
    let mut touched = Vec::new();
    loop {
        let flow = (0..due.len()).min_by_key(|i| due[*i]);
        let next = flow.map_or(SimTime::NEVER, |i| due[i]);
        let decided = network.borrow().next_event();
        let now = next.min(decided);
        if now > spec.until || now == SimTime::NEVER {
            break;
        }
        if decided <= next {
            network.borrow_mut().settle(now, &mut touched);
            for flow in touched.drain(..) {
                due[flow] = running[flow].as_ref().filter(|r| now <= r.ends).map_or(SimTime::NEVER, |_| now);
            }
            continue;
        }
        let Some(i) = flow else { break };
        if running[i].is_none() {
            let path = SharedPath { network: Rc::clone(&network), flow: i as u32 };
            running[i] = Some(Running::open(&spec.flows[i], path, spec.until));
        }
        due[i] = running[i].as_mut().map_or(SimTime::NEVER, |r| r.run(now));
    }
    let network = network.borrow();
    let finish = |(running, side): (Option<Running>, &Side)| match running {
        Some(running) => running.finish(side, spec.measured),
        None => FlowResult::idle(),
    };
    SharedResult {
        flows: running.into_iter().zip(&network.sides).map(finish).collect(),
        down: network.directions[0].counters(),
        up: network.directions[1].counters(),
    }
}
