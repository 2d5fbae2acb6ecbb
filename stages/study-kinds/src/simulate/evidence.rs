//! The frames by which an emulated comparison proves itself: every check, every signal of timing, every calibration of each
//! trial, and the summary of them in `validity`. They are empty for a modeled one, whose links are exact.

use super::fairness::{self, ExtraRow};
use super::inputs::World;
use super::params::SimulateParams;
use super::repetition::Repetition;
use study_stage::Outputs;
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_trial::validity::{Check, Finished, Order, Status, across_blocks};
use study_trial::{BlockRecord, TrialRecord};

use ColumnType::{Float, Int, Str};
type Columns = &'static [(&'static str, ColumnType, &'static str, &'static str)];

const CHECKS: Columns = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison; null when the check is about several"),
    ("check", Str, "", "id of the check"),
    ("status", Str, "", "pass, warn, fail or unknown"),
    ("measured", Str, "", "what was found"),
    ("expected", Str, "", "what should be"),
    ("unit", Str, "", "unit of the two"),
    ("message", Str, "", "in words"),
];

const TIMING: Columns = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("position", Int, "", "turn of the trial in its block, from 0"),
    ("attempts", Int, "", "attempts that the block took"),
    ("backend", Str, "", "what carried the links"),
    ("signal", Str, "", "what was looked at; none of it depends on what the sessions measured"),
    ("subject", Str, "", "whose: a link and direction, a thread, a node, or the machine"),
    ("measured", Float, "", "what was found, in the unit of the signal: ms or a share"),
    ("warn_above", Float, "", "above this it is a warning"),
    ("taint_above", Float, "", "above this times may not be taken at their word"),
    ("quality", Str, "", "clean, warn or tainted"),
];

const CALIBRATION: Columns = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("link", Str, "", "link that was measured, before its trial"),
    ("expected_rtt_ms", Float, "ms", "round trip by the link definition"),
    ("rtt_p50_ms", Float, "ms", "median round trip from the near end"),
    ("rtt_far_p50_ms", Float, "ms", "median round trip from the far end"),
    ("rtt_p99_ms", Float, "ms", "99th percentile from the near end"),
    (
        "added_ms",
        Float,
        "ms",
        "what the machine adds to a round trip above the link's model, the larger median of both ends",
    ),
    ("probes", Int, "", "probes of both ends"),
    ("answered", Int, "", "those that came back"),
];

fn builder(columns: Columns) -> TableBuilder {
    TableBuilder::new(
        columns.iter().map(|(name, column, unit, meaning)| Field::new(name, *column, unit, meaning)).collect(),
    )
}

/// The frames of a simulation without real packets.
pub fn nothing() -> [(String, Table); 3] {
    [("checks", CHECKS), ("timing", TIMING), ("calibration", CALIBRATION)]
        .map(|(name, columns)| (name.to_owned(), builder(columns).finish()))
}

/// Adds `validity`, `checks`, `timing` and `calibration`.
pub fn add(outputs: &mut Outputs, params: &SimulateParams, world: &World, repetitions: &[Repetition]) {
    let measured: Vec<&BlockRecord> = repetitions.iter().map(|repetition| &repetition.block).collect();
    let (mut checks, mut timing, mut calibration) = (builder(CHECKS), builder(TIMING), builder(CALIBRATION));
    for block in &measured {
        let run = Cell::Int(block.run as i64);
        add_checks(&mut checks, run, &block.checks);
        for trial in &block.trials {
            let arm = params.arms[trial.arm].name.as_str();
            add_timing(&mut timing, [run, Cell::Str(arm)], block, trial);
            add_other_taints(&mut timing, [run, Cell::Str(arm)], block, trial);
            add_calibration(&mut calibration, [run, Cell::Str(arm)], trial);
        }
    }
    let mut sessions = vec![(0, 0); params.arms.len()];
    for trial in measured.iter().flat_map(|block| &block.trials) {
        let (complete, all) = &mut sessions[trial.arm];
        *complete += trial.sessions.iter().filter(|s| s.completed).count();
        *all += trial.sessions.len();
    }
    let mut extra = summary(params, &measured);
    extra.extend(quality(params, &measured));
    extra.extend(warm_ups(repetitions));
    outputs.frames.insert("validity".to_owned(), fairness::validity(params, world, &sessions, &extra));
    for (name, table) in [("checks", checks), ("timing", timing), ("calibration", calibration)] {
        outputs.frames.insert(name.to_owned(), table.finish());
    }
}

fn add_checks(table: &mut TableBuilder, run: Cell<'_>, checks: &[Check]) {
    for check in checks {
        let arm = check.arm.as_deref().map_or(Cell::Null, Cell::Str);
        table.row(&[
            run,
            arm,
            Cell::Str(&check.id),
            Cell::Str(check.status.name()),
            Cell::Str(&check.measured),
            Cell::Str(&check.expected),
            Cell::Str(&check.unit),
            Cell::Str(&check.message),
        ]);
    }
}

fn add_timing(table: &mut TableBuilder, keys: [Cell<'_>; 2], block: &BlockRecord, trial: &TrialRecord) {
    for signal in &trial.timing.signals {
        table.row(&[
            keys[0],
            keys[1],
            Cell::Int(trial.position as i64),
            Cell::Int(i64::from(block.attempts)),
            Cell::Str(trial.backend.name()),
            Cell::Str(signal.kind.name()),
            Cell::Str(&signal.subject),
            Cell::Float(signal.measured),
            Cell::Float(signal.warn_above),
            Cell::Float(signal.taint_above),
            Cell::Str(signal.quality.name()),
        ]);
    }
}

/// What tainted a trial besides the signals of its timing: links that were off before it began, and relays that broke.
fn add_other_taints(table: &mut TableBuilder, keys: [Cell<'_>; 2], block: &BlockRecord, trial: &TrialRecord) {
    let known = |name: &str| trial.timing.signals.iter().any(|signal| signal.kind.name() == name);
    for taint in block.taints[trial.arm].iter().filter(|taint| !known(&taint.signal)) {
        table.row(&[
            keys[0],
            keys[1],
            Cell::Int(trial.position as i64),
            Cell::Int(i64::from(block.attempts)),
            Cell::Str(trial.backend.name()),
            Cell::Str(&taint.signal),
            Cell::Str(&taint.subject),
            Cell::Float(taint.measured),
            Cell::Float(taint.limit),
            Cell::Float(taint.limit),
            Cell::Str("tainted"),
        ]);
    }
}

fn add_calibration(table: &mut TableBuilder, keys: [Cell<'_>; 2], trial: &TrialRecord) {
    for link in &trial.calibrations {
        let (near, far) = (&link.from_near, &link.from_far);
        table.row(&[
            keys[0],
            keys[1],
            Cell::Str(&link.link),
            Cell::Float(link.expected_rtt_ms),
            Cell::Float(near.rtt.p50_ms),
            Cell::Float(far.rtt.p50_ms),
            Cell::Float(near.rtt.p99_ms),
            Cell::Float(link.rtt_error_ms()),
            Cell::Int(i64::from(near.sent + far.sent)),
            Cell::Int(i64::from(near.answered + far.answered)),
        ]);
    }
}

/// Whether the timing of any arm was tainted.
fn is_tainted(params: &SimulateParams, block: &BlockRecord) -> bool {
    (0..params.arms.len()).any(|arm| block.is_tainted(arm))
}

/// The blocks that `aggregate` does not leave out: those whose timing was not tainted, or all when there are none.
fn kept<'b>(params: &SimulateParams, blocks: &[&'b BlockRecord]) -> Vec<&'b BlockRecord> {
    let clean: Vec<&BlockRecord> = blocks.iter().copied().filter(|block| !is_tainted(params, block)).collect();
    if clean.is_empty() { blocks.to_vec() } else { clean }
}

/// One row for each check and arm: the worst that any trial showed, and in how many.
fn summary(params: &SimulateParams, blocks: &[&BlockRecord]) -> Vec<ExtraRow> {
    let finished: Vec<Finished> = blocks.iter().flat_map(|block| finished(params, block)).collect();
    let across = across_blocks(&finished);
    let mut groups: Vec<Vec<&Check>> = Vec::new();
    for check in kept(params, blocks).iter().flat_map(|block| &block.checks).chain(&across) {
        let same = |group: &&mut Vec<&Check>| group[0].id == check.id && group[0].arm == check.arm;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(check),
            None => groups.push(vec![check]),
        }
    }
    groups
        .iter()
        .filter_map(|group| {
            let worst = group.iter().max_by_key(|check| check.status)?;
            let alike = group.iter().filter(|check| check.status == worst.status).count();
            let message = match worst.status {
                Status::Pass => worst.message.clone(),
                _ => format!("{}; in {alike} of {} blocks", worst.message, group.len()),
            };
            Some(ExtraRow {
                check: worst.id.clone(),
                status: worst.status.name(),
                arm: worst.arm.clone(),
                measured: worst.measured.clone(),
                expected: worst.expected.clone(),
                unit: worst.unit.clone(),
                message,
            })
        })
        .collect()
}

/// What the checks over all blocks need of one.
fn finished(params: &SimulateParams, block: &BlockRecord) -> Vec<Finished> {
    let trial = |trial: &TrialRecord| Finished {
        arm: params.arms[trial.arm].name.clone(),
        block: block.run as u64,
        order: Order { position: trial.position as u32, arms: params.arms.len() as u32, drawn: true, warm_ups: 0 },
        tainted: block.tainted_attempts[trial.arm] + u32::from(block.is_tainted(trial.arm)),
        runs: block.attempts,
    };
    block.trials.iter().map(trial).collect()
}

/// How good the timing was, by arm.
fn quality(params: &SimulateParams, blocks: &[&BlockRecord]) -> Vec<ExtraRow> {
    let left_out = blocks.iter().filter(|block| is_tainted(params, block)).count();
    let consequence = match left_out {
        0 => String::new(),
        all if all == blocks.len() => "; no block is clean, so all are in the statistics".to_owned(),
        some => format!("; {some} of {} blocks are left out of the statistics, all arms of them", blocks.len()),
    };
    let of = |(arm, name): (usize, &str)| {
        let tainted = blocks.iter().filter(|block| block.is_tainted(arm)).count();
        let again: u32 = blocks.iter().map(|block| block.tainted_attempts[arm]).sum();
        let first = blocks.iter().filter_map(|block| block.taints[arm].first()).next();
        let reason = first.map_or(String::new(), |t| {
            format!("; the first by {} of {}: {:.3}, limit {:.3}", t.signal, t.subject, t.measured, t.limit)
        });
        ExtraRow {
            check: "timing-quality".to_owned(),
            status: if tainted == 0 { "pass" } else { "warn" },
            arm: Some(name.to_owned()),
            measured: tainted.to_string(),
            expected: "0".to_owned(),
            unit: "trials".to_owned(),
            message: format!(
                "{tainted} of {} trials are tainted; {again} were run again before{consequence}{reason}",
                blocks.len()
            ),
        }
    };
    params.arms.iter().map(|arm| arm.name.as_str()).enumerate().map(of).collect()
}

/// Declared warm-ups were carried out before the first block of each start of the worker, and are in no result.
fn warm_ups(repetitions: &[Repetition]) -> Option<ExtraRow> {
    let fewest = repetitions.iter().map(|repetition| repetition.warm_ups).min()?;
    (fewest > 0).then(|| ExtraRow {
        check: "warm-ups".to_owned(),
        status: "pass",
        arm: None,
        measured: fewest.to_string(),
        expected: fewest.to_string(),
        unit: "trials".to_owned(),
        message: format!("{fewest} trials only warmed the machine up each time blocks were begun, and are in no frame"),
    })
}
