//! Caching edges and shields, in every pairing of stacks.

use crate::{NAME, any, connect, credentials, each, origin, run, serve, settings};
use std::sync::Arc;
use std::time::Duration;
use study_cdn::cache::{CacheChoice, CacheParams};
use study_stacks::{Credentials, EdgeSettings, ObjectId, Server, ServerStats, Service, StackChoice};
use study_units::Bytes;

fn edge_of(upstream: std::net::SocketAddr, stack: StackChoice, credentials: &Credentials, size: u64) -> Arc<Service> {
    Service::edge(EdgeSettings {
        cache: CacheParams { policy: CacheChoice::Lru, size: Bytes::new(size), ttl: None },
        upstream,
        upstream_name: NAME.to_owned(),
        upstream_settings: settings(stack),
        trust: credentials.trust(),
        processing: Duration::ZERO,
    })
    .unwrap()
}

fn edge(upstream: &Server, stack: StackChoice, credentials: &Credentials, size: u64) -> Arc<Service> {
    edge_of(upstream.address(), stack, credentials, size)
}

fn path(segment: u32, bytes: u64) -> String {
    ObjectId { title: 4, segment, rung: 0 }.path(bytes)
}

fn pairings(test: impl Fn(StackChoice, StackChoice)) {
    each(|front| each(|back| test(front, back)));
}

#[test]
fn one_fetch_serves_all_who_wait_and_the_next_finds_it_stored() {
    pairings(|front, back| {
        run(async {
            let credentials = credentials();
            let upstream = serve(&settings(back), &credentials, origin());
            let server = serve(&settings(front), &credentials, edge(&upstream, back, &credentials, 1 << 30));
            let connection = connect(&settings(front), &credentials, server.address()).await;
            let same = path(0, 300_000);
            let records = connection.fetch_all([same.as_str(); 5]).await;
            assert!(records.iter().all(|record| record.is_complete() && record.verified), "{records:#?}");
            let mut cache: Vec<&str> = records.iter().map(|record| record.headers["x-cache"].as_str()).collect();
            cache.sort_unstable();
            assert_eq!(cache, ["coalesced", "coalesced", "coalesced", "coalesced", "miss"]);
            assert_eq!(records.iter().filter(|record| record.number("x-origin-fetch-us").is_some()).count(), 1);
            let hit = connection.fetch(&same).await;
            assert_eq!((hit.headers["x-cache"].as_str(), hit.verified), ("hit", true));
            let stats = server.stats();
            assert_eq!((stats.requests, stats.hits, stats.misses, stats.coalesced), (6, 1, 1, 4));
            assert_eq!((stats.upstream_fetches, stats.upstream_bytes), (1, 300_000));
            assert_eq!((stats.objects, stats.stored_bytes, stats.bytes_sent), (1, 300_000, 1_800_000));
            assert_eq!(upstream.stats().requests, 1, "the origin saw one request");
        });
    });
}

#[test]
fn the_cache_is_bounded_by_bytes_and_forgets_the_oldest() {
    run(async {
        let (front, back) = (StackChoice::H2Hyper, StackChoice::H3Quinn);
        let credentials = credentials();
        let upstream = serve(&settings(back), &credentials, origin());
        let server = serve(&settings(front), &credentials, edge(&upstream, back, &credentials, 250_000));
        let connection = connect(&settings(front), &credentials, server.address()).await;
        let cache = async |segment| {
            let record = connection.fetch(&path(segment, 100_000)).await;
            assert!(record.verified && record.is_complete());
            record.headers["x-cache"].clone()
        };
        let mut seen = Vec::new();
        for segment in [0, 1, 2, 0, 2, 1] {
            seen.push(cache(segment).await);
        }
        assert_eq!(seen, ["miss", "miss", "miss", "miss", "hit", "miss"]);
        let huge = path(9, 300_000);
        for _ in 0..2 {
            assert_eq!(connection.fetch(&huge).await.headers["x-cache"], "miss", "larger than the cache: passes by");
        }
        let stats = server.stats();
        assert_eq!((stats.stored_bytes, stats.capacity_bytes), (200_000, 250_000));
    });
}

#[test]
fn a_shield_between_edge_and_origin_says_what_it_had() {
    run(async {
        let stack = StackChoice::H3Quinn;
        let credentials = credentials();
        let top = serve(&settings(stack), &credentials, origin());
        let shield = serve(&settings(stack), &credentials, edge(&top, stack, &credentials, 1 << 30));
        let edges = [0, 1].map(|_| serve(&settings(stack), &credentials, edge(&shield, stack, &credentials, 1 << 30)));
        let mut seen = Vec::new();
        for server in &edges {
            let connection = connect(&settings(stack), &credentials, server.address()).await;
            let record = connection.fetch(&path(1, 20_000)).await;
            assert!(record.verified && record.is_complete());
            seen.push((record.headers["x-cache"].clone(), record.headers["x-upstream-cache"].clone()));
        }
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(seen, [pair("miss", "miss"), pair("miss", "hit")]);
        assert_eq!((top.stats().requests, shield.stats().hits), (1, 1));
    });
}

#[test]
fn the_stats_page_gives_the_same_figures() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let upstream = serve(&settings(stack), &credentials, origin());
            let server = serve(&settings(stack), &credentials, edge(&upstream, stack, &credentials, 1 << 20));
            let connection = connect(&settings(stack), &credentials, server.address()).await;
            connection.fetch(&path(0, 10_000)).await;
            connection.fetch(&path(0, 10_000)).await;
            let page = connection.fetch("/stats").await;
            assert_eq!(page.headers["content-type"], "application/json");
            let told: ServerStats = serde_json::from_str(&page.text).unwrap();
            assert_eq!(told, server.stats());
            assert_eq!((told.requests, told.hits, told.misses, told.bytes_sent), (2, 1, 1, 20_000));
        });
    });
}

#[test]
fn an_upstream_that_cannot_be_reached_is_a_bad_gateway_and_is_asked_again() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let free = study_stacks::Listener::bind(&settings(stack), any()).unwrap();
            let address = free.address().unwrap();
            drop(free);
            let mut upstream_settings = settings(stack);
            upstream_settings.connect_timeout = Duration::from_millis(300);
            let service = Service::edge(EdgeSettings {
                cache: CacheParams { policy: CacheChoice::Lru, size: Bytes::new(1 << 20), ttl: None },
                upstream: address,
                upstream_name: NAME.to_owned(),
                upstream_settings,
                trust: credentials.trust(),
                processing: Duration::ZERO,
            })
            .unwrap();
            let server = serve(&settings(stack), &credentials, service);
            let connection = connect(&settings(stack), &credentials, server.address()).await;
            let failed = connection.fetch(&path(0, 5_000)).await;
            assert_eq!(failed.status, Some(502), "{failed:?}");
            assert!(!failed.headers["x-error"].is_empty());
            let listener = study_stacks::Listener::bind(&settings(stack), address).unwrap();
            let _upstream = Server::start(listener, settings(stack), &credentials, origin()).unwrap();
            let again = connection.fetch(&path(0, 5_000)).await;
            assert!(again.is_complete() && again.verified, "{again:?}");
            assert_eq!(server.stats().errors, 1);
        });
    });
}
