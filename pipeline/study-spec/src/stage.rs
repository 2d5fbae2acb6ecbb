//! The keys that every stage has, read off the rest.

use crate::keys::{STAGE_KEYS, StageNames, suggest};
use crate::matrix::{self, Axis};
use crate::needs::{self, Needs};
use crate::report::REPORT;
use crate::study::Draft;
use crate::{like, sets};
use std::collections::BTreeSet;
use study_stage::{Kind, Registry};
use study_tree::{Cx, Decode, Diagnostic, Diagnostics, Entry, Node, Sections, Span, Value};

/// A stage whose own keys are read and whose parameters are not.
pub(crate) struct Stage {
    pub(crate) name: String,
    /// Where the name stands.
    pub(crate) span: Span,
    /// `None` after an error; whatever depends on the stage is not judged then.
    pub(crate) kind: Option<&'static dyn Kind>,
    pub(crate) needs: Needs,
    /// In the order of their paths.
    pub(crate) axes: Vec<Axis>,
    /// `per_cell: true`, and where.
    pub(crate) per_cell: Option<Span>,
    /// What the kind decodes: the rest of the keys, and those taken over from the top level.
    pub(crate) params: Node,
    /// The matrix or `per_cell` could not be read, so its cells are not known.
    pub(crate) cells_unknown: bool,
    /// Added by the reader, not written by the user.
    pub(crate) implicit: bool,
}

/// The stages, with `like` worked in, and the keys of the top level that some stage took over.
pub(crate) fn read_all(
    registry: &Registry,
    draft: &mut Draft,
    diagnostics: &mut Diagnostics,
) -> (Vec<Stage>, BTreeSet<String>) {
    let names = StageNames::new(&draft.stages);
    let merged = like::resolve(&draft.stages, &names, diagnostics);
    let mut stages = Vec::with_capacity(merged.len());
    let mut taken = BTreeSet::new();
    for (entry, node) in draft.stages.iter().zip(&merged) {
        let mut stage = read_one(registry, entry, node.as_ref(), &names, diagnostics);
        stage.implicit = entry.key_span == draft.stages_span;
        inherit(&mut stage, &draft.inherited, &mut taken);
        stages.push(stage);
    }
    fill_report_needs(&mut stages, merged.iter().map(|n| n.as_ref().is_some_and(|n| n.get("needs").is_some())));
    // The stages can be looked up like definitions: a claim names the stage it is about.
    let known = draft.stages.iter().zip(merged);
    let known = known.map(|(entry, node)| (entry.key.clone(), node.unwrap_or_else(|| entry.value.clone()))).collect();
    draft.sections.insert("stages".to_owned(), known);
    (stages, taken)
}

fn read_one(
    registry: &Registry,
    entry: &Entry,
    merged: Option<&Node>,
    names: &StageNames<'_>,
    diagnostics: &mut Diagnostics,
) -> Stage {
    let mut stage = Stage {
        name: entry.key.clone(),
        span: entry.key_span,
        kind: None,
        needs: Needs::default(),
        axes: Vec::new(),
        per_cell: None,
        params: Node::map(Vec::new(), entry.value.span),
        cells_unknown: false,
        implicit: false,
    };
    let Some(node) = merged else {
        stage.cells_unknown = true;
        return stage;
    };
    stage.kind = read_kind(registry, entry, node, diagnostics);
    let given = |key: &str| node.get(key).filter(|n| !n.is_null());
    if let Some(needs) = given("needs") {
        stage.needs = needs::read(needs, names, diagnostics);
    }
    if let Some(axes) = given("matrix") {
        match matrix::read(axes, diagnostics) {
            Some(axes) => stage.axes = axes,
            None => stage.cells_unknown = true,
        }
    }
    for axis in &stage.axes {
        sets::check_axis(&entry.value, &entry.key, &axis.path, axis.span, diagnostics);
    }
    if let Some(per_cell) = given("per_cell") {
        read_per_cell(per_cell, &mut stage, diagnostics);
    }
    let rest = node.entries().unwrap_or_default().iter().filter(|e| !STAGE_KEYS.contains(&e.key.as_str()));
    stage.params.value = Value::Map(rest.cloned().collect());
    stage
}

fn read_kind(
    registry: &Registry,
    entry: &Entry,
    node: &Node,
    diagnostics: &mut Diagnostics,
) -> Option<&'static dyn Kind> {
    let known: Vec<&str> = registry.kinds.iter().map(|k| k.name()).collect();
    let kinds = known.join(", ");
    let Some(given) = node.get("kind").filter(|n| !n.is_null()) else {
        let message = format!("the stage `{}` has no `kind`", entry.key);
        diagnostics.push(
            Diagnostic::error("missing-key", entry.key_span, message)
                .help(format!("add `kind: ...` (one of: {kinds}), or `like: STAGE`")),
        );
        return None;
    };
    let kind = given.text().and_then(|name| registry.kind(name));
    if kind.is_none() {
        let message = format!("{} is not a kind of stage", given.describe());
        let help = suggest(given.text().unwrap_or_default(), &known, "kinds");
        diagnostics.push(Diagnostic::error("unknown-kind", given.span, message).help(help));
    }
    if entry.key == REPORT && kind.is_some_and(|k| k.name() != REPORT) {
        diagnostics.push(
            Diagnostic::error("bad-name", entry.key_span, "only a stage of kind `report` can be called `report`")
                .help("give the stage another name"),
        );
    }
    kind
}

fn read_per_cell(node: &Node, stage: &mut Stage, diagnostics: &mut Diagnostics) {
    let nothing = Sections::new();
    let mut cx = Cx::new(&nothing);
    match bool::decode(node, &mut cx) {
        Some(true) if stage.axes.is_empty() && !stage.cells_unknown => stage.per_cell = Some(node.span),
        Some(true) => {
            stage.cells_unknown = true;
            cx.push(
                Diagnostic::error("per-cell", node.span, "`per_cell` and `matrix` exclude each other")
                    .help("`per_cell` takes over the cells of the stages in `needs`; remove one of the two"),
            );
        }
        Some(false) => {}
        None => stage.cells_unknown = true,
    }
    diagnostics.append(cx.diagnostics);
}

/// Adds the keys that the kind takes from the top level and the stage does not give.
fn inherit(stage: &mut Stage, inherited: &[Entry], taken: &mut BTreeSet<String>) {
    let (Some(kind), Value::Map(entries)) = (stage.kind, &mut stage.params.value) else { return };
    for entry in inherited {
        let wanted = kind.inherits().contains(&entry.key.as_str());
        if wanted && entries.iter().all(|e| e.key != entry.key) {
            taken.insert(entry.key.clone());
            entries.push(entry.clone());
        }
    }
}

/// A report without `needs` needs every stage whose frames it takes.
fn fill_report_needs(stages: &mut [Stage], has_needs: impl Iterator<Item = bool>) {
    let kinds: Vec<Option<&'static dyn Kind>> = stages.iter().map(|s| s.kind).collect();
    let broken = kinds.iter().any(Option::is_none);
    for (i, has_needs) in has_needs.enumerate() {
        let Some(kind) = stages[i].kind.filter(|k| k.name() == REPORT && !has_needs) else { continue };
        let takes = |other: &dyn Kind| other.gives().iter().any(|f| kind.takes().iter().any(|t| t == f || *t == "*"));
        let all = (0..kinds.len()).filter(|&j| j != i && kinds[j].is_some_and(takes));
        stages[i].needs = Needs { incomplete: broken, ..Needs::implied(all, stages[i].span) };
    }
}
