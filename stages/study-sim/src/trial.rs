//! A trial: all viewers of one run under one arm.

use crate::edge::{Edge, EdgeSpec, Served};
use crate::network::LinkPath;
use crate::origin::OriginPool;
use crate::session::{Session, SessionResult};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use study_cdn::cache::CacheParams;
use study_cdn::catalog::Title;
use study_cdn::player::{Decisions, PlannedRequest, Player, PlayerError, PlayerParams};
use study_cdn::popularity::TitleSampler;
use study_ident::SeedPath;
use study_link::LinkCounters;
use study_transport::features::{FeatureSet, hybrid};
use study_transport::qlog::Recording;
use study_transport::{
    CongestionControl, ConnectionConfig, Pool, Protocol, Scheduler, SessionState, StreamId, TransportParams,
};
use study_units::{Probability, SimDuration, SimTime};

/// A viewer of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Its id; names its random streams.
    pub client: u64,
    /// Position of its edge.
    pub edge: usize,
    /// When it arrives.
    pub arrival: SimTime,
}

/// Who holds a ticket: one draw per run and viewer, shared by the arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resumption {
    /// Share of viewers with a ticket.
    pub resumed: Probability,
    /// Whether a ticket allows early data.
    pub early_data: bool,
}

/// What one arm runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmSpec {
    /// Protocol of the last mile.
    pub protocol: Protocol,
    /// Congestion controller of the last mile.
    pub congestion_control: CongestionControl,
    /// Order of the responses.
    pub scheduler: Scheduler,
    /// Protocol of the edge's connections to the origin; their controller is CUBIC.
    pub origin_protocol: Protocol,
    /// Transport parameters of both.
    pub transport: TransportParams,
    /// Tickets.
    pub resumption: Resumption,
    /// The player.
    pub player: PlayerParams,
    /// The edges' caches.
    pub cache: CacheParams,
    /// A viewer leaves when its session is not over by then.
    pub session_limit: SimDuration,
    /// Some mechanisms of the last mile's connections are those of another arm.
    pub blend: Option<Blend>,
}

/// Mechanisms taken from another arm, for the feature ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Blend {
    /// The other arm; of it only what makes its connections counts.
    pub other: Box<ArmSpec>,
    /// Which mechanisms are its.
    pub taken: FeatureSet,
}

impl ArmSpec {
    /// The last mile's connections for a viewer in this session state.
    #[must_use]
    pub fn connection(&self, state: SessionState) -> ConnectionConfig {
        let own = ConnectionConfig::new(self.protocol, self.congestion_control, self.scheduler, state, &self.transport);
        match &self.blend {
            Some(blend) => hybrid(&own, &blend.other.connection(state), blend.taken),
            None => own,
        }
    }
}

/// What a session did, for another arm to do the same.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPlan {
    /// Rungs and request times.
    pub requests: Arc<[PlannedRequest]>,
    /// What the edge did for each request; `None` for one that never reached it.
    pub(crate) served: Arc<[Option<Served>]>,
}

/// What all sessions of a trial did, by viewer.
pub type TrialPlan = Vec<SessionPlan>;

/// The inputs of a trial.
#[derive(Debug, Clone, Copy)]
pub struct TrialSpec<'a> {
    /// `run/<r>` under the study's seed.
    pub seed: SeedPath,
    /// Seed of the links' realisation (losses, jitter); `seed` itself unless the trial is to meet other luck.
    pub luck: SeedPath,
    /// The arm.
    pub arm: &'a ArmSpec,
    /// Viewers, by id.
    pub viewers: &'a [Viewer],
    /// Edges.
    pub edges: &'a [EdgeSpec],
    /// Titles by number.
    pub titles: &'a [Arc<Title>],
    /// Draws a viewer's title.
    pub popularity: &'a TitleSampler,
    /// Given: rungs, request times and cache outcomes are those of the plan.
    pub replay: Option<&'a TrialPlan>,
    /// Whether the sessions keep what happened, for [`TrialResult::plan`].
    pub keep_plan: bool,
    /// Viewers (by position) whose connections write logs.
    pub recordings: &'a [(usize, Recording)],
}

/// Totals of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrialCounters {
    /// Objects fetched from the origin.
    pub origin_fetches: u64,
    /// Requests served from a cache.
    pub hits: u64,
    /// Requests that caused a fetch.
    pub misses: u64,
    /// Requests that joined a fetch.
    pub coalesced: u64,
    /// Steps of the simulation, origin path included.
    pub events: u64,
    /// Packets sent in either direction, origin path included.
    pub packets: u64,
}

/// Totals of the last miles of one edge, by direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrialLinks {
    /// Towards the viewers.
    pub down: LinkTotals,
    /// From the viewers.
    pub up: LinkTotals,
}

/// Sums over link instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkTotals {
    /// Packets offered.
    pub packets: u64,
    /// Bytes offered.
    pub bytes: u64,
    /// Taken by the loss process.
    pub lost_random: u64,
    /// Bytes of those packets.
    pub lost_random_bytes: u64,
    /// Found no room, or were dropped by the queue's delay control.
    pub lost_queue: u64,
    /// Dropped by the policer.
    pub lost_policer: u64,
    /// Sent into an outage.
    pub lost_outage: u64,
    /// Taken by the loss process and repaired by the link.
    pub repaired: u64,
    /// Time with a packet on the wire.
    pub busy: SimDuration,
    /// Time from arrival to the end of the sessions.
    pub lifetime: SimDuration,
}

impl LinkTotals {
    /// Packets lost under any label.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost_random + self.lost_queue + self.lost_policer + self.lost_outage
    }

    fn add(&mut self, counters: LinkCounters, lifetime: SimDuration) {
        self.packets += counters.packets;
        self.bytes += counters.bytes;
        self.lost_random += counters.lost_random;
        self.lost_random_bytes += counters.lost_random_bytes;
        self.lost_queue += counters.lost_queue;
        self.lost_policer += counters.lost_policer;
        self.lost_outage += counters.lost_outage;
        self.repaired += counters.repaired;
        self.busy = self.busy + counters.busy;
        self.lifetime = self.lifetime + lifetime;
    }
}

/// The outcome of a trial.
#[derive(Debug, Clone)]
pub struct TrialResult {
    /// Sessions by viewer.
    pub sessions: Vec<SessionResult>,
    /// Totals.
    pub counters: TrialCounters,
    /// Last miles by edge.
    pub links: Vec<TrialLinks>,
}

impl TrialResult {
    /// What to replay; nothing unless the trial kept it ([`TrialSpec::keep_plan`]).
    #[must_use]
    pub fn plan(&self) -> Option<TrialPlan> {
        self.sessions.iter().map(|s| s.plan.clone()).collect()
    }
}

/// Runs a trial.
///
/// # Errors
/// [`PlayerError`] when a fixed rung or a plan does not fit the titles.
pub fn run_trial(spec: &TrialSpec<'_>) -> Result<TrialResult, PlayerError> {
    let mut edges: Vec<Edge> = spec.edges.iter().map(|e| open_edge(spec, e)).collect();
    let mut sessions: Vec<Option<Session>> =
        (0..spec.viewers.len()).map(|i| open_session(spec, i).map(Some)).collect::<Result<_, _>>()?;
    let mut results: Vec<Option<SessionResult>> = (0..sessions.len()).map(|_| None).collect();
    let mut links = vec![TrialLinks::default(); edges.len()];
    // Requests at the edges, in the order of time and then of viewers.
    let mut requests: BinaryHeap<Reverse<(SimTime, usize, StreamId)>> = BinaryHeap::new();
    let mut step = |i: usize, requests: &mut BinaryHeap<_>, sessions: &mut Vec<Option<Session>>| {
        let Some(mut session) = sessions[i].take() else { return };
        match session.run_to_request() {
            Some(stream) => {
                requests.push(Reverse((session.connection.now(), i, stream)));
                sessions[i] = Some(session);
            }
            None => {
                count_links(&session, spec.viewers[i].arrival, &mut links);
                results[i] = Some(session.finish());
            }
        }
    };
    (0..sessions.len()).for_each(|i| step(i, &mut requests, &mut sessions));
    while let Some(Reverse((now, i, stream))) = requests.pop() {
        if let Some(session) = &mut sessions[i] {
            let served = match spec.replay {
                Some(plan) => plan[i].served[stream.0 as usize].clone(),
                None => None,
            };
            let served = served.unwrap_or_else(|| {
                let (title, segment, rung, bytes) = session.object(stream);
                edges[session.edge].serve(now, object_key(title, segment, rung), bytes)
            });
            session.respond(stream, served);
        }
        step(i, &mut requests, &mut sessions);
    }
    let sessions: Vec<SessionResult> = results.into_iter().flatten().collect();
    let counters = count(&edges, &sessions);
    Ok(TrialResult { sessions, counters, links })
}

/// Titles up to 2^32, segments up to 2^24, rungs up to 2^8.
const fn object_key(title: usize, segment: usize, rung: usize) -> u64 {
    ((title as u64) << 32) | ((segment as u64) << 8) | rung as u64
}

fn open_edge(spec: &TrialSpec<'_>, edge: &EdgeSpec) -> Edge {
    let config = ConnectionConfig::new(
        spec.arm.origin_protocol,
        CongestionControl::Cubic,
        Scheduler::Sequential,
        SessionState::Cold,
        &spec.arm.transport,
    );
    let seed = spec.luck.child("edge").child(&edge.name);
    Edge::new(&spec.arm.cache, OriginPool::new(config, edge.origin_link.clone(), seed))
}

/// The title that a viewer watches; `run` is the seed of its run. The same in every arm and mode.
#[must_use]
pub fn title_of(run: SeedPath, client: u64, popularity: &TitleSampler) -> usize {
    popularity.title(run.indexed("viewer", client).stream("title").uniform())
}

/// The TLS session state of a viewer's connection; `run` is the seed of its run.
#[must_use]
pub fn session_of(run: SeedPath, client: u64, tickets: Resumption, rejected: Probability) -> SessionState {
    let seed = run.indexed("viewer", client);
    let ticket = seed.stream("session").happens(tickets.resumed.get());
    match (ticket, tickets.early_data) {
        (false, _) => SessionState::Cold,
        (true, false) => SessionState::Resumed,
        (true, true) if seed.stream("early_data").happens(rejected.get()) => SessionState::ZeroRttRejected,
        (true, true) => SessionState::ZeroRtt,
    }
}

fn open_session(spec: &TrialSpec<'_>, index: usize) -> Result<Session, PlayerError> {
    let (viewer, arm) = (spec.viewers[index], spec.arm);
    let title = title_of(spec.seed, viewer.client, spec.popularity);
    let content = Arc::clone(&spec.titles[title]);
    let player = match (spec.replay, &arm.player.decisions) {
        (Some(plan), _) => {
            Player::replay(&arm.player, Arc::clone(&content), viewer.arrival, Arc::clone(&plan[index].requests))?
        }
        (None, Decisions::FixedRung(rung)) => {
            Player::fixed_rung(&arm.player, Arc::clone(&content), viewer.arrival, *rung)?
        }
        (None, Decisions::ClosedLoop | Decisions::Replay(_)) => {
            Player::closed_loop(&arm.player, Arc::clone(&content), viewer.arrival)
        }
    };
    let state = session_of(spec.seed, viewer.client, arm.resumption, arm.transport.early_data_rejected);
    let config = arm.connection(state);
    let path = LinkPath::new(&spec.edges[viewer.edge].client_link, spec.luck.indexed("viewer", viewer.client));
    let recording = spec.recordings.iter().find(|(viewer, _)| *viewer == index);
    let connection = match recording {
        Some((_, recording)) => Pool::open_recorded(config, path, viewer.arrival, recording.clone()),
        None => Pool::open(config, path, viewer.arrival),
    };
    let connection = connection.labelled(&format!("viewer {}", viewer.client));
    Ok(Session::new((index, viewer.edge, title), content, player, connection, state, arm.session_limit, spec.keep_plan))
}

fn count_links(session: &Session, arrival: SimTime, links: &mut [TrialLinks]) {
    let lifetime = session.connection.now().since(arrival);
    let path = session.connection.path();
    links[session.edge].down.add(path.down.counters(), lifetime);
    links[session.edge].up.add(path.up.counters(), lifetime);
}

fn count(edges: &[Edge], sessions: &[SessionResult]) -> TrialCounters {
    let mut counters = TrialCounters::default();
    for edge in edges {
        let (events, packets) = edge.origin.work();
        counters.origin_fetches += edge.origin.fetches;
        counters.hits += edge.hits;
        counters.misses += edge.misses;
        counters.coalesced += edge.coalesced;
        counters.events += events;
        counters.packets += packets;
    }
    for session in sessions {
        counters.events += session.stats.events;
        counters.packets += session.stats.packets_sent + session.stats.client_packets;
    }
    counters
}
