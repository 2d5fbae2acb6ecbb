//! Handshakes, counted in round trips, and TLS records.

use crate::support::{TestPath, fetch, params};
use study_evidence::{Topic, claim};
use study_transport::{
    CongestionControl, ConnectionConfig, Fate, Path, Protocol, Scheduler, SessionState, TlsVersion, TransportParams,
};
use study_units::{Bytes, SimDuration, SimTime};

fn config(protocol: Protocol, session: SessionState, params: &TransportParams) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, session, params)
}

/// Round trips until a small object is there, less the one of request and response.
fn round_trips(config: &ConnectionConfig) -> f64 {
    let (reports, _) = fetch(config, TestPath::new("10 Gbit/s", "100 ms", |_| false), &[1_000]);
    reports[0].completed.as_secs_f64() / 0.1 - 1.0
}

#[test]
fn round_trips_before_the_request_are_those_of_the_table() {
    // transport.md 1.5; RFC 5246, 7413, 8446, 9000, 9001.
    type Change = fn(&mut TransportParams);
    let tls_1_2: Change = |p| p.tls = TlsVersion::V1_2;
    let fast_open: Change = |p| p.fast_open = true;
    let retry: Change = |p| p.retry = true;
    let versions: Change = |p| p.version_negotiation = true;
    let both: Change = |p| (p.retry, p.version_negotiation) = (true, true);
    let old_fast_open: Change = |p| (p.tls, p.fast_open) = (TlsVersion::V1_2, true);
    let plain: Change = |_| {};
    use SessionState::{Cold, Resumed, ZeroRtt, ZeroRttRejected};
    let rows: &[(Protocol, SessionState, Change, f64)] = &[
        (Protocol::H2, Cold, tls_1_2, 3.0),
        (Protocol::H2, Resumed, tls_1_2, 2.0),
        (Protocol::H2, ZeroRtt, tls_1_2, 2.0),
        (Protocol::H2, Cold, plain, 2.0),
        (Protocol::H2, Resumed, plain, 2.0),
        (Protocol::H2, ZeroRtt, plain, 1.0),
        (Protocol::H2, ZeroRttRejected, plain, 2.0),
        (Protocol::H2, Cold, fast_open, 2.0),
        (Protocol::H2, Resumed, fast_open, 1.0),
        (Protocol::H2, ZeroRtt, fast_open, 0.0),
        (Protocol::H2, ZeroRttRejected, fast_open, 1.0),
        (Protocol::H2, Resumed, old_fast_open, 1.0),
        (Protocol::H1, Cold, plain, 2.0),
        (Protocol::H1, Cold, tls_1_2, 3.0),
        (Protocol::H3, Cold, plain, 1.0),
        (Protocol::H3, Resumed, plain, 1.0),
        (Protocol::H3, ZeroRtt, plain, 0.0),
        (Protocol::H3, ZeroRttRejected, plain, 1.0),
        (Protocol::H3, Cold, retry, 2.0),
        (Protocol::H3, ZeroRtt, retry, 1.0),
        (Protocol::H3, Cold, versions, 2.0),
        (Protocol::H3, ZeroRtt, versions, 1.0),
        (Protocol::H3, Cold, both, 3.0),
        (Protocol::H3, Cold, tls_1_2, 1.0),
        (Protocol::H2, Cold, retry, 2.0),
    ];
    for (protocol, session, change, expected) in rows {
        let mut p = params();
        change(&mut p);
        let found = round_trips(&config(*protocol, *session, &p));
        let mut condition = format!("{protocol:?}, {session:?}");
        for (set, name) in [
            (p.tls == TlsVersion::V1_2, ", TLS 1.2"),
            (p.fast_open, ", Fast Open"),
            (p.retry, ", Retry"),
            (p.version_negotiation, ", Version Negotiation"),
        ] {
            condition.push_str(if set { name } else { "" });
        }
        claim!(
            Topic::Handshakes,
            "round trips before the request",
            "RFC 5246, 7413, 8446, 9000, 9001",
            format!("{condition}, 100 ms"),
        )
        .ours(found, "")
        .absolute(*expected, 0.001);
    }
}

#[test]
fn the_completion_table_has_a_column_for_tls_1_2() {
    // transport.md 1.5, H = 3, of the `oracle` configuration.
    let mut worst = 0.0f64;
    for (bytes, rate, rtt, expected) in [
        (15_000, "10 Mbit/s", "100 ms", 502.40),
        (15_000, "10 Mbit/s", "20 ms", 102.40),
        (100_000, "10 Mbit/s", "20 ms", 173.20),
        (100_000, "10 Mbit/s", "100 ms", 650.40),
        (1_000_000, "10 Mbit/s", "20 ms", 918.40),
        (1_000_000, "10 Mbit/s", "100 ms", 1454.00),
        (2_000_000, "10 Mbit/s", "100 ms", 2283.20),
    ] {
        let mut oracle = crate::no_loss::oracle(Protocol::H2, SessionState::Cold);
        oracle.handshake.tls_1_2 = true;
        let path = TestPath::new(rate, rtt, |_| false);
        let serialisation = path.rate.serialization(1_500).as_millis_f64();
        let (reports, _) = fetch(&oracle, path, &[bytes]);
        let ms = reports[0].completed.as_nanos() as f64 / 1e6;
        assert!((ms - expected).abs() <= serialisation, "{bytes} {rate} {rtt}: {ms}");
        worst = worst.max((ms - expected).abs() / serialisation);
    }
    claim!(
        Topic::NoLoss,
        "completion times of one object: largest deviation",
        "packet-by-packet schedule of slow start, `no_loss_completion.csv`",
        "TLS 1.2, 7 sizes and links, `oracle` packet sizes",
    )
    .ours(worst, "serialisation times")
    .at_most(1.0);
}

#[test]
fn a_token_from_retry_lifts_the_amplification_limit() {
    let mut p = params();
    p.certificate_chain = Bytes::new(8_000);
    let unvalidated = round_trips(&config(Protocol::H3, SessionState::Cold, &p));
    p.retry = true;
    let validated = round_trips(&config(Protocol::H3, SessionState::Cold, &p));
    assert!((unvalidated - 2.0).abs() < 0.001 && (validated - 2.0).abs() < 0.001, "{unvalidated} {validated}");
    // Without Retry the version exchange gives no budget: the limit holds for the Initial that follows.
    (p.retry, p.version_negotiation, p.certificate_chain) = (false, true, Bytes::new(5_000));
    let negotiated = round_trips(&config(Protocol::H3, SessionState::Cold, &p));
    assert!((negotiated - 3.0).abs() < 0.001, "{negotiated}");
}

#[test]
fn handshakes_survive_the_loss_of_any_one_packet() {
    for (protocol, session) in [
        (Protocol::H2, SessionState::Cold),
        (Protocol::H2, SessionState::ZeroRttRejected),
        (Protocol::H3, SessionState::Cold),
        (Protocol::H3, SessionState::ZeroRtt),
        (Protocol::H3, SessionState::ZeroRttRejected),
    ] {
        for lost in 0..8 {
            let mut p = params();
            (p.tls, p.retry, p.version_negotiation) = (TlsVersion::V1_2, true, true);
            let path = TestPath::new("10 Mbit/s", "40 ms", |n| n == lost);
            let (reports, _) = fetch(&config(protocol, session, &p), path, &[10_000]);
            let seconds = reports[0].completed.as_secs_f64();
            assert!(seconds < 3.0, "{protocol:?} {session:?}, packet {lost} lost: {seconds} s");
        }
    }
}

#[test]
fn with_one_record_of_16_kib_the_first_byte_of_15_kb_comes_with_the_last() {
    // emulation.md 5.2, lesson 2: 15 kB exceed ten segments, and nothing can be decrypted before the record is complete.
    let run = |record: Option<u64>| {
        let mut p = params();
        p.tls_record = record.map(Bytes::new);
        let path = TestPath::new("100 Mbit/s", "100 ms", |_| false);
        let (reports, _) = fetch(&config(Protocol::H2, SessionState::Cold, &p), path, &[15_000]);
        (reports[0].first_byte, reports[0].completed)
    };
    let (one_record, tuned, none) = (run(Some(16_384)), run(Some(1_400)), run(None));
    assert_eq!(one_record.0, one_record.1, "first byte and last together");
    for (first, last) in [tuned, none] {
        assert!(last.since(first).as_millis_f64() > 90.0, "a round trip apart");
    }
    assert!(tuned.0.since(none.0).as_millis_f64() < 1.0, "a short record costs a packet");
    assert!(one_record.0.since(none.0).as_millis_f64() > 90.0);
    // QUIC has no records.
    let mut p = params();
    let h3 = |p: &TransportParams| {
        let path = TestPath::new("100 Mbit/s", "100 ms", |_| false);
        let (reports, _) = fetch(&config(Protocol::H3, SessionState::Cold, p), path, &[15_000]);
        (reports[0].first_byte, reports[0].completed)
    };
    let before = h3(&p);
    p.tls_record = Some(Bytes::new(16_384));
    assert_eq!(before, h3(&p));
}

#[test]
fn records_cost_their_headers_and_lose_nothing() {
    // 1 MB in frames of 16 KiB: 62 frames of 31 B, and 11 more records of 22 B in each full frame at 1,400 B.
    let run = |record: Option<u64>| {
        let mut p = params();
        p.tls_record = record.map(Bytes::new);
        let path = TestPath::new("100 Mbit/s", "20 ms", |_| false);
        let (reports, connection) = fetch(&config(Protocol::H2, SessionState::Cold, &p), path, &[1_000_000]);
        assert_eq!(reports[0].bytes, 1_000_000);
        let wire: u64 = connection.path.log.iter().map(|(_, size)| u64::from(*size)).sum();
        wire - 52 * connection.path.log.len() as u64
    };
    let (none, large, small) = (run(None), run(Some(16_384)), run(Some(1_400)));
    assert_eq!(none, large);
    let content: u64 = 1_000_200;
    let frames = content / 16_384;
    let rest = content - frames * 16_384;
    let more = frames * 11 + (rest.div_ceil(1_400) - 1);
    assert_eq!(small - none, 22 * more);
}

/// When the client's packets leave, in ms; everything that the server sends before `deaf_until` is lost, and so are the client's
/// packets with these numbers.
fn client_sends(protocol: Protocol, deaf_until: u64, lost: &'static [usize]) -> Vec<f64> {
    struct Deaf {
        until: SimTime,
        lost: &'static [usize],
        sent: Vec<f64>,
    }
    impl Path for Deaf {
        fn send_down(&mut self, now: SimTime, _: u32) -> Fate {
            if now < self.until { Fate::Lost } else { Fate::Arrives(now + SimDuration::from_millis(20)) }
        }
        fn send_up(&mut self, now: SimTime, _: u32) -> Fate {
            self.sent.push(now.as_nanos() as f64 / 1e6);
            if self.lost.contains(&(self.sent.len() - 1)) {
                return Fate::Lost;
            }
            Fate::Arrives(now + SimDuration::from_millis(20))
        }
    }
    let until = SimTime::ZERO + SimDuration::from_millis(deaf_until);
    let path = Deaf { until, lost, sent: Vec::new() };
    fetch(&config(protocol, SessionState::Resumed, &params()), path, &[1_000]).1.path.sent
}

#[test]
fn a_round_trip_is_measured_on_the_copy_that_was_answered() {
    // The first flight comes, its answer is lost; the repeated one is answered. 40 ms is the round trip, not the 1,039 since
    // the first copy (RFC 9002 section 5.1, RFC 7323 section 4.3). Known from the next timeout, of a lost packet.
    let quic = client_sends(Protocol::H3, 500, &[2]);
    assert_eq!((quic[0], quic[1], quic[2]), (0.0, 999.0, 1_039.0), "{quic:?}");
    // The request at 1,039 is lost, the acknowledgement beside it is not: the probe after R + 4 R / 2 and the acknowledgement delay of 25 ms.
    assert_eq!((quic[3], quic[4] - quic[2]), (1_039.0, 145.0), "{quic:?}");
    let tcp = client_sends(Protocol::H2, 500, &[2]);
    assert_eq!((tcp[0], tcp[1], tcp[2]), (0.0, 1_000.0, 1_040.0), "{tcp:?}");
    // ClientHello: R + 200 ms, Linux's floor of the variation.
    assert_eq!(tcp[3] - tcp[2], 240.0, "{tcp:?}");
}

#[test]
fn a_client_probes_its_handshake_without_the_delay_of_acknowledgements() {
    // RFC 9002 section 6.2.1. The answer to the repeated ClientHello at 999 ms is heard in part: the second packet of the server's
    // flight is missing, so the client asks again R + 4 R / 2 = 120 ms after it heard, without the 25 ms of application data.
    struct Half(usize, Vec<f64>);
    impl Path for Half {
        fn send_down(&mut self, now: SimTime, _: u32) -> Fate {
            self.0 += 1;
            if (2..=3).contains(&self.0) { Fate::Lost } else { Fate::Arrives(now + SimDuration::from_millis(20)) }
        }
        fn send_up(&mut self, now: SimTime, _: u32) -> Fate {
            self.1.push(now.as_nanos() as f64 / 1e6);
            if self.1.len() == 2 { Fate::Lost } else { Fate::Arrives(now + SimDuration::from_millis(20)) }
        }
    }
    let mut p = params();
    p.certificate_chain = Bytes::new(2_000);
    let sent = fetch(&config(Protocol::H3, SessionState::Cold, &p), Half(0, Vec::new()), &[1_000]).1.path.1;
    println!("{sent:?}");
    assert_eq!(&sent[..3], [0.0, 40.0, 160.0]);
}
