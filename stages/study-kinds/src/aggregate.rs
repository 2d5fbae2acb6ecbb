//! The stage kind `aggregate`: from segments and sessions to run-level statistics.
//!
//! Purpose: everything later stages need without the 200,000 rows of `segments`: one statistic per arm and run (the unit of
//! inference), the same pooled over runs (labelled so), one row per session, empirical distribution functions, and the
//! trace of one typical session.
//!
//! Definitions: a percentile is type 7 over the observations of one arm in one run; ratios and counts are averaged over the
//! run's sessions. Blocks of real trials whose timing was tainted are left out whole, all arms of the run. An observation that never came (a session that never started) is +infinity in its metric: it counts in
//! `n`, and a statistic that leans on it is null.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Go simulator: nearest rank, three definitions side by side | type 7 everywhere | p95 of 30 segments lies between the 28th and 29th |
//! | Go simulator: "startup p95" that is a mean | `stat` says what it is | |
//!
//! Random streams consumed: none.

pub(crate) mod metrics;
mod node;
mod params;
mod parts;
mod tables;
mod trace;

pub use params::{AggregateParams, Percentiles, Tainted};

use node::NodeInputs;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_tree::{Cx, Decode, Node};

/// The kind.
pub struct Aggregate;

impl StageKind for Aggregate {
    type Params = AggregateParams;
    const NAME: &'static str = "aggregate";
    const SUMMARY: &'static str = "statistics per run, session metrics, distribution curves and a sample trace";
    const VERSION: u32 = 3;
    const TAKES: &'static [&'static str] = &["segments", "sessions", "timing"];
    const REQUIRES: &'static [&'static str] = &["segments", "sessions"];
    const GIVES: &'static [&'static str] =
        &["run_metrics", "session_metrics", "pooled_metrics", "curves", "traces", "tail_parts"];

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<AggregateParams> {
        AggregateParams::decode(node, cx)
    }
    fn schema(&self) -> Value {
        AggregateParams::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::AGGREGATE
    }
    fn run(&self, params: &AggregateParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let nodes = NodeInputs::pair(inputs, params)?;
        let axes: BTreeSet<&str> = nodes.iter().flat_map(|n| n.axes.keys().map(String::as_str)).collect();
        let done = AtomicU64::new(0);
        let results: Vec<_> = nodes
            .par_iter()
            .map(|node| {
                cx.check_cancelled()?;
                let result = node::aggregate(node, params)?;
                (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, nodes.len() as u64);
                Ok(result)
            })
            .collect::<Result<_, StageError>>()?;
        let mut tables = tables::Tables::new(&axes.into_iter().collect::<Vec<_>>());
        for (node, result) in nodes.iter().zip(&results) {
            tables.push(node, result);
        }
        Ok(tables.finish())
    }
}

#[cfg(test)]
mod tests;
