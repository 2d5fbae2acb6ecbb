//! The commands beside `run` and `plan`.

use crate::sandbox::{SMALL, Sandbox};

#[test]
fn why_shows_the_key_document_and_what_changed() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let why = sandbox.ok(&["why", "small.yaml", "bootstrap", "--set", "bootstrap.resamples=150"]);
    for part in ["bootstrap: execute", "key document:", "\"resamples\": 150", "param `resamples`: 100 -> 150"] {
        assert!(why.stdout.contains(part), "{part} in {why:?}");
    }
    let json = sandbox.ok(&["why", "small.yaml", "bootstrap", "--json"]).json();
    assert_eq!(json["why"]["document"]["params"]["resamples"], 100);
    let unknown = sandbox.study(&["why", "small.yaml", "bootstrapp"]);
    assert_eq!(unknown.code, Some(2));
    let several = sandbox.study(&["why", "small.yaml", "transport"]);
    assert_eq!(several.code, Some(2), "{several:?}");
}

#[test]
fn the_graph_comes_in_four_forms() {
    let sandbox = Sandbox::small();
    let ascii = sandbox.ok(&["graph", "small.yaml"]).stdout;
    assert_eq!(ascii.lines().count(), 8, "{ascii}");
    assert!(ascii.lines().last().unwrap().starts_with("execute   report"), "{ascii}");
    assert!(sandbox.ok(&["graph", "small.yaml", "--format", "dot"]).stdout.starts_with("digraph"));
    assert!(sandbox.ok(&["graph", "small.yaml", "--format", "mermaid"]).stdout.starts_with("flowchart"));
    let svg = sandbox.ok(&["graph", "small.yaml", "--format", "svg"]).stdout;
    assert!(
        svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("transport[scheduler=sequential]"),
        "{svg}"
    );
    assert_eq!(sandbox.names(), ["small.yaml"], "looking changes nothing");
}

#[test]
fn frames_are_shown_in_four_formats() {
    let sandbox = Sandbox::small();
    let early = sandbox.study(&["show", "small.yaml", "bootstrap.summary"]);
    assert_eq!(early.code, Some(2), "{early:?}");
    assert!(early.stderr.contains("study run small.yaml"), "{early:?}");
    sandbox.ok(&["run", "small.yaml"]);
    let listing = sandbox.ok(&["show", "small.yaml", "transport"]).stdout;
    assert_eq!(listing.matches("segments").count(), 2, "both cells are listed: {listing}");
    let table = sandbox.ok(&["show", "small.yaml", "bootstrap.summary"]).stdout;
    assert!(table.contains("ttlb_ms") && table.contains(" rows, "), "{table}");
    let csv = sandbox.ok(&["show", "small.yaml", "transport.segments", "--format", "csv"]).stdout;
    assert!(csv.starts_with("node,scheduler,run,"), "{csv}");
    let json = sandbox.ok(&["show", "small.yaml", "transport[scheduler=sequential].trials", "--format", "json"]).json();
    assert_eq!(json.as_array().unwrap().len(), 6, "three runs, two arms");
    let parquet =
        sandbox.command(&["show", "small.yaml", "bootstrap.summary", "--format", "parquet"]).output().unwrap();
    assert!(parquet.stdout.starts_with(b"PAR1"));
    let report = sandbox.ok(&["show", "small.yaml", "report.report.md"]).stdout;
    assert_eq!(report, sandbox.read("results/small/report.md"));
    let wrong = sandbox.study(&["show", "small.yaml", "bootstrap.sumary"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("did you mean `summary`?"), "{wrong:?}");
}

#[test]
fn the_report_is_rendered_again_from_cached_results() {
    let sandbox = Sandbox::small();
    let early = sandbox.study(&["report", "small.yaml"]);
    assert_eq!(early.code, Some(2), "{early:?}");
    sandbox.ok(&["run", "small.yaml"]);
    std::fs::remove_dir_all(sandbox.path().join("results")).unwrap();
    let ran = sandbox.ok(&["report", "small.yaml"]);
    assert!(ran.stderr.contains("executed: 1, cached: 7, failed: 0"), "{ran:?}");
    assert!(sandbox.read("results/small/report.md").contains("A small study"));
}

#[test]
fn check_takes_several_files_and_writes_nothing() {
    let sandbox = Sandbox::small();
    sandbox.write("bad.yaml", SMALL.replace("zipf: 0.8", "zipf: x").as_bytes());
    let good = sandbox.ok(&["check", "small.yaml"]);
    assert!(good.stderr.contains("ok: small.yaml (8 nodes)"), "{good:?}");
    let both = sandbox.study(&["check", "small.yaml", "bad.yaml", "--json"]);
    assert_eq!(both.code, Some(2));
    let files = both.json()["files"].clone();
    assert_eq!((&files[0]["valid"], &files[1]["valid"]), (&true.into(), &false.into()), "{files}");
    assert_eq!(sandbox.names(), ["bad.yaml", "small.yaml"]);
}

#[test]
fn strict_makes_a_warning_an_exit_code_of_1() {
    let sandbox = Sandbox::new();
    let unused = SMALL.replace("  origin: {", "  unused: { symmetric: true, rtt: 10 ms, rate: 1 Gbit/s }\n  origin: {");
    sandbox.write("x.yaml", unused.as_bytes());
    let lenient = sandbox.ok(&["check", "x.yaml"]);
    assert!(lenient.stderr.contains("warning["), "{lenient:?}");
    assert_eq!(sandbox.study(&["check", "x.yaml", "--strict"]).code, Some(1));
}

#[test]
fn a_claim_that_is_not_reproduced_gives_1_and_in_a_variant_0() {
    let sandbox = Sandbox::new();
    let claims = "\
claims:
  - { id: C1, statement: startup gets ten times faster, of: experience, metric: startup_ms, stat: p50, arms: [h2, h3], expect: { improvement_at_least: 90 % }, tolerance: 1 % }
";
    sandbox.write("x.yaml", format!("{SMALL}{claims}").as_bytes());
    let ran = sandbox.study(&["run", "x.yaml", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["claims"][0]["verdict"], "not_reproduced");
    assert!(sandbox.path().join("results/small/report.md").exists(), "the results exist");
    assert_eq!(sandbox.study(&["run", "x.yaml"]).code, Some(1), "also when everything is cached");
    let variant = sandbox.ok(&["run", "x.yaml", "--variant", "ci", "--json"]);
    assert_eq!(variant.json()["claims"].as_array().unwrap().len(), 1, "{variant:?}");
}

#[test]
fn kinds_and_schema_describe_this_build() {
    let sandbox = Sandbox::new();
    let kinds = sandbox.ok(&["kinds"]).stdout;
    for kind in ["catalog", "routing", "simulate", "aggregate", "bootstrap", "report"] {
        assert!(kinds.lines().any(|line| line.starts_with(&format!("{kind}  "))), "{kind} in {kinds}");
    }
    assert_eq!(sandbox.ok(&["kinds", "--json"]).json()["schema_version"], 1);
    let schema = sandbox.ok(&["schema"]).json();
    assert!(schema["$schema"].is_string() && schema["properties"]["stages"].is_object(), "{schema}");
}

#[test]
fn the_store_can_be_looked_at_checked_and_emptied() {
    let sandbox = Sandbox::small();
    let nothing = sandbox.ok(&["cache", "stats"]);
    assert!(nothing.stderr.contains("no store"), "{nothing:?}");
    assert_eq!(sandbox.names(), ["small.yaml"]);
    sandbox.ok(&["run", "small.yaml"]);
    let stats = sandbox.ok(&["cache", "stats", "--json"]).json();
    assert_eq!(stats["stats"]["records"], 8, "{stats}");
    assert_eq!(sandbox.ok(&["cache", "verify", "--json"]).json()["verify"]["bad"].as_array().unwrap().len(), 0);
    let dry = sandbox.ok(&["cache", "gc", "--dry-run", "--max-size", "0 B"]);
    assert!(dry.stdout.contains("would be removed"), "{dry:?}");
    assert!(sandbox.ok(&["run", "small.yaml"]).stderr.contains("executed: 0,"));
    sandbox.ok(&["cache", "gc", "--max-size", "0 B"]);
    assert_eq!(sandbox.ok(&["cache", "stats", "--json"]).json()["stats"]["objects"], 0);
}

#[test]
fn help_and_version_are_data() {
    let sandbox = Sandbox::new();
    assert!(sandbox.ok(&["--help"]).stdout.contains("Exit codes"));
    assert!(sandbox.ok(&["run", "--help"]).stdout.contains("--fail-fast"));
    assert!(sandbox.ok(&["--version"]).stdout.starts_with("study "));
}
