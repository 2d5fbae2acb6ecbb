//! Frames and files in and out of a stage.

use crate::StageError;
use std::collections::BTreeMap;
use std::sync::Arc;
use study_table::{Cell, ColumnType, Field, Table};

/// One frame from one node.
#[derive(Debug, Clone)]
pub struct InputPart {
    /// Id of the node that made it.
    pub node: String,
    /// The stage the node belongs to.
    pub stage: String,
    /// Values of all matrix axes that occur among the parts of this frame, by column name; a node that does not vary an
    /// axis carries its parameter's value, or nothing where it has no such parameter.
    pub axes: BTreeMap<String, Option<String>>,
    /// The frame.
    pub table: Arc<Table>,
}

/// The frames a stage receives, by name.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Parts by frame name, in the order of the plan.
    pub frames: BTreeMap<String, Vec<InputPart>>,
}

impl Inputs {
    /// The parts of a frame; none when no stage gave it.
    #[must_use]
    pub fn parts(&self, frame: &str) -> &[InputPart] {
        self.frames.get(frame).map_or(&[], Vec::as_slice)
    }
    /// The frame of the only node that gives it.
    ///
    /// # Errors
    /// When none or several give it.
    pub fn single(&self, frame: &str) -> Result<&Arc<Table>, StageError> {
        match self.parts(frame) {
            [part] => Ok(&part.table),
            [] => Err(StageError::failed_with_help(
                format!("no stage gives the frame `{frame}`"),
                "add the stage to `needs`",
            )),
            many => Err(StageError::failed_with_help(
                format!("{} nodes give the frame `{frame}`", many.len()),
                "say which: `needs: { frame: stage }`",
            )),
        }
    }
    /// All parts one below the other, with the columns `node` and one per matrix axis in front.
    ///
    /// # Errors
    /// When two parts disagree about a column's type.
    pub fn stacked(&self, frame: &str) -> Result<Table, StageError> {
        let labelled: Vec<Table> = self.parts(frame).iter().map(labelled).collect();
        Ok(Table::stack(&labelled.iter().collect::<Vec<_>>())?)
    }
}

/// A part with `node` and its axes as columns.
fn labelled(part: &InputPart) -> Table {
    let mut table = Table::clone(&part.table);
    let mut position = 0;
    if table.schema().position("node").is_none() {
        let field = Field::new("node", ColumnType::Str, "", "node of the study that made the row");
        table = table.with_constant(0, field, Cell::Str(&part.node));
        position = 1;
    }
    for (axis, value) in &part.axes {
        if table.schema().position(axis).is_none() {
            let field = Field::new(axis, ColumnType::Str, "", "value of the matrix axis");
            table = table.with_constant(position, field, value.as_deref().map_or(Cell::Null, Cell::Str));
            position += 1;
        }
    }
    table
}

/// What a stage made.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Frames by name.
    pub frames: BTreeMap<String, Table>,
    /// Files by path relative to `results/<study>/`, e.g. `report.md`, `figures/fig_cdf.svg`. `{node}` in a path stands for the name of
    /// the node in file names, which a stage does not know: two nodes with the same result share it.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Counters of the work itself (`events`, `packets`, ...). Recorded beside the result, never hashed.
    pub counters: BTreeMap<String, u64>,
}
