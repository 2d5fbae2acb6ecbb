//! Why a statistic has no value. Nothing here ever returns NaN.

use std::fmt;

/// Why a statistic has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotEstimable {
    /// There is no observation.
    Empty,
    /// One cluster says nothing about the spread between clusters.
    OneCluster,
    /// Every cluster has the same value: no spread was seen.
    AllEqual,
    /// Some values are not finite: failed or censored observations.
    NotFinite,
    /// A ratio or a logarithm needs positive values.
    NotPositive,
    /// Two slices that must pair have different lengths.
    Unpaired,
    /// The resampled distribution cannot carry the interval, e.g. the estimate lies outside of it.
    Degenerate,
}

impl NotEstimable {
    /// The reason in words, with the cluster called `unit`, e.g. "one run".
    #[must_use]
    pub fn reason(self, unit: &str) -> String {
        match self {
            Self::Empty => format!("no {unit}"),
            Self::OneCluster => format!("one {unit}"),
            Self::AllEqual => format!("all {unit}s equal"),
            Self::NotFinite => format!("censored {unit}s"),
            Self::NotPositive => "values not positive".to_owned(),
            Self::Unpaired => format!("unpaired {unit}s"),
            Self::Degenerate => "degenerate resamples".to_owned(),
        }
    }
}

impl fmt::Display for NotEstimable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason("cluster"))
    }
}
impl std::error::Error for NotEstimable {}
