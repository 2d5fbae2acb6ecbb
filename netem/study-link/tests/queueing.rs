//! The bottleneck against queueing theory and against the law that nothing carries more than its rate.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use study_evidence::{Topic, claim};
use study_ident::SeedPath;
use study_link::{Direction, LinkParams, Rate, Verdict};
use study_units::SimTime;
use support::{link, rows};

/// Service time of 1,500 B at 12 Mbit/s: exactly 1 ms.
const SERVICE: f64 = 1e6;

fn twelve_megabit(queue: &str) -> LinkParams {
    link(&format!("{{ symmetric: true, one_way: 0 ms, rate: 12 Mbit/s, queue: {queue} }}"))
}

/// Means of `batches` batches of values that are computed packet by packet from Poisson arrivals at load `rho`.
fn poisson(link: &LinkParams, rho: f64, batches: usize, size: usize, value: impl Fn(u64, Verdict) -> f64) -> Vec<f64> {
    let mut direction = Direction::new(&link.down, SeedPath::root(1));
    let mut arrivals = SeedPath::root(2).stream("arrivals");
    let mut now = 0.0;
    let mut mean_of = |count: usize| {
        let values = (0..count).map(|_| {
            now += arrivals.exponential() * SERVICE / rho;
            let at = SimTime::from_nanos(now as u64);
            value(at.as_nanos(), direction.send(at, 1500))
        });
        values.sum::<f64>() / count as f64
    };
    mean_of(size);
    (0..batches).map(|_| mean_of(size)).collect()
}

/// Mean of batch means, and the standard deviation of that mean.
fn estimate(batches: &[f64]) -> (f64, f64) {
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    (mean, (batches.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

#[test]
fn blocking_is_that_of_m_d_1_k_to_three_sigma_in_packets_and_in_bytes() {
    for [rho, k, expected] in rows::<3>(include_str!("../testdata/md1k.csv")) {
        for room in [format!("{k} packets"), format!("{} B", 1500.0 * k)] {
            let link = twelve_megabit(&format!("{{ drop_tail: {room} }}"));
            let blocked = |_, verdict| f64::from(u8::from(verdict == Verdict::DroppedQueue));
            let (share, sigma) = estimate(&poisson(&link, rho, 100, 10_000, blocked));
            assert!(
                (share - expected).abs() < 3.0 * sigma,
                "rho {rho} room {room}: {share} +- {sigma}, not {expected}"
            );
            assert!(sigma < 0.15 * expected, "rho {rho} room {room}: {sigma} is too loose to see an error");
            if room.ends_with("packets") {
                let condition = format!("load {rho}, room for {room}, 1,000,000 packets");
                claim!(Topic::Queues, "M/D/1/K: share of arrivals lost", "embedded chain, `md1k.csv`", condition)
                    .ours(100.0 * share, "%")
                    .three_sigma(100.0 * expected, 100.0 * sigma);
            }
        }
    }
}

#[test]
fn mean_wait_is_that_of_m_d_1_to_three_sigma() {
    for [rho, expected] in rows::<2>(include_str!("../testdata/md1_wait.csv")) {
        let link = twelve_megabit("unlimited");
        let wait = |now, verdict| match verdict {
            Verdict::Deliver(at) => (at.as_nanos() - now) as f64 / SERVICE - 1.0,
            lost => panic!("{lost:?} in a queue without limit"),
        };
        let (mean, sigma) = estimate(&poisson(&link, rho, 60, 20_000, wait));
        claim!(Topic::Queues, "M/D/1: mean wait", "Pollaczek-Khinchine", format!("load {rho}, 1,200,000 packets"))
            .ours(mean, "service times")
            .three_sigma(expected, sigma);
        assert!(sigma < 0.05 * expected, "rho {rho}: {sigma} is too loose to see an error");
    }
}

#[test]
fn queue_delay_and_counters_tell_what_happened() {
    let link = twelve_megabit("{ drop_tail: 3 packets }");
    let mut direction = Direction::new(&link.down, SeedPath::root(1));
    let ms = |n: u64| SimTime::from_nanos(n * 1_000_000);
    assert_eq!(direction.queue_delay_now(ms(0)).as_nanos(), 0);
    for n in 1..=3 {
        assert_eq!(direction.send(ms(0), 1500), Verdict::Deliver(ms(n)));
    }
    assert_eq!(direction.send(ms(0), 1500), Verdict::DroppedQueue);
    assert_eq!(direction.queue_delay_now(ms(1)).as_nanos(), 2_000_000);
    assert_eq!(direction.send(ms(10), 750), Verdict::Deliver(SimTime::from_nanos(10_500_000)));
    let counters = direction.counters();
    assert_eq!((counters.packets, counters.lost_queue, counters.lost_random), (5, 1, 0));
    assert_eq!((counters.bytes, counters.carried_bytes), (6750, 5250));
    assert_eq!(counters.busy.as_nanos(), 3_500_000);
    assert_eq!(counters.last_arrival.as_nanos(), 10_500_000);
}

#[test]
fn goodput_with_two_bytes_of_overhead_is_9_6405_megabit() {
    for (overhead, expected) in [("2 B", 9.6405), ("0 B", 9.6533)] {
        let link = link(&format!("{{ symmetric: true, rtt: 100 ms, rate: 10 Mbit/s, overhead: {overhead} }}"));
        let mut direction = Direction::new(&link.down, SeedPath::root(1));
        let (mut now, n) = (SimTime::ZERO, 100_000u64);
        let mut last = SimTime::ZERO;
        for _ in 0..n {
            let Verdict::Deliver(at) = direction.send(now, 1500) else { panic!("a full link without excess drops") };
            now += direction.queue_delay_now(now);
            last = at;
        }
        let goodput = (n * 1448 * 8) as f64 / (last.as_secs_f64() - 0.05) / 1e6;
        assert!((goodput / expected - 1.0).abs() < 1e-4, "{overhead}: {goodput}");
    }
}

#[test]
fn rate_zero_holds_packets_until_the_rate_returns() {
    let link = link(
        "{ symmetric: true, one_way: 0 ms, rate: { schedule: [{ for: 10 ms, rate: 12 Mbit/s }, { for: 1 s, rate: 0 }] }, \
         queue: { drop_tail: 4 packets } }",
    );
    let mut direction = Direction::new(&link.down, SeedPath::root(1));
    let ms = |n: f64| SimTime::from_nanos((n * 1e6) as u64);
    // Half before the hole, half after it.
    assert_eq!(direction.send(ms(9.5), 1500), Verdict::Deliver(ms(1010.5)));
    assert_eq!(direction.send(ms(500.0), 1500), Verdict::Deliver(ms(1011.5)));
    assert_eq!(direction.send(ms(600.0), 1500), Verdict::Deliver(ms(1012.5)));
    assert_eq!(direction.send(ms(601.0), 1500), Verdict::Deliver(ms(1013.5)));
    assert_eq!(direction.send(ms(1010.0), 1500), Verdict::DroppedQueue, "held packets keep their room");
    assert_eq!(direction.send(ms(1010.5), 1500), Verdict::Deliver(ms(1014.5)));
    assert_eq!(direction.send(ms(5000.0), 1500), Verdict::Deliver(ms(5051.0)));
}

#[derive(Debug, Clone)]
struct Case {
    /// Duration \[ns\] and rate \[bit/s\]; one step is a constant rate.
    steps: Vec<(u64, u64)>,
    repeat: bool,
    /// Gap \[ns\] and size \[B\].
    packets: Vec<(u64, u32)>,
    overhead: u64,
    room: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![Just(0u64), 1u64..5_000, 1_000_000u64..3_000_000_000];
    let step = (prop_oneof![1u64..1_000, 100_000u64..50_000_000], rate);
    let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..20_000, 1 => 0u64..100_000_000];
    let packets = prop::collection::vec((gap, prop_oneof![Just(1500u32), 40u32..1500]), 1..120);
    (prop::collection::vec(step, 1..6), any::<bool>(), packets, 0u64..40, 1u64..40)
        .prop_map(|(steps, repeat, packets, overhead, room)| Case { steps, repeat, packets, overhead, room })
        .prop_filter("some capacity returns", |case| {
            case.steps.iter().any(|s| s.1 > 0) && (case.repeat || case.steps.last().is_some_and(|s| s.1 > 0))
        })
}

/// Bit nanoseconds per second carried from 0 to `time`, added up step by step.
fn carried(case: &Case, time: u64) -> u128 {
    let period: u64 = case.steps.iter().map(|s| s.0).sum();
    let pass = |until: u64| {
        let mut left = until;
        let mut sum = 0u128;
        for (i, &(duration, rate)) in case.steps.iter().enumerate() {
            let last_for_ever = !case.repeat && i + 1 == case.steps.len();
            let span = if last_for_ever { left } else { duration.min(left) };
            sum += u128::from(span) * u128::from(rate);
            left -= span;
        }
        sum
    };
    if case.repeat { u128::from(time / period) * pass(period) + pass(time % period) } else { pass(time) }
}

fn direction_of(case: &Case) -> Direction {
    let steps: Vec<String> = case.steps.iter().map(|(d, r)| format!("{{ for: {d} ns, rate: {r} bit/s }}")).collect();
    let rate = match case.steps.as_slice() {
        [(_, rate)] => format!("{rate} bit/s"),
        _ => format!("{{ schedule: [{}], repeat: {} }}", steps.join(", "), case.repeat),
    };
    let link = link(&format!(
        "{{ symmetric: true, one_way: 0 ms, rate: {rate}, overhead: {} B, queue: {{ drop_tail: {} packets }} }}",
        case.overhead, case.room
    ));
    assert!(!matches!(link.down.rate, Rate::Unlimited));
    Direction::new(&link.down, SeedPath::root(1))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: prop::test_runner::RngSeed::Fixed(20_260_409),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn no_interval_carries_more_than_its_capacity_and_no_capacity_is_wasted(case in cases()) {
        let mut direction = direction_of(&case);
        let mut now = 0;
        // Begin, end and bits of every carried packet.
        let mut served: Vec<(u64, u64, u128)> = Vec::new();
        for &(gap, ip) in &case.packets {
            now += gap;
            let begin = now + direction.queue_delay_now(SimTime::from_nanos(now)).as_nanos();
            let waiting = served.iter().filter(|s| s.1 > now).count() as u64;
            match direction.send(SimTime::from_nanos(now), ip) {
                Verdict::Deliver(end) => {
                    prop_assert!(waiting < case.room, "{waiting} were there already");
                    served.push((begin, end.as_nanos(), (u128::from(ip) + u128::from(case.overhead)) * 8_000_000_000));
                }
                Verdict::DroppedQueue => prop_assert_eq!(waiting, case.room),
                lost => prop_assert!(false, "{lost:?}"),
            }
        }
        for (i, first) in served.iter().enumerate() {
            let mut bits = 0;
            for last in &served[i..] {
                bits += last.2;
                prop_assert!(bits <= carried(&case, last.1) - carried(&case, first.0), "{first:?} to {last:?}");
            }
            // One nanosecond earlier its capacity was not enough.
            if first.1 > first.0 {
                prop_assert!(first.2 > carried(&case, first.1 - 1) - carried(&case, first.0), "{first:?}");
            }
        }
    }
}
