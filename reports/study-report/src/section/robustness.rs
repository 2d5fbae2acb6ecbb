//! The same result in other lights: other intervals, what pairing gained, pooled statistics, tests of earlier work.

use super::{Findings, effect_table, section};
use crate::document::{Block, Cell, Table, Tone};
use crate::effect::{Effect, Parity};
use crate::metric;
use crate::number::{count, p_value, quantity, significant};

/// Above this ratio pairing gains nothing, and the intervals are unpaired.
const UNPAIRED: f64 = 0.95;

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = pairing(findings);
    if !findings.methods.is_empty() {
        let effects: Vec<&Effect> = findings.methods.iter().collect();
        let table = effect_table("", findings, &effects);
        let note =
            "Percentile and BCa intervals are narrower than they claim over few runs; they stand here for comparison.";
        let inside = vec![Block::Table(table), Block::paragraph(note)];
        blocks.push(Block::Details("Other methods of making intervals".into(), inside));
    }
    if !findings.pooled.is_empty() {
        blocks.push(Block::Details("Pooled statistics".into(), pooled(findings)));
    }
    if !findings.parity.is_empty() {
        blocks.push(Block::Details("Tests that assume independent sessions".into(), parity(findings)));
    }
    section("Robustness", blocks)
}

fn pairing(findings: &Findings) -> Vec<Block> {
    let known: Vec<(&Effect, f64)> = findings
        .transport
        .iter()
        .chain(&findings.experience)
        .filter_map(|e| e.variance_ratio.map(|r| (e, r)))
        .collect();
    if known.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(
        "What common random numbers gained: Var(b - a) / (Var a + Var b) of the run-level statistics; 1 is unpaired",
        &["statistic", "stage", "cell", ">variance ratio"],
    );
    for (effect, ratio) in &known {
        table.rows.push(vec![
            metric::describe_short(&effect.metric, &effect.stat).into(),
            effect.place.stage.clone().into(),
            effect.place.cell_text().into(),
            Cell::number(significant(*ratio, 2), Some(*ratio)),
        ]);
    }
    let worse = known.iter().filter(|(_, r)| *r > UNPAIRED).count();
    let text = match worse {
        0 => format!(
            "Pairing the arms of a run narrows every interval (all {} ratios are at most {UNPAIRED}).",
            known.len()
        ),
        n => format!(
            "For {n} of {} statistics pairing gains nothing (ratio above {UNPAIRED}): their intervals are unpaired.",
            known.len()
        ),
    };
    vec![Block::paragraph(text), Block::Details("What pairing gained".into(), vec![Block::Table(table)])]
}

fn pooled(findings: &Findings) -> Vec<Block> {
    let mut table = Table::new(
        "Pooled over all runs: no interval, because the observations of one run are not independent",
        &["statistic", "stage", "cell", "arm", ">pooled value", ">observations"],
    );
    for row in &findings.pooled {
        let unit = metric::find(&row.metric).map_or("", |m| m.unit);
        table.rows.push(vec![
            metric::describe_short(&row.metric, &row.stat).into(),
            row.place.stage.clone().into(),
            row.place.cell_text().into(),
            row.arm.clone().into(),
            Cell::number(quantity(row.value, unit), Some(row.value)),
            Cell::number(count(row.n), Some(row.n as f64)),
        ]);
    }
    vec![Block::Table(table)]
}

fn parity(findings: &Findings) -> Vec<Block> {
    let note = Block::Note(
        Tone::Note,
        "These assume independent sessions, which sessions of one run are not; they are given for parity with earlier \
         work only and carry no part of the answer."
            .into(),
    );
    let heads = ["statistic", "stage", "cell", "arms", "test", ">value", ">p"];
    let mut table = Table::new("Assumes independent sessions; for parity with earlier work only", &heads);
    for row in &findings.parity {
        let name = match row.method.as_str() {
            "mann_whitney" => "Mann-Whitney U",
            "cliffs_delta" => "Cliff's delta",
            "cohens_d" => "Cohen's d",
            other => other,
        };
        table.rows.push(vec![
            statistic(row).into(),
            row.place.stage.clone().into(),
            row.place.cell_text().into(),
            format!("{} vs {}", row.arm_b, row.arm_a).into(),
            name.into(),
            row.estimate.map_or_else(|| "-".into(), |x| Cell::number(significant(x, 3), Some(x))),
            row.p_value.map_or_else(|| "-".into(), |p| Cell::number(p_value(p), Some(p))),
        ]);
    }
    vec![note, Block::Table(table)]
}

/// Tests over sessions compare whole distributions, so that most rows have no statistic.
fn statistic(row: &Parity) -> String {
    if row.stat.is_empty() {
        metric::find(&row.metric).map_or(row.metric.as_str(), |m| m.short).to_owned()
    } else {
        metric::describe_short(&row.metric, &row.stat)
    }
}
