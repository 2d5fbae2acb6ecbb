//! Four-state, capped and listed losses, the byte clock, phases, schedules, places of loss and outages.
#![allow(clippy::unwrap_used)]

mod support;

use study_evidence::{Topic, claim};
use study_ident::SeedPath;
use study_link::{
    Bernoulli, Capped, Direction, DirectionParams, Drops, FourState, Loss, LossAt, LossClock, LossSchedule, LossStep,
    OutagePeriod, OutageWindow, Outages, Phase, PhaseStreams, Rate, Verdict,
};
use study_units::{Bytes, Probability, SimDuration, SimTime};
use support::{link, rows};

fn share(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn plain(loss: Loss) -> DirectionParams {
    DirectionParams { loss, ..DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited) }
}

fn bernoulli(rate: f64, clock: LossClock, phases: PhaseStreams) -> Loss {
    Loss::Bernoulli(Bernoulli {
        rate: share(rate),
        clock,
        slot: (clock == LossClock::Time).then_some(SimDuration::from_millis(1)),
        slot_bytes: (clock == LossClock::Byte).then_some(Bytes::new(1500)),
        phases: Some(phases),
    })
}

/// Losses of `n` packets of 1,500 B that come one per millisecond.
fn losses(loss: Loss, seed: u64, n: u64) -> Vec<bool> {
    let mut direction = Direction::new(&plain(loss), SeedPath::root(seed));
    (0..n).map(|i| direction.send(SimTime::from_nanos(i * 1_000_000), 1500) == Verdict::LostRandom).collect()
}

fn runs(lost: &[bool]) -> Vec<f64> {
    lost.split(|l| !l).filter(|run| !run.is_empty()).map(|run| run.len() as f64).collect()
}

/// Mean of values and the standard deviation of that mean, from means of batches that are long beside any correlation.
fn estimate(values: &[f64], batch: usize) -> (f64, f64) {
    let means: Vec<f64> = values.chunks_exact(batch).map(|b| b.iter().sum::<f64>() / batch as f64).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    (mean, (means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

#[test]
fn four_state_loss_and_burst_match_their_closed_forms_to_three_sigma_on_all_clocks() {
    for [p13, p31, p32, p23, p14, expected, burst] in rows::<7>(include_str!("../testdata/four_state.csv")) {
        for clock in [LossClock::Packet, LossClock::Time, LossClock::Byte] {
            let chain = FourState {
                p13: share(p13),
                p31: share(p31),
                p32: share(p32),
                p23: share(p23),
                p14: share(p14),
                clock,
                slot: (clock == LossClock::Time).then_some(SimDuration::from_millis(1)),
                slot_bytes: (clock == LossClock::Byte).then_some(Bytes::new(1500)),
                phases: None,
            };
            assert!((chain.stationary_loss() / expected - 1.0).abs() < 2e-6, "{}", chain.stationary_loss());
            let mean_run = chain.mean_loss_run().unwrap();
            let lost = losses(Loss::FourState(chain), 5, 2_000_000);
            let values: Vec<f64> = lost.iter().map(|l| f64::from(u8::from(*l))).collect();
            // The batches' own spread holds the variance factor of the correlated series.
            let (loss, sigma) = estimate(&values, 10_000);
            assert!((loss - expected).abs() < 3.0 * sigma, "{p13} {}: {loss} +- {sigma}", clock.name());
            assert!(sigma < 0.02 * expected, "{sigma} is too loose to see an error");
            let claim = |what: &str| {
                let source = "Salsano et al., netem's four states; Markov chain";
                let condition = format!("p13 {p13}, p31 {p31}, p32 {p32}, p23 {p23}, p14 {p14}, 2,000,000 packets");
                claim!(Topic::Losses, format!("four-state chain, {what}"), source, condition)
            };
            if clock == LossClock::Packet {
                claim("loss").ours(100.0 * loss, "%").three_sigma(100.0 * expected, 100.0 * sigma);
            }
            let (run, sigma) = estimate(&runs(&lost), 100);
            if clock == LossClock::Packet {
                claim("mean run").ours(run, "packets").three_sigma(mean_run, sigma);
            }
            assert!(
                (run - mean_run).abs() <= 3.0 * sigma,
                "{p13} {}: run {run} +- {sigma}, not {mean_run}",
                clock.name()
            );
            if p14 == 0.0 {
                assert!((mean_run - burst).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn in_the_four_state_chain_the_new_state_decides_and_an_isolated_loss_is_alone() {
    let chain = |p: [f64; 5]| {
        let [p13, p31, p32, p23, p14] = p.map(share);
        Loss::FourState(FourState {
            p13,
            p31,
            p32,
            p23,
            p14,
            clock: LossClock::Packet,
            slot: None,
            slot_bytes: None,
            phases: None,
        })
    };
    // Certain transitions: 1 -> 3 -> 1 loses the first packet, unlike the chain in which the old state decides.
    let lost = losses(chain([1.0, 1.0, 0.0, 1.0, 0.0]), 1, 6);
    assert_eq!(lost, [true, false, true, false, true, false]);
    // 1 -> 3 -> 2 -> 3 -> 2: a burst with holes that never ends.
    assert_eq!(losses(chain([1.0, 0.0, 1.0, 1.0, 0.0]), 1, 6), [true, false, true, false, true, false]);
    assert!(runs(&losses(chain([0.0, 1.0, 0.0, 1.0, 0.3]), 1, 50_000)).iter().all(|run| *run == 1.0));
}

#[test]
fn capped_losses_match_their_closed_form_and_never_exceed_the_cap() {
    for [rate, most, expected, run] in rows::<4>(include_str!("../testdata/capped.csv")) {
        let capped = Capped {
            rate: share(rate),
            most_in_a_row: most as u32,
            clock: LossClock::Packet,
            slot: None,
            slot_bytes: None,
            phases: None,
        };
        assert!((capped.stationary_loss() / expected - 1.0).abs() < 1e-6);
        assert!((capped.mean_loss_run().unwrap() / run - 1.0).abs() < 1e-6);
        let lost = losses(Loss::Capped(capped), 3, 1_000_000);
        let values: Vec<f64> = lost.iter().map(|l| f64::from(u8::from(*l))).collect();
        let (loss, sigma) = estimate(&values, 1_000);
        let condition = format!("rate {:.1} %, at most {most} in a row, 1,000,000 packets", 100.0 * rate);
        claim!(Topic::Losses, "capped losses, loss", "Markov chain, `capped.csv`", condition)
            .ours(100.0 * loss, "%")
            .three_sigma(100.0 * expected, 100.0 * sigma);
        let runs = runs(&lost);
        assert_eq!(runs.iter().fold(0.0_f64, |a, b| a.max(*b)), most, "the cap is reached and never exceeded");
        let (mean, sigma) = estimate(&runs, 100);
        assert!((mean - run).abs() < (3.0 * sigma).max(1e-12), "{rate} {most}: run {mean} +- {sigma}");
    }
    let always = Capped {
        rate: Probability::ONE,
        most_in_a_row: 3,
        clock: LossClock::Packet,
        slot: None,
        slot_bytes: None,
        phases: None,
    };
    assert_eq!(losses(Loss::Capped(always), 1, 9), [true, true, true, false, true, true, true, false, true]);
}

#[test]
fn a_drop_list_counts_packets_from_one() {
    let lost = losses(Loss::Drops(Drops { packets: vec![1, 3, 15] }), 1, 1_000);
    let numbers: Vec<usize> = (1..=lost.len()).filter(|n| lost[n - 1]).collect();
    assert_eq!(numbers, [1, 3, 15]);
}

/// Offsets at which losses strike, in slots, for packets of one size.
fn struck(wire: u64, loss: &Loss) -> Vec<u64> {
    let mut direction = Direction::new(&plain(loss.clone()), SeedPath::root(9));
    let mut slots = Vec::new();
    for i in 0..15_000_000 / wire {
        if direction.send(SimTime::from_nanos(i), wire as u32) == Verdict::LostRandom {
            slots.extend((i * wire).div_ceil(1500)..((i + 1) * wire).div_ceil(1500));
        }
    }
    slots
}

#[test]
fn on_the_byte_clock_arms_with_other_packet_sizes_lose_at_the_same_offsets() {
    let loss = bernoulli(0.02, LossClock::Byte, PhaseStreams::Split);
    let full = struck(1500, &loss);
    assert!((150..250).contains(&full.len()), "{}", full.len());
    assert_eq!(struck(1480, &loss).len(), full.len());
    assert_eq!(struck(1480, &loss), full);
    assert_eq!(struck(40, &loss), full, "a lost slot takes one packet, however small");
    // Packets of two slots carry the first bytes of two: both strikes count, and a neighbour may be hit with it.
    let double = struck(3000, &loss);
    assert!(full.iter().all(|slot| double.contains(slot)));
}

#[test]
fn split_phases_draw_from_streams_of_their_own_and_joint_ones_do_not() {
    for clock in [LossClock::Packet, LossClock::Byte] {
        let responses = |phases, handshake_packets: u64| -> Vec<bool> {
            let mut direction = Direction::new(&plain(bernoulli(0.1, clock, phases)), SeedPath::root(2));
            for i in 0..handshake_packets {
                direction.send_as(SimTime::from_nanos(i), 1500, Phase::Handshake);
            }
            (0..5_000)
                .map(|i| {
                    direction.send_as(SimTime::from_nanos(1_000 + 2 * i), 52, Phase::Ack);
                    direction.send(SimTime::from_nanos(1_001 + 2 * i), 1500) == Verdict::LostRandom
                })
                .collect()
        };
        assert_eq!(responses(PhaseStreams::Split, 2), responses(PhaseStreams::Split, 7), "{}", clock.name());
        assert_ne!(responses(PhaseStreams::Joint, 2), responses(PhaseStreams::Joint, 7), "{}", clock.name());
    }
    // The phases do not share their realisation.
    let phase = |phase| -> Vec<bool> {
        let loss = bernoulli(0.1, LossClock::Packet, PhaseStreams::Split);
        let mut direction = Direction::new(&plain(loss), SeedPath::root(2));
        (0..500).map(|i| direction.send_as(SimTime::from_nanos(i), 1500, phase) == Verdict::LostRandom).collect()
    };
    assert_ne!(phase(Phase::Handshake), phase(Phase::Response));
    assert_ne!(phase(Phase::Ack), phase(Phase::Request));
}

#[test]
fn a_loss_schedule_changes_its_process_at_its_steps_and_keeps_each_ones_place() {
    let step = |seconds, loss| LossStep { duration: SimDuration::from_secs(seconds), loss };
    let schedule = LossSchedule {
        schedule: vec![
            step(2, Loss::None),
            step(1, bernoulli(0.5, LossClock::Packet, PhaseStreams::Joint)),
            step(1, Loss::Drops(Drops { packets: vec![1, 1_500] })),
        ],
        repeat: true,
    };
    assert!((schedule.stationary_loss() - 0.125).abs() < 1e-12);
    let params = DirectionParams { loss_schedule: Some(schedule), ..plain(Loss::None) };
    let mut direction = Direction::new(&params, SeedPath::root(1));
    let lost: Vec<bool> = (0..8_000u64)
        .map(|i| direction.send(SimTime::from_nanos(i * 1_000_000), 1500) == Verdict::LostRandom)
        .collect();
    let count = |range: std::ops::Range<usize>| lost[range].iter().filter(|l| **l).count();
    assert_eq!((count(0..2_000), count(4_000..6_000)), (0, 0));
    assert!((400..600).contains(&count(2_000..3_000)) && (400..600).contains(&count(6_000..7_000)));
    // The list goes on where it was: packet 1 in the first pass, its 1,500th in the second.
    assert_eq!((count(3_000..4_000), lost[3_000]), (1, true));
    assert_eq!((count(7_000..8_000), lost[7_499]), (1, true));
}

#[test]
fn loss_at_transmission_takes_capacity_and_spreads_a_burst_over_slots_of_time() {
    let text = |at: &str| {
        format!(
            "{{ symmetric: true, one_way: 0 ms, rate: 12 Mbit/s, queue: unlimited, loss_at: {at}, \
             loss: {{ bernoulli: {{ rate: 30 %, clock: time, slot: 1 ms }} }} }}"
        )
    };
    let burst = |at: &str| -> (Vec<bool>, study_link::LinkCounters) {
        let mut direction = Direction::new(&link(&text(at)).down, SeedPath::root(3));
        let verdicts = (0..1_000).map(|_| direction.send(SimTime::ZERO, 1500) == Verdict::LostRandom).collect();
        (verdicts, direction.counters())
    };
    let (at_entry, entry) = burst("entry");
    assert!(at_entry.iter().all(|l| *l == at_entry[0]), "sent in one instant: one decision");
    let (on_air, air) = burst("transmission");
    // A packet takes 1 ms, so each meets a slot of its own.
    let lost = on_air.iter().filter(|l| **l).count();
    assert!((255..345).contains(&lost), "{lost}");
    assert_eq!((air.carried_bytes, air.busy.as_nanos()), (1_500_000, 1_000_000_000));
    assert_eq!(air.lost_random, lost as u64);
    assert_eq!(entry.carried_bytes, entry.bytes - entry.lost_random_bytes);
}

#[test]
fn outages_lose_exactly_what_is_sent_into_them_under_their_own_label() {
    let ms = SimDuration::from_millis;
    for (outages, expected) in [
        (Outages::Windows(vec![OutageWindow { from: ms(10), duration: ms(5) }]), (10..15).collect::<Vec<u64>>()),
        (Outages::Period(OutagePeriod { on: ms(10), off: ms(3), repeat: Some(2) }), vec![10, 11, 12, 23, 24, 25]),
        (Outages::Period(OutagePeriod { on: ms(30), off: ms(3), repeat: None }), vec![30, 31, 32, 63]),
    ] {
        let loss = bernoulli(0.2, LossClock::Packet, PhaseStreams::Joint);
        let params = DirectionParams { outages, ..plain(loss) };
        let mut direction = Direction::new(&params, SeedPath::root(1));
        let verdicts: Vec<Verdict> =
            (0..64u64).map(|i| direction.send(SimTime::from_nanos(i * 1_000_000), 1500)).collect();
        let out: Vec<u64> = (0..64).filter(|i| verdicts[*i as usize] == Verdict::LostOutage).collect();
        assert_eq!(out, expected);
        let counters = direction.counters();
        assert_eq!(counters.lost_outage, expected.len() as u64);
        assert!(counters.lost_random > 0 && counters.lost() == counters.lost_random + counters.lost_outage);
    }
}

#[test]
fn realised_loss_is_counted_per_packet_byte_and_millisecond() {
    let params = plain(Loss::Drops(Drops { packets: vec![2, 4] }));
    let mut direction = Direction::new(&DirectionParams { loss_at: LossAt::Entry, ..params }, SeedPath::root(1));
    for (i, bytes) in [1000, 100, 1000, 400].into_iter().enumerate() {
        direction.send(SimTime::from_nanos(i as u64 * 2_000_000), bytes);
    }
    let counters = direction.counters();
    assert_eq!(counters.random_loss_per_packet(), 0.5);
    assert_eq!(counters.random_loss_per_byte(), 0.2);
    assert!((counters.random_losses_per_ms() - 2.0 / 6.0).abs() < 1e-12);
}
