//! The parts of a stream's time add up, and each is what its name says.

use crate::support::{TestPath, fetch, params};
use study_ident::SeedPath;
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState, StreamReport};
use study_units::SimDuration;

const BOTH: [Protocol; 2] = [Protocol::H2, Protocol::H3];

fn run(protocol: Protocol, sizes: &[u64], drop: impl FnMut(u64) -> bool) -> Vec<StreamReport> {
    let cc = CongestionControl::Cubic;
    let config = ConnectionConfig::new(protocol, cc, Scheduler::RoundRobin, SessionState::Cold, &params());
    fetch(&config, TestPath::new("20 Mbit/s", "40 ms", drop), sizes).0
}

fn part(report: &StreamReport, name: &str) -> SimDuration {
    report.parts.get(name).unwrap()
}

#[test]
fn parts_sum_to_the_time_of_the_last_byte() {
    for protocol in BOTH {
        for seed in 0..40 {
            for p in [0.0, 0.01, 0.08] {
                let mut stream = SeedPath::root(seed).stream("loss");
                for report in run(protocol, &[1, 20_000, 300_000, 400_000], |_| stream.happens(p)) {
                    assert_eq!(report.parts.sum(), report.completed.since(report.requested), "{report:?}");
                    assert_eq!(part(&report, "hol"), report.hol_wait);
                    assert!(protocol == Protocol::H2 || report.hol_wait == SimDuration::ZERO);
                }
            }
        }
    }
}

#[test]
fn one_stream_waits_for_no_other() {
    for protocol in BOTH {
        let mut stream = SeedPath::root(5).stream("loss");
        let report = run(protocol, &[800_000], |_| stream.happens(0.02))[0];
        assert_eq!(part(&report, "hol"), SimDuration::ZERO);
        assert_eq!(part(&report, "scheduling"), SimDuration::ZERO);
    }
}

#[test]
fn without_loss_nothing_is_repaired_and_the_handshake_is_its_round_trips() {
    for (protocol, ms) in [(Protocol::H2, 80.0), (Protocol::H3, 40.0)] {
        for report in run(protocol, &[200_000; 3], |_| false) {
            assert_eq!(part(&report, "recovery"), SimDuration::ZERO);
            // The certificate chain takes its time on the link.
            let handshake = part(&report, "handshake").as_millis_f64();
            assert!((ms..ms + 4.0).contains(&handshake), "{protocol:?}: {handshake}");
            assert!(part(&report, "propagation").as_millis_f64() >= 20.0);
        }
    }
}

#[test]
fn two_equal_responses_in_turn_wait_half_of_the_window_for_each_other_even_when_one_is_repaired() {
    for lost in [u64::MAX, 150] {
        let config = ConnectionConfig::new(
            Protocol::H3,
            CongestionControl::Cubic,
            Scheduler::RoundRobin,
            SessionState::Cold,
            &params(),
        );
        let (reports, _) = fetch(&config, TestPath::new("20 Mbit/s", "40 ms", move |i| i == lost), &[300_000, 300_000]);
        for report in reports {
            let part = |name| report.parts.get(name).unwrap().as_nanos() as f64;
            let (own, others) = (part("slow_start") + part("congestion_avoidance"), part("scheduling"));
            assert!((0.4..0.6).contains(&(others / (own + others))), "{own} and {others}, lost {lost}");
        }
    }
}

#[test]
fn each_cause_has_its_part() {
    let run = |change: &dyn Fn(&mut ConnectionConfig), lost: u64| {
        let cc = CongestionControl::Cubic;
        let mut config =
            ConnectionConfig::new(Protocol::H3, cc, Scheduler::RoundRobin, SessionState::Resumed, &params());
        change(&mut config);
        fetch(&config, TestPath::new("50 Mbit/s", "40 ms", move |i| i == lost), &[1_000_000]).0[0]
    };
    let ms = |report: &StreamReport, name: &str| part(report, name).as_millis_f64();
    // 700 packets from ten in doubling flights: six waits of a round trip for the window, all of them in slow start.
    let free = run(&|_| (), u64::MAX);
    assert!(ms(&free, "slow_start") > 100.0, "{free:?}");
    assert_eq!((ms(&free, "congestion_avoidance"), ms(&free, "flow_control")), (0.0, 0.0));
    // A loss among the first packets ends slow start: the rest waits for the window in congestion avoidance.
    let early = run(&|_| (), 12);
    assert!(
        ms(&early, "congestion_avoidance") > 200.0 && ms(&early, "slow_start") < ms(&free, "slow_start"),
        "{early:?}"
    );
    // A window of 20 kB for a megabyte: fifty round trips, nearly all of the time.
    let narrow = run(&|config| config.flow.stream_window = Some(20_000), u64::MAX);
    assert!(ms(&narrow, "flow_control") > 0.9 * narrow.parts.sum().as_millis_f64(), "{narrow:?}");
    // The last packet of the first flight waits behind nine others; the one packet of a small response behind none.
    assert!(ms(&free, "queueing") > 0.1, "{free:?}");
}

#[test]
fn data_that_comes_late_is_waited_for_as_such() {
    use study_transport::{AppEvent, Availability, Connection};
    use study_units::SimTime;
    let cc = CongestionControl::Cubic;
    let config = ConnectionConfig::new(Protocol::H3, cc, Scheduler::RoundRobin, SessionState::Resumed, &params());
    let mut connection = Connection::open(config, TestPath::new("50 Mbit/s", "40 ms", |_| false), SimTime::ZERO);
    let stream = connection.request();
    let end = SimTime::from_nanos(60_000_000_000);
    assert_eq!(connection.advance(end), Some(AppEvent::RequestArrived(stream)));
    // Half of it at once, the rest 500 ms later.
    let now = connection.now();
    let late = now + SimDuration::from_millis(500);
    connection.respond(stream, 8_000, Availability::Curve(vec![(now, 4_000), (late, 8_200)]));
    assert_eq!(connection.advance(end), Some(AppEvent::Completed(stream)));
    let report = connection.report(stream).unwrap();
    assert_eq!(part(&report, "application"), SimDuration::from_millis(500));
}
