//! `mode: emulated`: real stacks carry out the runs, in a worker process.
//!
//! Viewers, titles, tickets and links are those of the simulator, drawn from the same streams. With `decisions: { replay: ARM }` the
//! schedule is that of the simulator's rehearsal, so that modeled and emulated arms are asked for the same.
//!
//! A run is a repetition, on record by itself. Everything about it is drawn from streams named after its number, so it does not
//! depend on how many are asked for, or on which start of the worker carried it out.

use super::frames::{LinkRow, SegmentRow, SessionRow, TrialFrames, TrialKeys, TrialRow};
use super::inputs::World;
use super::params::{Compare, SimulateParams};
use super::repetition::Repetition;
use super::{evidence, rehearse};
use std::ops::ControlFlow;
use std::path::Path;
use study_ident::SeedPath;
use study_sim::{TrialPlan, Viewer, session_of, title_of};
use study_stage::{Outputs, Series, StageCx, StageError};
use study_trial::{
    Arm, Backend, BlockRecord, Edge, EmulationParams, Job, Planned, Run, SessionRecord, TitleSizes, TrialError,
    TrialRecord, find_backend, run_job, this_program,
};
use study_units::SimTime;

/// Each run is a repetition: its block is a sample of its own, of the viewers of that run alone.
pub fn series(params: &SimulateParams) -> Series {
    let mut document = serde_json::to_value(params).expect("parameters are plain data with text keys");
    if let Some(map) = document.as_object_mut() {
        map.remove("runs");
    }
    Series { repetitions: params.runs, params: document, by_repetition: &[("clients", "run")] }
}

/// Carries out the blocks that are not on record, and makes the frames of all.
pub fn run(
    params: &SimulateParams,
    emulation: &EmulationParams,
    cx: &StageCx<'_>,
    world: &World,
) -> Result<Outputs, StageError> {
    let mut known = None;
    let mut missing = Vec::new();
    for run in 0..params.runs {
        match Repetition::recorded(cx, run)? {
            Some(repetition) => known = repetition.backend(),
            None => missing.push(run),
        }
    }
    if !missing.is_empty() {
        let program = this_program().map_err(stage_error)?;
        let backend = backend(&program, emulation, known, params.runs - missing.len() as u64)?;
        measure(&program, job(params, emulation, cx, world, (backend, &missing))?, cx, params.runs)?;
    }
    assemble(params, cx, world)
}

/// The backend that the study names, else that of the repetitions on record, else the first that works here.
fn backend(
    program: &Path,
    emulation: &EmulationParams,
    known: Option<Backend>,
    on_record: u64,
) -> Result<Backend, StageError> {
    let named = emulation.backend.backend();
    find_backend(program, named.or(known)).map_err(|mut error| {
        if named.is_none() && known.is_some() {
            error.message = format!(
                "{}; the {on_record} repetitions on record were measured on it, and figures of two backends are never mixed",
                error.message
            );
            let cure = error.help.map_or_else(String::new, |cure| format!("{cure}; or "));
            error.help = Some(format!("{cure}name another `backend` in `mode`: all repetitions are then measured on it"));
        }
        stage_error(error)
    })
}

/// Carries out the job; each block is on record as soon as it is over.
fn measure(program: &Path, job: Job, cx: &StageCx<'_>, asked: u64) -> Result<(), StageError> {
    let mut done = asked - job.runs.len() as u64;
    let (mut warm_ups, mut failed) = (0, None);
    let finished = |block: &BlockRecord| {
        if block.warm_up {
            warm_ups += block.trials.len();
            return ControlFlow::Continue(());
        }
        let run = job.runs[block.run].run;
        let repetition = Repetition { warm_ups, block: BlockRecord { run: run as usize, ..block.clone() } };
        if let Err(error) = repetition.record(cx, run) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        done += 1;
        (cx.progress)(done, asked);
        ControlFlow::Continue(())
    };
    let ended = run_job(program, &job, cx.cancel, finished).map_err(stage_error)?;
    match (ended, failed) {
        (_, Some(error)) => Err(error),
        (None, None) => Err(StageError::Cancelled),
        (Some(_), None) => Ok(()),
    }
}

/// Figures of two backends are never mixed.
fn check_backends(mut all: impl Iterator<Item = Backend>) -> Result<(), StageError> {
    let first = all.next();
    match (first, all.find(|backend| Some(*backend) != first)) {
        (Some(first), Some(other)) => Err(StageError::failed_with_help(
            format!("the repetitions on record were measured on `{}` and on `{}`", first.name(), other.name()),
            "name the `backend` in `mode`: all repetitions are then measured on it",
        )),
        _ => Ok(()),
    }
}

/// The frames of the repetitions on record: what was written down is what counts, also right after it was measured.
fn assemble(params: &SimulateParams, cx: &StageCx<'_>, world: &World) -> Result<Outputs, StageError> {
    let missing = |run| StageError::failed(format!("run {run} was not carried out"));
    let all = (0..params.runs).map(|run| Repetition::recorded(cx, run)?.ok_or_else(|| missing(run)));
    let all = all.collect::<Result<Vec<Repetition>, StageError>>()?;
    check_backends(all.iter().filter_map(Repetition::backend))?;
    let mut frames = TrialFrames::new();
    for block in all.iter().map(|repetition| &repetition.block) {
        for trial in &block.trials {
            let keys = TrialKeys { run: block.run as u64, arm: &params.arms[trial.arm] };
            add(&mut frames, keys, world, cx.seed, trial);
        }
    }
    let mut outputs = frames.finish();
    evidence::add(&mut outputs, params, world, &all);
    Ok(outputs)
}

fn stage_error(error: TrialError) -> StageError {
    if error.environment {
        StageError::Environment { message: error.message, help: error.help }
    } else {
        StageError::Failed { message: error.message, help: error.help }
    }
}

/// Everything that the worker needs to carry out the missing runs.
fn job(
    params: &SimulateParams,
    emulation: &EmulationParams,
    cx: &StageCx<'_>,
    world: &World,
    (backend, missing): (Backend, &[u64]),
) -> Result<Job, StageError> {
    let runs = missing
        .iter()
        .map(|run| {
            let run = *run;
            cx.check_cancelled()?;
            let plan = rehearse(params, cx, world, run)?;
            let viewers = world.viewers[run as usize].iter().enumerate();
            let viewers = viewers.map(|(i, viewer)| one_viewer(params, cx, world, (run, i, viewer), plan.as_ref()));
            Ok(Run { run, viewers: viewers.collect() })
        })
        .collect::<Result<Vec<Run>, StageError>>()?;
    let titles = runs.iter().flat_map(|run| &run.viewers).map(|viewer| viewer.title);
    let titles = titles.map(|title| (title, TitleSizes::from(&*world.titles[title as usize]))).collect();
    Ok(Job {
        backend,
        seed: cx.seed,
        emulation: emulation.clone(),
        as_deployed: params.compare == Compare::AsDeployed,
        arms: params.arms.iter().map(arm).collect(),
        edges: world.edges.iter().map(edge).collect(),
        titles,
        runs,
    })
}

fn one_viewer(
    params: &SimulateParams,
    cx: &StageCx<'_>,
    world: &World,
    (run, index, viewer): (u64, usize, &Viewer),
    plan: Option<&TrialPlan>,
) -> study_trial::Viewer {
    let seed = cx.seed.indexed("run", run);
    let spec = params.arms[0].spec();
    study_trial::Viewer {
        client: viewer.client,
        edge: viewer.edge,
        arrival: viewer.arrival.since(SimTime::ZERO),
        title: title_of(seed, viewer.client, &world.popularity) as u32,
        session: session_of(seed, viewer.client, spec.resumption, spec.transport.early_data_rejected),
        schedule: plan.map(|plan| plan[index].requests.iter().map(Planned::from).collect()),
    }
}

fn arm(arm: &super::params::Arm) -> Arm {
    Arm {
        name: arm.name.clone(),
        protocol: arm.protocol,
        congestion_control: arm.congestion_control,
        scheduler: arm.base.scheduler,
        origin_protocol: arm.base.origin_protocol,
        transport: arm.base.transport.clone(),
        player: arm.base.player.clone(),
        cache: arm.base.cache.clone(),
        session_limit: arm.base.session_limit,
    }
}

fn edge(edge: &study_sim::EdgeSpec) -> Edge {
    Edge { name: edge.name.clone(), client_link: edge.client_link.clone(), origin_link: edge.origin_link.clone() }
}

/// Adds one arm of one run.
fn add(frames: &mut TrialFrames, keys: TrialKeys<'_>, world: &World, seed: SeedPath, trial: &TrialRecord) {
    let (viewers, seed) = (&world.viewers[keys.run as usize], seed.indexed("run", keys.run));
    for session in &trial.sessions {
        let title = title_of(seed, viewers[session.viewer].client, &world.popularity);
        let row = session_row(session, title);
        for transfer in &session.transfers {
            let segment = SegmentRow {
                segment: transfer.segment,
                rung: transfer.rung,
                bytes: transfer.bytes,
                cache: &transfer.cache,
                requested: transfer.requested_us,
                ttfb: transfer.ttfb_us,
                ttlb: transfer.ttlb_us,
                hol_wait: None,
                lost_packets: None,
                retransmitted_bytes: None,
                buffer: (transfer.buffer_before_us, transfer.buffer_after_us),
                stall: transfer.stall_us,
                parts: None,
            };
            frames.add_segment(keys, world, &row, &segment);
        }
        frames.add_session(keys, world, &row);
    }
    let packets = trial.links.iter().map(|link| link.down.packets + link.up.packets).sum();
    frames.add_trial(
        keys,
        &TrialRow {
            viewers: trial.sessions.len(),
            origin_fetches: trial.edges.origin_fetches,
            hits: trial.edges.hits,
            misses: trial.edges.misses,
            coalesced: trial.edges.coalesced,
            events: 0,
            packets,
        },
    );
    add_links(frames, keys, world, trial);
}

/// The last miles come first among the links of a trial, one for each viewer.
fn add_links(frames: &mut TrialFrames, keys: TrialKeys<'_>, world: &World, trial: &TrialRecord) {
    let viewers = &world.viewers[keys.run as usize];
    for (position, edge) in world.edges.iter().enumerate() {
        let mut sums = [LinkRow::default(), LinkRow::default()];
        for (viewer, link) in viewers.iter().zip(&trial.links).filter(|(viewer, _)| viewer.edge == position) {
            let arrival = viewer.arrival.since(SimTime::ZERO).as_millis_f64();
            for (sum, way) in sums.iter_mut().zip([&link.down, &link.up]) {
                sum.packets += way.packets;
                sum.lost_random += way.losses.random;
                sum.lost_queue += way.losses.queue;
                sum.lost_policer += way.losses.policer;
                sum.lost_outage += way.losses.outage;
                sum.bytes += way.bytes;
                sum.lifetime_s += (link.span_ms - arrival).max(0.0) / 1e3;
            }
        }
        for (direction, sum) in ["down", "up"].iter().zip(&sums) {
            frames.add_link(keys, &edge.name, direction, sum);
        }
    }
}

fn session_row(s: &SessionRecord, title: usize) -> SessionRow<'_> {
    let arrived = s.transfers.iter().filter(|t| t.error.is_none());
    let hits = arrived.clone().filter(|t| t.cache == "hit").count();
    SessionRow {
        viewer: s.viewer,
        title,
        resumption: &s.session,
        handshake: s.handshake_us,
        startup: s.startup_us,
        stall_count: s.stall_count,
        stall: s.stall_us,
        played: s.played_us,
        stall_ratio: s.stall_ratio,
        mean_bitrate_kbit_s: s.mean_bitrate_kbit_s,
        switches: s.switches,
        segments: s.segments,
        bytes: s.bytes,
        packets_sent: s.packets_sent,
        packets_lost: s.packets_lost,
        retransmitted_bytes: s.retransmitted_bytes,
        rtt: [s.rtt_us, None, None],
        completed: s.completed,
        arrived: (arrived.count(), hits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_tree::defaults;
    use study_trial::BackendChoice;

    #[test]
    fn a_series_stays_on_its_backend_or_says_why_not() {
        // No program that probes anything: no backend works with it.
        let nothing = Path::new("/bin/false");
        let auto = EmulationParams { backend: BackendChoice::Auto, ..defaults() };
        let StageError::Environment { message, help } =
            backend(nothing, &auto, Some(Backend::UsernsTun), 20).unwrap_err()
        else {
            panic!("the machine lacks it");
        };
        assert!(message.contains("`userns-tun` does not work here"), "{message}");
        assert!(message.contains("the 20 repetitions on record were measured on it"), "{message}");
        assert!(help.unwrap().contains("name another `backend`"));
        for (emulation, known) in [
            (auto, None),
            (EmulationParams { backend: BackendChoice::UsernsTun, ..defaults() }, Some(Backend::UsernsTun)),
        ] {
            let error = backend(nothing, &emulation, known, 20).unwrap_err();
            assert!(!error.to_string().contains("on record"), "{error}");
        }
    }

    #[test]
    fn figures_of_two_backends_are_not_mixed() {
        assert_eq!(check_backends([Backend::RootTun; 3].into_iter()), Ok(()));
        assert_eq!(check_backends([].into_iter()), Ok(()));
        let error = check_backends([Backend::RootTun, Backend::RootTun, Backend::RootPacket].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "the repetitions on record were measured on `root-tun` and on `root-packet`");
    }
}
