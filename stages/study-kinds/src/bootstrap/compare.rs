//! Rows of `comparison`: baseline against every other arm, run by run.

use super::frames::{Cell, Observed, Series};
use super::intervals::{self, Row};
use super::level::complete;
use super::metrics::{Metric, Scale};
use super::params::BootstrapParams;
use study_ident::SeedPath;
use study_stats::{Interval, NotEstimable, SignFlipper, holm, logs, mean, variance_ratio, welch_interval};

/// Above this share pairing only costs degrees of freedom.
const UNPAIRED_ABOVE: f64 = 0.95;

/// One row of `comparison`.
#[derive(Debug, Clone)]
pub(super) struct ComparisonRow {
    pub(super) metric: String,
    pub(super) stat: String,
    pub(super) estimand: &'static str,
    pub(super) arm_a: usize,
    pub(super) arm_b: usize,
    pub(super) estimate: Option<f64>,
    pub(super) interval: Option<Interval>,
    /// `None` for rows that never have an interval.
    pub(super) level: Option<f64>,
    pub(super) effect: &'static str,
    pub(super) p_value: Option<f64>,
    pub(super) p_adjusted: Option<f64>,
    pub(super) n: i64,
    pub(super) clusters: usize,
    pub(super) method: String,
    pub(super) unit: &'static str,
    pub(super) variance_ratio: Option<f64>,
    /// Whether it is the row that reports and claims read.
    pub(super) default: bool,
}

/// The two arms of the common runs on one scale.
struct Pairs {
    a: Vec<f64>,
    b: Vec<f64>,
    /// `b - a`: log ratios, or differences.
    differences: Vec<f64>,
    logs: bool,
}

impl Pairs {
    fn new(scale: Scale, a: Vec<f64>, b: Vec<f64>) -> Self {
        // Both arms on one scale: a metric that is 0 in one arm only cannot be a ratio.
        let (a, b, logs) = match (scale, logs(&a), logs(&b)) {
            (Scale::Ratio, Ok(log_a), Ok(log_b)) => (log_a, log_b, true),
            _ => (a, b, false),
        };
        let differences = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        Self { a, b, differences, logs }
    }
    /// From the scale of the differences to the effect that is reported.
    fn effect(&self, metric: &Metric, x: f64) -> f64 {
        match (self.logs, metric.more_is_better) {
            (false, _) => x,
            (true, true) => libm::expm1(x),
            (true, false) => -libm::expm1(x),
        }
    }
}

/// All rows of one statistic.
pub(super) fn comparisons(
    params: &BootstrapParams,
    seed: &SeedPath,
    cell: &Cell,
    series: &Series,
    flipper: &mut SignFlipper,
) -> Vec<ComparisonRow> {
    let Some(baseline) = cell.baseline(params.baseline.as_deref()) else { return Vec::new() };
    let others = (0..cell.arms.len()).filter(|arm| *arm != baseline);
    others.flat_map(|other| pair_rows(params, seed, series, (baseline, other), flipper)).collect()
}

fn pair_rows(
    params: &BootstrapParams,
    seed: &SeedPath,
    series: &Series,
    (arm_a, arm_b): (usize, usize),
    flipper: &mut SignFlipper,
) -> Vec<ComparisonRow> {
    let (Some(runs_a), Some(runs_b)) = (series.by_arm.get(&arm_a), series.by_arm.get(&arm_b)) else {
        return Vec::new();
    };
    let common: Vec<(&Observed, &Observed)> =
        runs_a.iter().filter_map(|(run, a)| runs_b.get(run).map(|b| (a, b))).collect();
    let base = ComparisonRow {
        n: common.iter().map(|(a, b)| a.n + b.n).sum(),
        clusters: common.len(),
        ..blank(params, series, arm_a, arm_b)
    };
    let both = complete(common.iter().map(|pair| pair.0))
        .and_then(|a| complete(common.iter().map(|pair| pair.1)).map(|b| Pairs::new(series.metric.scale, a, b)));
    let pairs = match both {
        Ok(pairs) => pairs,
        Err(method) => return vec![ComparisonRow { method, ..base }],
    };
    let base = ComparisonRow {
        estimate: mean(&pairs.differences).map(|x| pairs.effect(&series.metric, x)),
        effect: if pairs.logs { "improvement" } else { "difference" },
        unit: if pairs.logs { "1" } else { series.metric.unit },
        variance_ratio: variance_ratio(&pairs.a, &pairs.b).ok(),
        ..base
    };
    let mut rows = intervals::rows(params, seed, &pairs.differences);
    if let Some(unpaired) = unpaired(params, &pairs, base.variance_ratio) {
        rows[0] = unpaired;
    }
    let p_value = flipper.test(&pairs.differences, seed).ok().map(|test| test.p_value);
    let rows = rows.into_iter().enumerate().map(|(i, row)| ComparisonRow {
        interval: row.interval.map(|interval| interval.map(|x| pairs.effect(&series.metric, x))),
        method: row.method,
        p_value: p_value.filter(|_| i == 0),
        default: i == 0,
        ..base.clone()
    });
    rows.collect()
}

/// The default row where pairing did not help.
fn unpaired(params: &BootstrapParams, pairs: &Pairs, ratio: Option<f64>) -> Option<Row> {
    let ratio = ratio.filter(|ratio| *ratio > UNPAIRED_ABOVE)?;
    let interval = welch_interval(&pairs.a, &pairs.b, params.level.get()).ok()?;
    Some(Row { interval: Some(interval), method: format!("welch-t (unpaired: variance ratio {ratio:.2})") })
}

/// A row without numbers.
fn blank(params: &BootstrapParams, series: &Series, arm_a: usize, arm_b: usize) -> ComparisonRow {
    ComparisonRow {
        metric: series.name.clone(),
        stat: series.stat.clone(),
        estimand: series.metric.estimand,
        arm_a,
        arm_b,
        estimate: None,
        interval: None,
        level: Some(params.level.get()),
        effect: if series.metric.scale == Scale::Ratio { "improvement" } else { "difference" },
        p_value: None,
        p_adjusted: None,
        n: 0,
        clusters: 0,
        method: Row::refused(NotEstimable::Empty).method,
        unit: if series.metric.scale == Scale::Ratio { "1" } else { series.metric.unit },
        variance_ratio: None,
        default: true,
    }
}

/// Adjusts the p-values of one node: one family per estimand, made of its default rows.
pub(super) fn adjust(rows: &mut [ComparisonRow]) {
    let mut families: Vec<&'static str> = rows.iter().map(|row| row.estimand).collect();
    families.sort_unstable();
    families.dedup();
    for family in families {
        let members: Vec<usize> = (0..rows.len())
            .filter(|i| rows[*i].default && rows[*i].estimand == family && rows[*i].p_value.is_some())
            .collect();
        let p: Vec<f64> = members.iter().filter_map(|i| rows[*i].p_value).collect();
        for (i, adjusted) in members.into_iter().zip(holm(&p)) {
            rows[i].p_adjusted = Some(adjusted);
        }
    }
}
