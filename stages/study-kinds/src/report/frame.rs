//! The frames of `bootstrap` and `aggregate` as typed summaries.

use super::plan::stage_of;
use std::collections::{BTreeMap, BTreeSet};
use study_report::effect::{Effect, EffectKind, Interval, Level, Parity, Place, Pooled};
use study_report::metric;
use study_stage::{Inputs, StageError};
use study_table::{Column, Table};

/// A comparison and what a reader of the effect alone need not know.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compared {
    /// Values of all axes, the ones that do not vary too.
    pub(super) axes: BTreeMap<String, String>,
    /// Whether it is the row that counts: the first of its statistic.
    pub(super) default: bool,
    pub(super) effect: Effect,
}

/// A statistic of one arm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summarised {
    /// Whether it is the row that counts: the first of its statistic.
    pub(super) default: bool,
    pub(super) level: Level,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) comparisons: Vec<Compared>,
    pub(super) parity: Vec<Parity>,
    pub(super) summaries: Vec<Summarised>,
    pub(super) pooled: Vec<Pooled>,
    /// Axis columns of the comparisons.
    pub(super) axes: Vec<String>,
}

impl Frames {
    /// Reads what is there; a missing frame is an empty one.
    pub(super) fn read(inputs: &Inputs) -> Result<Self, StageError> {
        let mut frames = Self::default();
        if let Some(rows) = Rows::read(inputs, "comparison")? {
            frames.axes = rows.axes.clone();
            frames.read_comparisons(&rows);
        }
        if let Some(rows) = Rows::read(inputs, "summary")? {
            frames.read_summaries(&rows);
        }
        if let Some(rows) = Rows::read(inputs, "pooled_metrics")? {
            frames.read_pooled(&rows);
        }
        Ok(frames)
    }
    /// The rows of single arms that count.
    pub(super) fn levels(&self) -> Vec<Level> {
        self.summaries.iter().filter(|s| s.default).map(|s| s.level.clone()).collect()
    }
    fn read_comparisons(&mut self, rows: &Rows) {
        let mut seen = BTreeSet::new();
        for row in 0..rows.len() {
            let text = |name| rows.text(row, name);
            if text("estimand") == "parity" {
                self.parity.push(rows.parity(row));
                continue;
            }
            let effect = rows.effect(row);
            let key = ["node", "metric", "stat", "arm_a", "arm_b", "effect"].map(text);
            let axes =
                rows.axes.iter().map(|a| (a.clone(), rows.text(row, a))).filter(|(_, v)| !v.is_empty()).collect();
            self.comparisons.push(Compared { axes, default: seen.insert(key), effect });
        }
    }
    fn read_summaries(&mut self, rows: &Rows) {
        let mut seen = BTreeSet::new();
        for row in 0..rows.len() {
            let text = |name| rows.text(row, name);
            // The pooled rows are read from their own frame.
            if text("method") == "pooled" {
                continue;
            }
            let key = ["node", "metric", "stat", "arm"].map(text);
            self.summaries.push(Summarised { default: seen.insert(key), level: rows.level(row) });
        }
    }
    fn read_pooled(&mut self, rows: &Rows) {
        for row in 0..rows.len() {
            let Some(value) = rows.float(row, "value") else { continue };
            let [arm, metric, stat] = ["arm", "metric", "stat"].map(|name| rows.text(row, name));
            self.pooled.push(Pooled { place: rows.place(row), arm, metric, stat, value, n: rows.count(row, "n") });
        }
    }
}

/// Rows of a frame whose first columns are `node` and the axes.
pub(super) struct Rows {
    table: Table,
    /// Names of the axis columns.
    pub(super) axes: Vec<String>,
    /// Axes that vary within a stage, by stage.
    varying: BTreeMap<String, BTreeSet<String>>,
}

/// Columns that may follow the axes.
const AFTER_AXES: [&str; 4] = ["arm", "arm_a", "metric", "run"];

impl Rows {
    /// The frame, or nothing when no stage gives it.
    pub(super) fn read(inputs: &Inputs, frame: &str) -> Result<Option<Self>, StageError> {
        if inputs.parts(frame).is_empty() {
            return Ok(None);
        }
        let table = inputs.stacked(frame)?;
        let names: Vec<&str> = table.schema().fields.iter().map(|f| f.name.as_str()).collect();
        let begin = names.iter().position(|n| *n == "node").map_or(0, |i| i + 1);
        let axes = names[begin..].iter().take_while(|n| !AFTER_AXES.contains(n)).map(|n| (*n).to_owned()).collect();
        let mut rows = Self { table, axes, varying: BTreeMap::new() };
        rows.varying = rows.find_varying();
        Ok(Some(rows))
    }
    fn find_varying(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut first: BTreeMap<(String, &str), String> = BTreeMap::new();
        let mut varying: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in 0..self.len() {
            let stage = stage_of(&self.text(row, "node")).to_owned();
            for axis in &self.axes {
                let value = self.text(row, axis);
                if *first.entry((stage.clone(), axis)).or_insert_with(|| value.clone()) != value {
                    varying.entry(stage.clone()).or_default().insert(axis.clone());
                }
            }
        }
        varying
    }
    pub(super) fn len(&self) -> usize {
        self.table.rows()
    }
    /// A value as text; nothing for null and for a missing column.
    pub(super) fn text(&self, row: usize, name: &str) -> String {
        self.table.schema().position(name).map_or_else(String::new, |c| self.table.cell(row, c).to_string())
    }
    /// A number; nothing for null, for text and for a missing column.
    pub(super) fn float(&self, row: usize, name: &str) -> Option<f64> {
        self.table.column(name).ok().and_then(|c: &Column| c.float(row))
    }
    /// A number of things; 0 for null and for a missing column.
    pub(super) fn count(&self, row: usize, name: &str) -> u64 {
        self.table.column(name).ok().and_then(|c| c.int(row)).map_or(0, |n| n.max(0) as u64)
    }
    /// Node, stage, and the cell as the axes that vary within the stage.
    pub(super) fn place(&self, row: usize) -> Place {
        let node = self.text(row, "node");
        let stage = stage_of(&node).to_owned();
        let varies = |axis: &&String| self.varying.get(&stage).is_some_and(|axes| axes.contains(*axis));
        let cell = self.axes.iter().filter(varies).map(|axis| (axis.clone(), self.text(row, axis))).collect();
        Place { stage, node, cell }
    }
    /// The interval of a row, where it has one.
    pub(super) fn interval(&self, row: usize) -> Option<Interval> {
        let [low, high] = ["ci_low", "ci_high"].map(|name| self.float(row, name));
        Some(Interval { low: low?, high: high?, level: self.float(row, "ci_level").unwrap_or(0.95) })
    }
    /// The unit for people: frames write `1` for shares and for counts.
    fn unit(&self, row: usize) -> String {
        let own = self.text(row, "unit");
        let unknown = if own == "1" { "" } else { own.as_str() };
        metric::find(&self.text(row, "metric")).map_or(unknown, |m| m.unit).to_owned()
    }
    fn level(&self, row: usize) -> Level {
        let [arm, metric, stat] = ["arm", "metric", "stat"].map(|name| self.text(row, name));
        Level {
            place: self.place(row),
            arm,
            metric,
            stat,
            unit: self.unit(row),
            estimate: self.float(row, "estimate"),
            interval: self.interval(row),
            n: self.count(row, "n"),
            clusters: self.count(row, "n_clusters"),
        }
    }
    fn effect(&self, row: usize) -> Effect {
        let [metric, stat, arm_a, arm_b, method] =
            ["metric", "stat", "arm_a", "arm_b", "method"].map(|name| self.text(row, name));
        let relative = self.text(row, "effect") == "improvement";
        Effect {
            place: self.place(row),
            metric,
            stat,
            arm_a,
            arm_b,
            kind: if relative { EffectKind::Improvement } else { EffectKind::Difference },
            unit: self.unit(row),
            estimate: self.float(row, "estimate"),
            interval: self.interval(row),
            p_value: self.float(row, "p_value"),
            p_adjusted: self.float(row, "p_adjusted"),
            n: self.count(row, "n"),
            clusters: self.count(row, "n_clusters"),
            method,
            variance_ratio: self.float(row, "variance_ratio"),
        }
    }
    fn parity(&self, row: usize) -> Parity {
        let [metric, stat, arm_a, arm_b, method] =
            ["metric", "stat", "arm_a", "arm_b", "method"].map(|name| self.text(row, name));
        // Whole distributions of sessions are compared, not a statistic of them.
        let stat = if stat == "session" { String::new() } else { stat };
        let (estimate, p_value) = (self.float(row, "estimate"), self.float(row, "p_value"));
        Parity { place: self.place(row), metric, stat, arm_a, arm_b, method, estimate, p_value }
    }
}
