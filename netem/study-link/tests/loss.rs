//! Loss processes against their closed forms.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use study_evidence::{Topic, claim};
use study_ident::SeedPath;
use study_link::{Bernoulli, Direction, DirectionParams, GilbertElliott, Loss, LossClock, Rate, Verdict};
use study_units::{Bytes, Probability, SimDuration, SimTime};
use support::rows;

const SLOT: u64 = 600_000;

fn share(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn slot(clock: LossClock) -> Option<SimDuration> {
    (clock == LossClock::Time).then_some(SimDuration::from_nanos(SLOT))
}

fn slot_bytes(clock: LossClock) -> Option<Bytes> {
    (clock == LossClock::Byte).then_some(Bytes::new(1500))
}

fn gilbert(p: f64, r: f64, clock: LossClock) -> Loss {
    Loss::GilbertElliott(GilbertElliott {
        good_to_bad: share(p),
        bad_to_good: share(r),
        loss_in_bad: Probability::ONE,
        loss_in_good: Probability::ZERO,
        clock,
        slot: slot(clock),
        slot_bytes: slot_bytes(clock),
        phases: None,
    })
}

fn bernoulli(rate: f64, clock: LossClock) -> Loss {
    Loss::Bernoulli(Bernoulli {
        rate: share(rate),
        clock,
        slot: slot(clock),
        slot_bytes: slot_bytes(clock),
        phases: None,
    })
}

/// A direction without rate, queue and jitter, so that loss alone decides.
fn direction(loss: &Loss, seed: u64) -> Direction {
    let params = DirectionParams { loss: loss.clone(), ..DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited) };
    Direction::new(&params, SeedPath::root(seed))
}

/// Losses of `n` packets, one per slot.
fn losses(loss: &Loss, seed: u64, n: u64) -> Vec<bool> {
    let mut direction = direction(loss, seed);
    (0..n).map(|i| direction.send(SimTime::from_nanos(i * SLOT), 1500) == Verdict::LostRandom).collect()
}

/// Lengths of the runs of losses that begin and end within the series.
fn runs(lost: &[bool]) -> Vec<f64> {
    let mut runs: Vec<f64> = lost.split(|l| !l).filter(|run| !run.is_empty()).map(|run| run.len() as f64).collect();
    if lost.last() == Some(&true) {
        runs.pop();
    }
    runs
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn gilbert_loss_burst_and_autocorrelation_match_theory_to_three_sigma_on_both_clocks() {
    let n: u64 = 2_000_000;
    for [target, burst, p, r, lambda] in rows::<5>(include_str!("../testdata/gilbert_elliott.csv")) {
        for clock in [LossClock::Packet, LossClock::Time, LossClock::Byte] {
            let loss = gilbert(p, r, clock);
            assert!((loss.stationary_loss() / target - 1.0).abs() < 1e-5);
            assert!((loss.mean_loss_run().unwrap() / burst - 1.0).abs() < 1e-5);
            let lost = losses(&loss, 11, n);
            let count = lost.iter().filter(|l| **l).count() as f64;
            let label = format!("L {target} B {burst} {}", clock.name());
            // The variance factor of a correlated series.
            let factor = (1.0 + lambda) / (1.0 - lambda);
            let sigma = (factor * target * (1.0 - target) / n as f64).sqrt();
            assert!((count / n as f64 - target).abs() < 3.0 * sigma, "{label}: loss {}", count / n as f64);
            let runs = runs(&lost);
            let sigma = (1.0 - r).sqrt() / r / (runs.len() as f64).sqrt();
            assert!((mean(&runs) - burst).abs() < 3.0 * sigma, "{label}: burst {}", mean(&runs));
            // 1 - (estimated p) - (estimated r), each a binomial share.
            let entries = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
            let exits = lost.windows(2).filter(|w| w[0] && !w[1]).count() as f64;
            let lag1 = 1.0 - entries / (n as f64 - count) - exits / count;
            let sigma = (p * (1.0 - p) / (n as f64 - count) + r * (1.0 - r) / count).sqrt();
            assert!((lag1 - lambda).abs() < 3.0 * sigma, "{label}: lag-1 {lag1}");
            if clock == LossClock::Packet {
                let claim = |what: &str| {
                    let condition = format!("loss {:.1} %, bursts of {burst}, 2,000,000 packets", 100.0 * target);
                    claim!(
                        Topic::Losses,
                        format!("Gilbert chain, {what}"),
                        "Gilbert 1960; variance factor (1 + l) / (1 - l)",
                        condition
                    )
                };
                let of_loss = (factor * target * (1.0 - target) / n as f64).sqrt();
                claim("loss").ours(100.0 * count / n as f64, "%").three_sigma(100.0 * target, 100.0 * of_loss);
                let of_burst = (1.0 - r).sqrt() / r / (runs.len() as f64).sqrt();
                claim("mean burst").ours(mean(&runs), "packets").three_sigma(burst, of_burst);
                claim("correlation of neighbours").ours(lag1, "").three_sigma(lambda, sigma);
            }
        }
    }
}

#[test]
fn gilbert_elliott_with_losses_in_both_states_matches_its_stationary_loss_and_run_length() {
    let (n, p, r, b, g) = (4_000_000u64, 0.05, 0.2, 0.8, 0.05);
    for clock in [LossClock::Packet, LossClock::Time, LossClock::Byte] {
        let loss = Loss::GilbertElliott(GilbertElliott {
            good_to_bad: share(p),
            bad_to_good: share(r),
            loss_in_bad: share(b),
            loss_in_good: share(g),
            clock,
            slot: slot(clock),
            slot_bytes: slot_bytes(clock),
            phases: None,
        });
        let lost = losses(&loss, 3, n);
        let rate = lost.iter().filter(|l| **l).count() as f64 / n as f64;
        // Var = L(1-L) + 2 (b-g)^2 pi_G pi_B lambda / (1 - lambda), per packet.
        let (expected, lambda) = (0.2, 1.0 - p - r);
        let variance = expected * (1.0 - expected) + 2.0 * (b - g) * (b - g) * 0.8 * 0.2 * lambda / (1.0 - lambda);
        assert!((rate - expected).abs() < 3.0 * (variance / n as f64).sqrt(), "{rate}");
        let runs = runs(&lost);
        let sigma = (mean(&runs.iter().map(|x| x * x).collect::<Vec<_>>()) / runs.len() as f64).sqrt();
        let run = loss.mean_loss_run().unwrap();
        assert!((mean(&runs) - run).abs() < 3.0 * sigma, "{}", mean(&runs));
        if clock == LossClock::Packet {
            let claim = |what: &str| {
                let condition = "p 5 %, r 20 %, loses 80 % in bad and 5 % in good, 4,000,000 packets";
                claim!(Topic::Losses, format!("Gilbert-Elliott chain, {what}"), "Elliott 1963", condition)
            };
            claim("loss").ours(100.0 * rate, "%").three_sigma(100.0 * expected, 100.0 * (variance / n as f64).sqrt());
            claim("mean run").ours(mean(&runs), "packets").three_sigma(run, sigma);
        }
    }
}

#[test]
fn bernoulli_losses_are_independent_at_the_asked_rate_on_both_clocks() {
    let n = 2_000_000u64;
    for clock in [LossClock::Packet, LossClock::Time, LossClock::Byte] {
        for p in [0.001, 0.036, 0.5, 0.9] {
            let lost = losses(&bernoulli(p, clock), 5, n);
            let count = lost.iter().filter(|l| **l).count() as f64;
            let sigma = (p * (1.0 - p) / n as f64).sqrt();
            assert!((count / n as f64 - p).abs() < 3.0 * sigma, "{p}: {}", count / n as f64);
            // Share of losses after a loss.
            let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count() as f64;
            assert!((pairs / count - p).abs() < 3.0 * (p * (1.0 - p) / count).sqrt(), "{p}: {}", pairs / count);
        }
    }
}

#[test]
fn no_loss_and_certain_loss_are_exact() {
    for clock in [LossClock::Packet, LossClock::Time, LossClock::Byte] {
        for (loss, all) in [
            (Loss::None, false),
            (bernoulli(0.0, clock), false),
            (bernoulli(1.0, clock), true),
            (gilbert(0.0, 0.3, clock), false),
            (gilbert(0.0, 0.0, clock), false),
        ] {
            assert!(losses(&loss, 1, 100_000).iter().all(|l| *l == all), "{loss:?}");
        }
        let mut everywhere = gilbert(0.3, 0.3, clock);
        if let Loss::GilbertElliott(p) = &mut everywhere {
            p.loss_in_good = Probability::ONE;
        }
        assert!(losses(&everywhere, 1, 100_000).iter().all(|l| *l));
    }
    // Alternation without chance: good, bad, good, ...
    let alternating = losses(&gilbert(1.0, 1.0, LossClock::Packet), 1, 1000);
    assert!(alternating.iter().enumerate().all(|(i, lost)| *lost == (i % 2 == 1)));
}

#[test]
fn packet_clock_starts_good_and_time_clock_starts_stationary() {
    let seeds = 20_000;
    let first = |clock| (0..seeds).filter(|s| losses(&gilbert(0.1, 0.3, clock), *s, 1)[0]).count() as f64;
    assert_eq!(first(LossClock::Packet), 0.0);
    let sigma = (0.25 * 0.75 / seeds as f64).sqrt();
    assert!((first(LossClock::Time) / seeds as f64 - 0.25).abs() < 3.0 * sigma);
    // The old state decides, then the transition is drawn: the second packet is lost with `good_to_bad`.
    let second = (0..seeds).filter(|s| losses(&gilbert(0.1, 0.3, LossClock::Packet), *s, 2)[1]).count() as f64;
    assert!((second / seeds as f64 - 0.1).abs() < 3.0 * (0.09 / seeds as f64).sqrt());
}

/// Decisions by slot for packets that come in a pattern of gaps.
fn by_slot(loss: &Loss, gaps: &[u64], until: u64) -> BTreeMap<u64, bool> {
    let mut direction = direction(loss, 23);
    let mut decisions = BTreeMap::new();
    let (mut now, mut i) = (0, 0);
    while now < until {
        let lost = direction.send(SimTime::from_nanos(now), 40) == Verdict::LostRandom;
        assert_eq!(*decisions.entry(now / SLOT).or_insert(lost), lost, "one decision per slot");
        now += gaps[i % gaps.len()];
        i += 1;
    }
    decisions
}

#[test]
fn with_time_clock_the_realisation_does_not_depend_on_the_packets() {
    let mut soft = gilbert(0.03, 0.3, LossClock::Time);
    if let Loss::GilbertElliott(p) = &mut soft {
        (p.loss_in_bad, p.loss_in_good) = (share(0.4), share(0.01));
    }
    for loss in [soft, gilbert(0.03, 0.3, LossClock::Time), bernoulli(0.1, LossClock::Time)] {
        let until = 60_000_000_000;
        let dense = by_slot(&loss, &[SLOT / 3], until);
        assert_eq!(dense.len() as u64, until / SLOT);
        assert!(dense.values().any(|l| *l));
        for gaps in [&[SLOT * 7][..], &[0, 0, 1, SLOT * 501], &[13 * SLOT / 10], &[20_000_000_000 + SLOT / 2]] {
            for (slot, lost) in by_slot(&loss, gaps, until) {
                assert_eq!(lost, dense[&slot], "{loss:?} {gaps:?} slot {slot}");
            }
        }
    }
}

#[test]
fn a_day_of_idle_time_and_rare_losses_cost_no_walk() {
    let mut rare = gilbert(0.3, 0.3, LossClock::Packet);
    if let Loss::GilbertElliott(p) = &mut rare {
        p.loss_in_bad = share(1e-15);
    }
    assert!(losses(&rare, 1, 1000).iter().all(|l| !l));
    let mut direction = direction(&bernoulli(1e-9, LossClock::Time), 1);
    assert!(matches!(direction.send(SimTime::from_nanos(86_400_000_000_000), 40), Verdict::Deliver(_)));
}
