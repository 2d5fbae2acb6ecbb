//! Checks over all blocks of a study: are taints and places spread over the arms evenly?

use super::finding::Finding;
use super::{Check, Order};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Taint rates of two arms may differ by this much, in percentage points.
const TAINT_POINTS: f64 = 2.0;
/// A difference that chance makes less often than this is none of chance.
const CHANCE: f64 = 0.05;
/// From so many blocks on, one and the same order in all of them is no coincidence: with two arms it has odds of 1 in 512.
const BLOCKS: usize = 10;

/// A trial that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Name of the arm.
    pub arm: String,
    /// Number of the block.
    pub block: u64,
    /// Where in the block.
    pub order: Order,
    /// Runs of this trial that were tainted, the kept one included.
    pub tainted: u32,
    /// All runs of this trial.
    pub runs: u32,
}

/// The rows that only many blocks can give: `taint-rate`, and `H16` for the orders.
#[must_use]
pub fn across_blocks(trials: &[Finished]) -> Vec<Check> {
    vec![Check::new("taint-rate", None, taint_rates(trials)), Check::new("H16", None, orders(trials))]
}

fn taint_rates(trials: &[Finished]) -> Finding {
    let mut arms: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for trial in trials {
        let (tainted, runs) = arms.entry(&trial.arm).or_default();
        *tainted += trial.tainted;
        *runs += trial.runs;
    }
    let rate = |(tainted, runs): &(u32, u32)| 100.0 * f64::from(*tainted) / f64::from((*runs).max(1));
    let (least, most) = arms.values().map(rate).fold((100.0_f64, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
    let text = |(arm, counts): (&&str, &(u32, u32))| format!("{arm}: {} of {} runs", counts.0, counts.1);
    let apart = (most - least).max(0.0);
    let counts: Vec<u32> = arms.values().map(|(tainted, _)| *tainted).collect();
    let chance = by_chance(counts.iter().copied().min().unwrap_or(0), counts.iter().copied().max().unwrap_or(0));
    Finding::of(format!("{apart:.1}"), format!("<= {TAINT_POINTS}"), "percentage points")
        .says(arms.iter().map(text).collect::<Vec<_>>().join("; "))
        .unknown(arms.is_empty(), "no trial was kept")
        .warns(
            apart > TAINT_POINTS,
            format!("one arm is tainted more often, which chance does in {:.0} % of studies", 100.0 * chance),
        )
        .fails(
            apart > TAINT_POINTS && chance < CHANCE,
            "one arm is tainted more often than chance makes it: its machine load depends on the arm",
        )
}

/// How often two arms that are tainted alike differ by as much as these counts: the two-sided sign test, P(|X - n/2| >= |a - n/2|) for
/// X ~ Binomial(n, 1/2), n = a + b.
fn by_chance(a: u32, b: u32) -> f64 {
    let n = a + b;
    let mut term = 1.0;
    let mut below = 0.0;
    for k in 0..=a.min(b) {
        below += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    let all = (0..n).fold(1.0, |product, _| product * 2.0);
    (2.0 * below / all).min(1.0)
}

fn orders(trials: &[Finished]) -> Finding {
    let mut blocks: BTreeMap<u64, Vec<(u32, &str)>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.block).or_default().push((trial.order.position, &trial.arm));
    }
    let mut seen: BTreeMap<Vec<(u32, &str)>, usize> = BTreeMap::new();
    let several = blocks.values().any(|places| places.len() > 1);
    for places in blocks.values_mut() {
        places.sort_unstable();
        *seen.entry(places.clone()).or_default() += 1;
    }
    let one = several && blocks.len() >= BLOCKS && seen.len() == 1;
    Finding::of(seen.len(), if several { "> 1" } else { "1" }, "orders")
        .says(format!("{} blocks", blocks.len()))
        .fails(one, "all blocks had the same order of arms")
}
