//! What runs again, and what does not.

use crate::sandbox::{NODES, SMALL, Sandbox};

#[test]
fn a_second_run_executes_nothing_and_says_so() {
    let sandbox = Sandbox::small();
    let first = sandbox.ok(&["run", "small.yaml"]);
    assert!(first.stderr.contains(&format!("executed: {NODES}, cached: 0, failed: 0")), "{first:?}");
    let second = sandbox.ok(&["run", "small.yaml"]);
    assert!(second.stderr.ends_with(&format!("executed: 0, cached: {NODES}, failed: 0\n")), "{second:?}");
    assert_eq!(first.stdout, second.stdout, "the answer is the same");
    assert!(!first.stdout.is_empty());
}

#[test]
fn another_number_of_resamples_executes_the_bootstrap_and_the_report_only() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let planned = sandbox.ok(&["plan", "small.yaml", "--json", "--set", "bootstrap.resamples=150"]);
    assert_eq!(planned.nodes_that_are("execute"), ["bootstrap", "report"]);
    let ran = sandbox.ok(&["run", "small.yaml", "--json", "--set", "bootstrap.resamples=150"]);
    assert_eq!(ran.nodes_that_are("executed"), ["bootstrap", "report"]);
    assert_eq!(ran.json()["executed"], 2);
    let reasons =
        &ran.json()["nodes"].as_array().unwrap().iter().find(|n| n["id"] == "bootstrap").unwrap()["reasons"].clone();
    let expected = serde_json::json!([{ "code": "param", "field": "params.resamples", "old": "100", "new": "150" }]);
    assert_eq!(*reasons, expected);
}

#[test]
fn comments_order_of_keys_names_of_links_and_the_folder_change_nothing() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let renamed = SMALL.replace("last_mile", "access").replace("seed: 11\nruns: 3\n", "runs: 3 # three\nseed: 11\n");
    std::fs::create_dir(sandbox.path().join("sub")).unwrap();
    sandbox.write("sub/other.yaml", renamed.as_bytes());
    let ran = sandbox.ok(&["run", "sub/other.yaml", "--json"]);
    assert_eq!(ran.json()["executed"], 0, "{ran:?}");
}

#[test]
fn a_new_cell_executes_itself_and_what_depends_on_it() {
    let sandbox = Sandbox::small();
    sandbox.write("one.yaml", SMALL.replace("[round_robin, sequential]", "[round_robin]").as_bytes());
    sandbox.ok(&["run", "one.yaml"]);
    let ran = sandbox.ok(&["run", "small.yaml", "--json"]);
    assert_eq!(ran.nodes_that_are("executed"), ["transport[scheduler=sequential]", "aggregate", "bootstrap", "report"]);
}

#[test]
fn a_link_that_is_lossier_executes_what_uses_it() {
    let sandbox = Sandbox::small();
    sandbox.ok(&["run", "small.yaml"]);
    let ran = sandbox.ok(&["plan", "small.yaml", "--json", "--set", "links.last_mile.loss.bernoulli.rate=2 %"]);
    assert_eq!(ran.nodes_that_are("cached"), ["catalog"]);
    assert!(ran.nodes_that_are("execute").contains(&"routing".to_owned()));
}

#[test]
fn force_from_only_and_until_choose_nodes() {
    let sandbox = Sandbox::small();
    let refused = sandbox.study(&["run", "small.yaml", "--only", "aggregate"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(sandbox.names(), ["small.yaml"], "a refused run writes nothing");

    let until = sandbox.ok(&["run", "small.yaml", "--until", "routing", "--json"]);
    assert_eq!(until.nodes_that_are("executed"), ["catalog", "routing"]);
    assert!(!sandbox.path().join("results").exists(), "an incomplete study is not published");

    sandbox.ok(&["run", "small.yaml"]);
    let forced = sandbox.ok(&["run", "small.yaml", "--force", "aggregate", "--json"]);
    assert_eq!(forced.nodes_that_are("executed"), ["aggregate"], "equal results stop there");
    let from = sandbox.ok(&["run", "small.yaml", "--from", "aggregate", "--json"]);
    assert_eq!(from.nodes_that_are("executed"), ["aggregate", "bootstrap", "report"]);
    let only = sandbox.ok(&["run", "small.yaml", "--only", "bootstrap", "--set", "bootstrap.resamples=120", "--json"]);
    assert_eq!(only.nodes_that_are("executed"), ["bootstrap"]);

    let unknown = sandbox.study(&["run", "small.yaml", "--only", "bootstrp"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("did you mean `bootstrap`?"), "{unknown:?}");
}

#[test]
fn a_plan_works_without_a_store_and_changes_nothing() {
    let sandbox = Sandbox::small();
    let planned = sandbox.ok(&["plan", "small.yaml", "--json"]);
    assert_eq!(planned.nodes_that_are("execute").len() as u64, NODES);
    let report = planned.json()["nodes"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((report["key"].is_null(), &report["certain"]), (true, &serde_json::json!(false)));
    let dry = sandbox.ok(&["run", "--dry-run", "small.yaml"]);
    assert!(dry.stdout.contains("8 to execute, 0 cached"), "{dry:?}");
    assert_eq!(sandbox.names(), ["small.yaml"]);
}

#[test]
fn a_corrupt_object_is_made_anew_without_a_flag() {
    let sandbox = Sandbox::small();
    let first = sandbox.ok(&["run", "small.yaml", "--json"]);
    let objects = sandbox.path().join(".study/objects");
    let mut spoiled = 0;
    for shard in crate::sandbox::names(&objects) {
        for name in crate::sandbox::names(&objects.join(&shard)) {
            let path = objects.join(&shard).join(name);
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            // Objects are read-only: replaced, not written to.
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, bytes).unwrap();
            spoiled += 1;
        }
    }
    assert!(spoiled > 10);
    assert_eq!(sandbox.study(&["cache", "verify"]).code, Some(5));
    std::fs::remove_dir_all(sandbox.path().join("results")).unwrap();
    let again = sandbox.ok(&["run", "small.yaml", "--json"]);
    sandbox.ok(&["cache", "gc"]);
    sandbox.ok(&["cache", "verify"]);
    let last = sandbox.ok(&["run", "small.yaml", "--json"]);
    assert_eq!((last.digests(), last.json()["executed"].clone()), (first.digests(), serde_json::json!(0)), "{again:?}");
}
