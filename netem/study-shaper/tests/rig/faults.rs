//! Faults that are planted must show in the record.

use crate::accuracy::judged;
use crate::traffic::{datagrams, download, equal, holds, options, pair, pair_with, symmetric, way};
use crate::{Check, Named, Place};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_shaper::{End, Quality, SignalKind};

pub const ALL: &[Named] = &[
    ("offload_left_on_shows_as_packets_above_the_mtu", offload_left_on_shows_as_packets_above_the_mtu),
    ("a_busy_machine_taints_the_trial", a_busy_machine_taints_the_trial),
    ("a_full_interface_queue_shows_and_taints", a_full_interface_queue_shows_and_taints),
];

fn offload_left_on_shows_as_packets_above_the_mtu(place: &Place) -> Check {
    const BYTES: usize = 1_000_000;
    for offload in [false, true] {
        let mut options = options(place);
        options.offload = offload;
        let rig = pair_with(place, symmetric(way(1, 100)), 1, &options)?;
        let link = &rig.links()[0];
        equal("downloaded", &download(&rig, link, BYTES)?, &BYTES)?;
        let record = link.record();
        let largest = record.down.largest_frame;
        holds((largest > 1_518) == offload, || format!("offload {offload}: largest packet {largest} B"))?;
        equal("packets above the MTU", &(record.down.oversized > 0), &offload)?;
        equal("refused", &record.down.write_errors, &0)?;
    }
    Ok(())
}

fn a_busy_machine_taints_the_trial(place: &Place) -> Check {
    let rig = pair(place, symmetric(way(10, 50)), 1)?;
    let stop = AtomicBool::new(false);
    let hogs = 8 * std::thread::available_parallelism().map_or(2, usize::from);
    let timing = std::thread::scope(|scope| {
        for _ in 0..hogs {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let judged =
            judged(&rig, || Ok(datagrams(&rig, &rig.links()[0], End::Near, 2_000, 500, Duration::from_micros(500))));
        stop.store(true, Ordering::Relaxed);
        judged
    })?
    .1;
    equal("quality", &timing.quality, &Quality::Tainted)
}

fn a_full_interface_queue_shows_and_taints(place: &Place) -> Check {
    let mut options = options(place);
    options.queue_length = 10;
    let rig = pair_with(place, symmetric(way(10, 50)), 1, &options)?;
    let link = &rig.links()[0];
    // How many find no room depends on the machine; that none is missing from the books does not.
    let (_, timing) = judged(&rig, || Ok(datagrams(&rig, link, End::Near, 30_000, 100, Duration::ZERO)))?;
    let record = link.record();
    let lost = record.near_interface_drops + record.socket_drops;
    let seen = record.up.packets;
    equal("packets seen and dropped", &(seen + lost), &30_000)?;
    let signal = timing.signals.iter().find(|s| s.kind == SignalKind::ForeignLosses).ok_or("no signal")?;
    equal("tainted by drops", &(signal.quality == Quality::Tainted), &(lost > 0))
}
