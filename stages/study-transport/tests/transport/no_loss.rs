//! Without loss everything is arithmetic: completion times, handshake counts, goodput.

use crate::support::{TestPath, fetch, params};
use study_evidence::{Topic, claim};
use study_transport::{AckPolicy, CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState, WireFormat};
use study_units::{Bytes, SimDuration};

/// The configuration of the table: nothing but full data packets takes time.
pub fn oracle(protocol: Protocol, session: SessionState) -> ConnectionConfig {
    let mut p = params();
    p.certificate_chain = Bytes::new(0);
    p.response_headers = Bytes::new(0);
    p.ack_every = 1;
    let mut config = ConnectionConfig::new(protocol, CongestionControl::NewReno, Scheduler::Sequential, session, &p);
    config.wire = WireFormat::oracle();
    // Packets of no size give no budget.
    config.rules.amplification_limit = false;
    config
}

#[test]
fn no_loss_completion_times_match_the_table_within_one_serialisation_time() {
    let table = include_str!("../../testdata/completion_no_loss.csv");
    let (mut rows, mut worst) = (0, 0.0f64);
    for line in table.lines().filter(|l| !l.starts_with('#') && !l.starts_with("bytes")) {
        let cells: Vec<&str> = line.split(',').collect();
        let bytes: u64 = cells[0].parse().unwrap();
        for (expected, protocol, session) in [
            (cells[3], Protocol::H3, SessionState::ZeroRtt),
            (cells[4], Protocol::H3, SessionState::Cold),
            (cells[4], Protocol::H2, SessionState::ZeroRtt),
            (cells[5], Protocol::H2, SessionState::Cold),
            (cells[5], Protocol::H2, SessionState::Resumed),
        ] {
            let path = TestPath::new(cells[1], cells[2], |_| false);
            let serialisation = path.rate.serialization(1500).as_millis_f64();
            let (reports, _) = fetch(&oracle(protocol, session), path, &[bytes]);
            let ms = SimDuration::from_nanos(reports[0].completed.as_nanos()).as_millis_f64();
            let expected: f64 = expected.parse().unwrap();
            assert!((ms - expected).abs() <= serialisation, "{line} {protocol:?} {session:?}: {ms}");
            worst = worst.max((ms - expected).abs() / serialisation);
            rows += 1;
        }
    }
    assert_eq!(rows, 50);
    claim!(
        Topic::NoLoss,
        "completion times of one object: largest deviation",
        "packet-by-packet schedule of slow start, `completion_no_loss.csv`",
        "10 sizes and links x 5 handshakes, `oracle` packet sizes",
    )
    .ours(worst, "serialisation times")
    .at_most(1.0);
}

#[test]
fn goodput_on_the_reference_link_is_that_of_the_headers() {
    // 10 Mbit/s, 1,448 B of payload in 1,500 B of IP and 2 B of link overhead: 10 * 1448 / 1502 = 9.6405 Mbit/s.
    let mut config = oracle(Protocol::H2, SessionState::Cold);
    config.wire.header = 54;
    let path = TestPath::new("10 Mbit/s", "100 ms", |_| false);
    let (reports, connection) = fetch(&config, path, &[40_000_000]);
    // Skip slow start: from the first packet of the last 36 MB to the end.
    let log = &connection.path.log;
    let (start, end) = (log[log.len() / 10].0, log[log.len() - 1].0);
    let packets = (log.len() - 1 - log.len() / 10) as f64;
    let mbit_s = packets * 1448.0 * 8.0 / end.since(start).as_secs_f64() / 1e6;
    claim!(
        Topic::NoLoss,
        "goodput of a full link",
        "10 Mbit/s x 1448 / 1502; ns-3 gives the same",
        "H2, 10 Mbit/s, 100 ms, 2 B of link overhead, 40 MB",
    )
    .ours(mbit_s, "Mbit/s")
    .relative(9.6405, 1e-4);
    assert_eq!(reports[0].bytes, 40_000_000);
}

#[test]
fn handshakes_take_the_stated_round_trips() {
    // A tiny object on a fast link: what is left is round trips.
    for (protocol, session, round_trips) in [
        (Protocol::H2, SessionState::Cold, 3.0),
        (Protocol::H2, SessionState::Resumed, 3.0),
        (Protocol::H2, SessionState::ZeroRtt, 2.0),
        (Protocol::H3, SessionState::Cold, 2.0),
        (Protocol::H3, SessionState::Resumed, 2.0),
        (Protocol::H3, SessionState::ZeroRtt, 1.0),
    ] {
        let config =
            ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, session, &params());
        let (reports, _) = fetch(&config, TestPath::new("10 Gbit/s", "100 ms", |_| false), &[1_000]);
        let rtts = reports[0].completed.as_secs_f64() / 0.1;
        assert!((rtts - round_trips).abs() < 0.001, "{protocol:?} {session:?}: {rtts}");
    }
}

#[test]
fn a_chain_beyond_the_amplification_limit_costs_quic_a_round_trip() {
    let mut p = params();
    for (chain, round_trips) in [(3_000, 2.0), (5_000, 3.0)] {
        p.certificate_chain = Bytes::new(chain);
        let config = ConnectionConfig::new(
            Protocol::H3,
            CongestionControl::Cubic,
            Scheduler::RoundRobin,
            SessionState::Cold,
            &p,
        );
        let (reports, _) = fetch(&config, TestPath::new("10 Gbit/s", "100 ms", |_| false), &[1_000]);
        let rtts = reports[0].completed.as_secs_f64() / 0.1;
        let condition = format!("chain of {chain} B, three times the Initial is 3,600 B");
        claim!(Topic::Handshakes, "QUIC's limit before the address is validated", "RFC 9000 section 8.1", condition)
            .ours(rtts, "round trips with the response")
            .absolute(round_trips, 0.001);
    }
}

#[test]
fn acknowledgement_policy_is_what_it_says() {
    let config = oracle(Protocol::H3, SessionState::Cold);
    assert_eq!(config.ack, AckPolicy { every: 1, max_delay: SimDuration::from_millis(25), ..config.ack });
}

#[test]
fn round_trips_beyond_the_initial_timeout_still_differ_by_the_handshake_only() {
    for rtt in ["500 ms", "1500 ms", "2 s", "10 s"] {
        let run = |protocol| {
            let config = ConnectionConfig::new(
                protocol,
                CongestionControl::Cubic,
                Scheduler::RoundRobin,
                SessionState::Cold,
                &params(),
            );
            let (reports, connection) = fetch(&config, TestPath::new("10 Gbit/s", rtt, |_| false), &[60_000]);
            let one_way = connection.path.one_way;
            reports[0].completed.as_secs_f64() / (2.0 * one_way.as_secs_f64())
        };
        let (h2, h3) = (run(Protocol::H2), run(Protocol::H3));
        assert!(h2 < 8.5 && h3 < 7.5 && (h2 - h3 - 1.0).abs() < 0.6, "{rtt}: {h2} and {h3} round trips");
    }
}
