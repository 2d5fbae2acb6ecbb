//! `simulate`: every viewer, every packet: in a simulation (`mode: modeled`) or real (`mode: emulated`).
//!
//! Takes `titles`, `rungs`, `segment_sizes`, `clients`, `edges`; gives `segments`, `sessions`, `trials`, `links`,
//! `validity`, and of real packets `checks`, `timing`, `calibration`, with rows in the order run, arm, client, segment. With `decisions: { replay: ARM }` that arm plays closed loop first, in a rehearsal with losses and jitter of
//! its own, and its rungs, request times and cache outcomes are every arm's schedule. A rehearsal under the losses that the
//! arms meet later would favour its arm: its decisions fit them (docs/adr/0006).
//!
//! With `qlog` some viewers' connections write logs, as files of the stage.
//!
//! Random streams: those of `study-sim`, under `run/<r>`; the rehearsal's links under `run/<r>/rehearsal`; which viewers are logged under
//! `run/<r>/viewer/<c>/qlog`.

mod emulated;
mod evidence;
mod fairness;
mod frames;
mod inputs;
mod logs;
mod modeled;
mod params;
mod presets;
mod repetition;

pub(crate) use inputs::World;
pub use params::{Mode, SimulateParams, arm_schema, check_arm};
pub(crate) use params::{decode, schema};

use serde_json::Value;
use study_cdn::player::Decisions;
use study_ident::SeedPath;
use study_sim::{TrialPlan, TrialResult, TrialSpec, run_trial};
use study_stage::{Determinism, Inputs, Outputs, Series, StageCx, StageError, StageKind};
use study_tree::{Cx, Node};

/// The kind `simulate`.
pub struct Simulate;

impl StageKind for Simulate {
    type Params = SimulateParams;
    const NAME: &'static str = "simulate";
    const SUMMARY: &'static str = "simulates every viewer and every packet of each arm and run";
    const VERSION: u32 = 4;
    const INHERITS: &'static [&'static str] = &["runs"];
    const TAKES: &'static [&'static str] = &["titles", "rungs", "segment_sizes", "clients", "edges"];
    const REQUIRES: &'static [&'static str] = Self::TAKES;
    const GIVES: &'static [&'static str] =
        &["segments", "sessions", "trials", "links", "validity", "checks", "timing", "calibration"];
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

    fn determinism(&self, params: &SimulateParams) -> Determinism {
        match params.mode {
            Mode::Modeled => Determinism::Exact,
            Mode::Emulated(_) => Determinism::Sampled,
        }
    }
    fn series(&self, params: &SimulateParams) -> Option<Series> {
        match params.mode {
            Mode::Modeled => None,
            Mode::Emulated(_) => Some(emulated::series(params)),
        }
    }

    fn run(&self, params: &SimulateParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let world = World::read(params, inputs)?;
        match &params.mode {
            Mode::Modeled => modeled::run(params, cx, &world),
            Mode::Emulated(emulation) => emulated::run(params, emulation, cx, &world),
        }
    }
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
