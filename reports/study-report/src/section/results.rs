//! Results: transport first, then experience, then single arms.

use super::{Findings, effect_table, section};
use crate::document::{Block, Cell, Table};
use crate::effect::Effect;
use crate::metric;
use crate::number::Style;

pub(super) fn blocks(findings: &Findings) -> Vec<Block> {
    let mut blocks = transport(findings);
    blocks.extend(experience(findings));
    blocks.extend(findings.figure("improvement"));
    if findings.transport.is_empty() && findings.experience.is_empty() {
        blocks.extend(single_arms(findings));
        for id in ["segment_time", "percentiles", "startup", "trace"] {
            blocks.extend(findings.figure(id));
        }
    }
    section("Results", blocks)
}

fn transport(findings: &Findings) -> Vec<Block> {
    if findings.transport.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading(3, "Transport".into())];
    let headline: Vec<&Effect> =
        findings.transport.iter().filter(|e| e.metric == "ttlb_ms" && e.stat == "p95").collect();
    if !headline.is_empty() {
        let caption = "p95 of segment delivery time in every cell; a positive improvement is a shorter time";
        blocks.push(Block::Table(effect_table(caption, findings, &headline)));
    }
    blocks.extend(findings.figure("segment_time"));
    blocks.extend(findings.figure("percentiles"));
    let rest: Vec<&Effect> = findings.transport.iter().filter(|e| !headline.contains(e)).collect();
    if !rest.is_empty() {
        let table = effect_table("", findings, &rest);
        blocks.push(Block::Details("All other statistics of segment times".into(), vec![Block::Table(table)]));
    }
    blocks
}

fn experience(findings: &Findings) -> Vec<Block> {
    if findings.experience.is_empty() {
        return Vec::new();
    }
    let effects: Vec<&Effect> = findings.experience.iter().collect();
    let caption = "What viewers notice; a positive improvement is better, a difference is that of the values";
    let mut blocks =
        vec![Block::Heading(3, "Experience".into()), Block::Table(effect_table(caption, findings, &effects))];
    blocks.extend(findings.figure("startup"));
    blocks.extend(findings.figure("trace"));
    blocks
}

/// Statistics of single arms: all there is when nothing is compared.
fn single_arms(findings: &Findings) -> Option<Block> {
    if findings.levels.is_empty() {
        return None;
    }
    let heads = ["statistic", "stage", "cell", "arm", ">value", ">interval", ">runs"];
    let mut table = Table::new("Statistics of single arms", &heads);
    for level in &findings.levels {
        let mut values: Vec<f64> = level.estimate.into_iter().collect();
        values.extend(level.interval.iter().flat_map(|i| [i.low, i.high]));
        let style = Style::fitting(&level.unit, &values);
        let value = level.estimate.map_or_else(|| "not estimable".to_owned(), |x| style.full(x));
        let interval = level.interval.map_or_else(|| "-".to_owned(), |i| style.range(i.low, i.high));
        table.rows.push(vec![
            metric::describe_short(&level.metric, &level.stat).into(),
            level.place.stage.clone().into(),
            level.place.cell_text().into(),
            level.arm.clone().into(),
            Cell::number(value, level.estimate),
            Cell::number(interval, level.interval.map(|i| i.low)),
            Cell::number(level.clusters.to_string(), Some(level.clusters as f64)),
        ]);
    }
    Some(Block::Table(table))
}
