//! Sizes, names and manifests. Function length is clippy's (`too_many_lines`, threshold in `clippy.toml`).

use crate::{Outcome, workspace};
use std::path::Path;

/// Lines before the tests of a file.
const FILE_LIMIT: usize = 800;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["core", "common", "util", "utils", "types", "helper", "helpers", "misc"];

/// Places of somebody's machine.
const MACHINE_PATHS: [&str; 3] = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// Crates that share one `clippy.toml` without clocks, files, environment and threads.
const SANS_IO: [&str; 12] = [
    "cache-store/study-ident",
    "cache-store/study-table",
    "cache-store/study-tree",
    "netem/study-link",
    "netem/study-units",
    "pipeline/study-spec",
    "reports/study-stats",
    "stages/study-cdn",
    "stages/study-import",
    "stages/study-sim",
    "stages/study-stage",
    "stages/study-transport",
];

/// Checks every file of the repository.
pub fn check() -> Outcome {
    let root = workspace::root();
    let root_text = root.to_string_lossy().into_owned();
    let mut problems = Vec::new();
    for path in workspace::files() {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let manifest = path.file_name().is_some_and(|name| name == "Cargo.toml");
        let read = matches!(extension, "rs" | "md" | "toml" | "yaml" | "yml" | "sh" | "cff") || path.starts_with(".ci");
        let Some(text) = read.then(|| workspace::read(&path).ok()).flatten() else { continue };
        let found = match extension {
            "rs" => source(&path, &text),
            "toml" if manifest && path.components().count() > 1 => member(&text),
            _ => Vec::new(),
        };
        let found = found.into_iter().chain(machine_paths(&text, &root_text));
        problems.extend(found.map(|problem| format!("{}: {problem}", path.display())));
    }
    problems.extend(bans());
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// What is wrong with a Rust source.
fn source(path: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let only_tests = path.components().any(|part| part.as_os_str() == "tests");
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if !only_tests && lines > FILE_LIMIT {
        problems.push(format!("{lines} lines before its tests (limit {FILE_LIMIT}): split it by what it does"));
    }
    if path.iter().filter_map(|part| Path::new(part).file_stem()?.to_str()).any(|name| EMPTY_NAMES.contains(&name)) {
        problems.push("the name says nothing about the content".to_owned());
    }
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())) {
        let code = !line.starts_with("//");
        if code && line.contains(concat!("#[ign", "ore]")) {
            problems.push(format!("line {number}: an ignored test needs a reason and another place where it runs"));
        }
        if code && (line.contains(concat!("to", "do!(")) || line.contains(concat!("unimple", "mented!("))) {
            problems.push(format!("line {number}: unfinished code"));
        }
        if [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")].iter().any(|mark| has_word(line, mark)) {
            problems.push(format!("line {number}: finish it, or file an issue and say so without the mark"));
        }
    }
    problems
}

/// Whether `word` stands in `line` by itself.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}

/// What is wrong with the manifest of a member.
fn member(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.lines().any(|line| line.strip_prefix("description = \"").is_some_and(|rest| rest.trim_end() != "\"")) {
        problems.push("`description` is missing or empty".to_owned());
    }
    if !text.contains("[lints]\nworkspace = true") {
        problems.push("add `[lints]` with `workspace = true`".to_owned());
    }
    for key in ["version", "edition", "rust-version", "license", "publish"] {
        if !text.contains(&format!("{key}.workspace = true")) {
            problems.push(format!("take `{key}` from the workspace"));
        }
    }
    problems
}

/// Paths that exist on one machine only.
fn machine_paths(text: &str, root: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if MACHINE_PATHS.iter().any(|path| line.contains(path)) || (root.len() > 1 && line.contains(root)) {
            problems.push(format!("line {}: a path of one machine", number + 1));
        }
    }
    problems
}

/// The bans of the sans-IO crates are copies of one list, because clippy does not merge; a crate may add to them.
fn bans() -> Vec<String> {
    let read = |folder: &str| workspace::read(format!("{folder}/clippy.toml")).unwrap_or_default();
    let model = read(SANS_IO[0]);
    let lacking = SANS_IO.iter().filter(|folder| {
        let own = read(folder);
        model.is_empty() || model.lines().any(|line| !own.lines().any(|other| other == line))
    });
    lacking.map(|folder| format!("{folder}/clippy.toml: lacks a line of {}/clippy.toml", SANS_IO[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        source(Path::new(path), text).len()
    }

    #[test]
    fn a_file_is_measured_up_to_its_tests() {
        let code = "fn a() {}\n".repeat(FILE_LIMIT);
        assert_eq!(problems("x/src/a.rs", &code), 0);
        assert_eq!(problems("x/src/a.rs", &format!("{code}#[cfg(test)]\nmod tests {{}}\n")), 0);
        assert_eq!(problems("x/src/a.rs", &format!("{code}fn b() {{}}\n")), 1);
        assert_eq!(problems("x/tests/a.rs", &format!("{code}fn b() {{}}\n")), 0);
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        assert_eq!(problems("x/src/util.rs", ""), 1);
        assert_eq!(problems("x/src/common/a.rs", ""), 1);
        assert_eq!(problems("x/src/score.rs", ""), 0);
    }

    #[test]
    fn unfinished_code_and_silent_ignores_are_refused() {
        assert_eq!(problems("a.rs", concat!("#[ign", "ore]\nfn a() {}")), 1);
        assert_eq!(problems("a.rs", concat!("#[ign", "ore = \"needs a kernel module; runs in lab\"]\nfn a() {}")), 0);
        assert_eq!(problems("a.rs", concat!("fn a() { to", "do!() }")), 1);
        assert_eq!(problems("a.rs", concat!("// TO", "DO: later")), 1);
    }

    #[test]
    fn a_member_without_description_or_lints_is_refused() {
        let good = "description = \"x\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
                    license.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";
        assert!(member(good).is_empty());
        assert_eq!(member(&good.replace("\"x\"", "\"\"")).len(), 1);
        assert_eq!(member(&good.replace("[lints]\nworkspace = true\n", "")).len(), 1);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        assert_eq!(machine_paths(concat!("see /ho", "me/ann/x\nfine\n"), "/somewhere/repo").len(), 1);
        assert_eq!(machine_paths("see /somewhere/repo/x\n", "/somewhere/repo").len(), 1);
    }

    #[test]
    fn the_sans_io_crates_share_their_bans() {
        assert_eq!(bans(), Vec::<String>::new());
    }
}
