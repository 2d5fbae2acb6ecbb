//! The stage kind `bootstrap`: estimates with intervals, and the comparison of arms.
//!
//! Purpose: from run-level statistics to answers. The run is the unit: viewers of a run share caches and links, so that only
//! runs are independent. Levels are combined over runs, arms are compared run by run under common random numbers.
//!
//! Equations, for run-level statistics `a_r`, `b_r` of baseline and other arm, `r = 1..G`:
//! * positive metrics: `m = mean ln(b_r / a_r)`, improvement `1 - e^m` (`e^m - 1` where more is better), levels by their
//!   geometric mean;
//! * metrics that may be 0 in a run: difference `mean(b_r - a_r)`, levels by their mean;
//! * interval: bootstrap-t over runs, on the log scale for positive metrics; Student t below 8 runs; Welch's unpaired t where
//!   `Var(b - a) / (Var a + Var b) > 0.95`; percentile, BCa and t beside it;
//! * p-value: sign-flip test over runs, adjusted by Holm over the default rows of one estimand of one node.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Go simulator: resamples sessions, arms separately | runs, paired | intervals neither 20 times too wide (pairs lost) nor too narrow (clusters ignored) |
//! | Go simulator: ratio of means | ratio of run-level statistics on the log scale | one slow run does not decide; arms are exchangeable |
//! | Go simulator: Mann-Whitney, Cohen's d as the verdict | rows with the estimand `parity` | labelled "assumes independent sessions" |
//!
//! Random streams consumed: `bootstrap` / matrix axes / metric / statistic / `resamples`; shared by the arms and their
//! comparison. `sign_flip` beside it, only beyond 40 runs.

mod compare;
mod frames;
mod intervals;
mod level;
pub(crate) mod metrics;
mod params;
mod parity;
mod tables;

pub use params::{BootstrapParams, Level, Method, Methods, Unit};

use frames::Cell;
use rayon::prelude::*;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_stats::SignFlipper;
use study_tree::{Cx, Decode, Node};

/// The kind.
pub struct Bootstrap;

impl StageKind for Bootstrap {
    type Params = BootstrapParams;
    const NAME: &'static str = "bootstrap";
    const SUMMARY: &'static str = "estimates with intervals over runs, and the comparison of arms";
    const VERSION: u32 = 2;
    const TAKES: &'static [&'static str] = &["run_metrics", "session_metrics", "pooled_metrics"];
    const REQUIRES: &'static [&'static str] = &["run_metrics"];
    const GIVES: &'static [&'static str] = &["summary", "comparison"];
    const USES_SEED: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<BootstrapParams> {
        BootstrapParams::decode(node, cx)
    }
    fn schema(&self) -> Value {
        BootstrapParams::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::BOOTSTRAP
    }
    fn run(&self, params: &BootstrapParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let frames = frames::Frames::read(inputs)?;
        frames.check_baseline(params.baseline.as_deref())?;
        // One unit of work is one statistic of one cell.
        let work: Vec<(&Cell, usize)> =
            frames.cells.iter().flat_map(|cell| (0..cell.series.len()).map(move |series| (cell, series))).collect();
        let done = AtomicU64::new(0);
        let results: Vec<_> = work
            .par_iter()
            .map_init(SignFlipper::default, |flipper, (cell, series)| {
                cx.check_cancelled()?;
                let series = &cell.series[*series];
                let seed = series.seed(cx.seed, &frames.axes, cell);
                let levels = level::levels(params, &seed, cell, series);
                let comparisons = compare::comparisons(params, &seed, cell, series, flipper);
                (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, work.len() as u64);
                Ok((levels, comparisons))
            })
            .collect::<Result<_, StageError>>()?;
        let mut results = results.into_iter();
        let mut tables = tables::Tables::new(&frames.axes);
        for cell in &frames.cells {
            let (levels, comparisons): (Vec<_>, Vec<_>) = results.by_ref().take(cell.series.len()).unzip();
            let mut comparisons = comparisons.concat();
            compare::adjust(&mut comparisons);
            comparisons.extend(parity::rows(params, cell));
            tables.push(cell, &levels.concat(), &comparisons);
        }
        let mut outputs = tables.finish();
        outputs.counters.insert("statistics".to_owned(), work.len() as u64);
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests;
