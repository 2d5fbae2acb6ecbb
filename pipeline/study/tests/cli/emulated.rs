//! Real stacks on emulated links, through the binary: as whoever runs the tests, and as a plain user where that is root.
//!
//! What a machine forbids is skipped in one line; with `STUDY_SHAPER_MUST_RUN` set a skip is a failure. Nothing here asserts a
//! time: whether the machine was quiet enough is in the study's own validity record.

use crate::sandbox::{Ran, Sandbox, repository};
use crate::user::{Stage, skip};
use std::process::Stdio;
use std::time::Duration;

/// Three viewers on a short link, emulated alone.
const EMULATED: &str = "\
study: emulated
seed: 11
runs: 1
links:
  last_mile: { symmetric: true, rtt: 20 ms, rate: 10 Mbit/s, loss: { bernoulli: { rate: 1 % } } }
  origin: { symmetric: true, rtt: 10 ms, rate: 50 Mbit/s }
arms:
  h2: { protocol: h2, congestion_control: cubic }
  h3: { protocol: h3, congestion_control: cubic }
stages:
  catalog: { kind: catalog, titles: 2, popularity: { zipf: 0.8 }, segment: 2 s, duration: 6 s, ladder: go_simulator }
  routing:
    kind: routing
    needs: [catalog]
    clients: 3
    geos: { europe: 1 }
    arrivals: { uniform: 500 ms }
    policy: latency_based
    edges: { europe: { geo: europe, client_link: last_mile, origin_link: origin } }
  experience:
    kind: simulate
    mode: { emulated: { pacing: back_to_back, retries: 0 } }
    needs: [catalog, routing]
    arms: [h2, h3]
    session: { resumed: 100 %, early_data: false }
    player: { abr: bba, prefetch: 2, decisions: closed_loop }
    cache: { policy: lru, size: 256 MiB }
";

/// Whether the machine cannot emulate at all, which a test run may be asked to treat as a failure.
fn skipped(ran: &Ran) -> bool {
    let lacking = ran.code == Some(3) && ran.stderr.contains("no other works on this machine");
    if lacking {
        skip(&ran.stderr);
    }
    lacking
}

/// The column of a CSV.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let position = lines.next().unwrap().split(',').position(|head| head == name).unwrap();
    lines.map(|line| line.split(',').nth(position).unwrap().to_owned()).collect()
}

#[test]
fn real_stacks_carry_a_study_and_a_second_run_executes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("emulated.yaml", EMULATED.as_bytes());
    let ran = sandbox.study(&["run", "emulated.yaml", "--json"]);
    if skipped(&ran) {
        return;
    }
    // Other work on this machine may taint the trials, which fails a check; the results are there all the same.
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let sessions = sandbox.ok(&["show", "emulated.yaml", "experience.sessions", "--format", "csv"]).stdout;
    assert_eq!(column(&sessions, "completed"), vec!["true"; 6], "{sessions}");
    assert_eq!(column(&sessions, "resumption"), vec!["resumed"; 6], "{sessions}");
    let segments = sandbox.ok(&["show", "emulated.yaml", "experience.segments", "--format", "csv"]).stdout;
    assert_eq!(column(&segments, "ttlb_us").len(), 18);
    assert!(column(&segments, "ttlb_us").iter().all(|t| t.parse::<u64>().unwrap() > 20_000), "{segments}");
    let again = sandbox.study(&["run", "emulated.yaml", "--json"]).json();
    assert_eq!((&again["executed"], &again["failed"]), (&0.into(), &0.into()), "{again}");
    let sampled = again["nodes"].as_array().unwrap().iter().find(|n| n["id"] == "experience").unwrap();
    assert_eq!(sampled["determinism"], "sampled");
    let why = sandbox.ok(&["why", "emulated.yaml", "experience", "--json"]).stdout;
    assert!(why.contains("\"environment\"") && why.contains("linux "), "{why}");
}

/// A node of a report.
fn node<'a>(report: &'a serde_json::Value, id: &str) -> &'a serde_json::Value {
    report["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap()
}

/// The rows of a frame of the emulated stage that are of the first runs.
fn rows_of_runs(sandbox: &Sandbox, frame: &str, runs: u64) -> Vec<String> {
    let csv = sandbox.ok(&["show", "emulated.yaml", &format!("experience.{frame}"), "--format", "csv"]).stdout;
    let numbers = column(&csv, "run");
    let rows = csv.lines().skip(1).zip(numbers);
    rows.filter(|(_, run)| run.parse::<u64>().unwrap() < runs).map(|(row, _)| row.to_owned()).collect()
}

#[test]
fn more_runs_are_appended_to_those_on_record_and_fewer_are_the_first_of_them() {
    let sandbox = Sandbox::new();
    let write = |runs: u64| {
        let study = EMULATED.replace("runs: 1", &format!("runs: {runs}")).replace("clients: 3", "clients: 1");
        sandbox.write("emulated.yaml", study.as_bytes());
    };
    let run = || sandbox.study(&["run", "emulated.yaml", "--until", "experience", "--json"]);
    write(2);
    let first = run();
    if skipped(&first) {
        return;
    }
    let first = first.json();
    let counted = |on_record: u64, asked: u64, ran: u64| serde_json::json!({ "asked": asked, "on_record": on_record, "ran": ran });
    assert_eq!(node(&first, "experience")["repetitions"], counted(0, 2, 2));
    let of_two = ["sessions", "segments", "timing"].map(|frame| rows_of_runs(&sandbox, frame, 2));

    write(3);
    // Viewers of the third run are new, and with them the frame that all runs read.
    sandbox.study(&["run", "emulated.yaml", "--until", "routing"]);
    for command in ["plan", "why"] {
        let mut words = vec![command, "emulated.yaml"];
        words.extend((command == "why").then_some("experience"));
        let told = sandbox.ok(&words).stdout;
        assert!(told.contains("2 of 3 repetitions on record; 1 to run"), "{told}");
        assert!(told.contains("`runs`: 2 -> 3"), "{told}");
    }
    let second = run();
    assert!(second.stderr.contains("2 of 3 repetitions on record; 1 to run"), "{}", second.stderr);
    let second = second.json();
    assert_eq!(node(&second, "experience")["repetitions"], counted(2, 3, 1));
    let kept = ["sessions", "segments", "timing"].map(|frame| rows_of_runs(&sandbox, frame, 2));
    assert_eq!(kept, of_two, "what was measured stays as it was");
    let of_three = rows_of_runs(&sandbox, "sessions", 3);
    assert_eq!(of_three.len(), 6);

    write(1);
    let third = run().json();
    assert_eq!(node(&third, "experience")["repetitions"], counted(1, 1, 0));
    assert_eq!(node(&third, "experience")["state"], "cached");
    assert_eq!(rows_of_runs(&sandbox, "sessions", 3), of_three[..2]);
}

#[test]
fn a_stage_that_was_killed_goes_on_after_the_last_block_that_was_over() {
    let sandbox = Sandbox::new();
    let study = EMULATED.replace("runs: 1", "runs: 4").replace("clients: 3", "clients: 1");
    sandbox.write("emulated.yaml", study.replace("retries: 0", "retries: 0, at_once: 1").as_bytes());
    let until = |command| [command, "emulated.yaml", "--until", "experience"];
    let on_record = || {
        let plan = sandbox.ok(&[&until("plan")[..], &["--json"]].concat()).json();
        node(&plan, "experience")["repetitions"]["on_record"].as_u64().unwrap_or(0)
    };
    let mut child = sandbox.command(&until("run")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while on_record() == 0 {
        if child.try_wait().unwrap().is_some() {
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert!(skipped(&ran), "it ended without a block: {}", ran.stderr);
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = on_record();
    assert!((1..4).contains(&kept), "{kept} of 4 blocks were over");
    let ran = sandbox.study(&[&until("run")[..], &["--json"]].concat());
    let told = format!("({kept} of 4 repetitions on record; {} to run)", 4 - kept);
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let counted = serde_json::json!({ "asked": 4, "on_record": kept, "ran": 4 - kept });
    assert_eq!(node(&ran.json(), "experience")["repetitions"], counted);
    assert_eq!(rows_of_runs(&sandbox, "sessions", 4).len(), 8);
    sandbox.ok(&["cache", "verify"]);
}

#[test]
fn every_check_of_a_trial_is_on_record_and_nothing_but_timing_fails() {
    let sandbox = Sandbox::new();
    sandbox.write("emulated.yaml", EMULATED.as_bytes());
    let ran = sandbox.study(&["run", "emulated.yaml", "--until", "experience"]);
    if skipped(&ran) {
        return;
    }
    let checks = sandbox.ok(&["show", "emulated.yaml", "experience.checks", "--format", "json"]).stdout;
    let checks: serde_json::Value = serde_json::from_str(&checks).unwrap();
    let rows = checks["rows"].as_array().or(checks.as_array()).unwrap();
    let known: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["check"].as_str().unwrap()).collect();
    for check in ["E1", "E4", "E14", "H1", "H3", "H5", "H6", "H8", "H11", "H12", "H16", "H22"] {
        assert!(known.contains(check), "{check} is missing: {known:?}");
    }
    // Other work on this machine may be late, and lose datagrams.
    let excused = ["E2", "E16", "E17", "H13"];
    for row in rows.iter().filter(|row| row["status"] == "fail") {
        assert!(excused.contains(&row["check"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn a_plain_user_emulates_without_privileges() {
    let stage = Stage::new();
    stage.sandbox.write("emulated.yaml", EMULATED.as_bytes());
    let ran = stage.study(&["run", "emulated.yaml", "--until", "experience"]);
    if skipped(&ran) {
        return;
    }
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let timing = stage.study(&["show", "emulated.yaml", "experience.timing", "--format", "csv"]).stdout;
    let backends = column(&timing, "backend");
    assert!(backends.iter().all(|backend| backend.starts_with("userns-")) && !backends.is_empty(), "{timing}");
}

#[test]
fn what_no_stack_or_machine_can_do_is_said_with_exit_code_3() {
    let sandbox = Sandbox::new();
    for (change, said) in [
        ("experience.scheduler=sequential", "scheduler"),
        ("experience.transport.pacing=true", "pacing"),
        ("links.last_mile.rate=2 Gbit/s", "`client-0` asks for 2 Gbit/s"),
    ] {
        sandbox.write("emulated.yaml", EMULATED.as_bytes());
        let ran = sandbox.study(&["run", "emulated.yaml", "--until", "experience", "--set", change]);
        assert_eq!(ran.code, Some(3), "{change}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{change}: {}", ran.stderr);
    }
}

#[test]
fn a_ladder_of_mechanisms_needs_the_model() {
    let sandbox = Sandbox::new();
    let stage = "  why: { like: experience, kind: explain }\n";
    sandbox.write("emulated.yaml", format!("{EMULATED}{stage}").as_bytes());
    let ran = sandbox.study(&["check", "emulated.yaml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("modeled"), "{}", ran.stderr);
}

#[test]
fn the_smoke_study_of_emulation_is_shipped() {
    let study = repository().join("studies/emulated_smoke.yaml");
    let sandbox = Sandbox::new();
    let ran = sandbox.study(&["run", study.to_str().unwrap(), "--json"]);
    if skipped(&ran) {
        return;
    }
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let report = sandbox.read("results/emulated_smoke/report.md");
    let (validity, result) = (report.find("## Validity").unwrap(), report.find("## Results"));
    assert!(result.is_none_or(|at| validity < at), "the validity record stands before any result");
}
