//! `docs/reference/`: written from what the binary says, compared by `cargo xtask check`.

use crate::{Outcome, command, reference, workspace};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const FOLDER: &str = "docs/reference";

const COMMANDS: [&[&str]; 18] = [
    &["run"],
    &["plan"],
    &["why"],
    &["check"],
    &["graph"],
    &["show"],
    &["report"],
    &["kinds"],
    &["schema"],
    &["import"],
    &["import", "netem"],
    &["import", "preset"],
    &["cache"],
    &["cache", "stats"],
    &["cache", "verify"],
    &["cache", "gc"],
    &["doctor"],
    &["node"],
];

/// Writes the pages.
pub fn write() -> Outcome {
    for (name, text) in pages()? {
        workspace::write(format!("{FOLDER}/{name}"), text.as_bytes())?;
    }
    for name in strangers(&pages_on_disk(), &pages()?) {
        eprintln!("note: `{FOLDER}/{name}` is not generated any more; remove it if nobody wrote it by hand");
    }
    Ok(())
}

/// Compares the pages with those on disk.
pub fn check() -> Outcome {
    let pages = pages()?;
    let stale = pages.iter().filter(|(name, text)| workspace::read(format!("{FOLDER}/{name}")).as_ref() != Ok(text));
    let mut problems: Vec<String> =
        stale.map(|(name, _)| format!("`{FOLDER}/{name}` is out of date: run `cargo xtask generate`")).collect();
    let strangers = strangers(&pages_on_disk(), &pages);
    problems.extend(
        strangers
            .iter()
            .map(|name| format!("`{FOLDER}/{name}` is not a generated page: it belongs elsewhere in docs/")),
    );
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Names on disk.
fn pages_on_disk() -> Vec<String> {
    let files = workspace::files();
    let inside = files.iter().filter_map(|path| path.strip_prefix(FOLDER).ok());
    inside.map(|path| path.to_string_lossy().into_owned()).collect()
}

fn strangers(on_disk: &[String], pages: &BTreeMap<String, String>) -> Vec<String> {
    on_disk.iter().filter(|name| !pages.contains_key(*name)).cloned().collect()
}

/// Every page by name.
fn pages() -> Result<BTreeMap<String, String>, Vec<String>> {
    let study = command::study_binary()?;
    let kinds = command::stdout(&study, &["kinds", "--json"])?;
    let kinds = serde_json::from_str(&kinds).map_err(|e| vec![format!("`study kinds --json` gave no JSON: {e}")])?;
    Ok(BTreeMap::from([
        ("kinds.md".to_owned(), reference::kinds(&kinds)),
        ("study.schema.json".to_owned(), command::stdout(&study, &["schema"])?),
        ("cli.md".to_owned(), commands(&study)?),
        ("diagnostics.md".to_owned(), diagnostics(&study)?),
    ]))
}

/// The help of each command.
fn commands(study: &str) -> Result<String, Vec<String>> {
    let mut page = format!("{}\n# Commands\n\n```text\n{}```\n", reference::MARK, command::stdout(study, &["--help"])?);
    for words in COMMANDS {
        let mut arguments = words.to_vec();
        arguments.push("--help");
        let help = command::stdout(study, &arguments)?;
        let _ = write!(page, "\n## `study {}`\n\n```text\n{help}```\n", words.join(" "));
    }
    Ok(page)
}

/// Each code with the samples of `studies/invalid/` that show it, and what `study check` says about them.
fn diagnostics(study: &str) -> Result<String, Vec<String>> {
    let mut codes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in workspace::files().iter().filter(|path| path.starts_with("studies/invalid")) {
        if path.extension().is_none_or(|e| e != "yaml") {
            continue;
        }
        let bytes = std::fs::read(workspace::root().join(path)).map_err(|e| vec![e.to_string()])?;
        let text = String::from_utf8_lossy(&bytes);
        let comments: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let expected = comments.iter().filter_map(|line| line.strip_prefix("# expect:"));
        let about: Vec<&str> = comments
            .iter()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| !line.starts_with("expect:"))
            .collect();
        let shown = command::output(study, &["check", "--color", "never", &slashes(path)])?;
        let said = String::from_utf8_lossy(&shown.stderr).into_owned();
        let sample = format!("{}\n\n`{}`:\n\n```text\n{}\n```\n", about.join(" "), slashes(path), said.trim());
        let mut named: Vec<String> = expected
            .filter_map(|line| line.trim().trim_start_matches("warning ").split(' ').next().map(str::to_owned))
            .collect();
        named.dedup();
        named.into_iter().for_each(|code| codes.entry(code).or_default().push(sample.clone()));
    }
    let mut page = format!(
        "{}\n# Diagnostics\n\nEvery code, with samples and what `study check` says about them.\n",
        reference::MARK
    );
    for (code, samples) in codes {
        let _ = write!(page, "\n## `{code}`\n\n{}", samples.join("\n"));
    }
    Ok(page)
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
