//! The same study gives the same bytes.

use crate::sandbox::Sandbox;

#[test]
fn one_job_two_jobs_and_fresh_stores_give_equal_digests() {
    let sandbox = Sandbox::small();
    let run = |store: &str, jobs: &str| {
        sandbox.ok(&[
            "run",
            "small.yaml",
            "--json",
            "--store",
            store,
            "--out",
            &format!("{store}-results"),
            "--jobs",
            jobs,
        ])
    };
    let (one, two, again) = (run("a", "1"), run("b", "2"), run("c", "2"));
    assert_eq!(one.digests(), two.digests());
    assert_eq!(two.digests(), again.digests());
    assert!(one.digests().len() > 20, "{:?}", one.digests());
    for table in ["tables/bootstrap.comparison.csv", "tables/experience.segments.csv", "report.md", "report.html"] {
        let [a, b] = ["a", "b"].map(|store| sandbox.read(&format!("{store}-results/small/{table}")));
        assert_eq!(a, b, "{table}");
    }
}

#[test]
fn keys_do_not_depend_on_jobs_stores_or_folders() {
    let keys = |sandbox: &Sandbox, jobs: &str| {
        let planned = sandbox.ok(&["plan", "small.yaml", "--json", "--until", "catalog", "--jobs", jobs]);
        planned.json()["nodes"].as_array().unwrap()[0]["key"].clone()
    };
    let (here, there) = (Sandbox::small(), Sandbox::small());
    assert_eq!(keys(&here, "1"), keys(&there, "2"));
    assert!(keys(&here, "1").is_string());
}

#[test]
fn another_seed_gives_other_results() {
    let sandbox = Sandbox::small();
    let first = sandbox.ok(&["run", "small.yaml", "--json"]);
    let other = sandbox.ok(&["run", "small.yaml", "--json", "--seed", "12"]);
    assert_eq!(other.json()["seed"], 12);
    assert_ne!(first.digests()["experience.segments"], other.digests()["experience.segments"]);
    assert_eq!(first.digests()["catalog.rungs"], other.digests()["catalog.rungs"], "the ladder has no randomness");
}
