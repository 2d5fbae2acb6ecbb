//! CUBIC's window over time, as packets on the path show it, against the closed form of RFC 9438.

use crate::support::{TestPath, fetch, params};
use study_evidence::{Topic, claim, curve};
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState, analytic::Cubic};

const RTT: f64 = 0.2;

#[test]
fn after_a_loss_the_window_follows_the_cubic_curve_to_its_plateau_and_beyond() {
    let mut p = params();
    p.ack_every = 1;
    let config =
        ConnectionConfig::new(Protocol::H2, CongestionControl::Cubic, Scheduler::Sequential, SessionState::Cold, &p);
    let lost = 240;
    let (_, connection) = fetch(&config, TestPath::new("10 Gbit/s", "200 ms", |i| i == lost), &[40_000_000]);
    // One packet is lost: the log of those that passed has no other gap.
    let sent: Vec<f64> = connection.path.log.iter().map(|(at, _)| at.as_secs_f64()).collect();
    assert_eq!(connection.stats().congestion_events, 1);
    // A window is what leaves within a round trip.
    let window = |t: f64| sent.partition_point(|at| *at <= t) - sent.partition_point(|at| *at <= t - RTT + 1e-6);
    // The loss is seen a round trip after the packet would have left; recovery takes another, and the epoch begins with it.
    let loss = sent[lost as usize - 1];
    // Until then slow start adds a packet for each that arrived before the lost one, certificates included.
    let header = config.wire.header;
    let before = connection.path.log[..lost as usize].iter().map(|(_, size)| size.saturating_sub(header));
    let plateau = 10.0 + f64::from(before.sum::<u32>()) / f64::from(config.wire.payload);
    let epoch = loss + 2.0 * RTT;
    let law = |t: f64| Cubic::RFC_9438.window_at(t, plateau);
    let end = 2.0 * Cubic::RFC_9438.k(plateau);
    assert!(end / RTT > 30.0, "a long epoch: {end} s after {plateau} packets");
    let rounds: Vec<f64> = (2..).map(|i| f64::from(i) * RTT).take_while(|t| *t < end).collect();
    let ours: Vec<(f64, f64)> = rounds.iter().map(|t| (*t, window(epoch + t) as f64)).collect();
    // A round trip of acknowledgements takes the window 1 - 1/e of the way to the target of section 4.4, which is the curve a
    // round trip ahead: it lags 0.58 round trips behind the curve, 2.6 % where that is steepest.
    let worst = ours.iter().map(|(t, w)| (w / law(*t) - 1.0).abs()).fold(0.0, f64::max);
    curve!("cubic_window", "CUBIC, model", ours);
    curve!(
        "cubic_window",
        "C (t - K)^3 + W_max",
        (0..=200).map(|i| f64::from(i) * end / 200.0).map(|t| (t, law(t))).collect()
    );
    curve!("cubic_window", "W_max", vec![(0.0, plateau), (end, plateau)]);
    claim!(
        Topic::Windows,
        "CUBIC's window over time: largest distance from the closed form",
        "RFC 9438 section 4.2, figures 1 and 2",
        format!("H2, 200 ms, one loss at {plateau:.1} packets, {} round trips", rounds.len()),
    )
    .ours(100.0 * worst, "%")
    .at_most(4.0);
}
