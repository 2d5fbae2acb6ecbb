//! Golden digests: what each shipped study computes in its small variant, as logical digests of its frames.
//!
//! `studies/golden/<study>.json` maps node to frame to digest. Results are an interface: a change here needs a line under
//! "Changed results" in the changelog.

use crate::command::Scratch;
use crate::{Outcome, command, workspace};
use serde_json::Value;
use std::collections::BTreeMap;

/// Node -> frame -> digest.
type Digests = BTreeMap<String, BTreeMap<String, String>>;

fn file(name: &str) -> String {
    format!("studies/golden/{name}.json")
}

/// Compares.
pub fn check(names: &[&str]) -> Outcome {
    let mut problems = Vec::new();
    for (name, digests) in computed(names)? {
        match workspace::read(file(&name)).and_then(|text| parse(&text)) {
            Ok(golden) => problems.extend(differences(&golden, &digests).into_iter().map(|d| format!("`{name}`: {d}"))),
            Err(reasons) => problems.extend(reasons),
        }
    }
    if names.is_empty() {
        problems.extend(orphans());
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.push(
        "results changed: raise the kind's version, run `cargo xtask golden --update`, and say why under **Changed results** in CHANGELOG.md"
            .to_owned(),
    );
    Err(problems)
}

/// Writes what is computed now.
pub fn update(names: &[&str]) -> Outcome {
    for (name, digests) in computed(names)? {
        let text = serde_json::to_string_pretty(&digests).map_err(|e| vec![e.to_string()])?;
        workspace::write(file(&name), format!("{text}\n").as_bytes())?;
        eprintln!("wrote {} ({} nodes)", file(&name), digests.len());
    }
    eprintln!("what changed needs a line under **Changed results** in CHANGELOG.md");
    Ok(())
}

fn parse(text: &str) -> Result<Digests, Vec<String>> {
    serde_json::from_str(text).map_err(|e| vec![format!("golden digests are unreadable: {e}")])
}

/// Runs the studies in empty stores.
fn computed(names: &[&str]) -> Result<Vec<(String, Digests)>, Vec<String>> {
    let study = command::study_binary()?;
    let mut all = Vec::new();
    for (name, path) in workspace::chosen_studies(names)? {
        if is_measured(&study, &path)? {
            continue;
        }
        let scratch = Scratch::new(&format!("golden-{name}"))?;
        let store = scratch.path().join("store").to_string_lossy().into_owned();
        let out = scratch.path().join("results").to_string_lossy().into_owned();
        let mut arguments = vec!["run", &path, "--json", "--quiet", "--store", &store, "--out", &out];
        if workspace::read(&path)?.lines().any(|line| line.starts_with("ci:")) {
            arguments.extend(["--variant", "ci"]);
        }
        let output = command::output(&study, &arguments)?;
        // 1 says that a claim or a validity check failed; the frames are there all the same.
        if !matches!(output.status.code(), Some(0 | 1)) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(vec![format!("`study {}` failed ({}):\n{errors}", arguments.join(" "), output.status)]);
        }
        let document = serde_json::from_slice(&output.stdout)
            .map_err(|e| vec![format!("`study run --json` gave no JSON: {e}")])?;
        all.push((name, digests(&document)));
    }
    Ok(all)
}

/// Whether a study measures on this machine: then each run gives other values.
pub fn is_measured(study: &str, path: &str) -> Result<bool, Vec<String>> {
    let output = command::output(study, &["plan", path, "--json", "--store", "/nonexistent"])?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| vec![format!("`study plan {path} --json` gave no JSON: {e}")])?;
    let nodes = document["nodes"].as_array().cloned().unwrap_or_default();
    Ok(nodes.iter().any(|node| node["determinism"] == "sampled"))
}

/// The digests of frames in the document of `study run --json`; files (figures, reports) are not frozen.
fn digests(document: &Value) -> Digests {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let frames = |node: &Value| {
        let outputs = list(&node["outputs"]).into_iter().filter(|output| output["frame"] == true);
        outputs.map(|output| (text(&output["name"]), text(&output["digest"]))).collect()
    };
    list(&document["nodes"]).iter().map(|node| (text(&node["id"]), frames(node))).collect()
}

fn differences(golden: &Digests, now: &Digests) -> Vec<String> {
    let flat = |digests: &Digests| -> BTreeMap<String, String> {
        let rows = digests
            .iter()
            .flat_map(|(node, frames)| frames.iter().map(move |(frame, d)| (format!("{node}.{frame}"), d.clone())));
        rows.collect()
    };
    let (golden, now) = (flat(golden), flat(now));
    let changed = golden.iter().filter_map(|(frame, digest)| match now.get(frame) {
        None => Some(format!("frame `{frame}` is gone")),
        Some(other) if other != digest => Some(format!("frame `{frame}` has other values")),
        Some(_) => None,
    });
    let new = now.keys().filter(|frame| !golden.contains_key(*frame)).map(|frame| format!("frame `{frame}` is new"));
    changed.chain(new).collect()
}

/// Digests of studies that are gone.
fn orphans() -> Vec<String> {
    let studies = workspace::studies();
    let files = workspace::files();
    let golden =
        files.iter().filter(|path| path.starts_with("studies/golden")).filter_map(|path| path.file_stem()?.to_str());
    golden
        .filter(|stem| !studies.iter().any(|(name, _)| name == stem))
        .map(|stem| format!("`studies/golden/{stem}.json` belongs to no study"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(digest: &str) -> Value {
        json!({ "nodes": [{ "id": "a", "outputs": [
            { "name": "rows", "frame": true, "digest": digest }, { "name": "report.md", "frame": false, "digest": "x" } ] }] })
    }

    #[test]
    fn a_changed_a_new_and_a_lost_frame_are_told_apart() {
        let golden = digests(&document("1"));
        assert!(differences(&golden, &golden).is_empty());
        assert_eq!(differences(&golden, &digests(&document("2"))), ["frame `a.rows` has other values"]);
        assert_eq!(differences(&golden, &Digests::new()), ["frame `a.rows` is gone"]);
        assert_eq!(differences(&Digests::new(), &golden), ["frame `a.rows` is new"]);
    }

    #[test]
    fn files_are_not_frozen() {
        assert_eq!(digests(&document("1"))["a"].len(), 1);
    }
}
