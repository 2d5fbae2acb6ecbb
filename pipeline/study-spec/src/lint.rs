//! What is right and still looks like a mistake.

use crate::cells::Used;
use crate::frames::Binding;
use crate::stage::Stage;
use crate::study::Draft;
use std::collections::{BTreeMap, BTreeSet};
use study_tree::{Diagnostic, Diagnostics};

/// Warnings about a study without errors; after an error, what is unused proves nothing.
pub(crate) fn lint(
    draft: &Draft,
    stages: &[Stage],
    bindings: &[Vec<Binding>],
    used: &Used,
    taken: &BTreeSet<String>,
    diagnostics: &mut Diagnostics,
) {
    for (section, name, span) in &draft.definitions {
        if !used.contains(&((*section).to_owned(), name.clone())) {
            let message = format!("`{name}` in `{section}` is not used by any stage");
            diagnostics.push(Diagnostic::warning("unused-definition", *span, message).help("use it, or remove it"));
        }
    }
    for entry in draft.inherited.iter().filter(|e| !taken.contains(&e.key)) {
        let message = format!("`{}` has no effect: no stage takes it over", entry.key);
        let help = "remove it, or remove the key from the stages that give their own";
        diagnostics.push(Diagnostic::warning("unused-key", entry.key_span, message).help(help));
    }
    unused_needs(stages, bindings, diagnostics);
    unread_stages(stages, bindings, diagnostics);
}

fn unused_needs(stages: &[Stage], bindings: &[Vec<Binding>], diagnostics: &mut Diagnostics) {
    for (stage, bindings) in stages.iter().zip(bindings) {
        let read: BTreeSet<usize> = bindings.iter().flat_map(|b| &b.from).map(|n| n.stage).collect();
        for need in stage.needs.list.iter().filter(|n| !read.contains(&n.stage)) {
            let message = format!("`{}` reads nothing that `{}` gives", stage.name, stages[need.stage].name);
            diagnostics.push(Diagnostic::warning("unused-need", need.span, message).help("remove it from `needs`"));
        }
    }
}

/// A stage that nobody reads although another one could.
fn unread_stages(stages: &[Stage], bindings: &[Vec<Binding>], diagnostics: &mut Diagnostics) {
    let read: BTreeSet<usize> = bindings.iter().flatten().flat_map(|b| &b.from).map(|n| n.stage).collect();
    // One stage of each kind is enough as an example, the last one of the file.
    let examples: BTreeMap<&str, usize> =
        stages.iter().enumerate().filter_map(|(i, s)| Some((s.kind?.name(), i))).collect();
    for (i, stage) in stages.iter().enumerate().filter(|(i, _)| !read.contains(i)) {
        let Some(kind) = stage.kind else { continue };
        let could = |reader: &&usize| {
            let takes = stages[**reader].kind.map(|k| k.takes()).unwrap_or_default();
            let fits = kind.gives().iter().any(|given| takes.iter().any(|t| t == given || *t == "*"));
            fits && **reader != i && stage.needs.list.iter().all(|need| need.stage != **reader)
        };
        if let Some(&reader) = examples.values().filter(could).max() {
            let message = format!("no stage reads `{}`", stage.name);
            let help = format!("name it in the `needs` of `{}`, or remove it", stages[reader].name);
            diagnostics.push(Diagnostic::warning("unread-stage", stage.span, message).help(help));
        }
    }
}
