//! Which crate may import which, and who may name which foreign crate.
//!
//! Folders are floors: `pipeline -> stages -> { reports, netem } -> cache-store`, and no import runs back up. Crates that do
//! not exist yet stand in the tables too, so that they start at their place.

use crate::{Outcome, command, workspace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Crate and what it may import, without the prefix `study-`.
const ARROWS: &str = "
    study      -> engine kinds spec store remote frames report shaper stacks bundle import trial stage table
    engine     -> spec stage store table
    bundle     -> store table frames report stage stats
    kinds      -> stage sim trial cdn link transport import frames report stats table
    trial      -> stacks shaper cdn link transport stage stats
    frames     -> table
    spec       -> stage
    report     -> stats table
    remote     -> store
    sim        -> transport link cdn
    import     -> link cdn
    stacks     -> cdn transport
    second-opinion -> transport link
    stage      -> table
    shaper     -> link
    store      ->
    transport  ->
    link       ->
    cdn        ->
    stats      ->
    table      ->
    tree       -> units
    units      ->
    ident      ->
    evidence   ->
    xtask      ->
";

/// These may be imported from anywhere but from each other (except as the table says).
const EVERYWHERE: [&str; 3] = ["units", "ident", "tree"];
const NOTHING_OF_OURS: [&str; 5] = ["units", "ident", "tree", "evidence", "xtask"];

/// These may be imported from anywhere, by tests only.
const FOR_TESTS: [&str; 1] = ["evidence"];

/// The folder of each crate.
const FOLDERS: &str = "
    pipeline    : study engine spec bundle xtask
    stages      : kinds stage sim trial transport cdn stacks import second-opinion
    netem       : units link shaper
    reports     : frames stats report
    cache-store : ident tree table store remote evidence
";

/// Foreign crates (by prefix) and the crates that may name them. What is not here is free.
const FENCES: &str = "
    polars        : frames
    arrow         : frames
    parquet       : frames
    serde-saphyr  : spec
    kuva          : report
    miette        : study
    clap          : study
    indicatif     : study
    signal-hook   : study
    petgraph      : spec engine study
    rayon         : engine kinds frames
    h3            : stacks
    hyper         : stacks
    tokio         : stacks trial shaper remote
    rtnetlink     : shaper
    quinn         : stacks trial second-opinion
    rustls        : stacks trial remote second-opinion
    tempfile      : store study xtask engine
";

/// Crates that must not be in the build at all; `deny.toml` has the reasons.
const BANNED: [&str; 5] = ["serde_yaml", "serde_yml", "aws-lc-rs", "openssl-sys", "reqwest"];

/// Checks arrows, fences, folders and bans of this workspace.
pub fn check() -> Outcome {
    let mut problems = violations(&workspace::metadata()?);
    problems.extend(banned(&resolved()?));
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The dependencies that are built on this machine, as `cargo metadata` resolves them.
fn resolved() -> Result<Value, Vec<String>> {
    let version = command::stdout("rustc", &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let arguments = ["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host];
    let text = command::stdout("cargo", &arguments)?;
    serde_json::from_str(&text).map_err(|e| vec![format!("`cargo metadata` gave no JSON: {e}")])
}

/// Rows `name SEPARATOR word word ...` of a table.
fn rows<'t>(table: &'t str, separator: &str) -> BTreeMap<&'t str, Vec<&'t str>> {
    table
        .lines()
        .filter_map(|line| line.split_once(separator))
        .map(|(name, words)| (name.trim(), words.split_whitespace().collect()))
        .collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("study-").unwrap_or(name)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// What `metadata` (of `cargo metadata --no-deps`) breaks.
fn violations(metadata: &Value) -> Vec<String> {
    let arrows = rows(ARROWS, "->");
    let fences = rows(FENCES, ":");
    let packages = list(metadata, "packages");
    let ours: Vec<&str> = packages.iter().map(|p| text(p, "name")).collect();
    let mut problems = Vec::new();
    for package in packages {
        let from = short(text(package, "name"));
        let Some(allowed) = arrows.get(from) else {
            problems.push(format!("crate `{from}` is not in the table of pipeline/xtask/src/layers.rs"));
            continue;
        };
        problems.extend(misplaced(package, metadata));
        for dependency in list(package, "dependencies") {
            let name = text(dependency, "name");
            let to = short(name);
            if ours.contains(&name) {
                let test = FOR_TESTS.contains(&to) && text(dependency, "kind") == "dev";
                let everywhere = (EVERYWHERE.contains(&to) || test) && !NOTHING_OF_OURS.contains(&from);
                if !everywhere && !allowed.contains(&to) {
                    problems.push(format!(
                        "`{from}` must not import `{to}`: there is no such arrow in pipeline/xtask/src/layers.rs"
                    ));
                }
            } else if let Some((fence, may)) = fences.iter().find(|(prefix, _)| fenced(name, prefix))
                && !may.contains(&from)
            {
                problems.push(format!("`{from}` must not name `{name}`: only {} may name `{fence}`", may.join(", ")));
            }
        }
    }
    problems
}

/// `polars-io` belongs to `polars`, `rayonet` does not belong to `rayon`.
fn fenced(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// A crate in another folder than its own.
fn misplaced(package: &Value, metadata: &Value) -> Option<String> {
    let name = text(package, "name");
    let folders = rows(FOLDERS, ":");
    let floor = folders.iter().find(|(_, crates)| crates.contains(&short(name))).map(|(floor, _)| *floor);
    let manifest = Path::new(text(package, "manifest_path"));
    let expected =
        floor.map(|floor| Path::new(text(metadata, "workspace_root")).join(floor).join(name).join("Cargo.toml"));
    (expected.as_deref() != Some(manifest)).then(|| {
        let wanted = floor.map_or_else(|| "a folder of the table".to_owned(), |floor| format!("`{floor}/{name}`"));
        format!("crate `{name}` must lie in {wanted}, not at `{}`", manifest.display())
    })
}

/// Banned crates among the resolved nodes.
fn banned(metadata: &Value) -> Vec<String> {
    let used: Vec<&str> = list(&metadata["resolve"], "nodes").iter().map(|node| text(node, "id")).collect();
    list(metadata, "packages")
        .iter()
        .filter(|package| used.contains(&text(package, "id")))
        .map(|package| text(package, "name"))
        .filter(|name| BANNED.contains(name))
        .map(|name| {
            format!(
                "`{name}` is in the build; `cargo tree --invert {name}` shows who brings it (deny.toml says why not)"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(folder: &str, name: &str, dependencies: &[&str]) -> Value {
        let dependencies: Vec<Value> = dependencies.iter().map(|d| json!({ "name": d, "kind": null })).collect();
        json!({ "name": name, "id": name, "manifest_path": format!("/r/{folder}/{name}/Cargo.toml"), "dependencies": dependencies })
    }
    fn workspace_of(packages: &[Value]) -> Value {
        json!({ "workspace_root": "/r", "packages": packages })
    }

    #[test]
    fn this_workspace_keeps_its_layers() {
        assert_eq!(violations(&workspace::metadata().unwrap()), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_of_the_table_is_allowed_and_the_way_back_is_not() {
        let spec = |d: &[&str]| package("pipeline", "study-spec", d);
        let stage = |d: &[&str]| package("stages", "study-stage", d);
        let units = package("netem", "study-units", &[]);
        assert!(violations(&workspace_of(&[spec(&["study-stage", "study-units"]), stage(&[]), units])).is_empty());
        let found = violations(&workspace_of(&[spec(&[]), stage(&["study-spec"])]));
        assert_eq!(found, ["`stage` must not import `spec`: there is no such arrow in pipeline/xtask/src/layers.rs"]);
    }

    #[test]
    fn development_dependencies_follow_the_arrows_too() {
        let mut link = package("netem", "study-link", &["study-sim"]);
        link["dependencies"][0]["kind"] = json!("dev");
        let sim = package("stages", "study-sim", &[]);
        assert_eq!(violations(&workspace_of(&[link, sim])).len(), 1);
    }

    #[test]
    fn only_tests_import_what_is_there_for_tests() {
        let mut link = package("netem", "study-link", &["study-evidence"]);
        let evidence = package("cache-store", "study-evidence", &[]);
        assert_eq!(violations(&workspace_of(&[link.clone(), evidence.clone()])).len(), 1);
        link["dependencies"][0]["kind"] = json!("dev");
        assert!(violations(&workspace_of(&[link, evidence])).is_empty());
    }

    #[test]
    fn the_lowest_crates_import_nothing_of_ours() {
        let units = package("netem", "study-units", &["study-ident"]);
        let ident = package("cache-store", "study-ident", &["study-tree"]);
        let tree = package("cache-store", "study-tree", &["study-units"]);
        assert_eq!(violations(&workspace_of(&[units, ident, tree])).len(), 2);
    }

    #[test]
    fn only_the_frame_crate_names_polars() {
        let frames = package("reports", "study-frames", &["polars", "polars-io"]);
        assert!(violations(&workspace_of(std::slice::from_ref(&frames))).is_empty());
        let stats = package("reports", "study-stats", &["polars-core"]);
        let found = violations(&workspace_of(&[frames, stats]));
        assert_eq!(found, ["`stats` must not name `polars-core`: only frames may name `polars`"]);
    }

    #[test]
    fn a_crate_without_a_row_or_in_another_folder_is_refused() {
        let odd = package("pipeline", "study-extras", &[]);
        assert!(violations(&workspace_of(&[odd]))[0].contains("not in the table"));
        let moved = package("pipeline", "study-link", &[]);
        assert!(violations(&workspace_of(&[moved]))[0].contains("`netem/study-link`"));
    }

    #[test]
    fn a_banned_crate_is_found_only_when_it_is_built() {
        let packages = [package("x", "reqwest", &[]), package("x", "serde", &[])];
        let metadata = |nodes: Value| json!({ "packages": packages, "resolve": { "nodes": nodes } });
        assert!(banned(&metadata(json!([{ "id": "serde" }]))).is_empty());
        assert_eq!(banned(&metadata(json!([{ "id": "serde" }, { "id": "reqwest" }]))).len(), 1);
    }

    #[test]
    fn the_bans_are_those_of_deny_toml() {
        let deny = workspace::read("deny.toml").unwrap();
        let named: Vec<&str> =
            deny.lines().filter_map(|line| line.trim().strip_prefix("{ crate = \"")?.split('"').next()).collect();
        assert_eq!(named, BANNED);
    }

    #[test]
    fn every_crate_of_the_table_has_a_folder() {
        let folders = rows(FOLDERS, ":");
        for name in rows(ARROWS, "->").keys() {
            assert_eq!(folders.values().filter(|crates| crates.contains(name)).count(), 1, "{name}");
        }
    }
}
