//! What the links really did: effective round trips and realised loss.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};
use crate::number::{count, quantity, significant};

/// Effective round-trip times of one arm's sessions at one edge.
#[derive(Debug, Clone, PartialEq)]
pub struct PathRow {
    /// Node.
    pub node: String,
    /// Edge.
    pub edge: String,
    /// Arm.
    pub arm: String,
    /// Sessions.
    pub sessions: u64,
    /// Mean over sessions of the session's mean, in milliseconds.
    pub mean_ms: f64,
    /// Median over sessions of the session's median, in milliseconds; real stacks do not tell it.
    pub p50_ms: Option<f64>,
    /// Median over sessions of the session's 95th percentile, in milliseconds; real stacks do not tell it.
    pub p95_ms: Option<f64>,
}

/// Realised loss of one arm in one direction, over all runs and edges.
#[derive(Debug, Clone, PartialEq)]
pub struct LossRow {
    /// Node.
    pub node: String,
    /// Arm.
    pub arm: String,
    /// `down` or `up`.
    pub direction: String,
    /// Packets offered.
    pub packets: u64,
    /// Packets lost at random, in the queue, at the policer and in outages.
    pub lost: [u64; 4],
    /// Lost packets per megabyte offered.
    pub per_mbyte: Option<f64>,
    /// Lost packets per second that the link was busy.
    pub per_s: Option<f64>,
}

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !findings.paths.is_empty() {
        blocks.push(Block::Table(paths(&findings.paths)));
    }
    if !findings.losses.is_empty() {
        blocks.push(Block::Table(losses(&findings.losses)));
        blocks.push(Block::paragraph(
            "Equal loss per packet is not equal exposure: an arm that sends more or smaller packets meets more losses. \
             That is why loss is given per packet, per megabyte and per second.",
        ));
    }
    section("Links as they were", blocks)
}

fn paths(rows: &[PathRow]) -> Table {
    let heads = ["stage", "edge", "arm", ">sessions", ">mean", ">p50", ">p95"];
    let caption = "Effective round-trip time as the senders measured it, queues and jitter included \
                   (mean over sessions of their mean; medians over sessions of their p50 and p95)";
    let mut table = Table::new(caption, &heads);
    let time = |ms: Option<f64>| ms.map_or_else(|| "-".into(), |ms| Cell::number(quantity(ms, "ms"), Some(ms)));
    table.rows = rows
        .iter()
        .map(|r| {
            let texts = [&r.node, &r.edge, &r.arm].map(|t| Cell::from(t.as_str()));
            let sessions = Cell::number(count(r.sessions), Some(r.sessions as f64));
            texts.into_iter().chain([sessions]).chain([Some(r.mean_ms), r.p50_ms, r.p95_ms].map(time)).collect()
        })
        .collect();
    table
}

fn losses(rows: &[LossRow]) -> Table {
    // Policers and outages have a column where there are any.
    let labels = [">lost at random", ">lost in the queue", ">dropped by the policer", ">lost in outages"];
    let shown: Vec<usize> = (0..labels.len()).filter(|i| *i < 2 || rows.iter().any(|r| r.lost[*i] > 0)).collect();
    let mut heads = vec!["stage", "arm", "direction", ">packets"];
    heads.extend(shown.iter().map(|i| labels[*i]));
    heads.extend([">per MB", ">per busy second"]);
    let mut table = Table::new("Realised loss on the last mile", &heads);
    let share = |lost: u64, packets: u64| {
        let share = if packets == 0 { None } else { Some(lost as f64 / packets as f64) };
        share.map_or_else(|| "-".into(), |x| Cell::number(quantity(x, "1"), Some(x)))
    };
    let rate = |x: Option<f64>| x.map_or_else(|| "-".into(), |v| Cell::number(significant(v, 3), Some(v)));
    table.rows = rows
        .iter()
        .map(|r| {
            let texts = [&r.node, &r.arm, &r.direction].map(|t| Cell::from(t.as_str()));
            let packets = Cell::number(count(r.packets), Some(r.packets as f64));
            let lost = shown.iter().map(|i| share(r.lost[*i], r.packets));
            texts.into_iter().chain([packets]).chain(lost).chain([rate(r.per_mbyte), rate(r.per_s)]).collect()
        })
        .collect();
    table
}
