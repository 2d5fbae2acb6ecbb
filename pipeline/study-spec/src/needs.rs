//! `needs`: the stages whose frames a stage receives.

use crate::keys::StageNames;
use std::collections::HashMap;
use study_tree::{Diagnostic, Diagnostics, Node, Span};

/// One stage that is needed, and where that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) stage: usize,
    pub(crate) span: Span,
}

/// What a stage needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    pub(crate) list: Vec<Need>,
    /// With `needs: { frame: stage }`: the frame and its place for each entry of `list`.
    pub(crate) frames: Option<Vec<(String, Span)>>,
    /// Some need could not be read, so a missing frame proves nothing.
    pub(crate) incomplete: bool,
}

impl Needs {
    /// Needs of the stages with these numbers, all at one place.
    pub(crate) fn implied(stages: impl Iterator<Item = usize>, span: Span) -> Self {
        Self { list: stages.map(|stage| Need { stage, span }).collect(), ..Self::default() }
    }
}

/// Reads `needs: [a, b]`, or `needs: { frame: stage, other: [a, b] }`.
pub(crate) fn read(node: &Node, names: &StageNames<'_>, diagnostics: &mut Diagnostics) -> Needs {
    let mut needs = Needs::default();
    if let Some(items) = node.items() {
        read_list(items, names, &mut needs, diagnostics);
    } else if let Some(entries) = node.entries() {
        let mut frames = Vec::new();
        for entry in entries {
            let from = needs.list.len();
            let one = std::slice::from_ref(&entry.value);
            let mut part = Needs::default();
            read_list(entry.value.items().unwrap_or(one), names, &mut part, diagnostics);
            needs.incomplete |= part.incomplete;
            needs.list.extend(part.list);
            frames.extend((from..needs.list.len()).map(|_| (entry.key.clone(), entry.key_span)));
        }
        needs.frames = Some(frames);
    } else {
        needs.incomplete = true;
        let help = match node.text() {
            Some(name) if !node.is_null() => format!("write `needs: [{name}]`"),
            _ => "write `needs: [stage, stage]`, or `needs: { frame: stage }`".to_owned(),
        };
        let message = format!("expected a list of stages, found {}", node.describe());
        diagnostics.push(Diagnostic::error("wrong-type", node.span, message).help(help));
    }
    needs
}

fn read_list(items: &[Node], names: &StageNames<'_>, needs: &mut Needs, diagnostics: &mut Diagnostics) {
    let mut seen: HashMap<usize, Span> = HashMap::new();
    for item in items {
        let Some(name) = item.text().filter(|_| !item.is_null()) else {
            needs.incomplete = true;
            let message = format!("expected the name of a stage, found {}", item.describe());
            diagnostics.push(Diagnostic::error("wrong-type", item.span, message).help("write `needs: [stage, stage]`"));
            continue;
        };
        let stage = match names.find(name, item.span) {
            Ok(stage) => stage,
            Err(diagnostic) => {
                needs.incomplete = true;
                diagnostics.push(diagnostic);
                continue;
            }
        };
        if let Some(earlier) = seen.insert(stage, item.span) {
            diagnostics.push(
                Diagnostic::error("duplicate-need", item.span, format!("`{name}` is needed twice"))
                    .related(earlier, "first needed here")
                    .help("remove one of the two"),
            );
            continue;
        }
        needs.list.push(Need { stage, span: item.span });
    }
}
