//! An edge: a cache, what is on its way from the origin, and who waits for it.

use crate::origin::{ArrivalCurve, OriginPool};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use study_cdn::cache::{CacheParams, CachePolicy};
use study_link::LinkParams;
use study_transport::Availability;
use study_units::{SimDuration, SimTime};

/// An edge of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeSpec {
    /// Its name.
    pub name: String,
    /// The last mile of its viewers; every viewer has an instance of it.
    pub client_link: LinkParams,
    /// Its path to the origin.
    pub origin_link: LinkParams,
}

/// Where a response came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheOutcome {
    /// The edge had it.
    Hit,
    /// The edge fetched it from the origin.
    Miss,
    /// The edge was fetching it already for someone else (request coalescing).
    Coalesced,
}

impl CacheOutcome {
    /// The name in frames.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Coalesced => "coalesced",
        }
    }
}

/// What an edge does for one request: outcome, and when which bytes can be sent, relative to the request's arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    pub outcome: CacheOutcome,
    /// `None`: all at once.
    pub curve: Option<Arc<[(SimDuration, u64)]>>,
}

impl Served {
    /// The availability for a request that arrives at `now`.
    pub fn availability(&self, now: SimTime) -> Availability {
        match &self.curve {
            None => Availability::Full,
            Some(points) => Availability::Curve(points.iter().map(|(after, bytes)| (now + *after, *bytes)).collect()),
        }
    }
}

/// An edge at run time. Requests come in the order of time.
#[derive(Debug)]
pub struct Edge {
    cache: Box<dyn CachePolicy>,
    params: CacheParams,
    pub origin: OriginPool,
    in_flight: BTreeMap<u64, ArrivalCurve>,
    /// (arrival of the last byte, key, bytes), earliest first.
    arrivals: BinaryHeap<Reverse<(SimTime, u64, u64)>>,
    pub hits: u64,
    pub misses: u64,
    pub coalesced: u64,
}

impl Edge {
    pub fn new(params: &CacheParams, origin: OriginPool) -> Self {
        Self {
            cache: params.build(),
            params: params.clone(),
            origin,
            in_flight: BTreeMap::new(),
            arrivals: BinaryHeap::new(),
            hits: 0,
            misses: 0,
            coalesced: 0,
        }
    }

    /// Serves an object of `bytes` to a request that arrives at `now`.
    pub fn serve(&mut self, now: SimTime, key: u64, bytes: u64) -> Served {
        self.settle(now);
        if self.cache.get(key, now) {
            self.hits += 1;
            return Served { outcome: CacheOutcome::Hit, curve: None };
        }
        if let Some(curve) = self.in_flight.get(&key) {
            self.coalesced += 1;
            return Served { outcome: CacheOutcome::Coalesced, curve: Some(relative(curve, now)) };
        }
        self.misses += 1;
        let curve = self.origin.fetch(now, bytes);
        let done = curve.last().map_or(now, |(at, _)| *at);
        self.arrivals.push(Reverse((done, key, bytes)));
        let served = Served { outcome: CacheOutcome::Miss, curve: Some(relative(&curve, now)) };
        self.in_flight.insert(key, curve);
        served
    }

    /// Stores what has arrived by `now`.
    fn settle(&mut self, now: SimTime) {
        while let Some(Reverse((done, key, bytes))) =
            self.arrivals.peek().copied().filter(|Reverse((done, ..))| *done <= now)
        {
            self.arrivals.pop();
            self.in_flight.remove(&key);
            self.cache.insert(key, bytes, done, self.params.expires(done));
        }
    }
}

/// A curve as seen by a request at `now`: what arrived before is there at once.
fn relative(curve: &ArrivalCurve, now: SimTime) -> Arc<[(SimDuration, u64)]> {
    let past = curve.partition_point(|(at, _)| *at <= now);
    let head = past.checked_sub(1).map(|last| (SimDuration::ZERO, curve[last].1));
    head.into_iter().chain(curve[past..].iter().map(|(at, bytes)| (at.since(now), *bytes))).collect()
}
