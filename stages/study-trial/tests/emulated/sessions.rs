//! Whole sessions of both arms.

use crate::jobs::{job, link};
use crate::{Check, Named, ensure, run};
use study_shaper::Backend;

pub const ALL: &[Named] = &[
    ("every_viewer_of_both_arms_gets_every_segment", every_segment),
    ("blocks_run_at_once_and_come_in_their_order", at_once),
    ("the_second_viewer_of_a_title_is_served_from_the_cache", from_the_cache),
];

fn every_segment(backend: Backend) -> Check {
    let blocks = run(&job(backend, 3, link("20 ms", "10 Mbit/s", ""))).map_err(|e| e.to_string())?;
    ensure(blocks.len() == 1 && blocks[0].trials.len() == 2, || format!("{} blocks", blocks.len()))?;
    for trial in &blocks[0].trials {
        for session in &trial.sessions {
            ensure(session.completed && session.segments == 4, || format!("{session:?}"))?;
            ensure(session.packets_sent.is_some_and(|n| n > 270), || format!("{session:?}"))?;
        }
    }
    Ok(())
}

fn at_once(backend: Backend) -> Check {
    let mut job = job(backend, 1, link("20 ms", "10 Mbit/s", ""));
    job.runs = (0..4).map(|run| study_trial::Run { run, ..job.runs[0].clone() }).collect();
    job.emulation.at_once = 3;
    let blocks = run(&job).map_err(|e| e.to_string())?;
    let runs: Vec<usize> = blocks.iter().map(|block| block.run).collect();
    ensure(runs == [0, 1, 2, 3], || format!("{runs:?}"))?;
    for session in blocks.iter().flat_map(|block| &block.trials).flat_map(|trial| &trial.sessions) {
        ensure(session.completed, || format!("{session:?}"))?;
    }
    Ok(())
}

fn from_the_cache(backend: Backend) -> Check {
    let blocks = run(&job(backend, 2, link("20 ms", "10 Mbit/s", ""))).map_err(|e| e.to_string())?;
    for trial in &blocks[0].trials {
        let edges = trial.edges;
        ensure(edges.misses == 4 && edges.hits + edges.coalesced == 4, || format!("{edges:?}"))?;
    }
    Ok(())
}
