//! `docs/models/validation.md`: the page of what the models are checked against, written from what the tests measured.
//!
//! Every program of tests that states claims (`study-evidence`) runs with the variable that makes them record themselves; an
//! example of `study-report` turns the records into the page and its figures. Nothing of an earlier run is used, so a page
//! that is current says what the code gives now.

use crate::command::Scratch;
use crate::{Outcome, command, workspace};
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = "docs/models";
/// How every file of the page begins.
const PREFIX: &str = "validation";

/// Writes the page and its figures, and leaves the figures as PNG in the target folder, to be looked at.
pub fn write() -> Outcome {
    let scratch = Scratch::new("validation")?;
    let pictures = workspace::target_directory()?.join("validation").to_string_lossy().into_owned();
    let files = files(scratch.path(), Some(&pictures))?;
    for name in on_disk().into_iter().filter(|name| !files.contains_key(name)) {
        let path = workspace::root().join(FOLDER).join(&name);
        std::fs::remove_file(&path).map_err(|e| vec![format!("cannot remove `{}`: {e}", path.display())])?;
    }
    for (name, bytes) in &files {
        workspace::write(format!("{FOLDER}/{name}"), bytes)?;
        eprintln!("wrote {FOLDER}/{name}");
    }
    eprintln!("the figures as PNG, to be looked at: {pictures}");
    Ok(())
}

/// Compares the page with one that is made anew.
pub fn check() -> Outcome {
    let scratch = Scratch::new("validation")?;
    let problems = differences(&on_disk(), &files(scratch.path(), None)?, |name| {
        std::fs::read(workspace::root().join(FOLDER).join(name)).ok()
    });
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn differences(
    on_disk: &[String],
    files: &BTreeMap<String, Vec<u8>>,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Vec<String> {
    let stale = files.iter().filter(|(name, bytes)| read(name).as_ref() != Some(bytes)).map(|(name, _)| {
        format!("`{FOLDER}/{name}` does not say what the tests measure: run `cargo xtask validation` and look at what changed")
    });
    let strangers = on_disk.iter().filter(|name| !files.contains_key(*name));
    stale
        .chain(strangers.map(|name| format!("`{FOLDER}/{name}` belongs to no page that is generated: remove it")))
        .collect()
}

fn on_disk() -> Vec<String> {
    let files = workspace::files();
    let names = files.iter().filter_map(|path| path.strip_prefix(FOLDER).ok()?.to_str().map(str::to_owned));
    names.filter(|name| name.starts_with(PREFIX)).collect()
}

/// Runs the tests, and gives the page and its figures by name; `pictures` is a folder for the figures as PNG.
fn files(scratch: &Path, pictures: Option<&str>) -> Result<BTreeMap<String, Vec<u8>>, Vec<String>> {
    let (evidence, out) = (scratch.join("evidence"), scratch.join("page"));
    for folder in [&evidence, &out] {
        std::fs::create_dir_all(folder).map_err(|e| vec![format!("cannot make `{}`: {e}", folder.display())])?;
    }
    let programs =
        programs(workspace::files().iter().filter_map(|path| Some((path.to_str()?, workspace::read(path).ok()?))));
    // As parts of the workspace, so that what `cargo test --workspace` has built serves here too.
    let mut arguments = vec!["test", "--quiet", "--workspace"];
    programs.iter().for_each(|program| arguments.extend(["--test", program]));
    command::quietly("cargo", &arguments, &[("STUDY_EVIDENCE", &evidence)])?;
    command::run("cargo", &["build", "--quiet", "--workspace", "--example", "validation"])?;
    let example = format!("debug/examples/validation{}", std::env::consts::EXE_SUFFIX);
    let example = workspace::target_directory()?.join(example).to_string_lossy().into_owned();
    let [evidence, page] = [&evidence, &out].map(|path| path.to_string_lossy().into_owned());
    let mut arguments = vec![evidence.as_str(), &page];
    arguments.extend(pictures);
    command::run(&example, &arguments)?;
    let entries = std::fs::read_dir(&out).map_err(|e| vec![format!("cannot read `{}`: {e}", out.display())])?;
    let mut files = BTreeMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = std::fs::read(entry.path()).map_err(|e| vec![format!("cannot read `{name}`: {e}")])?;
        files.insert(name, bytes);
    }
    Ok(files)
}

/// Programs of tests (`tests/NAME.rs` or a folder `tests/NAME/`) in whose sources claims are stated.
fn programs<'p>(files: impl Iterator<Item = (&'p str, String)>) -> Vec<String> {
    let stating =
        files.filter(|(path, text)| path.ends_with(".rs") && ["claim!(", "curve!("].iter().any(|m| text.contains(m)));
    let name = |path: &str| {
        let (_, inside) = path.split_once("/tests/")?;
        inside.split(['/', '.']).next().map(str::to_owned)
    };
    let mut names: Vec<String> = stating.filter_map(|(path, _)| name(path)).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_that_states_claims_is_run_once() {
        let files = [
            ("stages/a/tests/all/loss.rs", "claim!(x)"),
            ("stages/a/tests/all/tail.rs", "curve!(x)"),
            ("stages/b/tests/grid.rs", "claim!(x)"),
            ("stages/b/tests/other.rs", "assert!(x)"),
            ("stages/b/src/lib.rs", "claim!(x)"),
        ];
        assert_eq!(programs(files.into_iter().map(|(path, text)| (path, text.to_owned()))), ["all", "grid"]);
    }

    #[test]
    fn a_page_that_differs_lacks_a_file_or_has_one_too_many_is_stale() {
        let files = BTreeMap::from([("validation.md".to_owned(), b"new".to_vec())]);
        let names = ["validation.md".to_owned()];
        assert!(differences(&names, &files, |_| Some(b"new".to_vec())).is_empty());
        assert_eq!(differences(&names, &files, |_| Some(b"old".to_vec())).len(), 1);
        assert_eq!(differences(&[], &files, |_| None).len(), 1);
        let more = ["validation.md".to_owned(), "validation_gone.svg".to_owned()];
        assert_eq!(differences(&more, &files, |_| Some(b"new".to_vec())).len(), 1);
    }
}
