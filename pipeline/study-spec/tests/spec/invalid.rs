//! `studies/invalid`: one file per diagnostic.

use crate::registry::REGISTRY;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies/invalid")
}

#[test]
fn every_sample_has_exactly_the_problems_it_announces() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    let mut differences = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        differences.extend(study_spec::mismatches(&REGISTRY, &name, &std::fs::read(file).unwrap()));
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    assert!(files.len() >= 40, "{}", files.len());
}

/// Codes that no file alone can show: they need arguments, a registry that the product does not have, or a broken kind.
const WITHOUT_A_SAMPLE: [&str; 4] = ["bad-set", "unknown-variant", "ambiguous-frame", "refused"];

#[test]
fn every_code_has_a_sample() {
    let mut codes = std::collections::BTreeSet::new();
    for source in ["src", "src/yaml", "../../cache-store/study-tree/src"] {
        for file in std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(source)).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|e| e == "rs") && !file.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&file).unwrap();
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                codes.extend(codes_in(text));
            }
        }
    }
    assert!(codes.len() >= 40, "{codes:?}");
    for code in codes.iter().filter(|code| !WITHOUT_A_SAMPLE.contains(&code.as_str())) {
        assert!(folder().join(format!("{code}.yaml")).exists() || has_variants(code), "no sample for `{code}`");
    }
}

/// What stands in quotes behind `Diagnostic::error(`, `Diagnostic::warning(` or `code:`, and the codes of the syntax table.
fn codes_in(text: &str) -> Vec<String> {
    let mut codes = Vec::new();
    for (mark, skip) in [("Diagnostic::error(", 18), ("Diagnostic::warning(", 20), ("code: \"", 6), ("\"yaml-", 0)] {
        for (at, _) in text.match_indices(mark) {
            let Some(rest) = text[at + skip..].trim_start().strip_prefix('"') else { continue };
            let code = rest.split('"').next().unwrap();
            if code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
                codes.push(code.to_owned());
            }
        }
    }
    codes
}

fn has_variants(code: &str) -> bool {
    let names = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.into_iter().any(|name| name.starts_with(&format!("{code}-")))
}

#[test]
fn a_sample_that_announces_the_wrong_thing_is_noticed() {
    let text = "# expect: unknown-key 4:3\n# expect: cycle 1:1\nstudy: x\nstages: { c: { kind: catalog, sgment: 4 s, segment: 4 s, duration: 8 s } }\n";
    let found = study_spec::mismatches(&REGISTRY, "x", text.as_bytes());
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("x: not expected: unknown-key 4:31"), "{found:?}");
}
