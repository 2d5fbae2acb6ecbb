//! Variants of a study: the `ci` block laid over it.

use crate::keys::TopKeys;
use crate::overlay::{entries_mut, entry_mut};
use std::collections::HashMap;
use study_tree::{Diagnostic, Diagnostics, Entry, Node, SourceMap, Span, did_you_mean, merge};

/// The one variant that a study can define, and the key that defines it.
pub(crate) const CI: &str = "ci";
/// What a study is called without a variant.
pub(crate) const FULL: &str = "full";

/// Takes the block out of the study.
pub(crate) fn take(root: &mut Node) -> Option<Entry> {
    let entries = entries_mut(root)?;
    let position = entries.iter().position(|e| e.key == CI)?;
    Some(entries.remove(position))
}

/// Reports a variant that the study does not define.
pub(crate) fn unknown(wanted: &str, defined: bool, sources: &mut SourceMap) -> Diagnostic {
    let source = sources.add(format!("--variant {wanted}"), wanted);
    let span = Span { source, start: 0, end: wanted.len() as u32 };
    let help = if defined { "the study has the variant `ci`" } else { "add a block `ci:` to the study" };
    Diagnostic::error("unknown-variant", span, format!("the study has no variant `{wanted}`")).help(help)
}

/// Lays the block over the study: a stage's name stands for that stage, other keys are those of the top level.
pub(crate) fn apply(root: &mut Node, block: &Node, keys: &TopKeys, diagnostics: &mut Diagnostics) {
    let Some(over) = block.entries() else {
        diagnostics.push(
            Diagnostic::error("wrong-type", block.span, format!("expected a mapping, found {}", block.describe()))
                .help("write what differs, e.g. `ci: { runs: 2 }`"),
        );
        return;
    };
    for entry in over {
        match entry.key.as_str() {
            "stages" => lay_stages(root, entry, diagnostics),
            key if keys.contains(key) && key != "study" && key != CI => lay(root, entry),
            key if stage_mut(root, key).is_some() => {
                if let Some(stage) = stage_mut(root, key) {
                    stage.value = merge(&stage.value, &entry.value);
                }
            }
            _ => diagnostics.push(unknown_key(root, entry, keys)),
        }
    }
}

fn stage_mut<'n>(root: &'n mut Node, name: &str) -> Option<&'n mut Entry> {
    entry_mut(&mut entry_mut(root, "stages")?.value, name)
}

fn lay(root: &mut Node, entry: &Entry) {
    if let Some(existing) = entry_mut(root, &entry.key) {
        existing.value = merge(&existing.value, &entry.value);
    } else if let Some(entries) = entries_mut(root) {
        entries.push(entry.clone());
    }
}

fn lay_stages(root: &mut Node, block: &Entry, diagnostics: &mut Diagnostics) {
    let stages = entry_mut(root, "stages").and_then(|e| entries_mut(&mut e.value));
    let (Some(stages), Some(over)) = (stages, block.value.entries()) else {
        diagnostics.push(
            Diagnostic::error("wrong-type", block.value.span, "expected a mapping of stages")
                .help("write `stage: { key: value }` lines"),
        );
        return;
    };
    let index: HashMap<String, usize> = stages.iter().enumerate().map(|(i, e)| (e.key.clone(), i)).collect();
    for entry in over {
        match index.get(&entry.key) {
            Some(&i) => stages[i].value = merge(&stages[i].value, &entry.value),
            None => stages.push(entry.clone()),
        }
    }
}

fn unknown_key(root: &Node, entry: &Entry, keys: &TopKeys) -> Diagnostic {
    let known = allowed(root, keys);
    let help = did_you_mean(&entry.key, &known).unwrap_or_else(|| {
        "a key of this block is the name of a stage or a key of the top level, such as `runs`".to_owned()
    });
    Diagnostic::error(
        "unknown-key",
        entry.key_span,
        format!("`{}` is neither a stage nor a key of the study", entry.key),
    )
    .help(help)
}

fn allowed<'n>(root: &'n Node, keys: &TopKeys) -> Vec<&'n str> {
    let stages = root.get("stages").and_then(Node::entries).unwrap_or_default();
    let top = keys.all().iter().copied().filter(|k| *k != "study" && *k != CI);
    stages.iter().map(|e| e.key.as_str()).chain(top).collect()
}
