//! Over which cells a stage runs.

use crate::frames::Binding;
use crate::matrix::{self, MOST_CELLS, cells};
use crate::stage::Stage;
use std::collections::HashMap;
use std::sync::Arc;
use study_tree::{Diagnostic, Diagnostics, Span};

/// One axis of a shape.
#[derive(Debug, Clone)]
pub(crate) struct ShapeAxis {
    /// The path of the parameter in the stage that varies it.
    pub(crate) path: String,
    /// Where the axis is written.
    pub(crate) span: Span,
    /// The values as text.
    pub(crate) texts: Vec<String>,
}

impl ShapeAxis {
    pub(crate) fn column(&self) -> &str {
        matrix::column(&self.path)
    }
}

/// The cells of a stage. Without axes it has one.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// In the order of their paths.
    pub(crate) axes: Vec<ShapeAxis>,
    /// One value number per axis.
    pub(crate) cells: Vec<Vec<usize>>,
}

impl Shape {
    /// The value of a cell on an axis.
    pub(crate) fn text(&self, cell: usize, axis: usize) -> &str {
        &self.axes[axis].texts[self.cells[cell][axis]]
    }
    /// The values of a cell on all axes.
    pub(crate) fn texts(&self, cell: usize) -> Vec<&str> {
        (0..self.axes.len()).map(|axis| self.text(cell, axis)).collect()
    }
    /// Cells by their values.
    pub(crate) fn by_texts(&self) -> HashMap<Vec<&str>, usize> {
        (0..self.cells.len()).map(|cell| (self.texts(cell), cell)).collect()
    }
    /// Whether both have the same axes and the same cells, in whatever order.
    fn matches(&self, other: &Self) -> bool {
        let paths = |shape: &Self| shape.axes.iter().map(|a| a.path.clone()).collect::<Vec<_>>();
        let known = other.by_texts();
        paths(self) == paths(other)
            && self.cells.len() == other.cells.len()
            && (0..self.cells.len()).all(|cell| known.contains_key(&self.texts(cell)))
    }
}

/// Most nodes of a study.
const MOST_NODES: usize = 10 * MOST_CELLS;
/// Most inputs of all nodes together.
const MOST_INPUTS: usize = 100 * MOST_CELLS;

/// The shapes of the stages in `order`; `None` for the others and where something is wrong.
pub(crate) fn shapes(
    stages: &[Stage],
    bindings: &[Vec<Binding>],
    order: &[usize],
    diagnostics: &mut Diagnostics,
) -> Vec<Option<Arc<Shape>>> {
    let mut shapes: Vec<Option<Arc<Shape>>> = vec![None; stages.len()];
    let (mut nodes, mut inputs) = (0usize, 0usize);
    for &i in order {
        let stage = &stages[i];
        shapes[i] = match stage.per_cell {
            _ if stage.cells_unknown || stage.kind.is_none() => None,
            Some(span) => over_needs(stages, &bindings[i], &shapes, span, diagnostics),
            None => Some(Arc::new(own(stage))),
        };
        let cells_of = |shape: &Option<Arc<Shape>>| shape.as_ref().map_or(0, |s| s.cells.len());
        let own = cells_of(&shapes[i]);
        let parts = bindings[i].iter().flat_map(|b| &b.from);
        let wide: usize = parts.map(|n| if stage.per_cell.is_some() { 1 } else { cells_of(&shapes[n.stage]) }).sum();
        nodes += own;
        inputs = inputs.saturating_add(own.saturating_mul(wide));
        let message = if nodes > MOST_NODES {
            format!("with `{}` the study has more than {MOST_NODES} nodes", stage.name)
        } else if inputs > MOST_INPUTS {
            format!("with `{}` the nodes have more than {MOST_INPUTS} inputs", stage.name)
        } else {
            continue;
        };
        let help = "give fewer values on the axes, or `per_cell: true`";
        diagnostics.push(Diagnostic::error("matrix-size", stage.span, message).help(help));
        break;
    }
    shapes
}

fn own(stage: &Stage) -> Shape {
    let axis = |a: &matrix::Axis| ShapeAxis { path: a.path.clone(), span: a.span, texts: a.texts.clone() };
    Shape { axes: stage.axes.iter().map(axis).collect(), cells: cells(&stage.axes) }
}

/// `per_cell: true`: the cells of the stages it reads, which must agree.
fn over_needs(
    stages: &[Stage],
    bindings: &[Binding],
    shapes: &[Option<Arc<Shape>>],
    span: Span,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Shape>> {
    let mut found: Option<(usize, &Arc<Shape>)> = None;
    for need in bindings.iter().flat_map(|b| &b.from) {
        let shape = shapes[need.stage].as_ref()?;
        if shape.axes.is_empty() {
            continue;
        }
        match found {
            None => found = Some((need.stage, shape)),
            Some((first, earlier)) => {
                if first != need.stage && !Arc::ptr_eq(earlier, shape) && !earlier.matches(shape) {
                    let (a, b) = (&stages[first].name, &stages[need.stage].name);
                    let message = format!("`per_cell` needs one set of cells, but `{a}` and `{b}` have different ones");
                    diagnostics.push(
                        Diagnostic::error("per-cell", need.span, message)
                            .related(span, "mapped over the cells here")
                            .help("split the stage in two, or give both the same `matrix`"),
                    );
                    return None;
                }
            }
        }
    }
    if found.is_none() {
        diagnostics.push(
            Diagnostic::error("per-cell", span, "no stage that it reads has a `matrix`")
                .help("remove `per_cell`, or need a stage that has a matrix"),
        );
    }
    found.map(|(_, shape)| Arc::clone(shape))
}
