//! `mode: emulated`: real stacks carry out the runs, in a worker process.
//!
//! Viewers, titles, tickets and links are those of the simulator, drawn from the same streams. With `decisions: { replay: ARM }` the
//! schedule is that of the simulator's rehearsal, so that modeled and emulated arms are asked for the same.

use super::frames::{LinkRow, SegmentRow, SessionRow, TrialFrames, TrialKeys, TrialRow};
use super::inputs::World;
use super::params::{Compare, SimulateParams};
use super::{evidence, rehearse};
use std::sync::atomic::{AtomicU64, Ordering};
use study_sim::{TrialPlan, Viewer, session_of, title_of};
use study_stage::{Outputs, StageCx, StageError};
use study_trial::{
    Arm, BlockRecord, Edge, EmulationParams, Job, Planned, Run, SessionRecord, TitleSizes, TrialError, TrialRecord,
    find_backend, run_job, this_program,
};
use study_units::SimTime;

/// Runs all blocks, one after the other.
pub fn run(
    params: &SimulateParams,
    emulation: &EmulationParams,
    cx: &StageCx<'_>,
    world: &World,
) -> Result<Outputs, StageError> {
    let program = this_program().map_err(stage_error)?;
    let backend = find_backend(&program, emulation.backend.backend()).map_err(stage_error)?;
    let job = job(params, emulation, cx, world, backend)?;
    let done = AtomicU64::new(0);
    let finished = |block: &BlockRecord| {
        if !block.warm_up {
            (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, params.runs);
        }
    };
    let blocks = run_job(&program, &job, cx.cancel, finished).map_err(stage_error)?.ok_or(StageError::Cancelled)?;
    let mut frames = TrialFrames::new();
    for block in blocks.iter().filter(|block| !block.warm_up) {
        for trial in &block.trials {
            add(&mut frames, TrialKeys { run: block.run as u64, arm: &params.arms[trial.arm] }, world, &job, trial);
        }
    }
    let mut outputs = frames.finish();
    evidence::add(&mut outputs, params, world, &blocks);
    Ok(outputs)
}

fn stage_error(error: TrialError) -> StageError {
    if error.environment {
        StageError::Environment { message: error.message, help: error.help }
    } else {
        StageError::Failed { message: error.message, help: error.help }
    }
}

/// Everything that the worker needs.
fn job(
    params: &SimulateParams,
    emulation: &EmulationParams,
    cx: &StageCx<'_>,
    world: &World,
    backend: study_trial::Backend,
) -> Result<Job, StageError> {
    let runs = (0..params.runs)
        .map(|run| {
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
fn add(frames: &mut TrialFrames, keys: TrialKeys<'_>, world: &World, job: &Job, trial: &TrialRecord) {
    let viewers = &job.runs[keys.run as usize].viewers;
    for session in &trial.sessions {
        let row = session_row(session, viewers[session.viewer].title as usize);
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
