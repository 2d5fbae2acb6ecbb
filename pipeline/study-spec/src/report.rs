//! The report stage that a study has without writing it.

use crate::overlay::{entries_mut, entry_mut};
use study_stage::Registry;
use study_tree::{Entry, Node};

/// Kind and name of the stage that evaluates the claims and writes the report.
pub(crate) const REPORT: &str = "report";

/// Adds `report: { kind: report }` to a study that has no stage of that kind. Without `needs` it needs every stage whose
/// frames it takes. Its spans are that of the `stages` key, which no written stage has.
pub(crate) fn add_implicit(registry: &Registry, root: &mut Node) {
    if registry.kind(REPORT).is_none() {
        return;
    }
    let Some(stages) = entry_mut(root, "stages") else { return };
    let span = stages.key_span;
    let Some(entries) = entries_mut(&mut stages.value) else { return };
    let is_report = |e: &Entry| e.key == REPORT || e.value.get("kind").and_then(Node::text) == Some(REPORT);
    if entries.is_empty() || entries.iter().any(is_report) {
        return;
    }
    let kind = Entry { key: "kind".to_owned(), key_span: span, value: Node::plain(REPORT, span) };
    entries.push(Entry { key: REPORT.to_owned(), key_span: span, value: Node::map(vec![kind], span) });
}
