//! Lost tails and head-of-line blocking against transport.md 1.9 and 1.10.

use crate::support::params;
use study_evidence::{Topic, claim};
use study_ident::SeedPath;
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Path, Protocol, Scheduler, SessionState,
    analytic,
};
use study_units::{Bytes, SimDuration, SimTime};

/// No serialisation, a constant delay, a record of what the server sends, and packets to lose.
struct Recorded {
    one_way: SimDuration,
    sent: Vec<SimTime>,
    lost: std::ops::Range<usize>,
}

impl Path for Recorded {
    fn send_down(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
        self.sent.push(now);
        (!self.lost.contains(&(self.sent.len() - 1))).then(|| now + self.one_way).into()
    }
    fn send_up(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
        study_transport::Fate::Arrives(now + self.one_way)
    }
}

/// From the sending of a last flight of `packets`, all lost, to the first packet sent again, in ms.
fn tail_delay(protocol: Protocol, rtt_ms: u64, packets: usize) -> f64 {
    let mut p = params();
    p.ack_every = 1;
    p.response_headers = Bytes::new(0);
    let config =
        ConnectionConfig::new(protocol, CongestionControl::NewReno, Scheduler::Sequential, SessionState::Cold, &p);
    let payload = u64::from(config.wire.payload);
    let path = Recorded { one_way: SimDuration::from_millis(rtt_ms).half(), sent: Vec::new(), lost: 0..0 };
    let mut connection = Connection::open(config, path, SimTime::ZERO);
    let limit = SimTime::from_nanos(3_600_000_000_000);
    // Enough samples of a constant round trip for the variation to settle.
    connection.request();
    while let Some(AppEvent::RequestArrived(stream)) = connection.advance(limit) {
        connection.respond(stream, 3_000 * payload, Availability::Full);
    }
    let _ = connection.advance(connection.now() + SimDuration::from_secs(5));
    connection.request();
    let Some(AppEvent::RequestArrived(stream)) = connection.advance(limit) else { panic!("no request") };
    let before = connection.path.sent.len();
    connection.path.lost = before..before + packets;
    connection.respond(stream, packets as u64 * payload - 100, Availability::Full);
    assert_eq!(connection.path.sent.len(), before + packets);
    let at = connection.path.sent[before + packets - 1];
    while connection.path.sent.len() == before + packets {
        let next = connection.now() + SimDuration::from_micros(1);
        let _ = connection.advance(next);
    }
    connection.path.sent[before + packets].since(at).as_millis_f64()
}

#[test]
fn a_lost_tail_is_repaired_after_the_times_of_the_table() {
    // transport.md 1.9: round trip; QUIC's probe timeout; TLP with several packets in flight; with one, capped at the RTO.
    for (rtt, pto, tlp, single) in
        [(20, 46.0, 40.0, 220.0), (50, 76.0, 100.0, 250.0), (100, 126.0, 200.0, 300.0), (200, 226.0, 400.0, 400.0)]
    {
        let close = |what: &str, measured: f64, expected: f64| {
            claim!(
                Topic::Recovery,
                format!("lost tail, {what}"),
                "RFC 9002 section 6.2, RFC 8985 section 7; Linux's floor of 200 ms",
                format!("{rtt} ms, steady round trip"),
            )
            .ours(measured, "ms")
            .absolute(expected, 0.01);
        };
        close("QUIC probe timeout", tail_delay(Protocol::H3, rtt, 2), pto);
        close("QUIC probe timeout, one packet", tail_delay(Protocol::H3, rtt, 1), pto);
        close("tail loss probe", tail_delay(Protocol::H2, rtt, 2), tlp);
        close("tail loss probe, one packet", tail_delay(Protocol::H2, rtt, 1), single);
    }
}

#[test]
fn streams_stalled_by_losses_follow_the_formula_without_replacement() {
    // k streams packet by packet, n losses among the N packets of one window: k (1 - C(N - N/k, n) / C(N, n)) stall in QUIC.
    let (k, per_stream) = (8usize, 10u64);
    let total = k * per_stream as usize;
    for losses in [1usize, 2, 3, 5, 8] {
        let trials = 300;
        let mut stalled = 0usize;
        for seed in 0..trials {
            let mut stream = SeedPath::root(seed).indexed("losses", losses as u64).stream("which");
            let mut chosen = std::collections::BTreeSet::new();
            while chosen.len() < losses {
                chosen.insert(stream.below(total as u64) as usize);
            }
            stalled += stalled_streams(k, per_stream, &chosen);
        }
        let mean = stalled as f64 / trials as f64;
        let expected = analytic::stalled_streams(k as f64, total as f64, losses as u32);
        // At most k / 2 is the standard deviation of a count of k; the bound is 3 sigma of the mean.
        let sigma = (k as f64).sqrt() / 2.0 / f64::from(trials as u32).sqrt();
        claim!(
            Topic::Streams,
            "streams stalled by losses, drawn without replacement",
            "k (1 - C(N - N/k, n) / C(N, n)), combinatorics",
            format!("H3, 8 streams in turn, 80 packets, {losses} lost, {trials} draws"),
        )
        .ours(mean, "streams")
        .three_sigma(expected, sigma);
    }
}

/// Streams that are not complete one round trip after a window in which these packets were lost.
fn stalled_streams(k: usize, per_stream: u64, lost: &std::collections::BTreeSet<usize>) -> usize {
    struct Window<'a> {
        first: usize,
        count: usize,
        lost: &'a std::collections::BTreeSet<usize>,
    }
    impl Path for Window<'_> {
        fn send_down(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
            let index = self.count;
            self.count += 1;
            let gone = index.checked_sub(self.first).is_some_and(|i| self.lost.contains(&i));
            (!gone).then(|| now + SimDuration::from_millis(50)).into()
        }
        fn send_up(&mut self, now: SimTime, _: u32) -> study_transport::Fate {
            study_transport::Fate::Arrives(now + SimDuration::from_millis(50))
        }
    }
    let mut p = params();
    (p.initial_window, p.response_headers, p.certificate_chain) = (200, Bytes::new(0), Bytes::new(0));
    let mut config =
        ConnectionConfig::new(Protocol::H3, CongestionControl::NewReno, Scheduler::RoundRobin, SessionState::Cold, &p);
    let payload = u64::from(config.wire.payload);
    config.params.frame = Bytes::new(payload);
    let mut connection = Connection::open(config, Window { first: usize::MAX, count: 0, lost }, SimTime::ZERO);
    for _ in 0..k {
        connection.request();
    }
    let mut asked = Vec::new();
    while asked.len() < k {
        if let Some(AppEvent::RequestArrived(stream)) = connection.advance(SimTime::from_nanos(10_000_000_000)) {
            asked.push(stream);
        }
    }
    // All responses at once, from the next packet on.
    connection.path.first = connection.path.count;
    let start = connection.now();
    asked.iter().for_each(|stream| connection.respond(*stream, per_stream * payload, Availability::Full));
    let mut complete = 0;
    while let Some(event) = connection.advance(start + SimDuration::from_millis(51)) {
        complete += usize::from(matches!(event, AppEvent::Completed(_)));
    }
    k - complete
}
