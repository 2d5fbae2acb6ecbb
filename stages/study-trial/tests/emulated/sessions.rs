//! Whole sessions of both arms.

use crate::jobs::{job, link};
use crate::{Check, Named, ensure, run};
use study_shaper::Backend;

pub const ALL: &[Named] = &[
    ("every_viewer_of_both_arms_gets_every_segment", every_segment),
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

fn from_the_cache(backend: Backend) -> Check {
    let blocks = run(&job(backend, 2, link("20 ms", "10 Mbit/s", ""))).map_err(|e| e.to_string())?;
    for trial in &blocks[0].trials {
        let edges = trial.edges;
        ensure(edges.misses == 4 && edges.hits + edges.coalesced == 4, || format!("{edges:?}"))?;
    }
    Ok(())
}
