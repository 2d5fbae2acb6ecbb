//! The metrics: where each one is found in `segments` and `sessions`. How arms are compared by it is in
//! `bootstrap/metrics.rs`: the two kinds share no code, so that a change of one cannot leave a stale result of the other.

// For readers of comparisons that import it from here.
pub(crate) use crate::bootstrap::metrics::{Scale, metric};

/// What a missing observation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It took longer than anyone waited: +infinity.
    Censored,
    /// There was nothing to observe.
    Nothing,
}

/// Which statistics are taken besides the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistics {
    /// The percentiles of the segments.
    SegmentPercentiles,
    /// The percentiles of the sessions.
    SessionPercentiles,
    /// None: ratios and counts.
    MeanOnly,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric {
    /// Name in frames, with its unit where it has one.
    pub(crate) name: &'static str,
    /// Its column in `segments` or `sessions`.
    pub(crate) column: &'static str,
    /// Steps of the column in one unit of the metric: 1000 from microseconds to milliseconds.
    pub(crate) per_unit: f64,
    /// What null means in the column.
    pub(crate) absent: Absent,
    /// Statistics.
    pub(crate) statistics: Statistics,
}

/// A time per segment, from microseconds to milliseconds.
const fn segment_time(name: &'static str, column: &'static str) -> Metric {
    Metric { name, column, per_unit: 1000.0, absent: Absent::Censored, statistics: Statistics::SegmentPercentiles }
}

/// A ratio or count per session.
const fn session_value(name: &'static str, column: &'static str) -> Metric {
    Metric { name, column, per_unit: 1.0, absent: Absent::Nothing, statistics: Statistics::MeanOnly }
}

/// Metrics with one observation per segment.
pub(crate) const SEGMENT_METRICS: [Metric; 3] = [
    segment_time("ttlb_ms", "ttlb_us"),
    segment_time("ttfb_ms", "ttfb_us"),
    // Real stacks do not say for what their bytes waited.
    Metric { absent: Absent::Nothing, ..segment_time("hol_wait_ms", "hol_wait_us") },
];

/// Metrics with one observation per session.
pub(crate) const SESSION_METRICS: [Metric; 6] = [
    Metric {
        name: "startup_ms",
        column: "startup_us",
        per_unit: 1000.0,
        absent: Absent::Censored,
        statistics: Statistics::SessionPercentiles,
    },
    session_value("stall_ratio", "stall_ratio"),
    session_value("stall_count", "stall_count"),
    session_value("bitrate_kbit_s", "mean_bitrate_kbit_s"),
    session_value("switches", "switches"),
    session_value("hit_ratio", "hit_ratio"),
];
