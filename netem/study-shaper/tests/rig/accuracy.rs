//! How good times are. Asserted when the trial's own timing record is clean; otherwise the check says `tainted`.

use crate::traffic::{datagrams, holds, pair, symmetric, way};
use crate::{Check, Named, Place};
use std::time::Duration;
use study_link::{Queue, QueueLimit};
use study_shaper::{CalibrationOptions, End, Rig, Timing, TimingWatch, calibrate};

pub const ALL: &[Named] = &[
    ("a_calibrated_round_trip_is_that_of_the_definition", a_calibrated_round_trip_is_that_of_the_definition),
    ("a_calibrated_rate_is_that_of_the_definition", a_calibrated_rate_is_that_of_the_definition),
    ("a_packet_is_never_early", a_packet_is_never_early),
];

/// How often a tainted trial is done again before it is left unsaid.
const TRIALS: usize = 3;

/// Runs `trial` until its timing is clean, and then judges it.
pub fn when_clean<T>(
    what: &str,
    mut trial: impl FnMut() -> Result<(T, Timing), String>,
    judge: impl Fn(&T) -> Check,
) -> Check {
    let mut complaints = String::new();
    for _ in 0..TRIALS {
        let (found, timing) = trial()?;
        if timing.is_clean() {
            return judge(&found);
        }
        let worst = timing.complaints();
        complaints = worst
            .iter()
            .map(|s| format!("{} {} {:.3}", s.kind.name(), s.subject, s.measured))
            .collect::<Vec<_>>()
            .join(", ");
    }
    println!("tainted: {what}: {complaints}");
    Ok(())
}

/// The timing of a trial on a rig of one link.
pub fn judged<T>(rig: &Rig, trial: impl FnOnce() -> Result<T, String>) -> Result<(T, Timing), String> {
    let watch = TimingWatch::begin(rig).map_err(|e| e.to_string())?;
    let found = trial()?;
    Ok((found, watch.end(rig, &[rig.links()[0].record()], &[])))
}

fn a_calibrated_round_trip_is_that_of_the_definition(place: &Place) -> Check {
    for one_way in [25, 100] {
        let rig = pair(place, symmetric(way(one_way, 50)), 1)?;
        let options = CalibrationOptions { probes: 100, ..CalibrationOptions::default() };
        let trial = || {
            rig.links()[0].reset_indices();
            judged(&rig, || calibrate(&rig, &rig.links()[0], &options).map_err(|e| e.to_string()))
        };
        when_clean("round trip", trial, |found| {
            holds(found.rtt_holds() && found.rtt_error_ms() < 0.3, || {
                format!("off by {} ms: {found:?}", found.rtt_error_ms())
            })
        })?;
    }
    Ok(())
}

fn a_calibrated_rate_is_that_of_the_definition(place: &Place) -> Check {
    let rig = pair(place, symmetric(way(10, 20)), 1)?;
    let options = CalibrationOptions { burst: 80, ..CalibrationOptions::default() };
    let trial = || {
        rig.links()[0].reset_indices();
        judged(&rig, || calibrate(&rig, &rig.links()[0], &options).map_err(|e| e.to_string()))
    };
    when_clean("rate", trial, |found| {
        for rate in [found.rate_down, found.rate_up] {
            let rate = rate.ok_or("no rate was measured")?;
            let off = (rate.measured / rate.expected - 1.0).abs();
            holds(rate.packets == 80 && off < 0.01, || format!("{rate:?}"))?;
        }
        Ok(())
    })
}

/// Holds under any load: a relay may be late, never early.
fn a_packet_is_never_early(place: &Place) -> Check {
    let mut direction = way(30, 20);
    direction.queue = Queue::DropTail(QueueLimit::Packets(100));
    let rig = pair(place, symmetric(direction), 1)?;
    let link = &rig.links()[0];
    let found = calibrate(&rig, link, &CalibrationOptions::default()).map_err(|e| e.to_string())?;
    datagrams(&rig, link, End::Far, 50, 1_000, Duration::from_micros(500));
    for trips in [found.from_near, found.from_far] {
        holds(trips.min_ms >= found.expected_rtt_ms, || format!("{} ms of {}", trips.min_ms, found.expected_rtt_ms))?;
    }
    Ok(())
}
