//! What the metrics are called in prose, their units, and which direction is better.

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better: times, stalls.
    Lower,
    /// More is better: bitrate, hit ratio.
    Higher,
}

/// Which question a metric answers (methods: two estimands).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimand {
    /// The transport alone: decisions, request times and cache outcomes are the same in all arms.
    Transport,
    /// What viewers notice: the player decides by itself.
    Experience,
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name in the frames.
    pub name: &'static str,
    /// In prose, without an article: `segment delivery time`.
    pub label: &'static str,
    /// In a table or an axis.
    pub short: &'static str,
    /// Unit of its values: `ms`, `kbit/s`, `1` for shares, nothing for counts.
    pub unit: &'static str,
    /// Better direction.
    pub better: Better,
    /// The question it answers.
    pub estimand: Estimand,
}

const fn metric(
    name: &'static str,
    label: &'static str,
    short: &'static str,
    unit: &'static str,
    better: Better,
    estimand: Estimand,
) -> Metric {
    Metric { name, label, short, unit, better, estimand }
}

use Better::{Higher, Lower};
use Estimand::{Experience, Transport};

/// All metrics that the report knows by name. Order is that of the tables.
pub const METRICS: &[Metric] = &[
    metric("ttlb_ms", "segment delivery time", "segment time", "ms", Lower, Transport),
    metric("ttfb_ms", "time to the first byte", "first byte", "ms", Lower, Transport),
    metric("hol_wait_ms", "head-of-line wait", "head-of-line wait", "ms", Lower, Transport),
    metric("startup_ms", "startup time", "startup", "ms", Lower, Experience),
    metric("stall_ratio", "stall ratio", "stall ratio", "1", Lower, Experience),
    metric("stall_count", "number of stalls per session", "stalls", "", Lower, Experience),
    metric("bitrate_kbit_s", "time-weighted bitrate", "bitrate", "kbit/s", Higher, Experience),
    metric("switches", "number of quality switches per session", "switches", "", Lower, Experience),
    metric("hit_ratio", "edge hit ratio", "hit ratio", "1", Higher, Experience),
];

/// The metric of that name, if the report knows it.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

/// A statistic of a metric in prose: `p95 of segment delivery time`, `median startup time`, `mean stall ratio`.
#[must_use]
pub fn describe(name: &str, stat: &str) -> String {
    join(stat, find(name).map_or(name, |m| m.label))
}

/// A statistic of a metric in a table: `p95 segment time`.
#[must_use]
pub fn describe_short(name: &str, stat: &str) -> String {
    let short = find(name).map_or(name, |m| m.short);
    match stat {
        "p50" => format!("median {short}"),
        _ => format!("{stat} {short}"),
    }
}

fn join(stat: &str, label: &str) -> String {
    match stat {
        "p50" => format!("median {label}"),
        "mean" => format!("mean {label}"),
        _ => format!("{stat} of {label}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_read_as_prose_and_unknown_metrics_by_their_name() {
        assert_eq!(describe("ttlb_ms", "p95"), "p95 of segment delivery time");
        assert_eq!(describe("startup_ms", "p50"), "median startup time");
        assert_eq!(describe("stall_ratio", "mean"), "mean stall ratio");
        assert_eq!(describe("ack_delay_ms", "p95"), "p95 of ack_delay_ms");
        assert_eq!(describe_short("ttlb_ms", "p95"), "p95 segment time");
    }
}
