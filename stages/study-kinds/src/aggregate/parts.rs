//! What the slowest segments spent their time on.
//!
//! Per arm and run the segments whose time is at or above the run's 95th percentile (type 7) are taken, and each part of their
//! time is averaged; the values are means over runs. Parts sum to the time, so their means sum to the tail's mean.

use super::node::Rows;
use std::collections::BTreeMap;
use study_stage::StageError;
use study_stats::{mean, quantile};
use study_table::Column;

/// The percentile from which on a segment belongs to the tail.
const TAIL: f64 = 0.95;
/// Columns of parts are named `spent_<part>_us`.
const PREFIX: &str = "spent_";

/// The mean of one part over the tails of an arm's runs.
pub(super) struct TailPart {
    pub(super) arm: usize,
    pub(super) part: String,
    /// Milliseconds.
    pub(super) mean_ms: f64,
    pub(super) runs: usize,
    /// Segments in the tails.
    pub(super) n: usize,
}

/// Nothing where the frame does not say what time was spent on.
pub(super) fn tail(rows: &Rows<'_>, arms: usize) -> Result<Vec<TailPart>, StageError> {
    let names = rows.names(PREFIX);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let times = rows.column("ttlb_us")?;
    // A segment that never came has no parts, and is slower than all that did.
    let time = |row: &usize| times.float(*row).unwrap_or(f64::INFINITY);
    let mut groups: BTreeMap<(usize, i64), Vec<usize>> = BTreeMap::new();
    for row in 0..rows.len() {
        groups.entry((rows.arms[row], rows.runs[row])).or_default().push(row);
    }
    for group in groups.values_mut() {
        let mut sorted: Vec<f64> = group.iter().map(time).collect();
        sorted.sort_by(f64::total_cmp);
        let from = quantile(&sorted, TAIL).unwrap_or(f64::INFINITY);
        group.retain(|row| time(row) >= from);
    }
    let columns: Vec<&Column> = names.iter().map(|name| rows.column(name)).collect::<Result<_, _>>()?;
    let mut parts = Vec::new();
    for arm in 0..arms {
        let tails: Vec<&Vec<usize>> = groups.range((arm, i64::MIN)..=(arm, i64::MAX)).map(|(_, tail)| tail).collect();
        for (name, column) in names.iter().zip(&columns) {
            let of_run = |tail: &&Vec<usize>| {
                let values: Vec<f64> =
                    tail.iter().filter_map(|row| column.float(*row)).map(|us| us / 1_000.0).collect();
                mean(&values)
            };
            let values: Vec<f64> = tails.iter().filter_map(of_run).collect();
            let part = name.trim_start_matches(PREFIX).trim_end_matches("_us").to_owned();
            let n = tails.iter().map(|tail| tail.len()).sum();
            parts.extend(mean(&values).map(|mean_ms| TailPart { arm, part, mean_ms, runs: values.len(), n }));
        }
    }
    Ok(parts)
}
