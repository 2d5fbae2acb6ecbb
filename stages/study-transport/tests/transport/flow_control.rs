//! Windows and buffers: rate is window over round trip, and a stall has a name.

use crate::support::{TestPath, fetch, params};
use study_evidence::{Topic, claim};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Limit, Protocol, Scheduler, SessionState,
    TransportParams,
};
use study_units::{Bytes, SimTime};

fn config(protocol: Protocol, params: &TransportParams) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, SessionState::Cold, params)
}

/// Mbit/s of bytes on the stream over the second half of a long transfer on a fast link.
fn steady_rate(config: &ConnectionConfig, rtt: &str, bytes: u64) -> f64 {
    let path = TestPath::new("10 Gbit/s", rtt, |_| false);
    let (_, connection) = fetch(config, path, &[bytes]);
    let log = &connection.path.log;
    let (from, to) = (log.len() / 2, log.len() - 1);
    let header = f64::from(config.wire.header);
    let payload: f64 = log[from..to].iter().map(|(_, size)| f64::from(*size) - header).sum();
    payload * 8.0 / log[to].0.since(log[from].0).as_secs_f64() / 1e6
}

#[test]
fn a_receive_window_of_64_kib_at_50_ms_gives_10_49_mbit_s() {
    // transport.md 1.4: 65,536 B / 50 ms = 10.49 Mbit/s. Whole segments fit 45 times: at most 0.6 % below.
    let mut p = params();
    p.receive_window = Limit::of(65_536);
    let rate = steady_rate(&config(Protocol::H2, &p), "50 ms", 10_000_000);
    let law = study_transport::analytic::window_limited_rate(65_536.0, 0.05) / 1e6;
    claim!(
        Topic::NoLoss,
        "window law, rate = W / RTT",
        "a window per round trip; whole segments fit",
        "H2, receive window 64 KiB, 50 ms"
    )
    .ours(rate, "Mbit/s")
    .expected(law)
    .between(law * 0.97, law);
    // Twice the window, twice the rate; half the round trip, twice the rate.
    p.receive_window = Limit::of(131_072);
    let double = steady_rate(&config(Protocol::H2, &p), "50 ms", 20_000_000);
    assert!((double / rate - 2.0).abs() < 0.05, "{double} and {rate}");
    let near = steady_rate(&config(Protocol::H2, &p), "25 ms", 20_000_000);
    assert!((near / double - 2.0).abs() < 0.05, "{near} and {double}");
}

#[test]
fn a_pinned_send_buffer_is_doubled_and_gives_the_book_labs_19_mbit_s() {
    // transport.md 1.4: SO_SNDBUF 65,536, 131,072 in flight, RTT 55 ms: 19.07 Mbit/s in theory, 18.4 measured.
    let mut p = params();
    p.send_buffer = Limit::of(65_536);
    let rate = steady_rate(&config(Protocol::H2, &p), "55 ms", 20_000_000);
    claim!(
        Topic::NoLoss,
        "window law, pinned send buffer",
        "64 KiB, doubled by the kernel, over 55 ms; a book's laboratory measured 18.4",
        "H2, send buffer 64 KiB, 55 ms",
    )
    .ours(rate, "Mbit/s")
    .expected(study_transport::analytic::window_limited_rate(131_072.0, 0.055) / 1e6)
    .between(18.4, 19.07);
    // QUIC has no such buffer.
    let quic = steady_rate(&config(Protocol::H3, &p), "55 ms", 20_000_000);
    assert!(quic > 100.0, "{quic}");
}

#[test]
fn http_windows_obey_the_same_law_for_a_stream_and_for_a_connection() {
    // An update leaves when half the window is read, and no later part of it raises the limit until as much is read again:
    // rate lies between half a window and a window per round trip.
    for protocol in [Protocol::H2, Protocol::H3] {
        for by_stream in [true, false] {
            let mut p = params();
            let window = Some(Bytes::new(262_144));
            if by_stream {
                p.stream_window = window
            } else {
                p.connection_window = window
            }
            let rate = steady_rate(&config(protocol, &p), "50 ms", 20_000_000);
            let law = 262_144.0 * 8.0 / 0.05 / 1e6;
            assert!(rate <= law * 1.01 && rate > law * 0.49, "{protocol:?} {by_stream}: {rate} of {law}");
            // Updates at an eighth of the window (quinn) leave at least seven eighths of it.
            let mut eager = config(protocol, &p);
            eager.flow.credit_step = 8;
            let rate = steady_rate(&eager, "50 ms", 20_000_000);
            assert!(rate <= law * 1.01 && rate > law * 0.86, "{protocol:?} {by_stream}: {rate} of {law}");
        }
    }
}

#[test]
fn a_stream_window_holds_one_stream_and_a_connection_window_all() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let finish = |change: &dyn Fn(&mut TransportParams)| {
            let mut p = params();
            change(&mut p);
            let path = TestPath::new("1 Gbit/s", "40 ms", |_| false);
            let (reports, _) = fetch(&config(protocol, &p), path, &[2_000_000; 4]);
            reports.iter().map(|r| r.completed).max().unwrap().as_secs_f64()
        };
        let free = finish(&|_| {});
        let stream = finish(&|p| p.stream_window = Some(Bytes::new(500_000)));
        let all = finish(&|p| p.connection_window = Some(Bytes::new(500_000)));
        assert!(free <= stream && stream < all, "{protocol:?}: {free} {stream} {all}");
        // Four windows of 500 kB carry four times as much as one.
        assert!(all > 2.0 * stream, "{protocol:?}: {all} and {stream}");
    }
}

#[test]
fn windows_of_four_times_the_path_change_nothing_and_a_stall_is_counted() {
    // 20 Mbit/s x 30 ms = 75 kB; a drop-free path with an unlimited queue, so the window is what the sender has.
    for protocol in [Protocol::H2, Protocol::H3] {
        let run = |window: Option<u64>| {
            let mut p = params();
            p.fixed_window = 100;
            p.stream_window = window.map(Bytes::new);
            p.connection_window = window.map(Bytes::new);
            let config = ConnectionConfig { congestion_control: CongestionControl::Fixed, ..config(protocol, &p) };
            let path = TestPath::new("20 Mbit/s", "30 ms", |_| false);
            let (reports, connection) = fetch(&config, path, &[3_000_000]);
            (reports[0].completed, connection.stats().flow_blocked, connection.stats().flow_blocked_time)
        };
        let (free, wide, narrow) = (run(None), run(Some(600_000)), run(Some(30_000)));
        assert_eq!((free.1, wide.1), (0, 0));
        // Updates take room on no link here and acknowledgements leave no later.
        assert_eq!(free.0, wide.0, "{protocol:?}");
        assert!(narrow.1 > 50 && narrow.0 > free.0, "{protocol:?}: {narrow:?}");
        let late = narrow.0.since(free.0).as_secs_f64();
        let blocked = narrow.2.as_secs_f64();
        assert!(blocked >= late * 0.9, "{protocol:?}: blocked {blocked} s, late {late} s");
    }
}

#[test]
fn autotuning_starts_at_64_kib_never_limits_slow_start_for_long_and_ends_at_6_mib() {
    let mut p = params();
    p.receive_window = Limit::Auto;
    let finish = |p: &TransportParams, rtt: &str, bytes| {
        let path = TestPath::new("1 Gbit/s", rtt, |_| false);
        fetch(&config(Protocol::H2, p), path, &[bytes]).0[0].completed.as_secs_f64()
    };
    let (free, auto) = (finish(&params(), "100 ms", 5_000_000), finish(&p, "100 ms", 5_000_000));
    assert!(auto >= free && auto < free + 0.2, "at most two round trips: {auto} and {free}");
    // 6 MiB / 200 ms = 251.7 Mbit/s, on a link of 10 Gbit/s.
    let rate = steady_rate(&config(Protocol::H2, &p), "200 ms", 200_000_000);
    assert!((rate / 251.66 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn a_lost_window_update_is_repeated() {
    struct Lossy {
        ups: u32,
    }
    impl study_transport::Path for Lossy {
        fn send_down(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
            study_transport::Fate::Arrives(now + study_units::SimDuration::from_millis(20))
        }
        fn send_up(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
            self.ups += 1;
            (!self.ups.is_multiple_of(3)).then(|| now + study_units::SimDuration::from_millis(20)).into()
        }
    }
    for protocol in [Protocol::H2, Protocol::H3] {
        let mut p = params();
        p.stream_window = Some(Bytes::new(65_535));
        p.connection_window = Some(Bytes::new(65_535));
        let (reports, connection) = fetch(&config(protocol, &p), Lossy { ups: 0 }, &[1_000_000, 1_000_000]);
        assert!(reports.iter().all(|r| r.bytes == 1_000_000));
        assert!(connection.stats().flow_blocked > 0);
    }
}

#[test]
fn a_hole_keeps_quics_window_shut_for_its_stream_only() {
    // One packet of stream 0 is lost for long (its first three transmissions): stream 1 goes on.
    let mut p = params();
    p.stream_window = Some(Bytes::new(100_000));
    let config = config(Protocol::H3, &p);
    let mut dropped = 0;
    let path = TestPath::new("100 Mbit/s", "40 ms", |n| {
        let drop = (n == 12 || n == 100 || n == 101) && dropped < 3;
        dropped += u32::from(drop);
        drop
    });
    let mut connection = Connection::open(config, path, SimTime::ZERO);
    let (a, b) = (connection.request(), connection.request());
    let mut done = Vec::new();
    while done.len() < 2 {
        match connection.advance(SimTime::from_nanos(60_000_000_000)).unwrap() {
            AppEvent::RequestArrived(stream) => connection.respond(stream, 400_000, Availability::Full),
            AppEvent::Completed(stream) => done.push(stream),
        }
    }
    assert!(done.contains(&a) && done.contains(&b));
}
