//! From text and options to a plan.

use crate::cells::{self, Cell, Used};
use crate::frames::Binding;
use crate::keys::TopKeys;
use crate::plan::{self, Parts, Study};
use crate::shape::Shape;
use crate::stage::{self, Stage};
use crate::study::Draft;
use crate::{axes, frames, lint, order, report, sets, shape, study, variant, yaml};
use std::collections::BTreeSet;
use std::sync::Arc;
use study_stage::{Registry, StudyInfo};
use study_tree::{Diagnostic, Diagnostics, Node, Severity, SourceMap, Span};

/// What the command line changes about a study.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `--variant NAME`.
    pub variant: Option<String>,
    /// `--set path=value`, as given, in order.
    pub sets: Vec<String>,
    /// `--seed N`, in place of the study's own.
    pub seed: Option<u64>,
}

/// A study, or what is wrong with it.
pub struct Loaded {
    /// The texts that diagnostics point into; the study file is number 0.
    pub sources: SourceMap,
    /// All problems, warnings included.
    pub diagnostics: Diagnostics,
    /// The study; `None` exactly when there are errors.
    pub study: Option<Study>,
}

/// Reads a study file. `file_name` is for messages only.
#[must_use]
pub fn load(registry: &Registry, file_name: &str, text: &[u8], options: &Options) -> Loaded {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let text = yaml::text_of(text, 0, &mut diagnostics);
    sources.add(file_name, text.as_str());
    let mut study = None;
    if !diagnostics.has_errors()
        && let Some(root) = yaml::parse_file(&text, 0, &mut diagnostics)
    {
        study = read(registry, root, options, &mut sources, &mut diagnostics);
    }
    let study = study.filter(|_| !diagnostics.has_errors());
    Loaded { sources, diagnostics, study }
}

fn read(
    registry: &Registry,
    mut root: Node,
    options: &Options,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Option<Study> {
    let keys = TopKeys::new(registry);
    report::add_implicit(registry, &mut root);
    let ci = variant::take(&mut root);
    let mut name = variant::FULL;
    match (&options.variant, &ci) {
        (Some(wanted), Some(block)) if wanted == variant::CI => {
            name = variant::CI;
            variant::apply(&mut root, &block.value, &keys, diagnostics);
        }
        (Some(wanted), _) => diagnostics.push(variant::unknown(wanted, ci.is_some(), sources)),
        (None, Some(block)) => check_variant(registry, &keys, &root, &block.value, diagnostics),
        (None, None) => {}
    }
    for set in &options.sets {
        sets::apply(registry, &keys, &mut root, set, sources, diagnostics);
    }
    let checked = check(registry, &keys, &root, diagnostics)?;
    if diagnostics.has_errors() {
        return None;
    }
    let mut study = plan(checked, diagnostics);
    name.clone_into(&mut study.variant);
    name.clone_into(&mut study.info.variant);
    if let Some(seed) = options.seed {
        study.seed = seed;
        study.info.seed = seed;
    }
    Some(study)
}

/// Reports what is wrong inside the block of a variant that was not asked for.
fn check_variant(registry: &Registry, keys: &TopKeys, root: &Node, block: &Node, diagnostics: &mut Diagnostics) {
    let mut root = root.clone();
    let mut found = Diagnostics::default();
    variant::apply(&mut root, block, keys, &mut found);
    check(registry, keys, &root, &mut found);
    let inside = |span: Span| span.source == 0 && block.span.start <= span.start && span.end <= block.span.end;
    let errors = found.into_items().into_iter().filter(|d| d.severity == Severity::Error && inside(d.span));
    errors.for_each(|d| diagnostics.push(d));
}

/// A study that has been read as far as it can be; without errors, a plan can be made of it.
struct Checked {
    draft: Draft,
    stages: Vec<Stage>,
    /// Keys of the top level that some stage took over.
    taken: BTreeSet<String>,
    /// Definitions that some stage uses.
    used: Used,
    decoded: Vec<Option<Vec<Cell>>>,
    bindings: Vec<Vec<Binding>>,
    order: Vec<usize>,
    shapes: Vec<Option<Arc<Shape>>>,
}

/// Reports everything that is wrong with a study; `None` when it has no readable top level.
fn check(registry: &Registry, keys: &TopKeys, root: &Node, diagnostics: &mut Diagnostics) -> Option<Checked> {
    let mut draft = study::read(registry, keys, root, diagnostics)?;
    let (mut stages, taken) = stage::read_all(registry, &mut draft, diagnostics);
    drop_useless_report(&mut stages);
    study::check_sections(registry, root, &draft.sections, diagnostics);
    let mut used = Used::new();
    let decoded: Vec<_> = stages.iter().map(|s| cells::decode(s, &draft.sections, &mut used, diagnostics)).collect();
    let givers = frames::Givers::new(&stages);
    let bindings: Vec<_> =
        (0..stages.len()).map(|i| frames::bind(registry, &stages, &givers, i, diagnostics)).collect();
    let order = order::order(&stages, diagnostics);
    let shapes = shape::shapes(&stages, &bindings, &order, diagnostics);
    axes::check_columns(&bindings, &shapes, diagnostics);
    Some(Checked { draft, stages, taken, used, decoded, bindings, order, shapes })
}

/// Makes the plan of a study without errors.
fn plan(checked: Checked, diagnostics: &mut Diagnostics) -> Study {
    let Checked { draft, stages, taken, used, decoded, bindings, order, shapes } = checked;
    lint::lint(&draft, &stages, &bindings, &used, &taken, diagnostics);
    let parts = Parts { stages: &stages, bindings: &bindings, shapes: &shapes, order: &order };
    let (nodes, described) = plan::assemble(&parts, decoded);
    unique_ids(&nodes, &stages, diagnostics);
    let (name, title, seed, variant) = (draft.name, draft.title, draft.seed, String::new());
    let info = StudyInfo { name: name.clone(), title: title.clone(), seed, variant: variant.clone(), nodes: described };
    Study { name, title, seed, variant, nodes, info }
}

/// The report that nobody wrote is left out when there is nothing to report on.
fn drop_useless_report(stages: &mut Vec<Stage>) {
    let Some(report) = stages.iter().position(|s| s.implicit) else { return };
    let needed = stages.iter().any(|s| s.needs.list.iter().any(|n| n.stage == report));
    // It was added at the end; what a variant adds behind it must keep its number.
    let useless = stages[report].needs.list.is_empty() || frames::lacks(stages, report);
    if report + 1 == stages.len() && !needed && !stages[report].needs.incomplete && useless {
        stages.pop();
    }
}

/// Values with commas and equals signs could give two cells one id.
fn unique_ids(nodes: &[plan::PlannedNode], stages: &[Stage], diagnostics: &mut Diagnostics) {
    let mut seen = std::collections::HashSet::new();
    for node in nodes.iter().filter(|node| !seen.insert(node.id.as_str())) {
        let axis = stages.iter().find(|s| s.name == node.stage).and_then(|s| s.axes.first());
        let message = format!("two cells would both be called `{}`", node.id);
        diagnostics.push(
            Diagnostic::error("matrix-axis", axis.map_or(node.span, |a| a.span), message)
                .help("write the values of the axes without commas and equals signs"),
        );
    }
}
