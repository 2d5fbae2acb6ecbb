//! What must be equal is equal, to the nanosecond; what differs has a name.

use crate::no_loss::oracle;
use crate::support::{TestPath, fetch, params};
use study_evidence::{Topic, claim};
use study_ident::SeedPath;
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState, WireFormat};

fn config(protocol: Protocol, scheduler: Scheduler) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, scheduler, SessionState::Cold, &params())
}

/// QUIC with every listed difference set to TCP's, and per-stream delivery as asked.
fn quic_like_tcp(scheduler: Scheduler, per_stream: bool) -> ConnectionConfig {
    let tcp = config(Protocol::H2, scheduler);
    let mut quic = config(Protocol::H3, scheduler);
    quic.wire = tcp.wire;
    quic.ack = tcp.ack;
    quic.rules = tcp.rules;
    quic.rules.per_stream = per_stream;
    quic
}

fn bernoulli(seed: u64, p: f64) -> impl FnMut(u64) -> bool {
    let mut stream = SeedPath::root(seed).stream("loss");
    move |_| stream.happens(p)
}

#[test]
fn with_one_stream_and_equal_features_both_protocols_are_equal_to_the_nanosecond() {
    let tcp = config(Protocol::H2, Scheduler::RoundRobin);
    let quic = quic_like_tcp(Scheduler::RoundRobin, true);
    let mut furthest = 0;
    for seed in 0..30 {
        for p in [0.0, 0.01, 0.05] {
            let (a, ca) = fetch(&tcp, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, p)), &[800_000]);
            let (b, cb) = fetch(&quic, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, p)), &[800_000]);
            assert_eq!(a[0].completed, b[0].completed, "seed {seed}, loss {p}");
            assert_eq!(ca.stats().packets_sent, cb.stats().packets_sent);
            furthest = furthest.max(a[0].completed.as_nanos().abs_diff(b[0].completed.as_nanos()));
        }
    }
    claim!(
        Topic::Streams,
        "TCP and QUIC with every listed difference set equal: largest difference",
        "metamorphic: one stream, equal features",
        "one stream of 800 kB, 20 Mbit/s, 30 ms, loss 0, 1 and 5 %, 90 realisations",
    )
    .ours(furthest as f64, "ns")
    .absolute(0.0, 0.0);
}

#[test]
fn per_stream_delivery_changes_no_last_byte() {
    // Same losses, same congestion control, same bytes: the order of delivery differs, the end does not.
    for scheduler in [Scheduler::RoundRobin, Scheduler::Sequential] {
        let (tcp, quic) = (quic_like_tcp(scheduler, false), quic_like_tcp(scheduler, true));
        let (mut earlier, mut furthest) = (0, 0);
        for seed in 0..40 {
            let sizes = [300_000, 300_000, 300_000];
            let (a, _) = fetch(&tcp, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, 0.03)), &sizes);
            let (b, _) = fetch(&quic, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, 0.03)), &sizes);
            let last = |r: &[study_transport::StreamReport]| r.iter().map(|x| x.completed).max().unwrap();
            assert_eq!(last(&a), last(&b), "seed {seed} {scheduler:?}");
            furthest = furthest.max(last(&a).as_nanos().abs_diff(last(&b).as_nanos()));
            for (x, y) in a.iter().zip(&b) {
                assert!(y.completed <= x.completed, "per-stream delivery is never later");
                assert_eq!(x.completed.since(y.completed), x.hol_wait, "and earlier by the head-of-line wait");
                earlier += u32::from(y.completed < x.completed);
                assert_eq!(y.hol_wait.as_nanos(), 0);
            }
        }
        claim!(
            Topic::Streams,
            "last byte of three streams, one byte stream against independent ones: largest difference",
            "metamorphic: order of delivery moves no last byte",
            format!("{}, 20 Mbit/s, 30 ms, loss 3 %, 40 realisations", scheduler.name()),
        )
        .ours(furthest as f64, "ns")
        .absolute(0.0, 0.0);
        // Sequentially, what waits behind a hole was not going to be complete anyway (transport.md 1.10).
        assert!(scheduler == Scheduler::Sequential || earlier > 0, "some stream waited for another's hole");
    }
}

#[test]
fn without_loss_the_difference_is_the_handshake_only() {
    for (bytes, rate, rtt) in
        [(15_000, "10 Mbit/s", "100 ms"), (1_000_000, "10 Mbit/s", "20 ms"), (500_000, "100 Mbit/s", "50 ms")]
    {
        let run = |protocol| {
            let path = TestPath::new(rate, rtt, |_| false);
            let one_rtt = path.one_way + path.one_way;
            let (reports, _) = fetch(&oracle(protocol, SessionState::Cold), path, &[bytes]);
            (reports[0].completed, one_rtt)
        };
        let ((h2, rtt), (h3, _)) = (run(Protocol::H2), run(Protocol::H3));
        assert_eq!(h2.since(h3), rtt);
    }
}

#[test]
fn the_effect_goes_to_zero_continuously_with_loss() {
    // Mean difference of the time of each object's last byte between one byte stream and independent streams.
    let mean_effect = |p: f64| {
        let (tcp, quic) = (quic_like_tcp(Scheduler::RoundRobin, false), quic_like_tcp(Scheduler::RoundRobin, true));
        let runs = 60;
        let total: f64 = (0..runs)
            .map(|seed| {
                let sizes = [250_000; 3];
                let (a, _) = fetch(&tcp, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, p)), &sizes);
                let (b, _) = fetch(&quic, TestPath::new("20 Mbit/s", "30 ms", bernoulli(seed, p)), &sizes);
                a.iter().zip(&b).map(|(x, y)| x.completed.since(y.completed).as_secs_f64()).sum::<f64>() / 3.0
            })
            .sum();
        total / f64::from(runs as u32)
    };
    let effects: Vec<f64> = [0.0, 0.0001, 0.001, 0.01].into_iter().map(mean_effect).collect();
    assert_eq!(effects[0], 0.0);
    assert!(effects[1] < 0.002, "no jump at the first lost packet: {effects:?}");
    assert!(effects[1] <= effects[2] && effects[2] < effects[3], "{effects:?}");
}

#[test]
fn early_data_changes_only_when_the_request_leaves() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let run = |session| {
            let (reports, connection) =
                fetch(&oracle(protocol, session), TestPath::new("10 Mbit/s", "100 ms", |_| false), &[200_000]);
            (reports[0].completed, connection.stats().packets_sent)
        };
        let ((resumed, a), (early, b)) = (run(SessionState::Resumed), run(SessionState::ZeroRtt));
        assert_eq!(resumed.since(early).as_millis_f64(), 100.0, "{protocol:?}");
        assert_eq!(a, b);
    }
}

#[test]
fn no_interval_carries_more_than_rate_times_interval() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let path = TestPath::new("20 Mbit/s", "30 ms", bernoulli(3, 0.02));
        let (_, connection) = fetch(&config(protocol, Scheduler::RoundRobin), path, &[500_000; 4]);
        let log = &connection.path.log;
        for (i, (start, _)) in log.iter().enumerate().step_by(17) {
            let mut bytes = 0;
            for (end, size) in &log[i + 1..(i + 400).min(log.len())] {
                bytes += u64::from(*size);
                assert!(bytes <= connection.path.rate.bytes_in(end.since(*start)) + 1);
            }
        }
        assert_eq!(WireFormat::tcp().payload + WireFormat::tcp().header, 1500);
    }
}
