//! The gallery: reports of the shipped studies, committed and reviewed like snapshots.

use crate::command::Scratch;
use crate::{Outcome, command, golden, workspace};
use std::path::Path;

const FOLDER: &str = "reports/gallery";

/// Runs the studies whole and copies their Markdown reports with the figures they show.
pub fn run(names: &[&str]) -> Outcome {
    let study = command::study_binary()?;
    for (name, path) in workspace::chosen_studies(names)? {
        // What real stacks did differs from run to run; such a report is renewed when it is asked for.
        if names.is_empty() && golden::is_measured(&study, &path)? {
            continue;
        }
        let scratch = Scratch::new(&format!("gallery-{name}"))?;
        let out = scratch.path().to_string_lossy().into_owned();
        let output = command::output(&study, &["run", &path, "--quiet", "--out", &out])?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(vec![format!("`study run {path}` failed ({}):\n{errors}", output.status)]);
        }
        copy(&scratch.path().join(&name), &name)?;
        eprintln!("wrote {FOLDER}/{name}.md");
    }
    Ok(())
}

fn copy(results: &Path, name: &str) -> Outcome {
    let report = std::fs::read_to_string(results.join("report.md"))
        .map_err(|e| vec![format!("`{name}` gave no report.md under its own name: {e}")])?;
    for figure in figures(&report) {
        let bytes =
            std::fs::read(results.join(&figure)).map_err(|e| vec![format!("`{name}`: cannot read `{figure}`: {e}")])?;
        workspace::write(format!("{FOLDER}/{name}/{figure}"), &bytes)?;
    }
    workspace::write(format!("{FOLDER}/{name}.md"), relinked(&report, name).as_bytes())
}

/// The figures that a report shows: targets of links that begin with `figures/`.
fn figures(report: &str) -> Vec<String> {
    let targets = report.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let mut found: Vec<String> = targets.filter(|target| target.starts_with("figures/")).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

fn relinked(report: &str, name: &str) -> String {
    report.replace("](figures/", &format!("]({name}/figures/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_report_are_found_once_and_linked_to_their_new_place() {
        let report =
            "![cdf](figures/a.svg) and [data](figures/a.csv), again ![cdf](figures/a.svg \"t\"), [else](tables/x.csv)";
        assert_eq!(figures(report), ["figures/a.csv", "figures/a.svg"]);
        assert!(relinked(report, "x").starts_with("![cdf](x/figures/a.svg)"));
    }
}
