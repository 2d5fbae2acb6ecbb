//! `simulate`: every viewer, every packet (`mode: modeled`).
//!
//! Takes `titles`, `rungs`, `segment_sizes`, `clients`, `edges`; gives `segments`, `sessions`, `trials`, `links`,
//! `validity`. Runs are simulated in parallel; rows are put in the order run, arm, client, segment, so the thread count
//! never shows. With `decisions: { replay: ARM }` that arm plays closed loop first, in a rehearsal with losses and jitter of
//! its own, and its rungs, request times and cache outcomes are every arm's schedule. A rehearsal under the losses that the
//! arms meet later would favour its arm: its decisions fit them (docs/adr/0006).
//!
//! With `qlog` some viewers' connections write logs, as files of the stage.
//!
//! Random streams: those of `study-sim`, under `run/<r>`; the rehearsal's links under `run/<r>/rehearsal`; which viewers are logged under
//! `run/<r>/viewer/<c>/qlog`.

mod fairness;
mod frames;
mod inputs;
mod logs;
mod params;
mod presets;

pub(crate) use inputs::World;
pub use params::{SimulateParams, arm_schema, check_arm};
pub(crate) use params::{decode, schema};

use frames::{RunOutcome, TrialFrames};
use rayon::prelude::*;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use study_cdn::player::Decisions;
use study_ident::SeedPath;
use study_sim::{TrialPlan, TrialResult, TrialSpec, run_trial};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_tree::{Cx, Node};

/// The kind `simulate`.
pub struct Simulate;

impl StageKind for Simulate {
    type Params = SimulateParams;
    const NAME: &'static str = "simulate";
    const SUMMARY: &'static str = "simulates every viewer and every packet of each arm and run";
    const VERSION: u32 = 3;
    const INHERITS: &'static [&'static str] = &["runs"];
    const TAKES: &'static [&'static str] = &["titles", "rungs", "segment_sizes", "clients", "edges"];
    const REQUIRES: &'static [&'static str] = Self::TAKES;
    const GIVES: &'static [&'static str] = &["segments", "sessions", "trials", "links", "validity"];
    const USES_SEED: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<SimulateParams> {
        params::decode(node, cx)
    }
    fn schema(&self) -> Value {
        params::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::SIMULATE
    }

    fn run(&self, params: &SimulateParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let world = World::read(params, inputs)?;
        logs::check_world(params, &world)?;
        let done = AtomicU64::new(0);
        let runs: Vec<RunOutcome> = (0..params.runs)
            .into_par_iter()
            .map(|run| {
                cx.check_cancelled()?;
                let outcome = simulate_run(params, cx, &world, run)?;
                (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, params.runs);
                Ok(outcome)
            })
            .collect::<Result<_, StageError>>()?;
        let mut frames = TrialFrames::new();
        for (run, outcomes) in runs.iter().enumerate() {
            for (arm, result) in params.arms.iter().zip(outcomes) {
                frames.add(run as u64, arm, &world, result);
            }
        }
        let mut outputs = frames.finish();
        outputs.files = logs::files(params, &world, &runs);
        outputs.frames.insert("validity".to_owned(), fairness::validity(params, &world, &runs));
        Ok(outputs)
    }
}

/// All arms of one run.
fn simulate_run(params: &SimulateParams, cx: &StageCx<'_>, world: &World, run: u64) -> Result<RunOutcome, StageError> {
    let plan = rehearse(params, cx, world, run)?;
    let seed = cx.seed.indexed("run", run);
    (0..params.arms.len()).map(|arm| trial(params, cx, world, (run, arm), seed, plan.as_ref())).collect()
}

/// The schedule that the arms of a run follow, played by the leader in a rehearsal; nothing where each decides by itself.
pub(crate) fn rehearse(
    params: &SimulateParams,
    cx: &StageCx<'_>,
    world: &World,
    run: u64,
) -> Result<Option<TrialPlan>, StageError> {
    let Decisions::Replay(name) = &params.base.player.decisions else { return Ok(None) };
    let leader = params.arms.iter().position(|arm| arm.name == *name);
    let leader = leader.ok_or_else(|| StageError::failed(format!("no arm `{name}` to replay")))?;
    let luck = cx.seed.indexed("run", run).child("rehearsal");
    Ok(trial(params, cx, world, (run, leader), luck, None)?.plan())
}

/// One arm of one run. Without a plan to follow it keeps what it decides.
fn trial(
    params: &SimulateParams,
    cx: &StageCx<'_>,
    world: &World,
    (run, arm): (u64, usize),
    luck: SeedPath,
    replay: Option<&TrialPlan>,
) -> Result<TrialResult, StageError> {
    cx.check_cancelled()?;
    let seed = cx.seed.indexed("run", run);
    // Only a rehearsal has luck of its own.
    let rehearses = luck != seed;
    let recordings = if rehearses { Vec::new() } else { logs::recordings(params, &cx.seed, world, (run, arm)) };
    let spec = TrialSpec {
        seed,
        luck,
        arm: &params.arms[arm].spec(),
        viewers: &world.viewers[run as usize],
        edges: &world.edges,
        titles: &world.titles,
        popularity: &world.popularity,
        replay,
        keep_plan: rehearses,
        recordings: &recordings,
    };
    run_trial(&spec).map_err(|e| {
        StageError::failed_with_help(e.to_string(), "check `player.decisions` against the catalog's rungs")
    })
}
