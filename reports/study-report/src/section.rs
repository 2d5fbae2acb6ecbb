//! The sections of a report, from typed findings.
//!
//! Each section is one file with one function from [`Findings`] to blocks; a section without content is left out. The
//! order is that of a paper: question, answer, design, validity, results, robustness, claims, limits, how to reproduce.

mod claims;
mod design;
mod ladder;
mod limits;
mod link;
mod opening;
mod reproduce;
mod results;
mod robustness;
mod tail;
mod validity;

pub use claims::{ClaimRow, Verdict};
pub use design::{ArmRow, Design, StageRow};
pub use ladder::LadderRow;
pub use link::{LossRow, PathRow};
pub use tail::TailRow;
pub use validity::{Check, Status};

use crate::answer::Evidence;
use crate::document::{Align, Block, Cell, Document, Table};
use crate::effect::{Effect, Level, Parity, Pooled};
use crate::figure::Figure;
use crate::metric;

/// Everything that a report is made of.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Name of the study.
    pub name: String,
    /// Its title.
    pub title: String,
    /// `full`, or the variant that was run.
    pub variant: String,
    /// Seed of the study.
    pub seed: u64,
    /// The question in the author's words.
    pub question: Option<String>,
    /// What the answer is made of.
    pub evidence: Evidence,
    /// Arms, stages, counts.
    pub design: Design,
    /// Rows of the validity record.
    pub validity: Vec<Check>,
    /// Transport effects of stages with replayed or fixed decisions, all statistics.
    pub transport: Vec<Effect>,
    /// Experience effects of closed-loop stages.
    pub experience: Vec<Effect>,
    /// The same headline effects with other methods of making intervals.
    pub methods: Vec<Effect>,
    /// Statistics of single arms.
    pub levels: Vec<Level>,
    /// Pooled statistics.
    pub pooled: Vec<Pooled>,
    /// Tests that assume independent sessions.
    pub parity: Vec<Parity>,
    /// Effective round-trip times.
    pub paths: Vec<PathRow>,
    /// What the slowest segments spent their time on, by arm and part.
    pub tail: Vec<TailRow>,
    /// Contributions of mechanisms to a difference, by place, metric, statistic; the total last.
    pub ladder: Vec<LadderRow>,
    /// Realised loss.
    pub losses: Vec<LossRow>,
    /// Evaluated claims.
    pub claims: Vec<ClaimRow>,
    /// What limits the result, one point each.
    pub limits: Vec<String>,
    /// How many runs the smallest stage has, when that is too few for the intervals to keep their level.
    pub few_runs: Option<u64>,
    /// The command that makes the report again.
    pub command: String,
    /// Exact configuration: (name of the stage, text).
    pub configuration: Vec<(String, String)>,
    /// Figures.
    pub figures: Vec<Figure>,
}

/// The report.
#[must_use]
pub fn document(findings: &Findings) -> Document {
    let variant = if findings.variant == "full" { String::new() } else { format!(", variant `{}`", findings.variant) };
    let sections = [
        opening::blocks,
        design::blocks,
        validity::blocks,
        results::blocks,
        tail::blocks,
        ladder::blocks,
        link::blocks,
        robustness::blocks,
    ];
    let closing = [claims::blocks, limits::blocks, reproduce::blocks];
    Document {
        title: findings.title.clone(),
        subtitle: format!("Report of the study `{}`{variant}.", findings.name),
        blocks: sections.iter().chain(&closing).flat_map(|section| section(findings)).collect(),
    }
}

impl Findings {
    fn figure(&self, id: &str) -> Option<Block> {
        self.figures.iter().find(|f| f.id == id).map(|f| Block::Figure(f.into()))
    }
    fn level(&self, effect: &Effect, arm: &str) -> Cell {
        let same =
            |l: &&Level| l.place == effect.place && l.metric == effect.metric && l.stat == effect.stat && l.arm == arm;
        let level = self.levels.iter().find(same).and_then(|l| l.estimate.map(|x| (x, l.unit.as_str())));
        level.map_or_else(|| "-".into(), |(x, unit)| Cell::number(crate::number::quantity(x, unit), Some(x)))
    }
}

/// A table of effects: the cell's axes, the metric (when they differ), both arms, effect, interval, p.
fn effect_table(caption: &str, findings: &Findings, effects: &[&Effect]) -> Table {
    let axes: Vec<&str> =
        effects.first().map(|e| e.place.cell.iter().map(|(axis, _)| axis.as_str()).collect()).unwrap_or_default();
    let several = |name: fn(&Effect) -> String| effects.windows(2).any(|w| name(w[0]) != name(w[1]));
    let metrics = several(|e| format!("{} {}", e.stat, e.metric)) || axes.is_empty();
    let pairs = several(|e| format!("{} {}", e.arm_a, e.arm_b));
    let stages = several(|e| e.place.stage.clone());
    let methods = several(|e| e.method.clone());
    let first_pair = effects.first().filter(|_| !pairs).map(|e| [e.arm_a.clone(), e.arm_b.clone()]);
    let [a, b] = first_pair.unwrap_or_else(|| ["baseline".to_owned(), "other arm".to_owned()]);

    let mut table = Table { caption: caption.to_owned(), ..Table::default() };
    let mut head = |text: &str, align| table.columns.push((text.to_owned(), align));
    // The first column names the row: the metric where it varies, else the cell.
    [(metrics, "statistic"), (stages, "stage")].iter().filter(|(on, _)| *on).for_each(|(_, t)| head(t, Align::Left));
    axes.iter().for_each(|axis| head(axis, Align::Left));
    [(pairs, "arms"), (methods, "method")].iter().filter(|(on, _)| *on).for_each(|(_, t)| head(t, Align::Left));
    let level = effects.iter().find_map(|e| e.interval).map_or_else(|| "interval".to_owned(), |i| i.label());
    [a.as_str(), b.as_str(), effect_name(effects), &level, "p"].iter().for_each(|t| head(t, Align::Right));

    for effect in effects {
        let mut row: Vec<Cell> = Vec::new();
        row.extend(metrics.then(|| metric::describe_short(&effect.metric, &effect.stat).into()));
        row.extend(stages.then(|| effect.place.stage.clone().into()));
        row.extend(effect.place.cell.iter().map(|(_, value)| Cell::from(value.clone())));
        row.resize(table.columns.len() - 5 - usize::from(pairs) - usize::from(methods), "".into());
        row.extend(pairs.then(|| format!("{} vs {}", effect.arm_b, effect.arm_a).into()));
        row.extend(methods.then(|| effect.method.clone().into()));
        row.extend([findings.level(effect, &effect.arm_a), findings.level(effect, &effect.arm_b)]);
        row.push(Cell::number(effect.estimate_text(), effect.estimate));
        row.push(Cell::number(effect.interval_text(), effect.interval.map(|i| i.low)));
        row.push(Cell::number(effect.p_text(), effect.p_adjusted.or(effect.p_value)));
        table.rows.push(row);
    }
    table
}

/// What the column of effects holds.
fn effect_name(effects: &[&Effect]) -> &'static str {
    use crate::effect::EffectKind::{Difference, Improvement};
    match (effects.iter().any(|e| e.kind == Improvement), effects.iter().any(|e| e.kind == Difference)) {
        (true, true) => "improvement or difference",
        (false, true) => "difference",
        _ => "improvement",
    }
}

/// A heading with its blocks, or nothing when there are none.
fn section(title: &str, blocks: Vec<Block>) -> Vec<Block> {
    if blocks.is_empty() {
        return Vec::new();
    }
    [vec![Block::section(title)], blocks].concat()
}
