//! `study import`: what comes in, what goes to which stream, and that a study takes it as it is printed.

use crate::sandbox::{Ran, SMALL, Sandbox, repository};
use std::io::Write;
use std::process::Stdio;

const MOBILE: &str =
    "tc qdisc add dev eth0 root netem delay 100ms 20ms distribution normal loss gemodel 5% 20% 80% 5% rate 2mbit";

/// The study of the sandbox with printed links before its own, the first of them as the last mile.
fn study_with(links: &str, name: &str) -> String {
    let inner = links.strip_prefix("links:\n").unwrap();
    let study = SMALL.replace("links:\n", &format!("links:\n{inner}"));
    study.replace("client_link: last_mile", &format!("client_link: {name}"))
}

#[test]
fn a_study_takes_what_is_printed_as_it_is() {
    let sandbox = Sandbox::new();
    let ran = sandbox.ok(&["import", "netem", MOBILE, "--name", "mobile"]);
    for said in [
        "long-run loss 20 %",
        "the bad state holds 5 packets",
        "adds 100 ms to each round trip, once",
        "`tc qdisc add dev eth0",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    sandbox.write("s.yaml", study_with(&ran.stdout, "mobile").as_bytes());
    let checked = sandbox.ok(&["check", "s.yaml"]);
    assert!(checked.stderr.contains("ok: s.yaml"), "{checked:?}");
    // And it acts: a fifth of what comes down the last mile is lost.
    let ran = sandbox.study(&["run", "s.yaml", "--until", "experience"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let csv = sandbox.ok(&["show", "s.yaml", "experience.links", "--format", "csv"]).stdout;
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let down: Vec<Vec<&str>> =
        lines.map(|l| l.split(',').collect::<Vec<_>>()).filter(|row| row.contains(&"down")).collect();
    let sum = |name: &str| down.iter().map(|row| row[column(name)].parse::<f64>().unwrap()).sum::<f64>();
    let share = sum("lost_random") / sum("packets");
    assert!((share - 0.2).abs() < 0.03, "{share}");
}

#[test]
fn every_preset_is_listed_with_its_source_and_taken_by_a_study() {
    let sandbox = Sandbox::new();
    let listed = sandbox.ok(&["import", "preset", "--json"]).json();
    let names: Vec<&str> = listed["presets"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    let text = sandbox.ok(&["import", "preset"]).stdout;
    let mut all = "links:\n".to_owned();
    for name in &names {
        assert!(text.lines().any(|line| line.trim() == *name), "{name}");
        if !name.ends_with("_as_run") && !["harsh_asia", "asia_deployment"].contains(name) {
            all += sandbox.ok(&["import", "preset", name]).stdout.strip_prefix("links:\n").unwrap();
        }
    }
    assert!(names.len() > 40 && text.contains("BSD-3-Clause"), "{text}");
    sandbox.write("all.yaml", study_with(&all, "webpagetest_cable").as_bytes());
    sandbox.ok(&["check", "all.yaml"]);
    for name in ["harsh_asia", "harsh_asia_as_run", "asia_deployment", "asia_deployment_as_run"] {
        let printed = sandbox.ok(&["import", "preset", name]).stdout;
        sandbox.write("topology.yaml", study_with(&printed, "singapore_client").as_bytes());
        sandbox.ok(&["check", "topology.yaml"]);
        let path = repository().join("netem/profiles").join(format!("{name}.yaml"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), printed, "write it anew: study import preset {name}");
    }
    let unknown = sandbox.study(&["import", "preset", "devtols_3g"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("devtools_3g") && unknown.stdout.is_empty(), "{unknown:?}");
}

#[test]
fn figures_are_there_for_programs() {
    let sandbox = Sandbox::new();
    let document = sandbox.ok(&["import", "netem", "--json", "--direction", "both", MOBILE]).json();
    assert_eq!(document["schema_version"], 1);
    let figures = &document["links"][0]["figures"]["down"];
    assert!((figures["loss"].as_f64().unwrap() - 0.2).abs() < 1e-9);
    assert_eq!(figures["rate_bit_s"], 2_000_000);
    assert!((figures["rtt_mean_ms"].as_f64().unwrap() - 200.0).abs() < 0.05, "both directions");
    assert_eq!(document["links"][0]["definition"]["symmetric"], "true");
}

#[test]
fn scripts_come_from_files_and_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("apply.sh", format!("#!/bin/sh\nset -e\n# mobile, 5 % loss\nsudo {MOBILE}\n").as_bytes());
    let from_file = sandbox.ok(&["import", "netem", "apply.sh"]);
    assert!(
        from_file.stderr.contains("warning[import-stated-loss]") && from_file.stderr.contains("apply.sh:3:1"),
        "{from_file:?}"
    );
    assert!(from_file.stderr.contains("warning[import-ignored]"), "{from_file:?}");
    assert_eq!(sandbox.study(&["import", "netem", "--strict", "apply.sh"]).code, Some(1));
    let mut child = sandbox
        .command(&["import", "netem", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(MOBILE.as_bytes()).unwrap();
    let piped = Ran::from(child.wait_with_output().unwrap());
    let words: Vec<&str> = ["import", "netem"].into_iter().chain(MOBILE.split(' ')).collect();
    let as_words = sandbox.ok(&words);
    assert_eq!((piped.code, &piped.stdout), (Some(0), &as_words.stdout));
    assert!(as_words.stderr.is_empty(), "{as_words:?}");
    assert_eq!(sandbox.names(), ["apply.sh"], "nothing is written");
}

#[test]
fn what_cannot_be_imported_is_refused_with_place_and_cure() {
    let sandbox = Sandbox::new();
    for (input, said) in [
        ("tc qdisc add dev lo root netem delay 50ms 10ms loss 0.1%", &["error[import-loopback]", "veth", ":1:18"][..]),
        ("tc qdisc add dev eth0 root netem delay $D", &["error[import-variable]", "`$D`", ":1:40", "write the value"]),
        ("tc qdisc add dev eth0 root netem delay 10parsec", &["error[import-value]", "`10parsec`", "`100ms`"]),
        ("tc qdisc add dev eth0 root netem duplicate 1%", &["error[import-unsupported]", "come twice"]),
        ("tc qdisc show dev eth0", &["error[import-empty]", "tc qdisc add"]),
        ("tc qdisc add dev eth0 root netem delay 99999999999999999999999s", &["error[import-value]", "out of range"]),
        ("", &["error[import-empty]"]),
        ("missing.sh", &["`missing.sh` does not exist", "standard input"]),
        (".", &["is a folder"]),
    ] {
        let ran = sandbox.study(&["import", "netem", input]);
        assert_eq!(ran.code, Some(2), "{input}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{input}: {ran:?}");
        for said in said {
            assert!(ran.stderr.contains(said), "{input}: `{said}` is not in {}", ran.stderr);
        }
    }
    sandbox.write("noise.sh", &[0xff, 0xfe, 0, 1]);
    let noise = sandbox.study(&["import", "netem", "noise.sh"]);
    assert!(noise.code == Some(2) && noise.stderr.contains("not UTF-8"), "{noise:?}");
    sandbox.write("long.sh", &vec![b'x'; 3 << 20]);
    let long = sandbox.study(&["import", "netem", "long.sh"]);
    assert!(long.code == Some(2) && long.stderr.contains("too long"), "{long:?}");
    assert_eq!(sandbox.study(&["import", "netem", "--name", "a b", MOBILE]).code, Some(2));
    let json = sandbox.study(&["import", "netem", "--json", "netem delay x"]);
    assert_eq!((json.code, json.json()["diagnostics"][0]["column"].as_u64()), (Some(2), Some(13)));
}
