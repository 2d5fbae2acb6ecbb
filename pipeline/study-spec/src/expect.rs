//! Files that say which problems they have.

use crate::{Options, load};
use study_stage::Registry;
use study_tree::Severity;

/// Loads a text whose first lines are comments such as `# expect: unknown-key 7:5` (code, line, column; for a warning
/// `# expect: warning unused-key 3:1`), and compares. Returns what differs, one line each; nothing when the problems
/// found are exactly those that were announced. A text that announces nothing must be without problems.
#[must_use]
pub fn mismatches(registry: &Registry, file_name: &str, text: &[u8]) -> Vec<String> {
    let lossy = String::from_utf8_lossy(text);
    let comments = lossy.lines().map(|line| line.trim_start_matches('\u{feff}')).take_while(|l| l.starts_with('#'));
    let mut expected: Vec<String> =
        comments.filter_map(|l| l.strip_prefix("# expect:")).map(|l| l.trim().to_owned()).collect();
    let loaded = load(registry, file_name, text, &Options::default());
    let mut differences = Vec::new();
    for diagnostic in loaded.diagnostics.sorted() {
        let (line, column) = loaded.sources.line_column(diagnostic.span);
        let warning = if diagnostic.severity == Severity::Warning { "warning " } else { "" };
        let found = format!("{warning}{} {line}:{column}", diagnostic.code);
        match expected.iter().position(|e| *e == found) {
            Some(i) => drop(expected.remove(i)),
            None => differences.push(format!("{file_name}: not expected: {found}: {}", diagnostic.message)),
        }
    }
    differences.extend(expected.iter().map(|e| format!("{file_name}: expected and not found: {e}")));
    differences
}
