//! What was compared, and how often.

use super::{Findings, section};
use crate::document::{Block, Cell, Table};
use crate::number::count;

/// One arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmRow {
    /// Name.
    pub name: String,
    /// Protocol.
    pub protocol: String,
    /// Congestion control.
    pub congestion_control: String,
}

/// One stage that produced sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageRow {
    /// Name.
    pub stage: String,
    /// `modeled` or `emulated`.
    pub mode: String,
    /// Who decides: `closed loop`, `replay of h2`, `fixed rung 3`.
    pub decisions: String,
    /// Cells of its matrix.
    pub cells: u64,
    /// Runs per cell.
    pub runs: u64,
    /// Viewers per run.
    pub viewers: u64,
    /// Sessions in all.
    pub sessions: u64,
    /// Segments in all.
    pub segments: u64,
}

/// Arms, stages, and which effects they allow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Design {
    /// Arms, baseline first.
    pub arms: Vec<ArmRow>,
    /// Stages in the order of the plan.
    pub stages: Vec<StageRow>,
    /// Whether a stage replays or fixes decisions.
    pub transport: bool,
    /// Whether a stage is closed loop.
    pub experience: bool,
    /// How the intervals of the tables were made, e.g. `bootstrap-t`; nothing when there are none.
    pub method: String,
}

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let design = &findings.design;
    let mut blocks = Vec::new();
    if !design.arms.is_empty() {
        let mut table = Table::new("Arms, baseline first", &["arm", "protocol", "congestion control"]);
        let row = |a: &ArmRow| [&a.name, &a.protocol, &a.congestion_control].map(|t| Cell::from(t.as_str())).to_vec();
        table.rows = design.arms.iter().map(row).collect();
        blocks.push(Block::Table(table));
    }
    if !design.stages.is_empty() {
        blocks.push(Block::Table(stages(design)));
    }
    if design.transport || design.experience {
        blocks.push(Block::paragraph(estimands(design)));
    }
    if !design.method.is_empty() {
        blocks.push(Block::paragraph(inference(&design.method)));
    }
    section("Design", blocks)
}

fn stages(design: &Design) -> Table {
    let heads = ["stage", "mode", "decisions", ">cells", ">runs", ">viewers per run", ">sessions", ">segments"];
    let mut table = Table::new("Stages that played sessions", &heads);
    let number = |n: u64| Cell::number(count(n), Some(n as f64));
    table.rows = design
        .stages
        .iter()
        .map(|s| {
            let texts = [&s.stage, &s.mode, &s.decisions].map(|t| Cell::from(t.as_str()));
            let numbers = [s.cells, s.runs, s.viewers, s.sessions, s.segments].map(number);
            texts.into_iter().chain(numbers).collect()
        })
        .collect();
    table
}

/// The two effects in two sentences, of which only those that occur are explained.
fn estimands(design: &Design) -> String {
    let transport = design.transport.then_some(
        "The transport effect compares segment times where the player's decisions, the request times and the cache \
         outcomes are the same in all arms, so that nothing but the transport differs.",
    );
    let experience = design.experience.then_some(
        "The experience effect compares what viewers notice (startup, stalls, quality) where the player decides by \
         itself; segment times of such a stage are not compared, because its arms ask for different segments.",
    );
    transport.into_iter().chain(experience).collect::<Vec<_>>().join(" ")
}

fn inference(method: &str) -> String {
    format!(
        "The run is the independent unit: viewers of one run share caches. A statistic is computed per arm \
         and run, and intervals ({method}) and the sign-flip test resample runs; both arms of a run see the same \
         randomness. p-values are corrected by Holm's method over the statistics of one effect in one cell. An improvement of b over a is \
         1 - b/a, or b/a - 1 where more is better; metrics that can be 0 are compared as differences b - a."
    )
}
