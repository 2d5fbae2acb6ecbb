//! Stages that fail, Ctrl-C, kills, and two runs at once.

use crate::sandbox::{Ran, SMALL, Sandbox};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// [`SMALL`] with enough simulation that a signal comes in the middle of it.
fn long() -> String {
    SMALL
        .replace("runs: 3", "runs: 400")
        .replace("clients: 3", "clients: 40")
        .replace("duration: 12 s", "duration: 120 s")
}

/// Starts a run and waits until the first two nodes are done.
fn started(sandbox: &Sandbox) -> (Child, BufReader<impl Read>) {
    let mut command = sandbox.command(&["run", "small.yaml", "--jobs", "1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("executed  routing") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the run ended before `routing` was done");
    }
    (child, stderr)
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_exits_with_130_and_keeps_what_was_finished() {
    let sandbox = Sandbox::new();
    sandbox.write("small.yaml", long().as_bytes());
    let (mut child, mut stderr) = started(&sandbox);
    signal(&child, "-INT");
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert!(!sandbox.path().join("results").exists());
    sandbox.ok(&["cache", "verify"]);
    let planned = sandbox.ok(&["plan", "small.yaml", "--json"]);
    assert_eq!(planned.nodes_that_are("cached"), ["catalog", "routing"]);
}

#[test]
fn after_a_kill_the_next_run_needs_no_flag_and_repeats_only_what_was_in_flight() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "small.yaml",
        SMALL.replace("runs: 3", "runs: 12").replace("duration: 12 s", "duration: 60 s").as_bytes(),
    );
    let (mut child, _stderr) = started(&sandbox);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = sandbox.ok(&["run", "small.yaml", "--json"]);
    let cached = ran.nodes_that_are("cached");
    assert!(["catalog", "routing"].iter().all(|node| cached.contains(&(*node).to_owned())), "{cached:?}");
    sandbox.ok(&["cache", "verify"]);

    let fresh = Sandbox::new();
    fresh.write("small.yaml", sandbox.read("small.yaml").as_bytes());
    assert_eq!(fresh.ok(&["run", "small.yaml", "--json"]).digests(), ran.digests(), "nothing of the killed run shows");
}

#[test]
fn two_runs_on_one_store_at_once_both_succeed() {
    let sandbox = Sandbox::small();
    let start = |out: &str| {
        let mut command = sandbox.command(&["run", "small.yaml", "--json", "--out", out]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start("a"), start("b")].map(|child| Ran::from(child.wait_with_output().unwrap()));
    for ran in &both {
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(both[0].digests(), both[1].digests());
}

#[test]
fn a_stage_that_fails_gives_4_and_the_rest_goes_on() {
    let sandbox = Sandbox::new();
    let film = "  film: { kind: catalog, titles: 1, movie: { file: movie.json } }\n  routing:";
    sandbox.write("x.yaml", SMALL.replacen("  routing:", film, 1).as_bytes());
    sandbox.write("movie.json", b"{ \"not\": \"a movie\" }");
    let ran = sandbox.study(&["run", "x.yaml", "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.nodes_that_are("failed"), ["film"]);
    assert_eq!(ran.nodes_that_are("executed").len(), 8, "what does not need it goes on: {ran:?}");
    assert!(ran.stderr.contains("error: `film`: "), "{ran:?}");
    assert!(!sandbox.path().join("results").exists(), "an incomplete study is not published");
    let again = sandbox.study(&["run", "x.yaml", "--json"]);
    assert_eq!((again.code, again.json()["cached"].clone()), (Some(4), 8.into()), "failures are not remembered");
}
