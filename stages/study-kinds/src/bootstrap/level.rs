//! Rows of `summary`: the level of one statistic in one arm.

use super::frames::{Cell, Observed, Series};
use super::intervals::{self, Row};
use super::metrics::Scale;
use super::params::BootstrapParams;
use std::collections::BTreeMap;
use study_ident::SeedPath;
use study_stats::{Interval, NotEstimable, logs, mean};

/// One row of `summary`.
#[derive(Debug, Clone)]
pub(super) struct LevelRow {
    pub(super) arm: usize,
    pub(super) metric: String,
    pub(super) stat: String,
    pub(super) estimand: &'static str,
    pub(super) estimate: Option<f64>,
    pub(super) interval: Option<Interval>,
    pub(super) level: f64,
    pub(super) n: i64,
    pub(super) clusters: usize,
    pub(super) method: String,
    pub(super) unit: &'static str,
}

/// Run-level values on the scale on which they are combined.
pub(super) struct Scaled {
    /// Logarithms, or the values themselves.
    pub(super) values: Vec<f64>,
    /// Whether they are logarithms.
    pub(super) logs: bool,
}

/// Logarithms where the metric is positive by nature and the values are in fact.
pub(super) fn scaled(scale: Scale, values: &[f64]) -> Scaled {
    match (scale, logs(values)) {
        (Scale::Ratio, Ok(logs)) => Scaled { values: logs, logs: true },
        _ => Scaled { values: values.to_vec(), logs: false },
    }
}

/// The values of all runs, or why there are none: a censored run cannot be left out without making the arm look better.
pub(super) fn complete<'a>(runs: impl ExactSizeIterator<Item = &'a Observed>) -> Result<Vec<f64>, String> {
    let total = runs.len();
    let values: Vec<f64> = runs.filter_map(|run| run.value).collect();
    match total - values.len() {
        0 if total == 0 => Err(Row::refused(NotEstimable::Empty).method),
        0 => Ok(values),
        missing => Err(format!("not estimable: censored in {missing} of {total} runs")),
    }
}

/// All rows of one statistic.
pub(super) fn levels(params: &BootstrapParams, seed: &SeedPath, cell: &Cell, series: &Series) -> Vec<LevelRow> {
    let empty = BTreeMap::new();
    (0..cell.arms.len())
        .filter(|arm| series.by_arm.contains_key(arm) || series.pooled.contains_key(arm))
        .flat_map(|arm| {
            let runs = series.by_arm.get(&arm).unwrap_or(&empty);
            let mut rows = arm_rows(params, seed, arm, series, runs);
            rows.extend(series.pooled.get(&arm).map(|pooled| LevelRow {
                estimate: pooled.value,
                n: pooled.n,
                clusters: runs.len(),
                method: "pooled".to_owned(),
                ..blank(params, arm, series)
            }));
            rows
        })
        .collect()
}

/// A row without numbers.
fn blank(params: &BootstrapParams, arm: usize, series: &Series) -> LevelRow {
    LevelRow {
        arm,
        metric: series.name.clone(),
        stat: series.stat.clone(),
        estimand: series.metric.estimand,
        estimate: None,
        interval: None,
        level: params.level.get(),
        n: 0,
        clusters: 0,
        method: String::new(),
        unit: series.metric.unit,
    }
}

fn arm_rows(
    params: &BootstrapParams,
    seed: &SeedPath,
    arm: usize,
    series: &Series,
    runs: &BTreeMap<i64, Observed>,
) -> Vec<LevelRow> {
    let n = runs.values().map(|run| run.n).sum();
    let base = LevelRow { n, clusters: runs.len(), ..blank(params, arm, series) };
    let values = match complete(runs.values()) {
        Ok(values) => values,
        Err(method) => return vec![LevelRow { method, ..base }],
    };
    let scaled = scaled(series.metric.scale, &values);
    let back = |x: f64| if scaled.logs { libm::exp(x) } else { x };
    let estimate = mean(&scaled.values).map(back);
    let rows = intervals::rows(params, seed, &scaled.values);
    rows.into_iter()
        .map(|row| LevelRow {
            estimate,
            interval: row.interval.map(|interval| interval.map(back)),
            method: row.method,
            ..base.clone()
        })
        .collect()
}
