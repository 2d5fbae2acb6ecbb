//! The axis columns of the frames that a stage receives.

use crate::frames::Binding;
use crate::matrix::{self, same_column, text_of};
use crate::needs::Need;
use crate::shape::{Shape, ShapeAxis};
use crate::stage::Stage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use study_tree::{Diagnostics, Node, get_path};

/// The axes that occur among the parts of a frame, by column.
pub(crate) fn among<'s>(from: &[Need], shapes: &'s [Option<Arc<Shape>>]) -> BTreeMap<&'s str, &'s ShapeAxis> {
    let shapes = from.iter().filter_map(|need| shapes[need.stage].as_ref());
    shapes.flat_map(|s| &s.axes).map(|axis| (axis.column(), axis)).collect()
}

/// Reports axes of different parameters that would fill one column of a stacked frame.
pub(crate) fn check_columns(bindings: &[Vec<Binding>], shapes: &[Option<Arc<Shape>>], diagnostics: &mut Diagnostics) {
    for binding in bindings.iter().flatten() {
        let columns = among(&binding.from, shapes);
        for axis in binding.from.iter().filter_map(|n| shapes[n.stage].as_ref()).flat_map(|s| &s.axes) {
            let other = columns[axis.column()];
            if other.path != axis.path {
                let (first, second) = if axis.span.start < other.span.start { (axis, other) } else { (other, axis) };
                diagnostics.push(same_column(&second.path, second.span, &first.path, first.span));
            }
        }
    }
}

/// What a node has for an axis: its place on it, or else the value of its parameter.
pub(crate) fn value(stage: &Stage, shape: &Shape, cell: usize, canonical: &Value, path: &str) -> Option<String> {
    if let Some(axis) = shape.axes.iter().position(|a| a.path == path) {
        return Some(shape.text(cell, axis).to_owned());
    }
    let given = |node: Option<&Node>| node.filter(|n| !n.is_null()).map(text_of);
    let inside = stage.axes.iter().enumerate().find_map(|(i, axis)| {
        let rest = path.strip_prefix(&axis.path)?.strip_prefix('.')?;
        Some(given(get_path(&axis.values[shape.cells[cell][i]], rest)))
    });
    inside.unwrap_or_else(|| given(get_path(&stage.params, path))).or_else(|| default(canonical, path))
}

/// The value in the canonical parameters, which have the defaults filled in.
fn default(canonical: &Value, path: &str) -> Option<String> {
    match path.split('.').try_fold(canonical, |value, key| value.get(key))? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// `[player.prefetch=1,scheduler=sequential]`, or nothing for a stage without axes.
pub(crate) fn label(shape: &Shape, cell: usize) -> String {
    if shape.axes.is_empty() {
        return String::new();
    }
    let parts: Vec<String> =
        shape.axes.iter().zip(shape.texts(cell)).map(|(axis, text)| format!("{}={text}", axis.path)).collect();
    format!("[{}]", parts.join(","))
}

/// The values of a cell by column.
pub(crate) fn own(shape: &Shape, cell: usize) -> BTreeMap<String, String> {
    let texts = shape.texts(cell).into_iter().map(str::to_owned);
    shape.axes.iter().map(|a| matrix::column(&a.path).to_owned()).zip(texts).collect()
}
