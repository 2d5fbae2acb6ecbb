//! What a link does, in numbers that follow from its parameters.
//!
//! Equations: long-run loss and mean run of each loss process are those of its model in `study-link`; the time that a full queue takes is
//! its bytes at the rate; the bandwidth-delay product is the rate times the mean round trip.

use crate::wording::{bits, bytes, milliseconds, percent, significant};
use serde_json::{Value, json};
use study_link::{DirectionParams, FULL_PACKET_BYTES, LinkParams, Loss, LossClock, Outages, Queue, QueueLimit, Rate};
use study_units::SimDuration;

/// One line per fact.
pub(crate) fn of(link: &LinkParams) -> Vec<String> {
    let mut lines = Vec::new();
    let both = link.down == link.up;
    let ways: &[(&str, &DirectionParams)] =
        if both { &[("each direction", &link.down)] } else { &[("down", &link.down), ("up", &link.up)] };
    for (name, params) in ways {
        let mut parts = vec![losses(params), capacity(params)];
        parts.extend(room(params, link.mean_rtt()));
        parts.extend(outages(params));
        parts.push(delay(params));
        lines.extend(parts.into_iter().map(|part| format!("{name}: {part}")));
    }
    let (base, mean) = (link.base_rtt().as_nanos(), link.mean_rtt().as_nanos());
    let mean = if base == mean { String::new() } else { format!(", {} ms on average", milliseconds(mean)) };
    lines.push(format!("round trip: {} ms at least{mean}, without queues", milliseconds(base)));
    lines
}

/// The figures of one direction for programs.
pub(crate) fn figures(link: &LinkParams, down: bool) -> Value {
    let params = if down { &link.down } else { &link.up };
    let queue = queue_bytes(params);
    json!({
        "loss": params.stationary_loss(), "mean_loss_run": params.loss.mean_loss_run().filter(|run| run.is_finite()),
        "rate_bit_s": params.mean_rate().map(study_units::BitRate::bits_per_second),
        "queue_bytes": queue, "queue_ms": queue.and_then(|q| drain(params, q)).map(|d| d.as_millis_f64()),
        "one_way_base_ms": params.one_way.as_millis_f64(), "one_way_mean_ms": params.mean_delay().as_millis_f64(),
        "rtt_base_ms": link.base_rtt().as_millis_f64(), "rtt_mean_ms": link.mean_rtt().as_millis_f64(),
    })
}

fn losses(params: &DirectionParams) -> String {
    let loss = &params.loss;
    let run = match loss.mean_loss_run() {
        Some(run) => format!(", runs of {} lost packets on average", significant(run, 3)),
        None => String::new(),
    };
    let clock = match loss.clock() {
        Some(LossClock::Time) => " of time",
        Some(LossClock::Byte) => " of bytes",
        _ => "",
    };
    let long_run = percent(params.stationary_loss());
    match loss {
        Loss::None => "no random loss".to_owned(),
        Loss::Drops(list) => format!("the packets {:?} are lost and no others", list.packets),
        Loss::GilbertElliott(p) => {
            let bad = if p.bad_to_good.get() > 0.0 { 1.0 / p.bad_to_good.get() } else { f64::INFINITY };
            format!(
                "long-run loss {long_run}{clock}{run}; the bad state holds {} packets on average and {} of all",
                significant(bad, 3),
                percent(p.bad_share())
            )
        }
        _ => format!("long-run loss {long_run}{clock}{run}"),
    }
}

fn capacity(params: &DirectionParams) -> String {
    let policed = params.policer.as_ref().map_or_else(String::new, |policer| {
        let (rate, burst) = (bits(policer.rate.bits_per_second()), bytes(policer.burst.get()));
        format!(", policed to {rate} with bursts of {burst}")
    });
    let Some(rate) = params.mean_rate() else { return format!("no limit to the rate{policed}") };
    let overhead = params.overhead.get();
    let mut text = bits(rate.bits_per_second());
    if overhead > 0 {
        let goodput = rate.bits_per_second() as f64 * FULL_PACKET_BYTES as f64 / (FULL_PACKET_BYTES + overhead) as f64;
        text += &format!(", {} of them full IP packets", bits(goodput as u64));
    }
    if let Some(shaper) = &params.shaper {
        text += &format!(" after a burst of {}", bytes(shaper.burst.get()));
        if let Rate::Constant(peak) = params.rate {
            text += &format!(" at {}", bits(peak.bits_per_second()));
        }
    }
    text + &policed
}

/// Bytes that a tail-drop queue holds.
fn queue_bytes(params: &DirectionParams) -> Option<u64> {
    match &params.queue {
        Queue::DropTail(QueueLimit::Bytes(bytes)) => Some(bytes.get()),
        Queue::DropTail(QueueLimit::Packets(packets)) => {
            Some(packets.saturating_mul(FULL_PACKET_BYTES + params.overhead.get()))
        }
        _ => None,
    }
}

fn drain(params: &DirectionParams, bytes: u64) -> Option<SimDuration> {
    let rate = params.mean_rate()?.bits_per_second();
    (rate > 0).then(|| SimDuration::from_secs_f64((bytes as f64 * 8.0 / rate as f64).min(1e9)))
}

fn room(params: &DirectionParams, rtt: SimDuration) -> Vec<String> {
    let Some((queue, wait)) = queue_bytes(params).and_then(|q| Some((q, drain(params, q)?))) else { return Vec::new() };
    let packets = queue / (FULL_PACKET_BYTES + params.overhead.get());
    let mut text = format!(
        "a full queue holds {packets} full packets ({}) and waits {} ms",
        bytes(queue),
        milliseconds(wait.as_nanos())
    );
    let product = params.mean_rate().map_or(0.0, |rate| rate.bits_per_second() as f64 / 8.0 * rtt.as_secs_f64());
    if product > 0.0 {
        let share = queue as f64 / product;
        text += &format!(", {} of the bandwidth-delay product", significant(share, 3));
        if share < 0.5 {
            text += " (so small a queue loses packets of its own)";
        }
    }
    if wait > SimDuration::from_secs(1) {
        text += " (bufferbloat: more than a second)";
    }
    vec![text]
}

fn outages(params: &DirectionParams) -> Option<String> {
    match &params.outages {
        Outages::None => None,
        Outages::Windows(windows) => Some(format!("{} outages", windows.len())),
        Outages::Period(p) => {
            let times = p.repeat.map_or_else(|| "for ever".to_owned(), |n| format!("{n} times"));
            Some(format!("an outage of {} after every {}, {times}", p.off, p.on))
        }
    }
}

fn delay(params: &DirectionParams) -> String {
    let (base, mean) = (params.one_way.as_nanos(), params.mean_delay().as_nanos());
    if base == mean {
        format!("{} ms one way", milliseconds(base))
    } else {
        format!("{} ms one way at least, {} ms on average", milliseconds(base), milliseconds(mean))
    }
}
