//! Cost of one packet through a direction, by what the link does to it.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use study_ident::SeedPath;
use study_link::{
    Direction, DirectionParams, GilbertElliott, JitterDistribution, JitterParams, Loss, LossClock, Queue, QueueLimit,
    Rate, RateSchedule, RateStep,
};
use study_units::{BitRate, Bytes, Probability, SimDuration, SimTime};

const PACKETS: u64 = 100_000;

fn gilbert(clock: LossClock) -> Loss {
    let share = |p| Probability::new(p).unwrap_or_default();
    Loss::GilbertElliott(GilbertElliott {
        good_to_bad: share(0.03),
        bad_to_good: share(0.3),
        loss_in_bad: share(0.4),
        loss_in_good: Probability::ZERO,
        clock,
        slot: (clock == LossClock::Time).then_some(SimDuration::from_micros(600)),
        slot_bytes: (clock == LossClock::Byte).then_some(Bytes::new(1500)),
        phases: None,
    })
}

fn plain() -> DirectionParams {
    DirectionParams {
        queue: Queue::DropTail(QueueLimit::Bytes(Bytes::new(75_000))),
        ..DirectionParams::plain(
            SimDuration::from_millis(15),
            Rate::Constant(BitRate::from_bits_per_second(20_000_000)),
        )
    }
}

fn with_jitter(loss: Loss) -> DirectionParams {
    let jitter = JitterParams {
        std_dev: SimDuration::from_millis(8),
        distribution: JitterDistribution::HalfNormal,
        correlation_time: SimDuration::from_millis(50),
        reorder: false,
    };
    DirectionParams { jitter: Some(jitter), loss, ..plain() }
}

fn scheduled() -> DirectionParams {
    let step = |mbit: u64| RateStep {
        duration: SimDuration::from_millis(500),
        rate: BitRate::from_bits_per_second(mbit * 1_000_000),
    };
    let schedule = RateSchedule::new(vec![step(10), step(40), step(0), step(30)], true);
    DirectionParams { rate: schedule.map_or(Rate::Unlimited, Rate::Schedule), ..plain() }
}

fn one_packet(c: &mut Criterion) {
    let mut group = c.benchmark_group("direction");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, params) in [
        ("rate and drop-tail", plain()),
        ("schedule and drop-tail", scheduled()),
        ("gilbert-elliott by packet, drop-tail, jitter", with_jitter(gilbert(LossClock::Packet))),
        ("gilbert-elliott by time, drop-tail, jitter", with_jitter(gilbert(LossClock::Time))),
        ("gilbert-elliott by byte, drop-tail, jitter", with_jitter(gilbert(LossClock::Byte))),
    ] {
        group.bench_function(name, |b| {
            let mut direction = Direction::new(&params, SeedPath::root(1));
            let mut now = 0;
            b.iter(|| {
                for i in 0..PACKETS {
                    // Pairs of packets a little faster than the link, so that the queue fills and drops.
                    now += (i & 1) * 1_150_000;
                    black_box(direction.send(SimTime::from_nanos(now), 1500));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, one_packet);
criterion_main!(benches);
