//! How arms are compared, metric by metric.

/// How run-level statistics of two arms are compared and combined over runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Positive in every run: ratios, on the log scale.
    Ratio,
    /// May be 0 in a run: differences.
    Difference,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metric {
    /// Name in frames.
    pub(crate) name: &'static str,
    /// Unit; `1` for shares, nothing for counts.
    pub(crate) unit: &'static str,
    /// The question it answers: `transport` (meaningful where decisions are replayed or fixed) or `experience`.
    pub(crate) estimand: &'static str,
    /// Whether more is better.
    pub(crate) more_is_better: bool,
    /// How arms are compared.
    pub(crate) scale: Scale,
    /// Whether a session without a value took longer than anyone waited; otherwise it has nothing to say.
    pub(crate) absent_is_censored: bool,
}

const TRANSPORT: Metric = Metric {
    name: "",
    unit: "ms",
    estimand: "transport",
    more_is_better: false,
    scale: Scale::Ratio,
    absent_is_censored: true,
};

const EXPERIENCE: Metric = Metric {
    name: "",
    unit: "",
    estimand: "experience",
    more_is_better: false,
    scale: Scale::Difference,
    absent_is_censored: false,
};

/// All metrics of `aggregate`.
pub(crate) const METRICS: [Metric; 9] = [
    Metric { name: "ttlb_ms", ..TRANSPORT },
    Metric { name: "ttfb_ms", ..TRANSPORT },
    // A run without loss has none, and real stacks do not tell it.
    Metric { name: "hol_wait_ms", scale: Scale::Difference, absent_is_censored: false, ..TRANSPORT },
    Metric { name: "startup_ms", unit: "ms", scale: Scale::Ratio, absent_is_censored: true, ..EXPERIENCE },
    Metric { name: "stall_ratio", unit: "1", ..EXPERIENCE },
    Metric { name: "stall_count", ..EXPERIENCE },
    Metric { name: "bitrate_kbit_s", unit: "kbit/s", more_is_better: true, scale: Scale::Ratio, ..EXPERIENCE },
    Metric { name: "switches", ..EXPERIENCE },
    Metric { name: "hit_ratio", unit: "1", more_is_better: true, ..EXPERIENCE },
];

/// The metric of that name. One from elsewhere is compared by differences, less being better, as far as anyone knows.
pub(crate) fn metric(name: &str) -> Metric {
    METRICS.iter().find(|m| m.name == name).copied().unwrap_or(EXPERIENCE)
}
