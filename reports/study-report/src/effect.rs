//! Typed summaries: what the tables say about one arm, and about one arm against another.

use crate::metric::{self, Better};
use crate::number::Style;

/// An interval and its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Level as a share, e.g. 0.95.
    pub level: f64,
}

impl Interval {
    /// The level in prose: `95 % CI`.
    #[must_use]
    pub fn label(&self) -> String {
        format!(
            "{} % CI",
            crate::number::significant(self.level * 100.0, 3).trim_end_matches('0').trim_end_matches('.')
        )
    }
    /// Whether 0 lies outside.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Where a number comes from: the stage, its node, and the cell of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The stage, e.g. `transport`.
    pub stage: String,
    /// The node, e.g. `transport[scheduler=sequential]`.
    pub node: String,
    /// Axis values of the cell, in the order of the frame's columns.
    pub cell: Vec<(String, String)>,
}

impl Place {
    /// The cell in prose: `scheduler round_robin, prefetch 3`; nothing when there are no axes.
    #[must_use]
    pub fn cell_text(&self) -> String {
        self.cell.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>().join(", ")
    }
    /// The cell where room is scarce: `round_robin, prefetch 3`. Words name themselves, numbers need their axis.
    #[must_use]
    pub fn cell_short(&self) -> String {
        let word = |value: &str| value.starts_with(|c: char| c.is_alphabetic()) && !matches!(value, "true" | "false");
        let one =
            |(axis, value): &(String, String)| if word(value) { value.clone() } else { format!("{axis} {value}") };
        self.cell.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// A statistic of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Where from.
    pub place: Place,
    /// The arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Statistic: `p50`, `p95`, `mean`.
    pub stat: String,
    /// Unit of the values.
    pub unit: String,
    /// The value, if it can be estimated.
    pub estimate: Option<f64>,
    /// Its interval, if it can be estimated.
    pub interval: Option<Interval>,
    /// Observations.
    pub n: u64,
    /// Independent units (runs).
    pub clusters: u64,
}

/// How two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// Relative: 1 - b/a, or b/a - 1 where more is better. Positive is better for b.
    Improvement,
    /// Absolute: b - a in the metric's unit. Its sign says nothing about better or worse.
    Difference,
}

/// One arm against another.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Where from.
    pub place: Place,
    /// Name of the metric.
    pub metric: String,
    /// Statistic.
    pub stat: String,
    /// Baseline.
    pub arm_a: String,
    /// The other arm.
    pub arm_b: String,
    /// How they are compared.
    pub kind: EffectKind,
    /// Unit of a difference; improvements are shares.
    pub unit: String,
    /// The effect, if it can be estimated.
    pub estimate: Option<f64>,
    /// Its interval, if it can be estimated.
    pub interval: Option<Interval>,
    /// p-value of the sign-flip test over runs.
    pub p_value: Option<f64>,
    /// The same after the correction for many tests.
    pub p_adjusted: Option<f64>,
    /// Observations.
    pub n: u64,
    /// Independent units (runs).
    pub clusters: u64,
    /// How the interval was made, e.g. `bootstrap-t`.
    pub method: String,
    /// Var(difference) / (Var a + Var b): below 1 when pairing helped.
    pub variance_ratio: Option<f64>,
}

/// What an effect shows, at the level of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// b is better than a.
    Better,
    /// b is worse than a.
    Worse,
    /// The interval holds 0 and the test does not reject: no difference could be shown.
    NotShown,
    /// Interval and test disagree.
    Mixed,
    /// There is no interval, e.g. with one run.
    NotEstimable,
}

impl Effect {
    /// What it shows. The test counts after the correction for many tests, if there is one.
    #[must_use]
    pub fn reading(&self) -> Reading {
        let (Some(estimate), Some(interval)) = (self.estimate, self.interval) else { return Reading::NotEstimable };
        let alpha = 1.0 - interval.level;
        // Slightly above alpha counts as alpha: p-values of exact tests are multiples of a power of two.
        let rejects = self.p_adjusted.or(self.p_value).map(|p| p <= alpha + 1e-12);
        match (interval.excludes_zero(), rejects) {
            (true, Some(false)) | (false, Some(true)) => Reading::Mixed,
            (false, _) => Reading::NotShown,
            (true, _) if self.gain(estimate) > 0.0 => Reading::Better,
            (true, _) => Reading::Worse,
        }
    }
    /// The estimate with the sign turned so that positive is better for b.
    #[must_use]
    pub fn gain(&self, value: f64) -> f64 {
        match (self.kind, self.better()) {
            (EffectKind::Difference, Better::Lower) => -value,
            _ => value,
        }
    }
    /// Better direction of the metric; unknown metrics count as times.
    #[must_use]
    pub fn better(&self) -> Better {
        metric::find(&self.metric).map_or(Better::Lower, |m| m.better)
    }
    /// How its numbers are shown: per cent for improvements and shares, else the metric's unit.
    #[must_use]
    pub fn style(&self) -> Style {
        let mut values: Vec<f64> = self.estimate.into_iter().collect();
        values.extend(self.interval.iter().flat_map(|i| [i.low, i.high]));
        let unit = match (self.kind, self.unit.as_str()) {
            (EffectKind::Improvement, _) => "1",
            (EffectKind::Difference, "1") => "points",
            (EffectKind::Difference, unit) => unit,
        };
        Style::fitting(unit, &values)
    }
    /// The estimate for a table: `21.3 %`, `-1.3 pp`, or why there is none.
    #[must_use]
    pub fn estimate_text(&self) -> String {
        self.estimate.map_or_else(|| "not estimable".to_owned(), |x| points(&self.style().full(x)))
    }
    /// The interval for a table: `18.9 to 23.6 %`.
    #[must_use]
    pub fn interval_text(&self) -> String {
        self.interval.map_or_else(|| "-".to_owned(), |i| points(&self.style().range(i.low, i.high)))
    }
    /// The p-value for a table, the corrected one where there is one.
    #[must_use]
    pub fn p_text(&self) -> String {
        self.p_adjusted.or(self.p_value).map_or_else(|| "-".to_owned(), crate::number::p_value)
    }
}

/// Percentage points take too much room in a table.
fn points(text: &str) -> String {
    text.replace(" percentage points", " pp")
}

/// A statistic over all runs together, labelled as pooled: runs are not independent observations, so it has no interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Pooled {
    /// Where from.
    pub place: Place,
    /// The arm.
    pub arm: String,
    /// Name of the metric.
    pub metric: String,
    /// Statistic.
    pub stat: String,
    /// The value.
    pub value: f64,
    /// Observations.
    pub n: u64,
}

/// One of the tests that assume independent sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Parity {
    /// Where from.
    pub place: Place,
    /// Name of the metric.
    pub metric: String,
    /// Statistic, if the row has one.
    pub stat: String,
    /// Baseline.
    pub arm_a: String,
    /// The other arm.
    pub arm_b: String,
    /// `mann_whitney`, `cliffs_delta` or `cohens_d`.
    pub method: String,
    /// Effect size, for the methods that have one.
    pub estimate: Option<f64>,
    /// p-value, for the test.
    pub p_value: Option<f64>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An improvement of p95 segment time, h3 against h2, in a 4-cell matrix.
    pub(crate) fn improvement(estimate: f64, low: f64, high: f64) -> Effect {
        Effect {
            place: Place {
                stage: "transport".into(),
                node: "transport[player.prefetch=3,scheduler=round_robin]".into(),
                cell: vec![("scheduler".into(), "round_robin".into()), ("prefetch".into(), "3".into())],
            },
            metric: "ttlb_ms".into(),
            stat: "p95".into(),
            arm_a: "h2".into(),
            arm_b: "h3".into(),
            kind: EffectKind::Improvement,
            unit: "1".into(),
            estimate: Some(estimate),
            interval: Some(Interval { low, high, level: 0.95 }),
            p_value: Some(if low > 0.0 || high < 0.0 { 0.0001 } else { 0.4 }),
            p_adjusted: None,
            n: 12_000,
            clusters: 40,
            method: "bootstrap-t".into(),
            variance_ratio: Some(0.2),
        }
    }

    #[test]
    fn readings_need_interval_and_test_to_agree() {
        assert_eq!(improvement(0.2, 0.1, 0.3).reading(), Reading::Better);
        assert_eq!(improvement(-0.2, -0.3, -0.1).reading(), Reading::Worse);
        assert_eq!(improvement(0.01, -0.1, 0.3).reading(), Reading::NotShown);
        let mixed = Effect { p_adjusted: Some(0.2), ..improvement(0.2, 0.1, 0.3) };
        assert_eq!(mixed.reading(), Reading::Mixed, "the corrected p-value counts");
        let none = Effect { interval: None, ..improvement(0.2, 0.1, 0.3) };
        assert_eq!(none.reading(), Reading::NotEstimable);
        let boundary = Effect { p_value: Some(0.05), ..improvement(0.2, 0.1, 0.3) };
        assert_eq!(boundary.reading(), Reading::Better);
    }

    #[test]
    fn a_lower_stall_ratio_is_better_and_a_higher_bitrate_is_better() {
        let difference =
            Effect { metric: "stall_ratio".into(), kind: EffectKind::Difference, ..improvement(-0.02, -0.03, -0.01) };
        assert_eq!(difference.reading(), Reading::Better);
        assert_eq!(difference.estimate_text(), "-2.0 pp");
        assert_eq!(difference.interval_text(), "-3.0 to -1.0 pp");
        let bitrate = Effect { metric: "bitrate_kbit_s".into(), ..improvement(0.02, 0.01, 0.03) };
        assert_eq!(bitrate.reading(), Reading::Better);
    }

    #[test]
    fn cells_are_named_in_full_or_in_short() {
        let mut place = improvement(0.1, 0.0, 0.2).place;
        place.cell.push(("paced".into(), "true".into()));
        assert_eq!(place.cell_text(), "scheduler round_robin, prefetch 3, paced true");
        assert_eq!(place.cell_short(), "round_robin, prefetch 3, paced true");
    }

    #[test]
    fn levels_of_intervals_print_as_people_write_them() {
        let label = |level| Interval { low: 0.0, high: 1.0, level }.label();
        assert_eq!(label(0.95), "95 % CI");
        assert_eq!(label(0.9), "90 % CI");
        assert_eq!(label(0.999), "99.9 % CI");
    }
}
