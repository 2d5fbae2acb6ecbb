//! The path from an edge to the origin: a pool of persistent connections, one request at a time each.

use crate::network::LinkPath;
use std::sync::Arc;
use study_ident::SeedPath;
use study_link::LinkParams;
use study_transport::{AppEvent, Availability, Connection, ConnectionConfig};
use study_units::{SimDuration, SimTime};

/// Bytes of an object that have arrived at the edge, over time.
pub type ArrivalCurve = Arc<[(SimTime, u64)]>;

/// A fetch that takes longer than this is cut off; viewers get the rest at that moment, long after they have left.
const FETCH_LIMIT: SimDuration = SimDuration::from_secs(3_600);

#[derive(Debug)]
struct Pooled {
    connection: Connection<LinkPath>,
    free_at: SimTime,
}

/// Connections of one edge to the origin.
#[derive(Debug)]
pub struct OriginPool {
    config: ConnectionConfig,
    link: LinkParams,
    seed: SeedPath,
    pool: Vec<Pooled>,
    pub fetches: u64,
}

impl OriginPool {
    pub const fn new(config: ConnectionConfig, link: LinkParams, seed: SeedPath) -> Self {
        Self { config, link, seed, pool: Vec::new(), fetches: 0 }
    }

    /// Fetches an object of `bytes`, asked for at `now`. Calls come in the order of time.
    pub fn fetch(&mut self, now: SimTime, bytes: u64) -> ArrivalCurve {
        self.fetches += 1;
        let index = self.idle_connection(now);
        let Pooled { connection, free_at } = &mut self.pool[index];
        // Late acknowledgements of the response before.
        while connection.advance(now).is_some() {}
        connection.record_curve();
        connection.request();
        let limit = now + FETCH_LIMIT;
        while let Some(AppEvent::RequestArrived(stream)) = connection.advance(limit) {
            connection.respond(stream, bytes, Availability::Full);
        }
        *free_at = connection.now();
        connection.take_curve().into()
    }

    /// The idle connection used last (its window is the freshest), or a new one.
    fn idle_connection(&mut self, now: SimTime) -> usize {
        let idle = (0..self.pool.len()).filter(|i| self.pool[*i].free_at <= now).max_by_key(|i| self.pool[*i].free_at);
        idle.unwrap_or_else(|| {
            let seed = self.seed.indexed("origin", self.pool.len() as u64);
            let connection = Connection::open(self.config.clone(), LinkPath::new(&self.link, seed), now);
            self.pool.push(Pooled { connection, free_at: now });
            self.pool.len() - 1
        })
    }

    /// Steps and packets simulated so far.
    pub fn work(&self) -> (u64, u64) {
        self.pool.iter().fold((0, 0), |(events, packets), p| {
            let stats = p.connection.stats();
            (events + stats.events, packets + stats.packets_sent + stats.client_packets)
        })
    }
}
