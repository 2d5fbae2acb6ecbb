//! Frames as Parquet and CSV.

use super::Source;
use crate::exit::{Exit, Failure};
use std::collections::BTreeMap;
use study_engine::load_frame;
use study_ident::{CanonicalHasher, Digest};
use study_spec::{PlannedNode, Study};
use study_store::OutputRecord;
use study_table::{Cell, ColumnType, Field, Schema, Table};

/// Raised when the published form of a frame changes.
const FORM: u64 = 1;

/// What a published table depends on.
pub fn identity(study: &Study, node: usize, output: &OutputRecord) -> Digest {
    let mut hasher = CanonicalHasher::new("published-table");
    hasher.uint(FORM);
    hasher.text(&study.name);
    hasher.text(&study.nodes[node].id);
    for (axis, value) in &study.nodes[node].axes {
        hasher.text(axis);
        hasher.text(value);
    }
    hasher.digest(&output.logical);
    hasher.finish()
}

/// The frame with `study`, `node` and the node's axes in front, where it does not have them.
pub fn labelled(study: &Study, node: usize, table: Table) -> Table {
    let table = with_labels(&study.nodes[node], table);
    in_front(table, 0, "study", &study.name, "the study")
}

/// The frame with `node` and the node's axes in front, where it does not have them.
pub fn with_labels(node: &PlannedNode, table: Table) -> Table {
    let table = in_front(table, 0, "node", &node.id, "node of the study that made the row");
    let axes = node.axes.iter().enumerate();
    axes.fold(table, |table, (i, (axis, value))| in_front(table, i + 1, axis, value, "value of the matrix axis"))
}

fn in_front(table: Table, position: usize, name: &str, value: &str, meaning: &str) -> Table {
    if table.schema().position(name).is_some() {
        return table;
    }
    table.with_constant(position, Field::new(name, ColumnType::Str, "", meaning), Cell::Str(value))
}

/// The bytes of a file, by its ending.
pub fn encode(study: &Study, table: &Table, path: &str) -> Result<Vec<u8>, Failure> {
    if path.ends_with(".csv") {
        return Ok(study_frames::write_csv(table));
    }
    let metadata =
        BTreeMap::from([("study".to_owned(), study.name.clone()), ("variant".to_owned(), study.variant.clone())]);
    study_frames::write_parquet(table, &metadata).map_err(|e| Failure::new(Exit::Stage, format!("`{path}`: {e}")))
}

/// The data dictionary: each frame once, with the columns of all nodes that give it.
pub fn dictionary(source: &Source<'_>) -> Result<Vec<u8>, Failure> {
    let mut frames: Vec<(&str, Schema)> = Vec::new();
    for (node, outputs) in source.outputs.iter().enumerate() {
        for output in outputs.iter().flatten().filter(|output| output.frame) {
            let table = labelled(source.study, node, load_frame(source.store, output)?);
            let known = match frames.iter().position(|(name, _)| *name == output.name) {
                Some(position) => &mut frames[position].1,
                None => {
                    frames.push((&output.name, Schema::default()));
                    let last = frames.len() - 1;
                    &mut frames[last].1
                }
            };
            for field in &table.schema().fields {
                if known.position(&field.name).is_none() {
                    known.fields.push(field.clone());
                }
            }
        }
    }
    let frames: Vec<(&str, &Schema)> = frames.iter().map(|(name, schema)| (*name, schema)).collect();
    Ok(study_frames::data_dictionary(&frames))
}
