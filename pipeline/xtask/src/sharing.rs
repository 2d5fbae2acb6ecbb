//! Whether `cargo run` and `cargo test --workspace` share what they build.
//!
//! Cargo builds a crate once per set of features. A development dependency that switches one more feature on, deep below,
//! makes the tests build everything above it a second time; with polars above it, that is minutes for every newcomer.

use crate::{Outcome, command};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of `cargo tree`: package, version, features.
const FORMAT: &str = "{p} [{f}]";

/// Compares the features of all foreign crates that the binary is built from.
pub fn check() -> Outcome {
    let tree = |arguments: &[&str]| {
        let fixed = ["tree", "--offline", "--prefix", "none", "--format", FORMAT];
        command::stdout("cargo", &[&fixed, arguments].concat())
    };
    let run = tree(&["--edges", "normal,build"])?;
    let test = tree(&["--workspace", "--edges", "all"])?;
    let problems = differences(&packages(&run), &packages(&test));
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The sets of features that each foreign package is built with.
fn packages(tree: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines().map(|line| line.trim_end_matches(" (*)")) {
        if let Some((package, features)) = line.rsplit_once(" [") {
            // Our own crates have a path in brackets; they are built again in a moment.
            if !package.contains('(') || package.ends_with("(proc-macro)") {
                found.entry(package.trim_end_matches(" (proc-macro)")).or_default().insert(features);
            }
        }
    }
    found
}

fn differences(run: &BTreeMap<&str, BTreeSet<&str>>, test: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let differing =
        run.iter().filter(|(package, features)| test.get(*package).is_none_or(|others| !features.is_subset(others)));
    differing
        .map(|(package, features)| {
            let shown = |sets: Option<&BTreeSet<&str>>| {
                let sets: Vec<&str> = sets.into_iter().flatten().map(|set| set.trim_end_matches(']')).collect();
                sets.join(" or ")
            };
            format!(
                "`{package}` is built twice: `cargo run` wants [{}], `cargo test --workspace` [{}]; name the missing features in pipeline/study/Cargo.toml",
                shown(Some(features)),
                shown(test.get(package))
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_only_tests_switch_on_is_found() {
        let run = "either v1.19.0 []\nrayon v1.12.0 [default]\nstudy v0.1.0 (/r/pipeline/study) []\n";
        let same = "either v1.19.0 []\nrayon v1.12.0 [default] (*)\ncriterion v0.8.2 [x]\n";
        assert!(differences(&packages(run), &packages(same)).is_empty());
        let other = same.replace("either v1.19.0 []", "either v1.19.0 [use_std]");
        let found = differences(&packages(run), &packages(&other));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`either v1.19.0` is built twice") && found[0].contains("use_std"), "{found:?}");
    }

    #[test]
    fn a_crate_that_is_built_both_ways_is_shared() {
        let run = "syn v2.0.0 [full]\n";
        let test = "syn v2.0.0 [full]\nsyn v2.0.0 [full,visit]\n";
        assert!(differences(&packages(run), &packages(test)).is_empty());
    }

    #[test]
    fn run_and_test_share_their_builds() {
        assert_eq!(check(), Ok(()));
    }
}
