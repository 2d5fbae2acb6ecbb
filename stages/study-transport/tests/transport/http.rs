//! Order of responses, committed bytes, HTTP/1.1 over several connections, framing, datagrams.

use crate::support::{TestPath, fetch, params};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Fate, Framing, Limit, Path, Pool,
    Priority, Protocol, Scheduler, SessionState, StreamId, StreamReport, TransportParams,
};
use study_units::{Bytes, SimDuration, SimTime};

fn config(protocol: Protocol, scheduler: Scheduler, params: &TransportParams) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, scheduler, SessionState::Cold, params)
}

fn hour() -> SimTime {
    SimTime::from_nanos(3_600_000_000_000)
}

/// Fetches with a priority each, all asked for at once.
fn fetch_by_priority(protocol: Protocol, scheduler: Scheduler, asks: &[(u64, u8, bool)]) -> Vec<StreamReport> {
    let path = TestPath::new("20 Mbit/s", "30 ms", |_| false);
    let mut connection = Connection::open(config(protocol, scheduler, &params()), path, SimTime::ZERO);
    let streams: Vec<StreamId> = asks
        .iter()
        .map(|(_, urgency, incremental)| {
            connection.request_with(Priority { urgency: *urgency, incremental: *incremental })
        })
        .collect();
    // The server answers when it has all requests, so that only the scheduler decides.
    let mut arrived = Vec::new();
    let mut left = asks.len();
    while left > 0 {
        match connection.advance(hour()).unwrap() {
            AppEvent::RequestArrived(stream) => {
                arrived.push(stream);
                if arrived.len() == asks.len() {
                    arrived.iter().for_each(|s| connection.respond(*s, asks[s.0 as usize].0, Availability::Full));
                }
            }
            AppEvent::Completed(_) => left -= 1,
        }
    }
    streams.iter().map(|s| connection.report(*s).unwrap()).collect()
}

#[test]
fn the_most_urgent_response_goes_first_and_incremental_ones_share() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let r = fetch_by_priority(
            protocol,
            Scheduler::Urgency,
            &[(300_000, 5, false), (300_000, 3, true), (300_000, 3, true), (300_000, 3, false), (300_000, 0, false)],
        );
        let done: Vec<SimTime> = r.iter().map(|x| x.completed).collect();
        // The first window is gone before the last response comes; then by rank.
        assert!(done[4] < done[3] && done[3] < done[1] && done[2] < done[0], "{protocol:?}: {done:?}");
        // The two incremental ones end together, within a frame's time of each other.
        let frame = SimDuration::from_millis(8);
        assert!(done[2].since(done[1]) < frame && done[2] >= done[1], "{protocol:?}: {done:?}");
    }
}

#[test]
fn urgency_without_priorities_is_sequential_and_all_incremental_is_round_robin() {
    for protocol in [Protocol::H2, Protocol::H3] {
        for incremental in [false, true] {
            let asks: Vec<_> = (0..4).map(|i| (200_000 + i * 30_000, 3, incremental)).collect();
            let plain = if incremental { Scheduler::RoundRobin } else { Scheduler::Sequential };
            assert_eq!(
                fetch_by_priority(protocol, Scheduler::Urgency, &asks),
                fetch_by_priority(protocol, plain, &asks)
            );
        }
    }
}

/// A large response is under way; an urgent small one becomes due after a second. Its delay from there.
fn urgent_delay_ms(protocol: Protocol, p: &TransportParams) -> f64 {
    let path = TestPath::new("10 Mbit/s", "20 ms", |_| false);
    let mut config = config(protocol, Scheduler::Urgency, p);
    // A window of 30 packets fills the path (25 kB) and leaves a short queue.
    config.congestion_control = CongestionControl::Fixed;
    let mut connection = Connection::open(config, path, SimTime::ZERO);
    connection.request_with(Priority { urgency: 7, incremental: false });
    let ask_at = SimTime::from_nanos(1_000_000_000);
    let mut urgent = None;
    loop {
        match connection.advance(if urgent.is_none() { ask_at } else { hour() }) {
            None => urgent = Some(connection.request_with(Priority { urgency: 0, incremental: false })),
            Some(AppEvent::RequestArrived(StreamId(0))) => {
                connection.respond(StreamId(0), 5_000_000, Availability::Full);
            }
            Some(AppEvent::RequestArrived(stream)) => connection.respond(stream, 1_000, Availability::Full),
            Some(AppEvent::Completed(stream)) if Some(stream) == urgent => {
                return connection.report(stream).unwrap().completed.since(ask_at).as_millis_f64();
            }
            Some(AppEvent::Completed(_)) => {}
        }
    }
}

#[test]
fn an_urgent_response_waits_behind_committed_bytes_unless_lowat_keeps_them_few() {
    let mut p = params();
    p.fixed_window = 30;
    for protocol in [Protocol::H2, Protocol::H3] {
        p.http_send_buffer = Bytes::new(0);
        let at_the_wire = urgent_delay_ms(protocol, &p);
        p.http_send_buffer = Bytes::new(400_000);
        let committed = urgent_delay_ms(protocol, &p);
        // 400,000 B at 10 Mbit/s less headers.
        let wait =
            400_000.0 * 8.0 / 10_000.0 * if protocol == Protocol::H2 { 1500.0 / 1448.0 } else { 1480.0 / 1417.0 };
        assert!(
            (committed - at_the_wire - wait).abs() < 5.0,
            "{protocol:?}: {committed} and {at_the_wire}, expected {wait} more"
        );
    }
    p.notsent_lowat = Some(Bytes::new(16_384));
    let lowat = urgent_delay_ms(Protocol::H2, &p);
    p.http_send_buffer = Bytes::new(0);
    p.notsent_lowat = None;
    let at_the_wire = urgent_delay_ms(Protocol::H2, &p);
    assert!(lowat - at_the_wire < 16_384.0 * 8.0 / 10_000.0 * 1.05 + 2.0, "{lowat} and {at_the_wire}");
    // A pinned socket buffer commits as well: what of it is not in flight.
    p.send_buffer = Limit::of(200_000);
    let socket = urgent_delay_ms(Protocol::H2, &p);
    let unsent = 400_000.0 - 30.0 * 1_448.0;
    let expected = unsent * 8.0 / 10_000.0 * 1500.0 / 1448.0;
    assert!((socket - at_the_wire - expected).abs() < 5.0, "{socket} and {at_the_wire}, expected {expected} more");
    p.notsent_lowat = Some(Bytes::new(16_384));
    let lowat = urgent_delay_ms(Protocol::H2, &p);
    assert!(lowat - at_the_wire < 15.8, "{lowat} and {at_the_wire}");
}

#[test]
fn commitment_changes_no_last_byte() {
    // One scheduler's order or another: the same bytes fill the link.
    for scheduler in [Scheduler::RoundRobin, Scheduler::Sequential] {
        let run = |buffer: u64| {
            let mut p = params();
            p.http_send_buffer = Bytes::new(buffer);
            let path = TestPath::new("20 Mbit/s", "30 ms", |n| n % 97 == 50);
            let (reports, connection) = fetch(&config(Protocol::H2, scheduler, &p), path, &[300_000; 3]);
            (reports.iter().map(|r| r.completed).max().unwrap(), connection.stats().packets_sent)
        };
        let ((wire, a), (committed, b)) = (run(0), run(100_000));
        assert!(a.abs_diff(b) <= 1, "{a} and {b} packets");
        let apart = if wire > committed { wire.since(committed) } else { committed.since(wire) };
        assert!(apart.as_millis_f64() < 1.0, "{scheduler:?}: {wire:?} and {committed:?}");
    }
}

/// Fetches `sizes` through a pool, all asked for at once.
fn fetch_pooled<P: Path>(config: ConnectionConfig, path: P, sizes: &[u64]) -> (Vec<StreamReport>, Pool<P>) {
    let mut pool = Pool::open(config, path, SimTime::ZERO);
    let streams: Vec<_> = sizes.iter().map(|_| pool.request()).collect();
    let mut left = sizes.len();
    while left > 0 {
        match pool.advance(hour()).unwrap() {
            AppEvent::RequestArrived(s) => pool.respond(s, sizes[s.0 as usize], Availability::Full),
            AppEvent::Completed(_) => left -= 1,
        }
    }
    (streams.iter().map(|s| pool.report(*s).unwrap()).collect(), pool)
}

#[test]
fn a_pool_of_one_connection_is_that_connection() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let config = config(protocol, Scheduler::RoundRobin, &params());
        let path = || TestPath::new("20 Mbit/s", "30 ms", |n| n % 41 == 7);
        let sizes = [300_000, 200_000, 100_000];
        let (alone, connection) = fetch(&config, path(), &sizes);
        let (pooled, pool) = fetch_pooled(config, path(), &sizes);
        assert_eq!(alone, pooled);
        assert_eq!(connection.stats().events, pool.stats().events);
        assert_eq!(pool.connections(), 1);
    }
}

#[test]
fn http_1_has_six_connections_one_request_on_each_and_one_link() {
    let config = config(Protocol::H1, Scheduler::Sequential, &params());
    let (reports, pool) = fetch_pooled(config.clone(), TestPath::new("20 Mbit/s", "40 ms", |_| false), &[50_000; 14]);
    assert_eq!(pool.connections(), 6);
    // Six at a time: the seventh request waits for a connection, so its response begins after another has ended.
    let mut ends: Vec<SimTime> = reports.iter().map(|r| r.completed).collect();
    ends.sort();
    assert!(reports[..6].iter().all(|r| r.first_byte < ends[0]), "the first six begin together");
    assert!(reports[6..].iter().all(|r| r.first_byte > ends[0]));
    assert!(reports.iter().all(|r| r.requested == SimTime::ZERO), "from when the client asked");
    // They share the link: its log is in the order of time and never above its rate.
    let log = &pool.path().log;
    assert!(log.windows(2).all(|w| w[0].0 < w[1].0));
    let bytes: u64 = log[1..].iter().map(|(_, size)| u64::from(*size)).sum();
    assert!(bytes <= pool.path().rate.bytes_in(log[log.len() - 1].0.since(log[0].0)) + 1);
    // Each has its own handshake: a seventh and later request pays none, the first six pay two round trips and their own.
    let first = reports.iter().map(|r| r.first_byte).min().unwrap();
    assert!((119.0..135.0).contains(&(first.as_nanos() as f64 / 1e6)), "{first:?}");
}

#[test]
fn six_initial_windows_carry_what_one_carries_in_three_round_trips() {
    // 60 packets at once: 87 kB, which one connection sends in 10 + 20 + 40 packets.
    let run = |protocol| {
        let path = TestPath::new("10 Gbit/s", "100 ms", |_| false);
        let (reports, _) = fetch_pooled(config(protocol, Scheduler::RoundRobin, &params()), path, &[14_000; 6]);
        reports.iter().map(|r| r.completed).max().unwrap().as_secs_f64()
    };
    let (h1, h2) = (run(Protocol::H1), run(Protocol::H2));
    assert!((h1 - 0.3).abs() < 0.002, "{h1}");
    assert!((h2 - 0.5).abs() < 0.002, "{h2}");
}

#[test]
fn a_hole_stops_one_connection_of_http_1_and_all_responses_of_http_2() {
    let stalled = |protocol| {
        // Lost: one packet of the last flight.
        let path = TestPath::new("100 Mbit/s", "100 ms", |n| n == 155);
        let (reports, _) = fetch_pooled(config(protocol, Scheduler::RoundRobin, &params()), path, &[40_000; 6]);
        reports.iter().filter(|r| r.hol_wait > SimDuration::ZERO).count()
    };
    assert_eq!(stalled(Protocol::H1), 0, "nobody waits for another's hole");
    assert!(stalled(Protocol::H2) > 1);
}

#[test]
fn http_1_on_one_connection_is_one_request_after_the_other() {
    let mut p = params();
    p.h1_connections = 1;
    let path = TestPath::new("100 Mbit/s", "100 ms", |_| false);
    let (reports, pool) = fetch_pooled(config(Protocol::H1, Scheduler::Sequential, &p), path, &[10_000; 3]);
    assert_eq!(pool.connections(), 1);
    for (i, report) in reports.iter().enumerate() {
        let round_trips = report.completed.as_secs_f64() / 0.1;
        assert!((round_trips - 3.0 - i as f64).abs() < 0.05, "{i}: {round_trips}");
    }
}

#[test]
fn datagram_size_decides_how_many_packets_there_are() {
    let run = |bytes| {
        let mut p = params();
        p.datagram = Bytes::new(bytes);
        let path = TestPath::new("100 Mbit/s", "20 ms", |_| false);
        let (_, connection) = fetch(&config(Protocol::H3, Scheduler::RoundRobin, &p), path, &[1_000_000]);
        let largest = connection.path.log.iter().map(|(_, size)| *size).max().unwrap();
        (connection.stats().packets_sent, largest)
    };
    // Payload is the datagram less 35 B; the IP packet has 28 B more than the datagram. 3,350 B of handshake apart.
    for datagram in [1_200, 1_452, 1_472] {
        let payload = datagram - 35;
        let expected = 1_000_200u64.div_ceil(payload) + 3_350u64.div_ceil(payload);
        assert_eq!(run(datagram), (expected, datagram as u32 + 28), "{datagram}");
    }
}

#[test]
fn full_framing_costs_the_bytes_of_prefaces_and_frames() {
    struct Count<P>(P, u64, u64);
    impl<P: Path> Path for Count<P> {
        fn send_down(&mut self, now: SimTime, bytes: u32) -> Fate {
            self.1 += u64::from(bytes);
            self.0.send_down(now, bytes)
        }
        fn send_up(&mut self, now: SimTime, bytes: u32) -> Fate {
            self.2 += u64::from(bytes);
            self.0.send_up(now, bytes)
        }
    }
    let run = |protocol, framing| {
        let mut p = params();
        p.framing = framing;
        let path = Count(TestPath::new("100 Mbit/s", "20 ms", |_| false), 0, 0);
        let (_, connection) = fetch(&config(protocol, Scheduler::RoundRobin, &p), path, &[100_000]);
        (connection.path.1, connection.path.2)
    };
    for (protocol, down, up) in [(Protocol::H2, 0, 86), (Protocol::H3, 7 * 5, 14)] {
        let (plain, full) = (run(protocol, Framing::Responses), run(protocol, Framing::Full));
        assert_eq!((full.0 - plain.0, full.1 - plain.1), (down, up), "{protocol:?}");
    }
}
