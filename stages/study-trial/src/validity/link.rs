//! The link as built: E2, E5, E6.

use super::Evidence;
use super::finding::Finding;
use study_link::{FULL_PACKET_BYTES, Queue, QueueLimit, Way};
use study_shaper::{Calibration, MeasuredRate};

/// Probes of a calibration, at least, in each direction (E2).
const PROBES: u32 = 20;
/// A measured rate may be off by this share: what the check against the kernel's own shaper allows.
const RATE_SHARE: f64 = 0.01;
/// Room of a queue in bandwidth-delay products without a warning (E5).
const QUEUE_BDP: std::ops::RangeInclusive<f64> = 0.5..=4.0;
/// The least product by which a queue is judged: ten full packets, as `study-link` sizes them.
const LEAST_BDP: u64 = 10 * FULL_PACKET_BYTES;

/// E2: the round trip is what the link definition says, from both ends.
pub(super) fn round_trip(evidence: &Evidence) -> Vec<Finding> {
    let checked = evidence.hops.iter().map(|hop| match &hop.calibration {
        None => Finding::missing("a calibration", &format!("`{}` was not calibrated", hop.link)),
        Some(calibration) => calibrated(calibration),
    });
    worst(checked)
}

fn calibrated(calibration: &Calibration) -> Finding {
    let (near, far) = (&calibration.from_near, &calibration.from_far);
    let (off, allowed) = (calibration.rtt_error_ms(), calibration.rtt_tolerance_ms());
    let measured = format!("{:.3} and {:.3}", near.rtt.p50_ms, far.rtt.p50_ms);
    let expected = format!("{:.3} +- {allowed:.3}", calibration.expected_rtt_ms);
    let few = near.sent.min(far.sent) < PROBES || near.answered.min(far.answered) == 0;
    let mut finding = Finding::of(measured, expected, "ms")
        .unknown(few, format!("fewer than {PROBES} probes were sent from an end, or none came back"))
        .fails(!few && off > allowed, format!("the round trip over `{}` is off by {off:.3} ms", calibration.link));
    let rates = [("down", &calibration.rate_down, 0), ("up", &calibration.rate_up, 1)];
    for (way, rate, position) in rates {
        // Packets that the loss process took are missing in the measured rate.
        let Some(rate) = rate.as_ref().filter(|_| calibration.losses[position].1 == 0) else { continue };
        finding = finding.warns(rate_off(rate) > RATE_SHARE, rate_text(way, rate));
    }
    finding
}

fn rate_off(rate: &MeasuredRate) -> f64 {
    (rate.measured / rate.expected - 1.0).abs()
}

fn rate_text(way: &str, rate: &MeasuredRate) -> String {
    format!("the rate {way} is {:.3} Mbit/s, not {:.3}", rate.measured / 1e6, rate.expected / 1e6)
}

/// The worst of some findings alone; none of none.
fn worst(findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut all: Vec<Finding> = findings.collect();
    // The first of the worst: later ones are not better known.
    let status = all.iter().map(|finding| finding.status).max();
    all.retain(|finding| Some(finding.status) == status);
    all.truncate(1);
    all
}

/// E5: the bottleneck's queue holds between half and four bandwidth-delay products.
pub(super) fn queue_room(evidence: &Evidence) -> Vec<Finding> {
    let expected = format!("{} to {}", QUEUE_BDP.start(), QUEUE_BDP.end());
    let mut found = Vec::new();
    for hop in &evidence.hops {
        for (way, seen) in hop.ways() {
            let Some(bdp) = hop.params.bdp_bytes(way) else { continue };
            let name = format!("`{}` {}", hop.link, way.name());
            let says = format!("{name} dropped {} packets at its queue", seen.losses.queue);
            found.push(match room(&hop.params.way(way).queue, bdp) {
                Some(room) => Finding::of(format!("{room:.2}"), &expected, "BDP")
                    .says(says)
                    .warns(!QUEUE_BDP.contains(&room), format!("the queue of {name} is {}", size_word(room))),
                None => Finding::of("unlimited", &expected, "BDP")
                    .warns(true, format!("the queue of {name} has no limit: nothing is ever dropped there")),
            });
        }
    }
    worst(found.into_iter())
}

fn size_word(room: f64) -> &'static str {
    if room < *QUEUE_BDP.start() { "short: it caps the rate" } else { "long: it adds seconds instead of losses" }
}

/// Room in bandwidth-delay products; `None` without limit.
fn room(queue: &Queue, bdp: u64) -> Option<f64> {
    let limit = match queue {
        Queue::Unlimited => return None,
        Queue::DropTail(limit) => *limit,
        Queue::Codel(codel) => codel.limit,
        // Its limit is for all flows together, and its law keeps the wait short.
        Queue::FqCodel(_) => return Some(1.0),
    };
    let bytes = match limit {
        QueueLimit::Bdp(factor) => return Some(factor),
        QueueLimit::Packets(packets) => packets.saturating_mul(FULL_PACKET_BYTES),
        QueueLimit::Bytes(bytes) => bytes.get(),
    };
    Some(bytes as f64 / bdp.max(LEAST_BDP) as f64)
}

/// E6: packets were overtaken only where the study asks for it.
pub(super) fn order_kept(evidence: &Evidence) -> Vec<Finding> {
    let (mut packets, mut reordered, mut wrong) = (0, 0, Vec::new());
    for hop in &evidence.hops {
        for (way, seen) in hop.ways() {
            packets += seen.packets;
            reordered += seen.reordered;
            let may = may_reorder(hop, way);
            if seen.reordered > 0 && !may {
                wrong.push(format!("{} packets of `{}` {} were overtaken", seen.reordered, hop.link, way.name()));
            }
        }
    }
    let share = reordered as f64 / packets.max(1) as f64;
    let expected = if evidence.hops.iter().any(|hop| Way::ALL.iter().any(|way| may_reorder(hop, *way))) {
        "as asked"
    } else {
        "0"
    };
    let finding = Finding::of(format!("{share:.6}"), expected, "share").unknown(packets == 0, "no packet was seen");
    vec![finding.fails(!wrong.is_empty(), wrong.join("; "))]
}

fn may_reorder(hop: &super::Hop, way: Way) -> bool {
    let params = hop.params.way(way);
    params.jitter.as_ref().is_some_and(|jitter| jitter.reorder) || matches!(params.queue, Queue::FqCodel(_))
}
