//! What goes where: data to stdout, the rest to stderr, colours and bars only for terminals.

use crate::sandbox::{SMALL, Sandbox};

#[test]
fn off_a_terminal_there_is_one_line_per_node_and_no_escape_sequence() {
    let sandbox = Sandbox::small();
    let ran = sandbox.ok(&["run", "small.yaml"]);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\r'), "{ran:?}");
    assert_eq!(ran.stderr.matches("] executed  ").count(), 8, "{ran:?}");
    assert!(ran.stderr.lines().any(|line| line.starts_with("[8/8] executed  report  ")), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.lines().count() < 30, "{ran:?}");
}

#[test]
fn quiet_says_nothing_and_json_is_one_document() {
    let sandbox = Sandbox::small();
    let quiet = sandbox.ok(&["run", "small.yaml", "-q"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let json = sandbox.ok(&["run", "small.yaml", "--json"]);
    let document = json.json();
    assert_eq!((&document["schema_version"], &document["study"]), (&1.into(), &"small".into()));
    assert_eq!(document["results_dir"], "results/small");
    for count in ["executed", "cached", "failed"] {
        assert!(document[count].is_u64(), "{count}");
    }
    for node in document["nodes"].as_array().unwrap() {
        for key in ["id", "kind", "key", "state", "reasons", "determinism", "seconds"] {
            assert!(node.get(key).is_some(), "{key} in {node}");
        }
    }
}

#[test]
fn colour_follows_the_flag_and_no_color_takes_colour_only() {
    let sandbox = Sandbox::new();
    sandbox.write("x.yaml", SMALL.replace("zipf: 0.8", "zopf: 0.8").as_bytes());
    let plain = sandbox.study(&["check", "x.yaml"]);
    assert!(!plain.stderr.contains('\u{1b}'));
    let always = sandbox.study(&["check", "x.yaml", "--color", "always"]);
    assert!(always.stderr.contains("\u{1b}[31m"), "{always:?}");
    let without = |text: &str| {
        let parts: Vec<&str> = text.split('\u{1b}').collect();
        let rest: String = parts[1..].iter().map(|part| part.split_once('m').unwrap().1).collect();
        format!("{}{rest}", parts[0])
    };
    assert_eq!(without(&always.stderr), plain.stderr, "nothing but colour differs");
}

/// `script` of util-linux gives a program a terminal.
#[cfg(target_os = "linux")]
mod on_a_terminal {
    use crate::sandbox::{SMALL, Sandbox};
    use std::process::Command;

    fn on_terminal(sandbox: &Sandbox, arguments: &str, environment: &[(&str, &str)]) -> String {
        let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_study"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(sandbox.path()).env("TERM", "xterm");
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "STUDY_STORE", "CI"] {
            command.env_remove(name);
        }
        let output = command.envs(environment.iter().copied()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn bars_are_shown_and_no_color_leaves_them() {
        let sandbox = Sandbox::small();
        let coloured = on_terminal(&sandbox, "run small.yaml", &[]);
        assert!(coloured.contains("/8 nodes") && coloured.contains("\u{1b}[36m"), "{coloured:?}");
        let plain = on_terminal(&sandbox, "run small.yaml --from catalog", &[("NO_COLOR", "1")]);
        assert!(plain.contains("/8 nodes"), "{plain:?}");
        assert!(plain.contains("left"), "the second time there is an estimate: {plain:?}");
        assert!(!plain.contains("\u{1b}[36m") && !plain.contains("\u{1b}[32m"), "{plain:?}");
    }

    #[test]
    fn on_a_pretended_terminal_of_continuous_integration_there_are_lines() {
        let sandbox = Sandbox::small();
        let shown = on_terminal(&sandbox, "run small.yaml --until routing", &[("CI", "true")]);
        assert!(shown.contains("executed\u{1b}[0m  routing") && !shown.contains("\u{1b}[2K"), "{shown:?}");
    }

    #[test]
    fn problems_are_drawn() {
        let sandbox = Sandbox::new();
        sandbox.write("x.yaml", SMALL.replace("zipf: 0.8", "zopf: 0.8").as_bytes());
        let shown = on_terminal(&sandbox, "check x.yaml", &[("NO_COLOR", "1")]);
        assert!(shown.contains("error[unknown-") && shown.contains("x.yaml:12:") && shown.contains('─'), "{shown:?}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
