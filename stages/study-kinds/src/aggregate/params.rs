//! Parameters of `aggregate`.

use study_tree::{Cx, Decode, Diagnostic, Node, choices, params};

choices! {
    /// What becomes of runs whose timing was tainted, by signals that do not depend on what was measured.
    pub enum Tainted {
        /// They are in no statistic, all arms of them, as long as there are others.
        LeaveOut = "leave_out",
        /// They count like the others: the sensitivity analysis.
        Keep = "keep",
    }
}

params! {
    /// Parameters of `aggregate`. The metrics are fixed; their percentiles are not.
    pub struct AggregateParams {
        /// Percentiles of metrics with one observation per segment, each in 0..=100.
        percentiles: Percentiles = Percentiles::of(&[50.0, 95.0, 99.0]);
        /// Percentiles of startup time, one observation per session, each in 0..=100; a run's p99 would need 1,000 sessions.
        session_percentiles: Percentiles = Percentiles::of(&[50.0, 95.0]);
        /// Runs whose timing was tainted; modeled ones never are.
        tainted: Tainted = Tainted::LeaveOut;
    }
}

/// Percentiles in ascending order, each once, in 0..=100.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles(Vec<f64>);

impl Percentiles {
    /// Those percentiles, in 0..=100.
    #[must_use]
    pub fn of(percent: &[f64]) -> Self {
        let mut percent = percent.to_vec();
        percent.sort_unstable_by(f64::total_cmp);
        percent.dedup();
        Self(percent)
    }
    /// The percentiles, ascending, in 0..=100.
    #[must_use]
    pub fn get(&self) -> &[f64] {
        &self.0
    }
    /// The name of a percentile in the column `stat`: `p50`, `p99.9`.
    #[must_use]
    pub fn name(percent: f64) -> String {
        format!("p{percent}")
    }
}

impl Decode for Percentiles {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let percent = Vec::<f64>::decode(node, cx)?;
        let mut ok = true;
        for (item, value) in node.items().into_iter().flatten().zip(&percent) {
            if !(0.0..=100.0).contains(value) {
                ok = false;
                let message = format!("{} is not a percentile", item.describe());
                cx.push(Diagnostic::error("out-of-range", item.span, message).help("give values in 0..=100"));
            }
        }
        if percent.is_empty() {
            ok = false;
            cx.push(
                Diagnostic::error("out-of-range", node.span, "no percentile is given")
                    .help("give at least one, e.g. `[50, 95]`"),
            );
        }
        ok.then(|| Self::of(&percent))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({
            "type": "array", "minItems": 1, "items": { "type": "number", "minimum": 0, "maximum": 100 }
        })
    }
}
