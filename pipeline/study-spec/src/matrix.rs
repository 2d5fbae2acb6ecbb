//! `matrix`: the axes along which a stage is varied.

use crate::keys::STAGE_KEYS;
use crate::overlay::{Step, steps};
use std::collections::{BTreeMap, BTreeSet};
use study_tree::{Diagnostic, Diagnostics, Entry, Node, Span, Value};

/// Most cells of one stage.
pub(crate) const MOST_CELLS: usize = 100_000;

/// Columns that every stacked frame has anyway.
const TAKEN_COLUMNS: [&str; 4] = ["study", "node", "run", "arm"];

/// One parameter that is varied.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// The path of the parameter, e.g. `player.prefetch`.
    pub(crate) path: String,
    /// Where the path is written.
    pub(crate) span: Span,
    /// The path in steps, all at that place.
    pub(crate) steps: Vec<Step>,
    /// The values.
    pub(crate) values: Vec<Node>,
    /// How each value is written in node ids and axis columns.
    pub(crate) texts: Vec<String>,
}

impl Axis {
    /// The name of its column: the last part of the path.
    pub(crate) fn column(&self) -> &str {
        column(&self.path)
    }
}

/// The last part of a path.
pub(crate) fn column(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Reads `matrix: { path: [value, value] }` into axes in the order of their paths. `None` after an error.
pub(crate) fn read(node: &Node, diagnostics: &mut Diagnostics) -> Option<Vec<Axis>> {
    let Some(entries) = node.entries().filter(|e| !e.is_empty()) else {
        let message = format!("expected a mapping of axes, found {}", node.describe());
        diagnostics.push(
            Diagnostic::error("matrix-axis", node.span, message)
                .help("write `matrix: { parameter.path: [value, value] }`"),
        );
        return None;
    };
    let axes: Vec<Option<Axis>> = entries.iter().map(|entry| read_axis(entry, diagnostics)).collect();
    let mut axes: Vec<Axis> = axes.into_iter().collect::<Option<_>>()?;
    axes.sort_by(|a, b| a.path.cmp(&b.path));
    let apart = columns_differ(&axes, diagnostics) & paths_are_apart(&axes, diagnostics);
    (apart && size_is_bearable(&axes, node.span, diagnostics)).then_some(axes)
}

fn refuse<T>(span: Span, message: String, help: &str, diagnostics: &mut Diagnostics) -> Option<T> {
    diagnostics.push(Diagnostic::error("matrix-axis", span, message).help(help));
    None
}

fn read_axis(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<Axis> {
    let path = entry.key.clone();
    let first = path.split('.').next().unwrap_or_default();
    if path.split('.').any(str::is_empty) || STAGE_KEYS.contains(&first) {
        let help = "an axis is the path of a parameter of the stage, e.g. `player.prefetch`";
        return refuse(entry.key_span, format!("`{path}` cannot be an axis"), help, diagnostics);
    }
    if TAKEN_COLUMNS.contains(&column(&path)) {
        let message = format!("`{path}` cannot be an axis: frames have a column `{}` already", column(&path));
        return refuse(entry.key_span, message, "vary another parameter", diagnostics);
    }
    let Some(values) = entry.value.items() else {
        let message = format!("expected a list of values for `{path}`, found {}", entry.value.describe());
        return refuse(entry.value.span, message, "write `[value, value]`", diagnostics);
    };
    if values.is_empty() {
        let message = format!("the axis `{path}` has no values");
        return refuse(entry.value.span, message, "give at least one value, or remove the axis", diagnostics);
    }
    let texts: Vec<String> = values.iter().map(text_of).collect();
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for (text, value) in texts.iter().zip(values) {
        if let Some(earlier) = seen.insert(text, value.span) {
            diagnostics.push(
                Diagnostic::error("matrix-axis", value.span, format!("`{text}` is given twice on the axis `{path}`"))
                    .related(earlier, "first given here")
                    .help("remove one of the two"),
            );
            return None;
        }
    }
    let steps = steps(&path, entry.key_span);
    Some(Axis { path, span: entry.key_span, steps, values: values.to_vec(), texts })
}

fn columns_differ(axes: &[Axis], diagnostics: &mut Diagnostics) -> bool {
    let mut columns: BTreeMap<&str, &Axis> = BTreeMap::new();
    let mut differ = true;
    for axis in axes {
        if let Some(other) = columns.insert(axis.column(), axis) {
            differ = false;
            diagnostics.push(same_column(&axis.path, axis.span, &other.path, other.span));
        }
    }
    differ
}

/// Two axes whose columns have one name.
pub(crate) fn same_column(path: &str, span: Span, other: &str, other_span: Span) -> Diagnostic {
    let message = format!("the axes `{other}` and `{path}` would share the column `{}`", column(path));
    Diagnostic::error("matrix-axis", span, message)
        .related(other_span, "the other axis")
        .help("vary one of the two in a stage of its own, and compare the two in separate reports")
}

/// An axis below another one would be overwritten by it.
fn paths_are_apart(axes: &[Axis], diagnostics: &mut Diagnostics) -> bool {
    let mut apart = true;
    for axis in axes {
        for (dot, _) in axis.path.match_indices('.') {
            let above = &axis.path[..dot];
            if let Ok(i) = axes.binary_search_by(|a| a.path.as_str().cmp(above)) {
                apart = false;
                diagnostics.push(
                    Diagnostic::error("matrix-axis", axis.span, format!("`{}` lies inside `{above}`", axis.path))
                        .related(axes[i].span, "the axis above it")
                        .help("vary only one of the two"),
                );
            }
        }
    }
    apart
}

fn size_is_bearable(axes: &[Axis], span: Span, diagnostics: &mut Diagnostics) -> bool {
    let cells = axes.iter().fold(1usize, |n, axis| n.saturating_mul(axis.values.len()));
    if cells <= MOST_CELLS {
        return true;
    }
    let message = format!("the matrix has {cells} cells, more than {MOST_CELLS}");
    diagnostics.push(Diagnostic::error("matrix-size", span, message).help("give fewer values, or fewer axes"));
    false
}

/// All cells, as one value number per axis; the last axis changes fastest.
pub(crate) fn cells(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut cells = vec![Vec::new()];
    for axis in axes {
        let longer = |cell: &Vec<usize>| {
            let cell = cell.clone();
            (0..axis.values.len()).map(move |i| cell.iter().copied().chain([i]).collect())
        };
        cells = cells.iter().flat_map(longer).collect();
    }
    cells
}

/// A value as it stands in node ids and axis columns: scalars as written, the rest in flow style.
pub(crate) fn text_of(node: &Node) -> String {
    match &node.value {
        _ if node.is_null() => "null".to_owned(),
        Value::Scalar(scalar) => scalar.text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::List(items) => format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let parts: BTreeSet<String> = entries.iter().map(|e| format!("{}: {}", e.key, text_of(&e.value))).collect();
            format!("{{{}}}", parts.into_iter().collect::<Vec<_>>().join(", "))
        }
    }
}
