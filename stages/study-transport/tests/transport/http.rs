//! Windows, buffers, records, priorities and handshakes: what each parameter does, by the laws that it must follow.

use crate::support::{TestPath, fetch, params};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Limit, Pool, Priority, Protocol,
    Scheduler, SessionState, StreamId, TlsVersion, TransportParams,
};
use study_units::{Bytes, SimDuration, SimTime};

fn config(protocol: Protocol, state: SessionState, change: impl Fn(&mut TransportParams)) -> ConnectionConfig {
    let mut params = params();
    change(&mut params);
    ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, state, &params)
}

/// Mbit/s of the second half of a transfer on a link that is no limit.
fn rate(config: &ConnectionConfig, rtt: &str, bytes: u64) -> f64 {
    let path = TestPath::new("10 Gbit/s", rtt, |_| false);
    let (_, connection) = fetch(config, path, &[bytes]);
    let log = &connection.path.log;
    let half = &log[log.len() / 2..];
    let carried: u64 = half[1..].iter().map(|(_, bytes)| u64::from(bytes - config.wire.header)).sum();
    carried as f64 * 8.0 / half[half.len() - 1].0.since(half[0].0).as_secs_f64() / 1e6
}

#[test]
fn rate_is_at_most_window_over_round_trip() {
    // transport.md 1.4: 64 KiB over 50 ms is 10.49 Mbit/s; the window moves by whole packets of 1,448 bytes.
    let window = |c: &mut TransportParams| c.receive_window = Limit::of(65_536);
    let measured = rate(&config(Protocol::H2, SessionState::Cold, window), "50 ms", 8_000_000);
    assert!((9.9..=10.49).contains(&measured), "{measured}");
    // QUIC: the same from a stream window.
    let window = |c: &mut TransportParams| c.stream_window = Some(Bytes::new(65_536));
    let measured = rate(&config(Protocol::H3, SessionState::Cold, window), "50 ms", 8_000_000);
    assert!(measured <= 10.49, "{measured}");
    assert!(measured > 4.5, "updates at half the window keep at least half of it moving: {measured}");
}

#[test]
fn a_pinned_send_buffer_is_doubled_and_limits_the_rate() {
    // transport.md 1.4, the book's lab: SO_SNDBUF 65,536 doubles to 131,072 in flight; 55 ms: 19.0 Mbit/s.
    let pinned = |c: &mut TransportParams| c.send_buffer = Limit::of(65_536);
    let measured = rate(&config(Protocol::H2, SessionState::Cold, pinned), "55 ms", 16_000_000);
    assert!((18.0..=19.07).contains(&measured), "{measured}");
}

#[test]
fn an_autotuned_window_grows_until_it_is_no_limit() {
    let auto = |c: &mut TransportParams| c.receive_window = Limit::Auto;
    let free = rate(&config(Protocol::H2, SessionState::Cold, |_| ()), "50 ms", 30_000_000);
    let tuned = rate(&config(Protocol::H2, SessionState::Cold, auto), "50 ms", 30_000_000);
    assert!(tuned > 200.0 && tuned <= free * 1.001, "{tuned} of {free}");
}

/// Round trips until the request has arrived, on a link without serialisation.
fn handshake(protocol: Protocol, state: SessionState, change: impl Fn(&mut TransportParams)) -> f64 {
    let config = config(protocol, state, change);
    let path = TestPath::new("100 Gbit/s", "100 ms", |_| false);
    let mut connection = Connection::open(config, path, SimTime::ZERO);
    connection.request();
    let event = connection.advance(SimTime::from_nanos(60_000_000_000));
    assert_eq!(event, Some(AppEvent::RequestArrived(StreamId(0))));
    (connection.now().since(SimTime::ZERO).as_secs_f64() / 0.1 - 0.5).max(0.0)
}

#[test]
fn round_trips_before_the_request_are_those_of_the_table() {
    use Protocol::{H2, H3};
    use SessionState::{Cold, Resumed, ZeroRtt, ZeroRttRejected};
    let plain = |_: &mut TransportParams| ();
    let v12 = |c: &mut TransportParams| c.tls = TlsVersion::V1_2;
    let fast_open = |c: &mut TransportParams| c.fast_open = true;
    // transport.md 1.5; RFC 5246 figure 1 and 2, RFC 7413, RFC 8446 section 2, RFC 9000 sections 6 and 8.1.2.
    let rows: [(&str, f64, f64); 12] = [
        ("TCP + TLS 1.3", handshake(H2, Cold, plain), 2.0),
        ("TCP + TLS 1.3 resumed", handshake(H2, Resumed, plain), 2.0),
        ("TCP + TLS 1.3 early data", handshake(H2, ZeroRtt, plain), 1.0),
        ("TCP + TLS 1.3 early data rejected", handshake(H2, ZeroRttRejected, plain), 2.0),
        ("TCP + TLS 1.2", handshake(H2, Cold, v12), 3.0),
        ("TCP + TLS 1.2 resumed", handshake(H2, Resumed, v12), 2.0),
        ("TFO + TLS 1.3 early data", handshake(H2, ZeroRtt, fast_open), 0.0),
        ("QUIC", handshake(H3, Cold, plain), 1.0),
        ("QUIC 0-RTT", handshake(H3, ZeroRtt, plain), 0.0),
        ("QUIC 0-RTT rejected", handshake(H3, ZeroRttRejected, plain), 1.0),
        ("QUIC + Retry", handshake(H3, Cold, |c| c.retry = true), 2.0),
        ("QUIC + Version Negotiation", handshake(H3, Cold, |c| c.version_negotiation = true), 2.0),
    ];
    for (name, measured, expected) in rows {
        assert!((measured - expected).abs() < 0.001, "{name}: {measured} instead of {expected}");
    }
}

#[test]
fn a_record_that_needs_a_second_flight_makes_the_first_byte_wait_for_it() {
    // A body of 15,000 bytes does not fit into 10 packets of 1,448: in one record nothing can be read before the last byte.
    let run = |record: Option<u64>| {
        let config = config(Protocol::H2, SessionState::Resumed, |c| c.tls_record = record.map(Bytes::new));
        let path = TestPath::new("100 Mbit/s", "100 ms", |_| false);
        let report = fetch(&config, path, &[15_000]).0[0];
        (report.first_byte.since(report.requested), report.completed.since(report.requested))
    };
    let (first, last) = run(Some(16_384));
    assert_eq!(first, last);
    let (first, last) = run(Some(1_400));
    assert!(last.since_ms(first) > 90.0, "{first:?} {last:?}");
    let (first_without, _) = run(None);
    assert!(first_without <= first);
}

trait SinceMs {
    fn since_ms(self, earlier: Self) -> f64;
}
impl SinceMs for SimDuration {
    fn since_ms(self, earlier: Self) -> f64 {
        (self.as_nanos() - earlier.as_nanos()) as f64 / 1e6
    }
}

/// When an urgent response of 20 kB is complete that is asked for while a bulk response of 4 MB is under way.
fn urgent_after(scheduler: Scheduler, change: impl Fn(&mut TransportParams)) -> SimDuration {
    let mut config = config(Protocol::H2, SessionState::Resumed, change);
    config.scheduler = scheduler;
    let path = TestPath::new("10 Mbit/s", "40 ms", |_| false);
    let mut connection = Connection::open(config, path, SimTime::ZERO);
    connection.request();
    let mut asked = None;
    loop {
        match connection.advance(SimTime::from_nanos(if asked.is_none() { 1_000_000_000 } else { 60_000_000_000 })) {
            Some(AppEvent::RequestArrived(StreamId(0))) => {
                connection.respond(StreamId(0), 4_000_000, Availability::Full)
            }
            Some(AppEvent::RequestArrived(stream)) => connection.respond(stream, 20_000, Availability::Full),
            Some(AppEvent::Completed(StreamId(1))) => break,
            Some(AppEvent::Completed(_)) => {}
            None => asked = Some(connection.request_with(Priority { urgency: 0, incremental: false })),
        }
    }
    let report = connection.report(asked.unwrap()).unwrap();
    report.completed.since(report.requested)
}

#[test]
fn the_urgent_response_goes_first_unless_bytes_are_committed_before_it() {
    let direct = urgent_after(Scheduler::Urgency, |_| ());
    let in_order = urgent_after(Scheduler::Sequential, |_| ());
    assert!(in_order.since_ms(direct) > 1_000.0, "behind the bulk: {in_order:?} against {direct:?}");
    // 400 kB committed below the scheduler are 320 ms at 10 Mbit/s.
    let committed = urgent_after(Scheduler::Urgency, |c| c.http_send_buffer = Bytes::new(400_000));
    let extra = committed.since_ms(direct);
    assert!((250.0..=400.0).contains(&extra), "{extra} ms");
    let low = urgent_after(Scheduler::Urgency, |c| c.http_send_buffer = Bytes::new(16_384));
    assert!(low.since_ms(direct) < 30.0, "{low:?} against {direct:?}");
}

#[test]
fn http_1_asks_for_one_object_per_connection_and_opens_at_most_six() {
    let config = config(Protocol::H1, SessionState::Cold, |_| ());
    let path = TestPath::new("20 Mbit/s", "40 ms", |_| false);
    let mut pool = Pool::open(config, path, SimTime::ZERO);
    let streams: Vec<StreamId> = (0..20).map(|_| pool.request()).collect();
    let (mut open, mut most, mut left) = (0, 0, streams.len());
    while left > 0 {
        match pool.advance(SimTime::from_nanos(60_000_000_000)) {
            Some(AppEvent::RequestArrived(stream)) => {
                open += 1;
                most = most.max(open);
                pool.respond(stream, 30_000, Availability::Full);
            }
            Some(AppEvent::Completed(_)) => (open, left) = (open - 1, left - 1),
            None => panic!("the transfers did not end"),
        }
    }
    assert_eq!((pool.connections(), most), (6, 6));
    // All share the link: no interval carries more than its rate.
    let log = &pool.path().log;
    let bits: u64 = log.iter().map(|(_, bytes)| u64::from(*bytes) * 8).sum();
    assert!(bits as f64 <= 20e6 * log[log.len() - 1].0.since(SimTime::ZERO).as_secs_f64());
    // A pool of one multiplexed connection is that connection.
    let h2 = self::config(Protocol::H2, SessionState::Cold, |_| ());
    let alone = fetch(&h2, TestPath::new("20 Mbit/s", "40 ms", |i| i % 31 == 30), &[300_000]).0[0];
    let mut pool = Pool::open(h2, TestPath::new("20 Mbit/s", "40 ms", |i| i % 31 == 30), SimTime::ZERO);
    let stream = pool.request();
    loop {
        match pool.advance(SimTime::from_nanos(60_000_000_000)) {
            Some(AppEvent::RequestArrived(stream)) => pool.respond(stream, 300_000, Availability::Full),
            Some(AppEvent::Completed(_)) => break,
            None => panic!("the transfer did not end"),
        }
    }
    assert_eq!(pool.report(stream).unwrap().completed, alone.completed);
}

#[test]
fn ten_thousand_streams_and_a_large_object_end_and_cost_by_the_packet() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let config = config(protocol, SessionState::Cold, |_| ());
        let (reports, many) = fetch(&config, TestPath::new("1 Gbit/s", "20 ms", |_| false), &vec![100; 10_000]);
        assert_eq!(reports.len(), 10_000);
        // At most two pieces in a packet: half as many packets as streams at least.
        assert!(many.stats().packets_sent < 10_100, "{}", many.stats().packets_sent);
        let (one, _) = fetch(&config, TestPath::new("1 Gbit/s", "0 ms", |_| false), &[1]);
        assert_eq!(one[0].bytes, 1);
        let (slow, _) = fetch(&config, TestPath::new("1 Gbit/s", "10 s", |_| false), &[1_000_000]);
        assert!(slow[0].completed.since(SimTime::ZERO) > SimDuration::from_secs(70));
    }
}
