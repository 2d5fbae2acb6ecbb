//! Delay, order and determinism of a whole direction.
#![allow(clippy::unwrap_used)]

mod support;

use study_ident::SeedPath;
use study_link::{Direction, LinkParams, Verdict};
use study_units::SimTime;
use support::link;

/// A 20 Mbit/s, 15 ms one-way link with the flagship's jitter.
fn jittery(reorder: bool, distribution: &str) -> LinkParams {
    link(&format!(
        "{{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, \
         jitter: {{ std_dev: 8 ms, distribution: {distribution}, reorder: {reorder} }} }}"
    ))
}

/// Delays \[ms\] after the last bit has left, and arrivals, of `n` packets at line rate.
fn at_line_rate(link: &LinkParams, seed: u64, n: u64) -> (Vec<f64>, Vec<SimTime>) {
    let mut direction = Direction::new(&link.down, SeedPath::root(seed));
    let arrivals: Vec<SimTime> = (0..n)
        .map(|i| match direction.send(SimTime::from_nanos(i * 600_000), 1500) {
            Verdict::Deliver(at) => at,
            lost => panic!("{lost:?}"),
        })
        .collect();
    let left = |i: usize| (i as u64 + 1) * 600_000;
    (arrivals.iter().enumerate().map(|(i, at)| (at.as_nanos() - left(i)) as f64 / 1e6).collect(), arrivals)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn without_jitter_and_queue_delay_is_the_base_delay() {
    let link = link("{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s }");
    let (delays, _) = at_line_rate(&link, 1, 1000);
    assert!(delays.iter().all(|d| *d == 15.0));
}

#[test]
fn jitter_keeps_order_unless_asked_and_never_undercuts_the_base_delay() {
    for distribution in ["half_normal", "normal", "uniform"] {
        let (delays, arrivals) = at_line_rate(&jittery(false, distribution), 1, 200_000);
        assert!(arrivals.windows(2).all(|w| w[0] <= w[1]), "{distribution}");
        assert!(delays.iter().all(|d| *d >= 15.0));
        let (delays, arrivals) = at_line_rate(&jittery(true, distribution), 1, 200_000);
        assert!(arrivals.windows(2).any(|w| w[0] > w[1]), "{distribution}");
        assert!(delays.iter().all(|d| *d >= 15.0));
    }
}

#[test]
fn keeping_order_raises_the_mean_delay_of_a_saturated_link_by_less_than_150_microseconds() {
    // 600 s, that is 12,000 correlation times; half-normal: mean 6.383 ms, standard deviation 4.82 ms.
    let n = 1_000_000;
    let free = mean(&at_line_rate(&jittery(true, "half_normal"), 7, n).0);
    let expected = jittery(true, "half_normal").down.mean_delay().as_millis_f64();
    assert!((expected - 21.383).abs() < 0.001);
    // |x| decorrelates at least twice as fast as x, so the variance of the mean is at most 2 tau / T of one sample's.
    let sigma = 4.823 * (2.0_f64 * 0.05 / 600.0).sqrt();
    assert!((free - expected).abs() < 3.0 * sigma, "{free}");
    let ordered = mean(&at_line_rate(&jittery(false, "half_normal"), 7, n).0);
    assert!(ordered >= free && ordered - free < 0.15, "raised by {} ms", ordered - free);
}

#[test]
fn equal_seeds_give_equal_verdicts_and_other_seeds_do_not() {
    let link = link(
        "{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, jitter: { std_dev: 8 ms, distribution: half_normal }, \
         loss: { gilbert_elliott: { good_to_bad: 3 %, bad_to_good: 30 %, loss_in_bad: 40 % } } }",
    );
    let verdicts = |seed| {
        let mut direction = Direction::new(&link.down, SeedPath::root(seed));
        (0..20_000u64).map(|i| direction.send(SimTime::from_nanos(i * 500_000), 1500)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(1), verdicts(1));
    assert_ne!(verdicts(1), verdicts(2));
    // Golden: a change here changes every result of every study.
    let digest = verdicts(1).iter().fold(0u64, |sum, verdict| {
        let value = match verdict {
            Verdict::Deliver(at) => at.as_nanos(),
            Verdict::LostRandom => 1,
            Verdict::DroppedQueue => 2,
            Verdict::DroppedPolicer | Verdict::LostOutage => 3,
        };
        sum.rotate_left(5) ^ value
    });
    assert_eq!(digest, GOLDEN);
}
const GOLDEN: u64 = 12_565_169_418_403_767_141;

#[test]
fn loss_and_jitter_draw_from_streams_of_their_own() {
    let without = jittery(false, "half_normal");
    let mut with = without.clone();
    with.down.loss =
        link("{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: { bernoulli: { rate: 10 % } } }").down.loss;
    let (mut a, mut b) =
        (Direction::new(&without.down, SeedPath::root(3)), Direction::new(&with.down, SeedPath::root(3)));
    // Packets so far apart that a lost one delays nobody: those that survive arrive at the same instants.
    let mut lost = 0;
    for i in 0..2000u64 {
        let now = SimTime::from_nanos(i * 100_000_000);
        match (a.send(now, 1500), b.send(now, 1500)) {
            (_, Verdict::LostRandom) => lost += 1,
            (expected, found) => assert_eq!(expected, found),
        }
    }
    assert!((150..250).contains(&lost), "{lost}");
}
