//! Logs of some sessions: which, how large, and as which files.
//!
//! Of each logged run the viewers with the smallest draws under `run/<r>/viewer/<c>/qlog` are taken: the same in all arms, and of those of
//! a smaller sample none is missing in a larger one. Each file gets an equal part of `total`, `cap` at most, so that a file
//! never depends on how much another one needed.
//!
//! The title says run, viewer and arm. The study's name is not in it: a stage's result does not depend on it.

use super::inputs::World;
use super::modeled::RunOutcome;
use super::params::{Arm, Mode, SimulateParams};
use std::collections::BTreeMap;
use study_ident::SeedPath;
use study_stage::StageError;
use study_transport::Protocol;
use study_transport::qlog::{Recording, Trace};
use study_tree::{Cx, Diagnostic, Node, params};
use study_units::Bytes;

/// A file below says too little.
const LEAST: u64 = 4_096;

params! {
    /// qlog of some sessions: what both ends of their connections to the edge saw, for qvis and the like.
    pub struct QlogParams {
        /// Viewers of each logged run, the same in all arms, drawn by the study's seed; 0 logs nothing.
        viewers: u64 = 0, in 0..=10_000;
        /// Runs that are logged, the first.
        runs: u64 = 1, in 1..=1_000_000;
        /// Size of a file at most; a log that would be larger says that it was cut.
        cap: Bytes = Bytes::new(1 << 20), in Bytes::new(LEAST)..=Bytes::new(1 << 30);
        /// Size of all files of the stage at most; each gets an equal part.
        total: Bytes = Bytes::new(64 << 20), in Bytes::new(LEAST)..=Bytes::new(16 << 30);
    }
}

impl QlogParams {
    /// Whether nothing is logged.
    pub const fn is_off(&self) -> bool {
        self.viewers == 0
    }

    /// Bytes of each file at most, where runs have up to `viewers`.
    fn share(&self, params: &SimulateParams, viewers: u64) -> u64 {
        let sessions = viewers.min(self.viewers).max(1) * self.runs.min(params.runs);
        let files = sessions * params.arms.iter().map(files_of_a_session).sum::<u64>().max(1);
        self.cap.get().min(self.total.get() / files)
    }
}

/// One for each end of each connection.
fn files_of_a_session(arm: &Arm) -> u64 {
    let connections = if arm.protocol == Protocol::H1 { arm.base.transport.h1_connections } else { 1 };
    2 * u64::from(connections)
}

/// Whether logs can be written, and each file gets enough, as far as the study says how many viewers there are.
pub fn check(params: &SimulateParams, node: &Node, cx: &mut Cx<'_>) -> bool {
    let real = params.mode != Mode::Modeled && !params.qlog.is_off();
    let refused = || ("only modeled connections write qlog".to_owned(), "leave `qlog` out, or log a modeled stage");
    let clients = params.clients;
    let refusal = real.then(refused).or_else(|| clients.and_then(|clients| too_small(params, clients)));
    let Some((message, help)) = refusal else { return true };
    let span = study_tree::get_path(node, "qlog.total").or_else(|| node.get("qlog")).map_or(node.span, |n| n.span);
    cx.push(Diagnostic::error("out-of-range", span, message).help(help));
    false
}

/// The same for the viewers that there are.
pub fn check_world(params: &SimulateParams, world: &World) -> Result<(), StageError> {
    let refuse = |(message, help)| Err(StageError::failed_with_help(message, help));
    too_small(params, most_viewers(world)).map_or(Ok(()), refuse)
}

fn too_small(params: &SimulateParams, viewers: u64) -> Option<(String, &'static str)> {
    let qlog = &params.qlog;
    let enough = qlog.is_off() || qlog.share(params, viewers) >= LEAST;
    let message = || format!("`{}` for all logs is less than {LEAST} B for each", qlog.total);
    (!enough).then(|| (message(), "raise `qlog.total`, or log fewer `viewers` or `runs`"))
}

/// Viewers of the largest run.
fn most_viewers(world: &World) -> u64 {
    world.viewers.iter().map(|viewers| viewers.len() as u64).max().unwrap_or(0)
}

/// Positions of the viewers of a run that are logged.
fn sample(params: &SimulateParams, seed: &SeedPath, world: &World, run: u64) -> Vec<usize> {
    if params.qlog.is_off() || run >= params.qlog.runs {
        return Vec::new();
    }
    let seed = seed.indexed("run", run);
    let draw = |client| seed.indexed("viewer", client).stream("qlog").bits();
    let viewers = world.viewers[run as usize].iter();
    let mut drawn: Vec<(u64, usize)> = viewers.enumerate().map(|(i, viewer)| (draw(viewer.client), i)).collect();
    drawn.sort_unstable();
    drawn.into_iter().take(params.qlog.viewers as usize).map(|(_, i)| i).collect()
}

/// What is to be logged of one arm of one run.
pub fn recordings(
    params: &SimulateParams,
    seed: &SeedPath,
    world: &World,
    (run, arm): (u64, usize),
) -> Vec<(usize, Recording)> {
    let cap = params.qlog.share(params, most_viewers(world));
    let arm = &params.arms[arm].name;
    let recording = |index: usize| {
        let client = world.viewers[run as usize][index].client;
        let id = seed.indexed("run", run).indexed("viewer", client).child("qlog").child(arm).stream("id").bits();
        let title = format!("run {run}, viewer {client}, arm {arm}");
        (index, Recording { title, id: id.to_be_bytes(), cap })
    };
    sample(params, seed, world, run).into_iter().map(recording).collect()
}

/// The logs by path.
pub fn files(params: &SimulateParams, world: &World, runs: &[RunOutcome]) -> BTreeMap<String, Vec<u8>> {
    let names = file_names(params.arms.iter().map(|arm| arm.name.as_str()));
    let mut files = BTreeMap::new();
    for (run, outcomes) in runs.iter().enumerate() {
        for ((arm, name), trial) in params.arms.iter().zip(&names).zip(outcomes) {
            for session in &trial.sessions {
                let client = world.viewers[run][session.viewer].client;
                for trace in &session.traces {
                    let path = format!("qlog/{{node}}/{run}-{client}-{name}{}.sqlog", ending(arm, trace));
                    files.insert(path, trace.bytes.clone());
                }
            }
        }
    }
    files
}

/// The end, and the connection where there can be several.
fn ending(arm: &Arm, trace: &Trace) -> String {
    match arm.protocol {
        Protocol::H1 => format!("-{}-{}", trace.connection, trace.vantage.name()),
        Protocol::H2 | Protocol::H3 => format!("-{}", trace.vantage.name()),
    }
}

/// Names of the arms that every file system takes, and that differ.
fn file_names<'n>(arms: impl Iterator<Item = &'n str>) -> Vec<String> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let mut names: Vec<String> = Vec::new();
    for (index, arm) in arms.enumerate() {
        let name: String = arm.chars().map(safe).collect();
        let taken = names.iter().any(|other| other.eq_ignore_ascii_case(&name));
        names.push(if taken { format!("{name}-{index}") } else { name });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arms_become_names_of_files() {
        let names = file_names(["h2", "H2", "a/b", "a b", "ü"].into_iter());
        assert_eq!(names, ["h2", "H2-1", "a-b", "a-b-3", "-"]);
    }
}
