//! Bad input: exit code 2, the place, a hint, and nothing written.

use crate::sandbox::{Ran, SMALL, Sandbox, repository};
use std::fmt::Write;

/// Runs a study file that must be refused, and checks that nothing was written.
fn refused(bytes: &[u8]) -> Ran {
    let sandbox = Sandbox::new();
    sandbox.write("x.yaml", bytes);
    let ran = sandbox.study(&["run", "x.yaml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(sandbox.names(), ["x.yaml"], "{ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
    ran
}

#[track_caller]
fn says(ran: &Ran, parts: &[&str]) {
    for part in parts {
        assert!(ran.stderr.contains(part), "`{part}` is not in: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_key_is_shown_at_its_place_with_a_suggestion() {
    let ran = refused(SMALL.replace("resamples: 100", "resample: 100").as_bytes());
    let line = SMALL.lines().position(|line| line.contains("resamples")).unwrap() + 1;
    let column = SMALL.lines().nth(line - 1).unwrap().find("resamples").unwrap() + 1;
    says(&ran, &["error[unknown-key]", &format!("x.yaml:{line}:{column}"), "did you mean `resamples`?"]);
}

#[test]
fn all_problems_are_told_at_once() {
    let text = SMALL
        .replace("rtt: 40 ms", "rtt: 40")
        .replace("rate: 1 %", "rate: 101 %")
        .replace("needs: [aggregate]", "needs: [agregate]");
    let ran = refused(text.as_bytes());
    assert!(ran.stderr.matches("error[").count() >= 3, "{ran:?}");
    says(&ran, &["did you mean `aggregate`?", "help:"]);
}

#[test]
fn the_same_problems_are_one_json_document() {
    let sandbox = Sandbox::new();
    sandbox.write("x.yaml", SMALL.replace("zipf: 0.8", "zipf: -1").as_bytes());
    for command in ["run", "plan"] {
        let ran = sandbox.study(&[command, "x.yaml", "--json"]);
        assert_eq!(ran.code, Some(2));
        let document = ran.json();
        assert_eq!(document["schema_version"], 1);
        let diagnostic = &document["diagnostics"][0];
        assert_eq!((&diagnostic["severity"], &diagnostic["file"]), (&"error".into(), &"x.yaml".into()), "{document}");
        assert!(diagnostic["line"].as_u64().unwrap() > 1 && diagnostic["column"].as_u64().unwrap() > 1);
    }
}

#[test]
fn values_out_of_range_and_wrong_units_are_refused() {
    for (good, bad) in [
        ("rate: 10 Mbit/s", "rate: -10 Mbit/s"),
        ("rate: 10 Mbit/s", "rate: 10 ms"),
        ("rate: 1 %", "rate: 120 %"),
        ("needs: [catalog]\n", "needs: [report]\n"),
        ("needs: [aggregate]", "needs: [nobody]"),
        ("  aggregate: {", "  catalog: { kind: aggregate }\n  aggregate: {"),
        ("matrix: { scheduler:", "matrix: { schedular:"),
    ] {
        assert!(SMALL.contains(good), "{good}");
        let ran = refused(SMALL.replacen(good, bad, 1).as_bytes());
        says(&ran, &["error[", "x.yaml:", "help:"]);
    }
}

#[test]
fn files_that_are_no_text_are_refused() {
    says(&refused(b""), &["x.yaml:1:1", "help:"]);
    says(&refused(b"# nothing but a comment\n"), &["x.yaml:", "help:"]);
    says(&refused(b"study: \xff\xfe\n"), &["UTF-8", "x.yaml:1:8", "help:"]);
    says(&refused(b"\x00\x01\x02"), &["x.yaml:1:1"]);
}

#[test]
fn a_folder_and_a_missing_file_are_refused() {
    let sandbox = Sandbox::small();
    std::fs::create_dir(sandbox.path().join("folder.yaml")).unwrap();
    for (name, said) in [("folder.yaml", "is a folder"), ("smal.yaml", "did you mean `small.yaml`?")] {
        let ran = sandbox.study(&["run", name]);
        assert_eq!(ran.code, Some(2));
        says(&ran, &[said, &format!("{name}:1:1"), "help:"]);
    }
    assert_eq!(sandbox.names(), ["folder.yaml", "small.yaml"]);
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut bomb = "study: bomb\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    says(&refused(bomb.as_bytes()), &["error[", "x.yaml:"]);
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    let flow = format!("study: deep\nstages: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    says(&refused(flow.as_bytes()), &["error[", "x.yaml:"]);
    let maps = format!("study: deep\nstages: {}1{}\n", "{a: ".repeat(100_000), "}".repeat(100_000));
    says(&refused(maps.as_bytes()), &["error[", "x.yaml:"]);
}

#[test]
fn a_file_that_a_stage_asks_for_is_missed_at_its_place() {
    let text = SMALL.replace("ladder: go_simulator", "ladder: { file: nothing.json }");
    let ran = refused(text.as_bytes());
    says(&ran, &["x.yaml:", "help:"]);
}

#[test]
fn wrong_options_are_refused() {
    let sandbox = Sandbox::small();
    for arguments in [
        &["run", "small.yaml", "--jobs", "0"] as &[&str],
        &["run", "small.yaml", "--set", "bootstrap.resample=3"],
        &["run", "small.yaml", "--set", "bootstrap.resamples"],
        &["run", "small.yaml", "--set", "bootstrap.resamples=many"],
        &["run", "small.yaml", "--variant", "cj"],
        &["run", "small.yaml", "--keep-going", "--fail-fast"],
        &["run"],
        &["frobnicate"],
        &["cache", "gc", "--older-than", "long"],
        &["run", "small.yaml", "--store", "small.yaml"],
    ] {
        let ran = sandbox.study(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?} {ran:?}");
        assert!(!ran.stderr.is_empty());
    }
    assert_eq!(sandbox.names(), ["small.yaml"]);
}

#[test]
fn every_invalid_sample_is_refused_at_the_place_it_announces() {
    let folder = repository().join("studies/invalid");
    let names = crate::sandbox::names(&folder);
    for name in names.iter().filter(|name| name.ends_with(".yaml")) {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let comments =
            text.lines().map(|line| line.trim_start_matches('\u{feff}')).take_while(|line| line.starts_with('#'));
        let expected: Vec<&str> = comments.filter_map(|line| line.strip_prefix("# expect:")).map(str::trim).collect();
        let sandbox = Sandbox::new();
        let path = folder.join(name);
        // In another folder, so that whatever is written shows.
        let errors = expected.iter().any(|line| !line.starts_with("warning "));
        let command = if errors { "run" } else { "check" };
        let ran = sandbox.study(&[command, path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(if errors { 2 } else { 0 }), "{name}: {ran:?}");
        assert!(sandbox.names().is_empty(), "{name} wrote {:?}", sandbox.names());
        for line in expected {
            let (severity, rest) = line.strip_prefix("warning ").map_or(("error", line), |rest| ("warning", rest));
            let (code, place) = rest.split_once(' ').unwrap();
            says(&ran, &[&format!("{severity}[{code}]"), &format!("{name}:{place}\n")]);
        }
    }
}
