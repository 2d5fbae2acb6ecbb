//! Rows with the estimand `parity`: what the predecessor reports, on sessions as if they were independent. They never carry
//! the answer of a study.

use super::compare::ComparisonRow;
use super::frames::{Cell, Sessions};
use super::params::BootstrapParams;
use study_stats::{Alternative, MannWhitneyMethod, NotEstimable, cliffs_delta, cohens_d, mann_whitney};

/// The rows of one cell. Effects are those of the other arm over the baseline: positive when its values are larger.
pub(super) fn rows(params: &BootstrapParams, cell: &Cell) -> Vec<ComparisonRow> {
    let Some(baseline) = cell.baseline(params.baseline.as_deref()) else { return Vec::new() };
    let others: Vec<usize> = (0..cell.arms.len()).filter(|arm| *arm != baseline).collect();
    let pairs = cell.sessions.iter().flat_map(|sessions| others.iter().map(move |other| (sessions, *other)));
    pairs.flat_map(|(sessions, other)| pair_rows(cell, sessions, baseline, other)).collect()
}

fn pair_rows(cell: &Cell, sessions: &Sessions, arm_a: usize, arm_b: usize) -> Vec<ComparisonRow> {
    let values = |arm| sessions.by_arm.get(&arm).map_or(&[][..], Vec::as_slice);
    let (a, b) = (values(arm_a), values(arm_b));
    let base = ComparisonRow {
        metric: sessions.name.clone(),
        stat: "session".to_owned(),
        estimand: "parity",
        arm_a,
        arm_b,
        estimate: None,
        interval: None,
        level: None,
        effect: "",
        p_value: None,
        p_adjusted: None,
        n: (a.len() + b.len()) as i64,
        clusters: cell.runs,
        method: String::new(),
        unit: "1",
        variance_ratio: None,
        default: false,
    };
    let row = |name: &str, effect, result: Result<(f64, Option<f64>), NotEstimable>| {
        let (estimate, p_value, method) = match result {
            Ok((estimate, p_value)) => (Some(estimate), p_value, name.to_owned()),
            Err(why) => (None, None, format!("{name} (not estimable: {})", why.reason("session"))),
        };
        ComparisonRow { estimate, p_value, method, effect, ..base.clone() }
    };
    let test = mann_whitney(b, a, Alternative::TwoSided, MannWhitneyMethod::Auto);
    vec![
        row("mann_whitney", "u", test.map(|t| (t.u, Some(t.p_value)))),
        row("cliffs_delta", "delta", cliffs_delta(b, a).map(|delta| (delta, None))),
        row("cohens_d", "d", cohens_d(b, a).map(|d| (d, None))),
    ]
}
