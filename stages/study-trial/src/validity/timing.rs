//! Timing and processors: E16, E17, H13, H15.
//!
//! Thresholds of signals are those of `study_shaper::timing`, where they were measured.

use super::finding::{Finding, distinct};
use super::{Evidence, Role};
use crate::schedule::{LINKS_PER_PROCESSOR, PACKETS_PER_PROCESSOR, packets_per_second};
use study_link::Way;
use study_shaper::{ACCURATE_RATE, BEST_EFFORT_RATE, Quality, Signal, SignalKind};

/// A thread that is busy for more than this share of the time sets the pace (H13).
const BUSY: f64 = 0.85;

/// The signals of some kinds: the worst of them decides.
fn signals(evidence: &Evidence, kinds: &[SignalKind], expected: &str) -> Vec<Finding> {
    let of_kind = || evidence.timing.signals.iter().filter(|signal| kinds.contains(&signal.kind));
    let Some(worst) = of_kind().max_by(|a, b| severity(a).total_cmp(&severity(b))) else {
        return vec![Finding::missing(expected, "the timing of this trial was not watched")];
    };
    let complaint = |quality: Quality| {
        let found = of_kind().filter(move |signal| signal.quality == quality);
        found.map(text).collect::<Vec<_>>().join("; ")
    };
    let (tainted, warned) = (complaint(Quality::Tainted), complaint(Quality::Warn));
    let finding = Finding::of(text(worst), format!("<= {} ({})", worst.warn_above, unit(worst.kind)), unit(worst.kind))
        .warns(!warned.is_empty(), format!("worse than on a quiet machine: {warned}"));
    vec![finding.fails(!tainted.is_empty(), format!("tainted: {tainted}"))]
}

/// How bad a signal is: its verdict, then how far it is towards a taint.
fn severity(signal: &Signal) -> f64 {
    let grade = match signal.quality {
        Quality::Clean => 0.0,
        Quality::Warn => 1e9,
        Quality::Tainted => 2e9,
    };
    grade + signal.measured / signal.taint_above.max(1e-9)
}

fn text(signal: &Signal) -> String {
    format!("{} of {} {:.3}", signal.kind.name(), signal.subject, signal.measured)
}

const fn unit(kind: SignalKind) -> &'static str {
    match kind {
        SignalKind::LatenessP99 | SignalKind::LatenessMax | SignalKind::Canary => "ms",
        SignalKind::ForeignLosses => "packets",
        SignalKind::RunQueueWait | SignalKind::RelayCpu | SignalKind::UdpBufferErrors | SignalKind::Steal => "share",
    }
}

/// E16: the relay hands packets over when they are due.
pub(super) fn relay_on_time(evidence: &Evidence) -> Vec<Finding> {
    let kinds = [SignalKind::LatenessP99, SignalKind::LatenessMax, SignalKind::RelayCpu];
    signals(evidence, &kinds, "lateness of each link")
}

/// E17: threads run when they are ready to.
pub(super) fn machine_on_time(evidence: &Evidence) -> Vec<Finding> {
    let kinds = [SignalKind::Canary, SignalKind::RunQueueWait, SignalKind::Steal];
    signals(evidence, &kinds, "canary, waits of threads, steal")
}

/// H13: the link sets the pace, not a processor.
pub(super) fn not_cpu_bound(evidence: &Evidence) -> Vec<Finding> {
    let ends = || evidence.threads.iter().filter(|thread| thread.role != Role::Relay);
    let expected = format!("<= {BUSY}");
    let Some(most) = ends().max_by(|a, b| a.used.cpu_share().total_cmp(&b.used.cpu_share())) else {
        return vec![Finding::missing(expected, "no endpoint's thread was watched")];
    };
    let seen = |role| ends().any(|thread| thread.role == role);
    let bound: Vec<String> = ends()
        .filter(|thread| thread.used.cpu_share() > BUSY)
        .map(|thread| format!("`{}` ({}) {:.3}", thread.name, thread.role.name(), thread.used.cpu_share()))
        .collect();
    let busy_s: f64 = ends().map(|thread| thread.used.cpu_ms / 1e3).sum();
    let bytes: u64 = evidence.hops.iter().flat_map(|hop| hop.ways().map(|(_, way)| way.delivered_bytes)).sum();
    let per_second = if busy_s > 0.0 { bytes as f64 / 1e6 / busy_s } else { 0.0 };
    let finding = Finding::of(format!("{:.3}", most.used.cpu_share()), expected, "share")
        .says(format!(
            "busiest endpoint thread `{}`; {per_second:.1} MB carried per second of endpoints' processor time",
            most.name
        ))
        .unknown(!seen(Role::Client) || !seen(Role::Server), "not both ends were watched");
    vec![finding.fails(!bound.is_empty(), format!("cpu_bound: {}", bound.join(", ")))]
}

/// H15: the rates are within what this kind of machine was measured to bear.
pub(super) fn within_ceiling(evidence: &Evidence) -> Vec<Finding> {
    let rates = || {
        evidence
            .hops
            .iter()
            .flat_map(|hop| Way::ALL.iter().map(move |way| (hop, *way, hop.params.way(*way).mean_rate())))
    };
    let unlimited = rates().find(|(_, _, rate)| rate.is_none());
    let fastest = rates().filter_map(|(.., rate)| rate).max();
    let faster_than = |limit| fastest.is_some_and(|rate| rate > limit);
    let processors = evidence.host.processors.max(1);
    let at_once = evidence.host.blocks_at_once.max(1);
    let packets: f64 =
        f64::from(at_once) * evidence.hops.iter().map(|hop| packets_per_second(&hop.params)).sum::<f64>();
    let links = evidence.hops.len() * at_once as usize;
    let budget = PACKETS_PER_PROCESSOR * f64::from(processors);
    let many = links > LINKS_PER_PROCESSOR * processors as usize;
    let measured = fastest.map_or_else(|| "unlimited".to_owned(), |rate| rate.to_string());
    let finding = Finding::of(measured, format!("<= {ACCURATE_RATE}"), "")
        .says(format!(
            "{links} links in {at_once} blocks at once, up to {packets:.0} packets per second, {processors} processors; threads: {}",
            distinct(evidence.threads.iter().map(|thread| thread.role.name()))
        ))
        .fails(
            unlimited.is_some(),
            format!(
                "`{}` has a direction without a rate: a relay falls behind",
                unlimited.map_or("", |(hop, ..)| &hop.link)
            ),
        )
        .fails(
            faster_than(BEST_EFFORT_RATE),
            format!("a rate is above {BEST_EFFORT_RATE}, which no relay here was seen to carry"),
        )
        .warns(
            faster_than(ACCURATE_RATE) && !faster_than(BEST_EFFORT_RATE),
            "above the rate that was measured to be accurate",
        );
    vec![finding.warns(
        packets > budget || many,
        format!("more than {budget:.0} packets per second or {LINKS_PER_PROCESSOR} links per processor"),
    )]
}
