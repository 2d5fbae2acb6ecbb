//! Input at its limits: a defined result or an end, never a hang, a panic or endless events.

use crate::support::{TestPath, fetch, params};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Fate, Limit, Path, Pool, Protocol,
    Scheduler, SessionState, StreamId, TransportParams,
};
use study_units::{Bytes, SimDuration, SimTime};

const BOTH: [Protocol; 2] = [Protocol::H2, Protocol::H3];

fn config(protocol: Protocol, params: &TransportParams) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, SessionState::Cold, params)
}

/// A path that keeps no log: delay, time per packet, and a rule for each packet of either direction.
struct Plain<F> {
    one_way: SimDuration,
    per_packet: SimDuration,
    free_at: SimTime,
    sent: u64,
    /// Extra delay of packet n, or `None`: it is lost.
    rule: F,
}

impl<F: FnMut(u64) -> Option<SimDuration>> Plain<F> {
    fn new(rtt: SimDuration, per_packet: SimDuration, rule: F) -> Self {
        Self { one_way: rtt.half(), per_packet, free_at: SimTime::ZERO, sent: 0, rule }
    }
    fn arrival(&mut self, from: SimTime) -> Option<SimTime> {
        self.sent += 1;
        (self.rule)(self.sent - 1).map(|extra| from + self.one_way + extra)
    }
}

impl<F: FnMut(u64) -> Option<SimDuration>> Path for Plain<F> {
    fn send_down(&mut self, now: SimTime, _: u32) -> Fate {
        self.free_at = self.free_at.max(now) + self.per_packet;
        self.arrival(self.free_at).into()
    }
    fn send_up(&mut self, now: SimTime, _: u32) -> Fate {
        self.arrival(now).into()
    }
}

fn ms(ms: u64) -> SimDuration {
    SimDuration::from_millis(ms)
}

#[test]
fn when_everything_is_lost_the_connection_gives_up() {
    for protocol in BOTH {
        for rule in [|_: u64| None, |n: u64| (n < 40).then_some(SimDuration::ZERO)] {
            let mut p = params();
            p.give_up = SimDuration::from_secs(900);
            let path = Plain::new(ms(50), ms(1), rule);
            let mut connection = Connection::open(config(protocol, &p), path, SimTime::ZERO);
            connection.request();
            while let Some(event) = connection.advance(SimTime::NEVER) {
                if let AppEvent::RequestArrived(stream) = event {
                    connection.respond(stream, 10_000_000, Availability::Full);
                }
            }
            assert!(connection.gave_up(), "{protocol:?}");
            let end = connection.now().as_nanos() as f64 / 1e9;
            // At most one backed-off timeout (60 s) later.
            assert!((900.0..=961.0).contains(&end), "{protocol:?}: {end} s");
            assert_eq!(connection.report(StreamId(0)), None);
            // Asking again is answered by silence.
            connection.request();
            assert_eq!(connection.advance(SimTime::NEVER), None);
        }
    }
}

#[test]
fn a_link_of_no_rate_delivers_nothing_and_ends() {
    struct Stopped;
    impl Path for Stopped {
        fn send_down(&mut self, _: SimTime, _: u32) -> Fate {
            Fate::Arrives(SimTime::NEVER)
        }
        fn send_up(&mut self, _: SimTime, _: u32) -> Fate {
            Fate::Arrives(SimTime::NEVER)
        }
    }
    for protocol in BOTH {
        let mut connection = Connection::open(config(protocol, &params()), Stopped, SimTime::ZERO);
        connection.request();
        assert_eq!(connection.advance(SimTime::NEVER), None);
        assert!(connection.gave_up());
    }
    let mut pool = Pool::open(config(Protocol::H1, &params()), Stopped, SimTime::ZERO);
    (0..20).for_each(|_| assert!(pool.request().0 < 20));
    assert_eq!(pool.advance(SimTime::NEVER), None);
    assert!(pool.gave_up() && pool.connections() == 6);
}

#[test]
fn windows_of_one_segment_and_of_one_byte_still_deliver() {
    type Change = fn(&mut TransportParams);
    let changes: [Change; 8] = [
        |p| p.receive_window = Limit::of(1_448),
        |p| p.receive_window = Limit::of(1),
        |p| p.send_buffer = Limit::of(1),
        |p| p.stream_window = Some(Bytes::new(1)),
        |p| p.connection_window = Some(Bytes::new(1_448)),
        |p| p.connection_window = Some(Bytes::new(0)),
        |p| (p.initial_window, p.fixed_window) = (1, 1),
        |p| (p.send_buffer, p.notsent_lowat, p.tls_record) = (Limit::of(700), Some(Bytes::new(0)), Some(Bytes::new(0))),
    ];
    for protocol in BOTH {
        for (i, change) in changes.iter().enumerate() {
            let mut p = params();
            change(&mut p);
            let mut config = config(protocol, &p);
            if i == 6 {
                config.congestion_control = CongestionControl::Fixed;
            }
            let path = TestPath::new("10 Mbit/s", "10 ms", |n| n % 50 == 49);
            let (reports, _) = fetch(&config, path, &[3_000, 3_000]);
            assert!(reports.iter().all(|r| r.bytes == 3_000), "{protocol:?}, change {i}");
        }
    }
}

#[test]
fn round_trips_of_nothing_and_of_ten_seconds() {
    for protocol in BOTH {
        for pacing in [false, true] {
            for control in [CongestionControl::Cubic, CongestionControl::NewReno, CongestionControl::Fixed] {
                for (rtt, at_least) in [(SimDuration::ZERO, 0.0), (SimDuration::from_secs(10), 20.0)] {
                    let mut p = params();
                    p.pacing = pacing;
                    let mut config = config(protocol, &p);
                    config.congestion_control = control;
                    let path =
                        Plain::new(rtt, SimDuration::from_micros(10), |n| (n % 100 != 99).then_some(SimDuration::ZERO));
                    let (reports, _) = fetch(&config, path, &[300_000]);
                    let seconds = reports[0].completed.as_nanos() as f64 / 1e9;
                    assert!(seconds >= at_least && seconds < 1_000.0, "{protocol:?} {rtt:?}: {seconds}");
                }
            }
        }
    }
}

#[test]
fn objects_of_no_byte_and_of_one() {
    for protocol in [Protocol::H1, Protocol::H2, Protocol::H3] {
        for headers in [0, 200] {
            let mut p = params();
            p.response_headers = Bytes::new(headers);
            let path = TestPath::new("10 Mbit/s", "10 ms", |_| false);
            let (reports, _) = fetch(&config(protocol, &p), path, &[0, 1]);
            assert_eq!((reports[0].bytes, reports[1].bytes), (0, 1));
            assert!(reports.iter().all(|r| r.completed >= r.first_byte));
        }
    }
}

#[test]
fn ten_thousand_streams_at_once_and_each_packet_costs_the_same() {
    for protocol in BOTH {
        for scheduler in [Scheduler::RoundRobin, Scheduler::Sequential, Scheduler::Urgency] {
            let run = |streams: usize| {
                let mut config = config(protocol, &params());
                config.scheduler = scheduler;
                let path = Plain::new(ms(20), SimDuration::from_micros(12), |n| {
                    (n % 1_000 != 999).then_some(SimDuration::ZERO)
                });
                let (reports, connection) = fetch(&config, path, &vec![2_000; streams]);
                assert!(reports.iter().all(|r| r.bytes == 2_000));
                let stats = connection.stats();
                stats.events as f64 / (stats.packets_sent + stats.client_packets) as f64
            };
            let (few, many) = (run(1_000), run(10_000));
            assert!((many / few - 1.0).abs() < 0.2, "{protocol:?} {scheduler:?}: {few} and {many} steps per packet");
        }
    }
}

#[test]
fn ten_thousand_streams_that_trickle_in() {
    // Every response becomes available in three steps: the queue holds ten thousand that wait for data.
    for protocol in BOTH {
        let path = Plain::new(ms(20), SimDuration::from_micros(12), |_| Some(SimDuration::ZERO));
        let mut connection = Connection::open(config(protocol, &params()), path, SimTime::ZERO);
        (0..10_000).for_each(|_| assert!(connection.request().0 < 10_000));
        let mut left = 10_000;
        while left > 0 {
            match connection.advance(SimTime::from_nanos(3_600_000_000_000)).unwrap() {
                AppEvent::RequestArrived(stream) => {
                    let now = connection.now();
                    let step = |k: u64| {
                        (now + ms(1 + (u64::from(stream.0) * 7_919 + k * 104_729) % 5_000 + k * 5_000), k * 700)
                    };
                    connection.respond(stream, 2_100, Availability::Curve((0..=3).map(step).collect()));
                }
                AppEvent::Completed(_) => left -= 1,
            }
        }
    }
}

#[test]
fn every_packet_overtaken_by_others() {
    for protocol in BOTH {
        // Delays of 0 to 20 ms in a fixed scramble: nearly every packet is overtaken by many.
        let path = Plain::new(ms(40), SimDuration::from_micros(100), |n| {
            Some(SimDuration::from_micros(n.wrapping_mul(2_654_435_761) % 20_000))
        });
        let (reports, connection) = fetch(&config(protocol, &params()), path, &[500_000, 500_000]);
        assert!(reports.iter().all(|r| r.bytes == 500_000));
        assert!(connection.stats().spurious > 0);
        let seconds = reports[0].completed.as_nanos() as f64 / 1e9;
        assert!(seconds < 60.0, "{protocol:?}: {seconds}");
    }
}

#[test]
#[should_panic(expected = "viewer 7, connection 0 makes no progress")]
fn the_watchdog_names_the_connection() {
    // No delay and no time per packet: everything happens at one instant for ever.
    let path = Plain::new(SimDuration::ZERO, SimDuration::ZERO, |_| Some(SimDuration::ZERO));
    let mut pool = Pool::open(config(Protocol::H3, &params()), path, SimTime::ZERO).labelled("viewer 7");
    pool.request();
    while let Some(event) = pool.advance(SimTime::from_nanos(1_000_000_000)) {
        if let AppEvent::RequestArrived(stream) = event {
            pool.respond(stream, 1 << 40, Availability::Full);
        }
    }
}
