//! The slowest segments: what their time was spent on.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};
use crate::effect::Place;
use crate::number::{count, quantity};

/// One part of the time of one arm's slowest segments.
#[derive(Debug, Clone, PartialEq)]
pub struct TailRow {
    /// Stage and cell.
    pub place: Place,
    /// Arm.
    pub arm: String,
    /// What the time was spent on.
    pub part: String,
    /// Mean over runs, in milliseconds.
    pub mean_ms: f64,
    /// Segments in the tails.
    pub n: u64,
    /// Runs.
    pub runs: u64,
}

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let rows = &findings.tail;
    let Some(first) = rows.first() else { return Vec::new() };
    let (mut arms, mut parts): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for row in rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
        if !parts.contains(&row.part.as_str()) {
            parts.push(&row.part);
        }
    }
    let value = |arm: &str, part: &str| rows.iter().find(|r| r.arm == arm && r.part == part).map_or(0.0, |r| r.mean_ms);
    let mut head = vec!["time spent on".to_owned()];
    head.extend(arms.iter().map(|arm| format!(">{arm}")));
    if arms.len() == 2 {
        head.push(">difference".to_owned());
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let place = first.place.cell_text();
    let comma = if place.is_empty() { "" } else { ", " };
    let caption = format!(
        "Segments at or above the p95 of their run, stage `{}`{comma}{place}: mean time by what it was spent on ({} segments in {} runs per arm)",
        first.place.stage,
        count(first.n),
        first.runs
    );
    let mut table = Table::new(caption, &head);
    let line = |name: String, of: &dyn Fn(&str) -> f64| {
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend(arms.iter().map(|arm| Cell::number(quantity(of(arm), "ms"), Some(of(arm)))));
        if let [a, b] = arms[..] {
            let difference = of(b) - of(a);
            cells.push(Cell::number(quantity(difference, "ms"), Some(difference)));
        }
        cells
    };
    let used = |part: &&&str| arms.iter().any(|arm| value(arm, part) >= 0.05);
    for part in parts.iter().filter(used) {
        table.rows.push(line(name(part), &|arm| value(arm, part)));
    }
    table.rows.push(line("all".to_owned(), &|arm| parts.iter().map(|part| value(arm, part)).sum()));
    let mut blocks = vec![Block::Table(table)];
    if let [a, b] = arms[..] {
        blocks.extend(sentence(a, b, &parts, value).map(Block::paragraph));
    }
    section("The p95 decomposed", blocks)
}

/// A part in words.
fn name(part: &str) -> String {
    match part {
        "slow_start" => "the window in slow start".to_owned(),
        "congestion_avoidance" => "the window in congestion avoidance".to_owned(),
        "scheduling" => "the turns of other responses".to_owned(),
        "application" => "data that the server did not have".to_owned(),
        "hol" => "head-of-line wait".to_owned(),
        other => other.replace('_', " "),
    }
}

fn sentence(a: &str, b: &str, parts: &[&str], value: impl Fn(&str, &str) -> f64) -> Option<String> {
    let largest = |of: &dyn Fn(&str) -> f64| parts.iter().copied().max_by(|x, y| of(x).total_cmp(&of(y)));
    let (of_a, of_b) = (largest(&|part| value(a, part))?, largest(&|part| value(b, part))?);
    let apart = largest(&|part| (value(b, part) - value(a, part)).abs())?;
    let difference = value(b, apart) - value(a, apart);
    let more = if difference >= 0.0 { "more" } else { "less" };
    let most = if of_a == of_b {
        format!("The slowest segments of both arms spend most of their time on {}", name(of_a))
    } else {
        format!("The slowest segments spend most of their time on {} ({a}) and {} ({b})", name(of_a), name(of_b))
    };
    Some(format!(
        "{most}. The arms differ most in {}: {} {more} with {b}. The parts are those of the critical path of each segment's last byte.",
        name(apart),
        quantity(difference.abs(), "ms")
    ))
}
