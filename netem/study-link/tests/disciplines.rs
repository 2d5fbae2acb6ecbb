//! Queues that decide at departure, shapers, policers, repair and delay steps.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use study_ident::SeedPath;
use study_link::{
    Arq, Bottleneck, Channel, DelaySchedule, DelayStep, Departure, Direction, DirectionParams, LinkParams, Phase, Rate,
    TokenBucket, Verdict,
};
use study_units::{BitRate, Bytes, Probability, SimDuration, SimTime};
use support::{link, rows};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> SimTime {
    SimTime::from_nanos(nanos)
}

/// Offers packets (time, flow, bytes) and returns every fate by token.
fn through(link: &LinkParams, packets: &[(u64, u32, u32)]) -> (Vec<Verdict>, Vec<Departure>, Bottleneck) {
    let mut bottleneck = Bottleneck::new(&link.down, SeedPath::root(1));
    let mut verdicts = vec![None; packets.len()];
    let mut departures = Vec::new();
    let settle =
        |bottleneck: &mut Bottleneck, until: SimTime, verdicts: &mut Vec<Option<Verdict>>, out: &mut Vec<Departure>| {
            while bottleneck.next_event() <= until && bottleneck.next_event() != SimTime::NEVER {
                let now = bottleneck.next_event();
                let departure = bottleneck.pop(now).unwrap();
                verdicts[departure.token as usize] = Some(departure.verdict);
                out.push(departure);
            }
        };
    for (i, &(time, flow, bytes)) in packets.iter().enumerate() {
        settle(&mut bottleneck, at(time), &mut verdicts, &mut departures);
        if let Some(verdict) = bottleneck.offer(at(time), flow, bytes, Phase::Response, i as u64) {
            verdicts[i] = Some(verdict);
        }
    }
    settle(&mut bottleneck, SimTime::NEVER, &mut verdicts, &mut departures);
    (verdicts.into_iter().map(Option::unwrap).collect(), departures, bottleneck)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: prop::test_runner::RngSeed::Fixed(20_260_410),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn with_drop_tail_a_bottleneck_answers_as_a_direction_bit_for_bit(
        packets in prop::collection::vec((prop_oneof![3 => Just(0u64), 3 => 0u64..3 * MS, 1 => 0u64..40 * MS], 40u32..1500), 1..200),
        room in prop_oneof![(1u64..12).prop_map(|n| format!("{n} packets")), (1500u64..9000).prop_map(|n| format!("{n} B"))],
        rate in prop_oneof![Just("12 Mbit/s"), Just("{ schedule: [{ for: 7 ms, rate: 12 Mbit/s }, { for: 9 ms, rate: 0 }, { for: 3 ms, rate: 40 Mbit/s }] }")],
        extra in prop_oneof![
            Just(""), Just(", shaper: { rate: 8 Mbit/s, burst: 4 kB }"), Just(", loss_at: transmission"),
            Just(", policer: { rate: 9 Mbit/s, burst: 5 kB }, arq: { delay: 3 ms }"),
            Just(", jitter: { std_dev: 2 ms, distribution: normal }, extra_delay: { schedule: [{ for: 10 ms, delay: 5 ms }, { for: 4 ms, delay: 0 }] }"),
        ],
    ) {
        let link = link(&format!(
            "{{ symmetric: true, one_way: 5 ms, rate: {rate}, queue: {{ drop_tail: {room} }}, overhead: 3 B, \
             loss: {{ bernoulli: {{ rate: 10 % }} }}{extra} }}"
        ));
        let mut time = 0;
        let offers: Vec<(u64, u32, u32)> = packets.iter().enumerate().map(|(i, (gap, bytes))| {
            time += gap;
            (time, i as u32 % 3, *bytes)
        }).collect();
        let mut direction = Direction::new(&link.down, SeedPath::root(1));
        let expected: Vec<Verdict> = offers.iter().map(|(t, _, bytes)| direction.send(at(*t), *bytes)).collect();
        let (found, _, bottleneck) = through(&link, &offers);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(bottleneck.counters(), direction.counters());
    }

    #[test]
    fn a_shaper_conforms_and_wastes_nothing(
        packets in prop::collection::vec((prop_oneof![3 => Just(0u64), 3 => 0u64..2 * MS, 1 => 0u64..60 * MS], 40u32..1500), 1..150),
        burst in 1500u64..20_000,
        mbit in 1u64..20,
    ) {
        let shaper = TokenBucket { rate: BitRate::from_bits_per_second(mbit * 1_000_000), burst: Bytes::new(burst) };
        // Without a rate of its own the transmission takes no time, so an arrival is its beginning.
        let params = DirectionParams { shaper: Some(shaper), ..DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited) };
        let mut direction = Direction::new(&params, SeedPath::root(1));
        let (mut now, mut begun) = (0, Vec::new());
        for (gap, bytes) in packets {
            now += gap;
            let Verdict::Deliver(begin) = direction.send(at(now), bytes) else { panic!() };
            begun.push((now, begin.as_nanos(), u128::from(bytes) * 8_000_000_000));
        }
        let most = |t: u64| u128::from(burst) * 8_000_000_000 + u128::from(mbit) * 1_000_000 * u128::from(t);
        for (i, first) in begun.iter().enumerate() {
            let mut sum = 0;
            for last in &begun[i..] {
                sum += last.2;
                prop_assert!(sum <= most(last.1 - first.1), "{first:?} {last:?}");
            }
        }
        // Who waits could not have begun a nanosecond earlier: some interval that ends with it is full.
        for (k, last) in begun.iter().enumerate().filter(|(_, p)| p.1 > p.0) {
            if k > 0 && begun[k - 1].1 == last.1 { continue }
            let full = (0..=k).any(|i| {
                let sum: u128 = begun[i..=k].iter().map(|p| p.2).sum();
                sum > most(last.1 - 1 - begun[i].1.min(last.1 - 1))
            }) || begun[..=k].iter().map(|p| p.2).sum::<u128>() > most(last.1 - 1);
            prop_assert!(full, "{last:?}");
        }
    }
}

#[test]
fn a_policer_drops_exactly_the_excess() {
    // 24 Mbit/s offered to a policer of 12 Mbit/s: after the burst every other packet passes.
    let params = DirectionParams {
        policer: Some(TokenBucket { rate: BitRate::from_bits_per_second(12_000_000), burst: Bytes::new(15_000) }),
        ..DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited)
    };
    let mut direction = Direction::new(&params, SeedPath::root(1));
    let n = 100_000u64;
    let passed: Vec<bool> = (0..n).map(|i| direction.send(at(i * MS / 2), 1500) != Verdict::DroppedPolicer).collect();
    // Tokens for ten packets at the start, and one per ms: 10 + (n - 1) / 2 whole packets by the last arrival.
    let expected = 10 + (n - 1) / 2;
    assert_eq!(passed.iter().filter(|p| **p).count() as u64, expected);
    assert_eq!(direction.counters().lost_policer, n - expected);
    assert_eq!(direction.counters().lost(), n - expected);
    assert!(passed[..18].iter().all(|p| *p), "the burst passes whole");
    assert!(passed[100..].chunks_exact(2).all(|pair| pair[0] != pair[1]));
    // At the rate itself nothing is dropped.
    let mut direction = Direction::new(&params, SeedPath::root(1));
    assert!((0..10_000).all(|i| direction.send(at(i * MS), 1500) != Verdict::DroppedPolicer));
}

#[test]
fn blocking_and_wait_of_a_bottleneck_are_those_of_queueing_theory_to_three_sigma() {
    for [rho, k, expected] in rows::<3>(include_str!("../testdata/md1k.csv")).into_iter().filter(|r| r[0] > 0.85) {
        let link = link(&format!(
            "{{ symmetric: true, one_way: 0 ms, rate: 12 Mbit/s, queue: {{ drop_tail: {k} packets }} }}"
        ));
        let mut arrivals = SeedPath::root(2).stream("arrivals");
        let mut now = 0.0;
        let offers: Vec<(u64, u32, u32)> = (0..1_000_000)
            .map(|i| {
                now += arrivals.exponential() * 1e6 / rho;
                (now as u64, i % 5, 1500)
            })
            .collect();
        let (verdicts, ..) = through(&link, &offers);
        let shares: Vec<f64> = verdicts
            .chunks_exact(10_000)
            .map(|batch| batch.iter().filter(|v| **v == Verdict::DroppedQueue).count() as f64 / 10_000.0)
            .collect();
        let n = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / n;
        let sigma = (shares.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!((mean - expected).abs() < 3.0 * sigma, "rho {rho} K {k}: {mean} +- {sigma}, not {expected}");
    }
}

#[test]
fn codel_holds_an_overload_that_never_reacts_to_its_sender_only_by_rising_drops() {
    // 13 Mbit/s into 12: drops come ever faster until they take the excess, and the wait is then bounded.
    let link = link("{ symmetric: true, one_way: 0 ms, rate: 12 Mbit/s, queue: codel }");
    let offers: Vec<(u64, u32, u32)> = (0..65_000u64).map(|i| (i * 12_000_000 / 13, 0, 1500)).collect();
    let (_, departures, bottleneck) = through(&link, &offers);
    let waits = |from: u64, to: u64| -> f64 {
        let waits: Vec<f64> = departures
            .iter()
            .filter(|d| d.verdict != Verdict::DroppedQueue && (at(from)..at(to)).contains(&d.at))
            .map(|d| d.waited.as_millis_f64())
            .collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    let (early, late) = (waits(2_000 * MS, 4_000 * MS), waits(50_000 * MS, 60_000 * MS));
    println!("wait {early} ms after 3 s, {late} ms after 55 s");
    assert!(late < early && late < 30.0, "{early} {late}");
    let dropped = bottleneck.counters().lost_queue;
    assert!((4_000..6_000).contains(&dropped), "the excess of 5,000 packets: {dropped}");
    // Fates of a flow come in the order of its offers.
    assert!(departures.windows(2).all(|w| w[0].token < w[1].token && w[0].at <= w[1].at));
}

#[test]
fn fq_codel_serves_flows_in_turn_and_tells_fates_in_each_flows_order() {
    let link = link("{ symmetric: true, one_way: 0 ms, rate: 12 Mbit/s, queue: fq_codel }");
    // Flow 0 fills its queue; flow 1 sends a small packet now and then.
    let mut offers: Vec<(u64, u32, u32)> = (0..4_000u64).map(|i| (i * MS / 2, 0, 1500)).collect();
    offers.extend((0..200u64).map(|i| (i * 10 * MS + 5_000, 1, 100)));
    offers.sort_unstable();
    let (_, departures, _) = through(&link, &offers);
    for flow in 0..2 {
        let own: Vec<u64> = departures.iter().filter(|d| d.flow == flow).map(|d| d.token).collect();
        assert!(own.windows(2).all(|w| w[0] < w[1]));
    }
    let sparse: Vec<f64> = departures.iter().filter(|d| d.flow == 1).map(|d| d.waited.as_millis_f64()).collect();
    assert_eq!(sparse.len(), 200);
    // Never more than the packet on the wire; the first one finds the other flow as new as itself.
    assert!(sparse[0] <= 2.0 && sparse[1..].iter().all(|w| *w <= 1.0), "{sparse:?}");
}

#[test]
fn a_channel_takes_the_plainest_form_that_will_do() {
    for (queue, deferred) in [
        ("unlimited", false),
        ("{ drop_tail: 5 packets }", false),
        ("codel", true),
        ("{ fq_codel: { flows: 16 } }", true),
    ] {
        let link = link(&format!("{{ symmetric: true, rtt: 10 ms, rate: 12 Mbit/s, queue: {queue} }}"));
        let mut channel = Channel::new(&link.down, SeedPath::root(1));
        assert_eq!(matches!(channel, Channel::Deferred(_)), deferred, "{queue}");
        assert_eq!(channel.send_as(at(0), 1500, Phase::Response).is_none(), deferred, "{queue}");
        let told = channel.pop(at(0)).map(|d| d.verdict);
        assert_eq!(told, deferred.then_some(Verdict::Deliver(at(6 * MS))), "{queue}");
        assert_eq!(channel.next_event(), SimTime::NEVER);
    }
}

#[test]
fn repair_delays_what_is_lost_and_all_behind_it_and_its_residual_loss_is_l_q_to_the_n() {
    let arq = Arq { delay: SimDuration::from_millis(8), attempts: 2, retry_loss: Probability::new(0.4).unwrap() };
    let text = "{ symmetric: true, one_way: 10 ms, rate: unlimited, loss: { bernoulli: { rate: 20 % } } }";
    let params = DirectionParams { arq: Some(arq), ..link(text).down };
    let (mut plain, mut repaired) =
        (Direction::new(&link(text).down, SeedPath::root(1)), Direction::new(&params, SeedPath::root(1)));
    let n = 200_000u64;
    let (mut last, mut given_up) = (at(0), 0u64);
    for i in 0..n {
        let now = at(i * 20 * MS);
        match (plain.send(now, 1500), repaired.send(now, 1500)) {
            (Verdict::LostRandom, Verdict::LostRandom) => given_up += 1,
            // The packets are 20 ms apart, so nothing behind is held up.
            (Verdict::LostRandom, Verdict::Deliver(time)) => {
                let late = time.since(now).as_nanos() / MS;
                assert!(late == 18 || late == 26, "{late}");
            }
            (expected, found) => assert_eq!(expected, found),
        }
    }
    let expected = 0.2 * 0.4 * 0.4;
    let sigma = (expected * (1.0 - expected) / n as f64).sqrt();
    assert!((given_up as f64 / n as f64 - expected).abs() < 3.0 * sigma, "{given_up}");
    // Close together, order is kept: a spike holds up all that follow.
    let mut direction = Direction::new(&params, SeedPath::root(4));
    let mut held = 0;
    for i in 0..2_000u64 {
        if let Verdict::Deliver(time) = direction.send(at(i * MS), 1500) {
            assert!(time >= last);
            held += u64::from(time == last);
            last = time;
        }
    }
    assert!(held > 500, "{held}");
}

#[test]
fn delay_steps_hold_from_the_instant_when_the_last_bit_leaves_and_keep_order() {
    let step = |ms, delay| DelayStep { duration: SimDuration::from_millis(ms), delay: SimDuration::from_millis(delay) };
    let schedule = DelaySchedule { schedule: vec![step(15, 0), step(15, 40)], repeat: true };
    assert_eq!(schedule.mean(), SimDuration::from_millis(20));
    let text = "{ symmetric: true, one_way: 10 ms, rate: 12 Mbit/s }";
    let params = DirectionParams { extra_delay: Some(schedule), ..link(text).down };
    assert_eq!(params.mean_delay(), SimDuration::from_millis(30));
    let mut direction = Direction::new(&params, SeedPath::root(1));
    let delays: Vec<u64> = (0..50u64)
        .map(|i| match direction.send(at(i * MS), 1500) {
            Verdict::Deliver(time) => time.as_nanos() / MS - i - 1,
            lost => panic!("{lost:?}"),
        })
        .collect();
    assert_eq!((delays[0], delays[13], delays[14], delays[28]), (10, 10, 50, 50), "from 15 ms on");
    // The first packet of the short step may not overtake: it arrives with the last of the long one, at 29 + 50 ms.
    assert_eq!((delays[29], delays[30], delays[43]), (49, 48, 35));
    assert_eq!(delays[44], 50);
}
