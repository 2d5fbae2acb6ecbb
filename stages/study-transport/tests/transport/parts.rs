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
