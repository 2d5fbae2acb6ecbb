//! What explains the difference: contributions of single mechanisms.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};
use crate::effect::{Interval, Place};
use crate::metric;
use crate::number::significant;

/// The contribution of one mechanism to the difference between two arms.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRow {
    /// Stage and cell.
    pub place: Place,
    /// Metric and statistic that the contribution is to.
    pub metric: String,
    /// Statistic.
    pub stat: String,
    /// The arm that the ladder starts from.
    pub arm_a: String,
    /// The arm that it leads to.
    pub arm_b: String,
    /// The mechanism; `total` for all together.
    pub feature: String,
    /// Share in `ln(b / a)`.
    pub contribution: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Runs.
    pub runs: u64,
    /// How it was found.
    pub method: String,
}

impl LadderRow {
    /// Whether its interval leaves out 0.
    #[must_use]
    pub fn shown(&self) -> bool {
        self.interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
    }
    /// The mechanism in words.
    #[must_use]
    pub fn name(&self) -> String {
        self.feature.replace('_', " ")
    }
}

/// Logarithms times 100: near 0 a log point is a per cent, and log points add up.
const POINTS: f64 = 100.0;

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    let rows = &findings.ladder;
    let mut start = 0;
    while start < rows.len() {
        let same = |r: &LadderRow| r.place == rows[start].place && r.metric == rows[start].metric;
        let end = start + rows[start..].iter().take_while(|r| same(r)).count();
        blocks.extend(one(&rows[start..end]));
        start = end;
    }
    if !blocks.is_empty() {
        blocks.extend(findings.figure("ladder"));
        blocks.push(Block::paragraph(
            "Contributions are in log points (100 ln(b / a), near 0 a per cent each), so that they sum to the total. A \
             mechanism's contribution is averaged over orders in which the mechanisms are taken over from the second arm, over \
             the same viewers, requests, cache outcomes and losses.",
        ));
    }
    section("What explains the difference", blocks)
}

/// One metric at one place: its statistics side by side.
fn one(rows: &[LadderRow]) -> Vec<Block> {
    let first = &rows[0];
    let stats = distinct(rows.iter().map(|r| r.stat.as_str()));
    let features = distinct(rows.iter().map(|r| r.feature.as_str()));
    let mut head = vec!["mechanism".to_owned()];
    head.extend(stats.iter().map(|stat| format!(">{} [95 % CI]", metric::describe_short(&first.metric, stat))));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let caption = format!(
        "From {} to {}, stage `{}`: contributions in log points ({}, {} runs)",
        first.arm_a, first.arm_b, first.place.stage, first.method, first.runs
    );
    let mut table = Table::new(caption, &head);
    for feature in features {
        let mut cells: Vec<Cell> = vec![feature.replace('_', " ").into()];
        for stat in &stats {
            let found = rows.iter().find(|r| r.feature == feature && r.stat == *stat);
            cells.push(found.map_or_else(|| "-".into(), value));
        }
        table.rows.push(cells);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(stats.iter().rev().take(1).filter_map(|stat| sentence(rows, stat)).map(Block::paragraph));
    blocks
}

/// Each name once, in the order of its first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn value(row: &LadderRow) -> Cell {
    let points = |x: f64| signed(x * POINTS);
    let interval = row.interval.map(|i| format!(" [{}, {}]", points(i.low), points(i.high))).unwrap_or_default();
    Cell::number(format!("{}{interval}", points(row.contribution)), Some(row.contribution * POINTS))
}

fn signed(x: f64) -> String {
    let text = format!("{x:+.1}");
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// `The p95 of ... is 8 % longer with h3. Largest contributions: ...`.
fn sentence(rows: &[LadderRow], stat: &str) -> Option<String> {
    let of_stat: Vec<&LadderRow> = rows.iter().filter(|r| r.stat == stat).collect();
    let total = of_stat.iter().find(|r| r.feature == "total")?;
    let mut parts: Vec<&&LadderRow> = of_stat.iter().filter(|r| r.feature != "total" && r.shown()).collect();
    parts.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
    let change = 100.0 * libm::expm1(total.contribution);
    let longer = if change >= 0.0 { "longer" } else { "shorter" };
    let subject = metric::describe_short(&total.metric, stat);
    let whole = format!("{subject}: {} % {longer} with {}", significant(change.abs(), 2), total.arm_b);
    if parts.is_empty() {
        return Some(format!("{whole}; no single mechanism's interval leaves out 0."));
    }
    let list: Vec<String> = parts
        .iter()
        .take(3)
        .map(|r| format!("{} ({} log points)", r.name(), signed(r.contribution * POINTS)))
        .collect();
    Some(format!("{whole}. What contributes most, among mechanisms whose interval leaves out 0: {}.", list.join(", ")))
}
