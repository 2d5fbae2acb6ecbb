//! Decoding of a stage, once per cell of its matrix.

use crate::matrix::{Axis, cells};
use crate::overlay::put;
use crate::stage::Stage;
use std::collections::BTreeSet;
use std::sync::Arc;
use study_stage::{Kind, Params};
use study_tree::{Cx, Diagnostic, Diagnostics, FileRequest, Node, Sections};

/// One decoded cell.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) params: Arc<dyn Params>,
    pub(crate) canonical: serde_json::Value,
    pub(crate) files: Vec<FileRequest>,
}

/// Definitions that were looked up, as (section, name).
pub(crate) type Used = BTreeSet<(String, String)>;

/// Decodes all cells of a stage. `None` when there is nothing to decode or a cell did not decode.
pub(crate) fn decode(
    stage: &Stage,
    sections: &Sections,
    used: &mut Used,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Cell>> {
    let kind = stage.kind?;
    // All of them, so that each bad value of an axis is reported.
    let decoded: Vec<Option<Cell>> = cells(&stage.axes)
        .iter()
        .map(|cell| decode_one(stage, kind, &tree(stage, cell), sections, used, diagnostics))
        .collect();
    decoded.into_iter().collect()
}

/// The parameters of one cell.
fn tree(stage: &Stage, cell: &[usize]) -> Node {
    let mut node = stage.params.clone();
    for (axis, value) in stage.axes.iter().zip(cell) {
        put(&mut node, &axis.steps, axis.values[*value].clone());
    }
    node
}

fn decode_one(
    stage: &Stage,
    kind: &dyn Kind,
    node: &Node,
    sections: &Sections,
    used: &mut Used,
    diagnostics: &mut Diagnostics,
) -> Option<Cell> {
    let mut cx = Cx::new(sections);
    let params = kind.decode(node, &mut cx);
    let failed = cx.diagnostics.has_errors();
    // A key that seems to be missing may be one that the unreadable matrix would have given.
    let found = cx.diagnostics.into_items().into_iter();
    for diagnostic in found.filter(|d| !(stage.cells_unknown && d.code == "missing-key")) {
        diagnostics.push(blame_axis(stage, diagnostic));
    }
    used.append(&mut cx.used);
    if params.is_none() && !failed {
        let message = format!("the kind `{}` refused the stage `{}` without a reason", kind.name(), stage.name);
        diagnostics
            .push(Diagnostic::error("refused", stage.span, message).help("this is a fault of the kind: report it"));
    }
    let params = params.filter(|_| !failed)?;
    Some(Cell { canonical: params.canonical(), params, files: cx.files })
}

/// A key that only an axis has put there is the axis's fault.
fn blame_axis(stage: &Stage, diagnostic: Diagnostic) -> Diagnostic {
    let Some(axis) = stage.axes.iter().find(|a: &&Axis| a.span == diagnostic.span) else { return diagnostic };
    let message = format!("the axis `{}` matches no parameter of `{}`: {}", axis.path, stage.name, diagnostic.message);
    Diagnostic { code: "matrix-axis", message, ..diagnostic }
}
