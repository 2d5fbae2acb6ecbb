//! Links at the edge of sense: defined results, and an end.

use crate::scene::{flow, link, objects, run, secs};
use study_link::{
    Arq, Bernoulli, DelaySchedule, DelayStep, JitterDistribution, JitterParams, LinkParams, Loss, LossClock,
    OutageWindow, Outages, Queue, Rate, RateSchedule, RateStep, TokenBucket,
};
use study_sim::SharedResult;
use study_transport::{CongestionControl, Protocol};
use study_units::{BitRate, Bytes, Probability, SimDuration, SimTime};

const ALL: [(Protocol, CongestionControl); 4] = [
    (Protocol::H2, CongestionControl::Cubic),
    (Protocol::H3, CongestionControl::Cubic),
    (Protocol::H3, CongestionControl::BbrV1),
    (Protocol::H2, CongestionControl::NewReno),
];

fn fetch(link: &LinkParams, (protocol, controller): (Protocol, CongestionControl), bytes: u64) -> SharedResult {
    let flow = flow(protocol, controller, objects(&[bytes]));
    run(link, std::slice::from_ref(&flow), secs(3_600), (secs(0), secs(3_600)))
}

fn bernoulli(rate: f64) -> Loss {
    Loss::Bernoulli(Bernoulli {
        rate: Probability::new(rate).unwrap(),
        clock: LossClock::Packet,
        slot: None,
        slot_bytes: None,
        phases: None,
    })
}

#[test]
fn round_trips_of_zero_and_of_ten_seconds_end() {
    for kind in ALL {
        let none = fetch(&link("10 Mbit/s", "0 s", Queue::Unlimited), kind, 1_000_000);
        let time = none.flows[0].completed[0].as_secs_f64();
        assert!((0.8..1.2).contains(&time), "{kind:?}: {time}");
        let long = fetch(&link("10 Mbit/s", "10 s", Queue::Unlimited), kind, 1_000_000);
        let time = long.flows[0].completed[0].as_secs_f64();
        assert!((30.0..150.0).contains(&time), "{kind:?}: {time}");
    }
}

#[test]
fn no_delay_and_no_rate_limit_at_once_end() {
    for kind in ALL {
        let instant = fetch(&link("unlimited", "0 s", Queue::Unlimited), kind, 1_000_000);
        assert!(instant.flows[0].completed[0] < secs(2), "{kind:?}: {:?}", instant.flows[0].completed);
    }
}

#[test]
fn total_loss_in_either_direction_ends_without_a_result() {
    for kind in ALL {
        for down in [true, false] {
            let mut link = link("10 Mbit/s", "40 ms", Queue::Unlimited);
            let direction = if down { &mut link.down } else { &mut link.up };
            direction.loss = bernoulli(1.0);
            let result = fetch(&link, kind, 1_000_000);
            assert!(result.flows[0].completed.is_empty());
            assert_eq!(result.flows[0].established, SimTime::NEVER);
            let counters = if down { result.down } else { result.up };
            // Backed-off repeats over an hour, not a storm.
            assert!(counters.packets == counters.lost_random && counters.packets < 2_000, "{kind:?} {counters:?}");
        }
    }
}

#[test]
fn reordering_of_every_packet_ends() {
    for kind in ALL {
        let mut link = link("10 Mbit/s", "40 ms", Queue::Unlimited);
        for direction in [&mut link.down, &mut link.up] {
            direction.jitter = Some(JitterParams {
                std_dev: SimDuration::from_millis(50),
                distribution: JitterDistribution::Uniform,
                correlation_time: SimDuration::from_millis(1),
                reorder: true,
            });
        }
        let result = fetch(&link, kind, 1_000_000);
        assert!(result.flows[0].completed[0] < secs(600), "{kind:?}");
        assert!(result.flows[0].stats.spurious > 0, "{kind:?}: nothing was overtaken");
        assert_eq!(result.down.lost(), 0);
    }
}

#[test]
fn a_rate_of_zero_holds_a_transfer_and_an_outage_loses_its_packets() {
    let bits = |mbit: u64| BitRate::from_bits_per_second(mbit * 1_000_000);
    for kind in ALL {
        let mut held = link("10 Mbit/s", "40 ms", Queue::Unlimited);
        let step = |seconds, rate| RateStep { duration: SimDuration::from_secs(seconds), rate };
        let hole = RateSchedule::new(vec![step(1, bits(10)), step(20, bits(0)), step(1_000, bits(10))], false);
        held.down.rate = Rate::Schedule(hole.unwrap());
        let result = fetch(&held, kind, 4_000_000);
        assert!((21.0..30.0).contains(&result.flows[0].completed[0].as_secs_f64()), "{kind:?}");
        assert_eq!(result.down.lost(), 0, "{kind:?}");

        let mut out = link("10 Mbit/s", "40 ms", Queue::Unlimited);
        let window = OutageWindow { from: SimDuration::from_secs(1), duration: SimDuration::from_secs(20) };
        (out.down.outages, out.up.outages) = (Outages::Windows(vec![window]), Outages::Windows(vec![window]));
        let result = fetch(&out, kind, 4_000_000);
        assert!((21.0..120.0).contains(&result.flows[0].completed[0].as_secs_f64()), "{kind:?}");
        assert!(result.down.lost_outage > 0 && result.down.lost() == result.down.lost_outage, "{kind:?}");
    }
}

#[test]
fn repair_turns_losses_into_delay_and_the_sender_sees_none() {
    for kind in ALL {
        let mut link = link("10 Mbit/s", "40 ms", Queue::Unlimited);
        link.down.loss = bernoulli(0.05);
        let lossy = fetch(&link, kind, 4_000_000);
        link.down.arq =
            Some(Arq { delay: SimDuration::from_millis(8), attempts: 100, retry_loss: Probability::new(0.1).unwrap() });
        let repaired = fetch(&link, kind, 4_000_000);
        assert_eq!(repaired.down.lost(), 0, "{kind:?}");
        assert!(repaired.down.repaired > 100);
        assert_eq!(repaired.flows[0].down.lost_random, 0);
        assert!(lossy.down.lost_random > 100);
        assert_eq!(repaired.flows[0].stats.packets_lost, 0, "{kind:?}: order is kept, so nothing looks lost");
    }
}

#[test]
fn shaper_policer_and_delay_steps_act_on_a_transfer() {
    let bucket = |mbit: u64, burst| TokenBucket {
        rate: BitRate::from_bits_per_second(mbit * 1_000_000),
        burst: Bytes::new(burst),
    };
    for kind in ALL {
        let mut shaped = link("100 Mbit/s", "40 ms", Queue::Unlimited);
        shaped.down.shaper = Some(bucket(10, 20_000));
        let result = fetch(&shaped, kind, 4_000_000);
        let time = result.flows[0].completed[0].as_secs_f64();
        assert!((3.2..4.5).contains(&time) && result.down.lost() == 0, "{kind:?}: {time}");

        let mut policed = link("100 Mbit/s", "40 ms", Queue::Unlimited);
        policed.down.policer = Some(bucket(10, 20_000));
        let result = fetch(&policed, kind, 4_000_000);
        assert!(result.down.lost_policer > 0 && result.down.lost() == result.down.lost_policer, "{kind:?}");
        println!("{kind:?} policed {:?} {:?}", result.flows[0].completed, result.down);
        assert!(result.flows[0].completed[0].as_secs_f64() > 3.2, "{kind:?}");

        let mut stepped = link("10 Mbit/s", "40 ms", Queue::Unlimited);
        let step =
            |delay| DelayStep { duration: SimDuration::from_millis(500), delay: SimDuration::from_millis(delay) };
        stepped.down.extra_delay = Some(DelaySchedule { schedule: vec![step(100), step(0)], repeat: true });
        let result = fetch(&stepped, kind, 4_000_000);
        assert!(result.flows[0].completed[0].as_secs_f64() < 20.0, "{kind:?}");
        let plain = fetch(&link("10 Mbit/s", "40 ms", Queue::Unlimited), kind, 4_000_000);
        assert!(result.flows[0].completed[0] > plain.flows[0].completed[0], "{kind:?}");
    }
}
