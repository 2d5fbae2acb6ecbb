//! Design, validity record, effective round trips and realised loss, from the frames of `simulate`.

use super::evidence::Chosen;
use super::frame::Rows;
use super::plan::{Plan, stage_of};
use std::collections::{BTreeMap, BTreeSet};
use study_report::section::{ArmRow, Check, Design, LossRow, PathRow, StageRow, Status, TailRow};
use study_stage::{InputPart, Inputs, StageError};
use study_stats::quantile;
use study_table::{Table, TableError};

/// Text of a cell; nothing for null and for a missing column.
fn text(table: &Table, row: usize, name: &str) -> String {
    table.schema().position(name).map_or_else(String::new, |c| table.cell(row, c).to_string())
}

fn in_node<T>(part: &InputPart, result: Result<T, TableError>) -> Result<T, StageError> {
    result.map_err(|error| StageError::failed(format!("node `{}`: {error}", part.node)))
}

/// The rows of all validity records.
pub(super) fn validity(inputs: &Inputs) -> Result<Vec<Check>, StageError> {
    let mut checks = Vec::new();
    for part in inputs.parts("validity") {
        for row in 0..part.table.rows() {
            let get = |name| text(&part.table, row, name);
            let status = match get("status").as_str() {
                "pass" => Status::Pass,
                "warn" => Status::Warn,
                "unknown" => Status::Unknown,
                // An outcome that nobody knows is no good one.
                _ => Status::Fail,
            };
            let unit = get("unit");
            let with_unit =
                |value: String| if unit.is_empty() || value.is_empty() { value } else { format!("{value} {unit}") };
            checks.push(Check {
                node: part.node.clone(),
                check: get("check"),
                status,
                arm: get("arm"),
                measured: with_unit(get("measured")),
                expected: with_unit(get("expected")),
                message: get("message"),
            });
        }
    }
    Ok(checks)
}

/// Arms, stages and counts.
pub(super) fn design(inputs: &Inputs, plan: &Plan<'_>, chosen: &Chosen) -> Result<Design, StageError> {
    let mut design = Design {
        transport: !chosen.transport.is_empty(),
        experience: !chosen.experience.is_empty(),
        method: method(chosen),
        ..Design::default()
    };
    for part in inputs.parts("sessions") {
        add_arms(&mut design, part);
        let row = stage_row(part, plan)?;
        match design.stages.iter_mut().find(|s| s.stage == row.stage) {
            Some(stage) => {
                stage.cells += 1;
                stage.sessions += row.sessions;
                stage.segments += row.segments;
            }
            None => design.stages.push(row),
        }
    }
    Ok(design)
}

/// How the intervals of the tables were made: the methods that occur, most frequent words first.
fn method(chosen: &Chosen) -> String {
    let effects = chosen.transport.iter().chain(&chosen.experience).filter(|e| e.interval.is_some());
    // `welch-t (unpaired: ...)`: what is in brackets belongs to one row.
    let names: BTreeSet<&str> = effects.map(|e| e.method.split(" (").next().unwrap_or_default()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn add_arms(design: &mut Design, part: &InputPart) {
    for row in 0..part.table.rows() {
        let name = text(&part.table, row, "arm");
        // Rows of an arm stand together, so this is almost always the last one.
        if design.arms.iter().rev().any(|a| a.name == name) {
            continue;
        }
        let [protocol, congestion_control] = ["protocol", "congestion_control"].map(|c| text(&part.table, row, c));
        design.arms.push(ArmRow { name, protocol, congestion_control });
    }
}

fn stage_row(part: &InputPart, plan: &Plan<'_>) -> Result<StageRow, StageError> {
    let table = &part.table;
    let runs: BTreeSet<i64> = in_node(part, table.ints("run"))?.iter().copied().collect();
    let arms: BTreeSet<String> = (0..table.rows()).map(|row| text(table, row, "arm")).collect();
    let trials = (runs.len() * arms.len()).max(1);
    let segments: f64 = in_node(part, table.floats("segments"))?.into_iter().flatten().sum();
    Ok(StageRow {
        stage: stage_of(&part.node).to_owned(),
        mode: plan.mode(&part.node).to_owned(),
        decisions: plan.decisions(&part.node).text(),
        cells: 1,
        runs: runs.len() as u64,
        viewers: (table.rows() / trials) as u64,
        sessions: table.rows() as u64,
        segments: segments as u64,
    })
}

/// Parts of a frame from the nodes in focus.
fn focused<'a>(inputs: &'a Inputs, frame: &str, focus: &'a [String]) -> impl Iterator<Item = &'a InputPart> {
    inputs.parts(frame).iter().filter(|part| focus.contains(&part.node))
}

/// Effective round-trip times per node, edge and arm.
pub(super) fn paths(inputs: &Inputs, focus: &[String]) -> Result<Vec<PathRow>, StageError> {
    let mut rows = Vec::new();
    for part in focused(inputs, "sessions", focus) {
        let table = &part.table;
        let columns = [
            in_node(part, table.floats("rtt_mean_us"))?,
            in_node(part, table.floats("rtt_p50_us"))?,
            in_node(part, table.floats("rtt_p95_us"))?,
        ];
        let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for row in 0..table.rows() {
            groups.entry((text(table, row, "edge"), text(table, row, "arm"))).or_default().push(row);
        }
        for ((edge, arm), members) in groups {
            let known =
                |c: usize| -> Vec<f64> { members.iter().filter_map(|r| columns[c][*r]).map(|us| us / 1e3).collect() };
            let means = known(0);
            if means.is_empty() {
                continue;
            }
            rows.push(PathRow {
                node: stage_of(&part.node).to_owned(),
                edge,
                arm,
                sessions: members.len() as u64,
                mean_ms: means.iter().sum::<f64>() / means.len() as f64,
                p50_ms: median(known(1)),
                p95_ms: median(known(2)),
            });
        }
    }
    Ok(rows)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Sums of one arm and direction.
#[derive(Default)]
struct Sums {
    packets: u64,
    /// At random, in the queue, at the policer, in outages.
    lost: [u64; 4],
    bytes: f64,
    busy_ms: f64,
}

/// Realised loss per node, arm and direction, over runs and edges.
pub(super) fn losses(inputs: &Inputs, focus: &[String]) -> Result<Vec<LossRow>, StageError> {
    let mut rows = Vec::new();
    for part in focused(inputs, "links", focus) {
        let table = &part.table;
        let ints = |name| in_node(part, table.ints(name));
        let (packets, bytes) = (ints("packets")?, ints("bytes")?);
        let lost = ["lost_random", "lost_queue", "lost_policer", "lost_outage"];
        let lost = lost.into_iter().map(ints).collect::<Result<Vec<&[i64]>, StageError>>()?;
        let busy = in_node(part, table.floats("busy_ms"))?;
        let mut groups: BTreeMap<(String, String), Sums> = BTreeMap::new();
        for row in 0..table.rows() {
            let sums = groups.entry((text(table, row, "arm"), text(table, row, "direction"))).or_default();
            sums.packets += packets[row].max(0) as u64;
            sums.lost.iter_mut().zip(&lost).for_each(|(sum, column)| *sum += column[row].max(0) as u64);
            sums.bytes += bytes[row] as f64;
            sums.busy_ms += busy[row].unwrap_or(0.0);
        }
        rows.extend(groups.into_iter().map(|((arm, direction), sums)| {
            let lost = sums.lost.iter().sum::<u64>() as f64;
            let per = |amount: f64| (amount > 0.0).then(|| lost / amount);
            LossRow {
                node: stage_of(&part.node).to_owned(),
                arm,
                direction,
                packets: sums.packets,
                lost: sums.lost,
                per_mbyte: per(sums.bytes / 1e6),
                per_s: per(sums.busy_ms / 1e3),
            }
        }));
    }
    Ok(rows)
}

/// What the slowest segments of a node spent their time on, by arm.
pub(super) fn tail(inputs: &Inputs, node: Option<&str>) -> Result<Vec<TailRow>, StageError> {
    let (Some(rows), Some(node)) = (Rows::read(inputs, "tail_parts")?, node) else { return Ok(Vec::new()) };
    let row = |i: usize| {
        Some(TailRow {
            place: rows.place(i),
            arm: rows.text(i, "arm"),
            part: rows.text(i, "part"),
            mean_ms: rows.float(i, "mean_ms")?,
            n: rows.count(i, "n"),
            runs: rows.count(i, "n_clusters"),
        })
    };
    Ok((0..rows.len()).filter(|i| rows.text(*i, "node") == node).filter_map(row).collect())
}
