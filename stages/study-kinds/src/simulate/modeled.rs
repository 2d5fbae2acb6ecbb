//! `mode: modeled`: the simulator runs the arms of every run.

use super::frames::{LinkRow, SegmentRow, SessionRow, TrialFrames, TrialKeys, TrialRow};
use super::inputs::World;
use super::params::{Arm, SimulateParams};
use super::{evidence, fairness, logs, rehearse, trial};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use study_sim::{CacheOutcome, SegmentResult, SessionResult, TrialResult};
use study_stage::{Outputs, StageCx, StageError};
use study_units::{SimDuration, SimTime};

/// The arms of one run.
pub type RunOutcome = Vec<TrialResult>;

/// Simulates all runs in parallel; rows are in the order of runs and arms, so that the thread count never shows.
pub fn run(params: &SimulateParams, cx: &StageCx<'_>, world: &World) -> Result<Outputs, StageError> {
    logs::check_world(params, world)?;
    let done = AtomicU64::new(0);
    let runs: Vec<RunOutcome> = (0..params.runs)
        .into_par_iter()
        .map(|run| {
            cx.check_cancelled()?;
            let outcome = simulate_run(params, cx, world, run)?;
            (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, params.runs);
            Ok(outcome)
        })
        .collect::<Result<_, StageError>>()?;
    let mut frames = TrialFrames::new();
    for (run, outcomes) in runs.iter().enumerate() {
        for (arm, result) in params.arms.iter().zip(outcomes) {
            add(&mut frames, run as u64, arm, world, result);
        }
    }
    let mut outputs = frames.finish();
    outputs.files = logs::files(params, world, &runs);
    let sessions: Vec<(usize, usize)> =
        (0..params.arms.len()).map(|arm| completed(runs.iter().map(|run| &run[arm]))).collect();
    outputs.frames.insert("validity".to_owned(), fairness::validity(params, world, &sessions, &[]));
    outputs.frames.extend(evidence::nothing());
    Ok(outputs)
}

/// Sessions that were over before their viewers left, of how many.
fn completed<'a>(trials: impl Iterator<Item = &'a TrialResult>) -> (usize, usize) {
    let sessions = trials.flat_map(|trial| &trial.sessions);
    sessions.fold((0, 0), |(complete, all), s| (complete + usize::from(s.summary.completed), all + 1))
}

/// All arms of one run.
fn simulate_run(params: &SimulateParams, cx: &StageCx<'_>, world: &World, run: u64) -> Result<RunOutcome, StageError> {
    let plan = rehearse(params, cx, world, run)?;
    let seed = cx.seed.indexed("run", run);
    (0..params.arms.len()).map(|arm| trial(params, cx, world, (run, arm), seed, plan.as_ref())).collect()
}

/// Adds one arm of one run.
fn add(frames: &mut TrialFrames, run: u64, arm: &Arm, world: &World, trial: &TrialResult) {
    let keys = TrialKeys { run, arm };
    for session in &trial.sessions {
        let row = session_row(session);
        for segment in &session.segments {
            frames.add_segment(keys, world, &row, &segment_row(segment));
        }
        frames.add_session(keys, world, &row);
    }
    let c = &trial.counters;
    frames.add_trial(
        keys,
        &TrialRow {
            viewers: trial.sessions.len(),
            origin_fetches: c.origin_fetches,
            hits: c.hits,
            misses: c.misses,
            coalesced: c.coalesced,
            events: c.events,
            packets: c.packets,
        },
    );
    for (edge, links) in world.edges.iter().zip(&trial.links) {
        for (direction, t) in [("down", links.down), ("up", links.up)] {
            let row = LinkRow {
                packets: t.packets,
                lost_random: t.lost_random,
                lost_queue: t.lost_queue,
                lost_policer: t.lost_policer,
                lost_outage: t.lost_outage,
                repaired: t.repaired,
                bytes: t.bytes,
                busy_ms: Some(t.busy.as_millis_f64()),
                lifetime_s: t.lifetime.as_secs_f64(),
            };
            frames.add_link(keys, &edge.name, direction, &row);
        }
    }
}

fn session_row(session: &SessionResult) -> SessionRow<'_> {
    let (s, stats) = (&session.summary, &session.stats);
    let hits = session.segments.iter().filter(|x| x.outcome == CacheOutcome::Hit).count();
    SessionRow {
        viewer: session.viewer,
        title: session.title,
        resumption: session.state.name(),
        handshake: session.handshake.map(SimDuration::as_micros),
        startup: s.startup.map(SimDuration::as_micros),
        stall_count: s.stall_count,
        stall: s.stall.as_micros(),
        played: s.played.as_micros(),
        stall_ratio: s.stall_ratio(),
        mean_bitrate_kbit_s: s.mean_bitrate_kbit_s,
        switches: s.switches,
        segments: s.segments,
        bytes: s.bytes,
        packets_sent: Some(stats.packets_sent),
        packets_lost: Some(stats.packets_lost),
        retransmitted_bytes: Some(stats.retransmitted),
        rtt: [stats.rtt.mean().map(SimDuration::as_micros), stats.rtt.quantile_us(0.5), stats.rtt.quantile_us(0.95)],
        completed: s.completed,
        arrived: (session.segments.len(), hits),
    }
}

fn segment_row(s: &SegmentResult) -> SegmentRow<'_> {
    let t = &s.transport;
    SegmentRow {
        segment: s.segment,
        rung: s.rung,
        bytes: s.bytes,
        cache: s.outcome.name(),
        requested: t.requested.since(SimTime::ZERO).as_micros(),
        ttfb: Some(t.first_byte.since(t.requested).as_micros()),
        ttlb: Some(t.completed.since(t.requested).as_micros()),
        hol_wait: Some(t.hol_wait.as_micros()),
        lost_packets: Some(u64::from(t.lost_packets)),
        retransmitted_bytes: Some(t.retransmitted),
        buffer: (s.buffer.0.as_micros(), s.buffer.1.as_micros()),
        stall: s.stall.as_micros(),
        parts: Some(t.parts),
    }
}
