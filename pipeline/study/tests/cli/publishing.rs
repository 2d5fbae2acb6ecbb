//! `results/<study>/`.

use crate::sandbox::{Sandbox, names};
use std::time::SystemTime;

#[test]
fn everything_that_is_promised_is_published() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let results = sandbox.path().join("results/small");
    for name in ["report.md", "report.html", "data-dictionary.csv", "run.json"] {
        assert!(results.join(name).is_file(), "{name}");
    }
    let tables = names(&results.join("tables"));
    for frame in
        ["experience.segments", "transport.scheduler-sequential.sessions", "bootstrap.comparison", "report.claims"]
    {
        for ending in ["csv", "parquet"] {
            assert!(tables.contains(&format!("{frame}.{ending}")), "{frame}.{ending} in {tables:?}");
        }
    }
    let figures = names(&results.join("figures"));
    for ending in ["svg", "png", "csv"] {
        let count = figures.iter().filter(|name| name.ends_with(ending)).count();
        assert!(count >= 4, "{ending}: {figures:?}");
    }
    let header =
        |frame: &str| sandbox.read(&format!("results/small/tables/{frame}.csv")).lines().next().unwrap().to_owned();
    assert!(header("experience.segments").starts_with("study,node,run,arm,"), "{}", header("experience.segments"));
    assert!(header("transport.scheduler-sequential.segments").starts_with("study,node,scheduler,run,"));
    let dictionary = sandbox.read("results/small/data-dictionary.csv");
    assert!(dictionary.contains("\nsegments,ttlb_us,int,us,"), "{dictionary}");
    assert!(!names(&results).iter().any(|name| name.ends_with(".study-part")));
    let run = serde_json::from_str::<serde_json::Value>(&sandbox.read("results/small/run.json")).unwrap();
    assert!(run["rates"]["packets_per_s"].as_f64().unwrap() > 0.0, "{run}");
    assert!(run["rates"]["events_per_s"].as_f64().unwrap() > 0.0, "{run}");
}

/// Paths and times of change of all files below a folder.
fn times(sandbox: &Sandbox) -> Vec<(String, SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path().join("results")];
    while let Some(folder) = folders.pop() {
        for name in names(&folder) {
            let path = folder.join(name);
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.to_string_lossy().into_owned(), path.metadata().unwrap().modified().unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_unchanged_rerun_writes_nothing() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let before = times(&sandbox);
    sandbox.ok(&["run", "small.yaml"]);
    assert_eq!(times(&sandbox), before);
    assert!(before.len() > 30);
}

#[test]
fn files_of_the_user_are_kept_and_edited_ones_set_aside() {
    let sandbox = Sandbox::small();
    std::fs::create_dir_all(sandbox.path().join("results/small/tables")).unwrap();
    sandbox.write("results/small/notes.txt", b"mine");
    sandbox.write("results/small/report.html", b"mine too");
    sandbox.ok(&["run", "small.yaml"]);
    sandbox.write("results/small/report.md", b"with my remarks");
    let ran = sandbox.ok(&["run", "small.yaml", "--set", "bootstrap.resamples=150"]);
    assert!(ran.stderr.contains("kept as `report.md.edited-1`"), "{ran:?}");
    assert_eq!(sandbox.read("results/small/notes.txt"), "mine");
    assert_eq!(sandbox.read("results/small/report.html.edited-1"), "mine too");
    assert_eq!(sandbox.read("results/small/report.md.edited-1"), "with my remarks");
    assert!(sandbox.read("results/small/report.md").contains("150"));
}

#[test]
fn what_a_study_no_longer_makes_is_removed_unless_somebody_changed_it() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let gone = |ending: &str| format!("results/small/tables/transport.scheduler-sequential.links.{ending}");
    sandbox.write(&gone("csv"), b"changed");
    let one = crate::sandbox::SMALL.replace("[round_robin, sequential]", "[round_robin]");
    sandbox.write("small.yaml", one.as_bytes());
    sandbox.ok(&["run", "small.yaml"]);
    assert!(!sandbox.path().join(gone("parquet")).exists());
    assert_eq!(sandbox.read(&gone("csv")), "changed");
}

#[test]
fn a_deleted_file_comes_back_without_executing_anything() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let before = sandbox.read("results/small/tables/bootstrap.summary.csv");
    std::fs::remove_file(sandbox.path().join("results/small/tables/bootstrap.summary.csv")).unwrap();
    let ran = sandbox.ok(&["run", "small.yaml"]);
    assert!(ran.stderr.contains("executed: 0,"), "{ran:?}");
    assert_eq!(sandbox.read("results/small/tables/bootstrap.summary.csv"), before);
}

#[test]
fn a_variant_has_its_own_results() {
    let sandbox = Sandbox::small();
    let ran = sandbox.ok(&["run", "small.yaml", "--variant", "ci", "--json"]);
    assert_eq!((&ran.json()["variant"], &ran.json()["results_dir"]), (&"ci".into(), &"results/small.ci".into()));
    assert_eq!(names(&sandbox.path().join("results")), ["small.ci"]);
}

#[test]
fn results_and_store_go_where_they_are_sent() {
    let sandbox = Sandbox::small();
    let mut command = sandbox.command(&["run", "small.yaml", "--out", "elsewhere"]);
    assert!(command.env("STUDY_STORE", "kept").output().unwrap().status.success());
    assert_eq!(sandbox.names(), ["elsewhere", "kept", "small.yaml"]);
}

#[test]
fn a_place_that_cannot_be_written_to_loses_nothing() {
    let sandbox = Sandbox::small();
    sandbox.write("results", b"a file where the folder would be");
    let ran = sandbox.study(&["run", "small.yaml"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("help: publish to a folder that you may write to"), "{ran:?}");
    let elsewhere = sandbox.ok(&["run", "small.yaml", "--out", "elsewhere"]);
    assert!(elsewhere.stderr.contains("executed: 0,"), "{elsewhere:?}");
}
