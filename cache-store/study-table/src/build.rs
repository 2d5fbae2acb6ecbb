//! Building columns row by row.

use crate::{Cell, Column, ColumnType, Field, Schema, StrColumn, Table};
use std::collections::HashMap;

/// Appends values of one column.
#[derive(Debug)]
pub struct ColumnBuilder {
    column: Column,
    lookup: HashMap<String, u32>,
}

impl ColumnBuilder {
    /// An empty column.
    #[must_use]
    pub fn new(column_type: ColumnType) -> Self {
        let column = match column_type {
            ColumnType::Int => Column::Int { values: Vec::new(), validity: None },
            ColumnType::Float => Column::Float { values: Vec::new(), validity: None },
            ColumnType::Bool => Column::Bool { values: Vec::new(), validity: None },
            ColumnType::Str => Column::Str(StrColumn::default()),
        };
        Self { column, lookup: HashMap::new() }
    }
    /// Appends a cell. A float that is not finite becomes null, so that no frame holds NaN.
    ///
    /// # Panics
    /// When the cell is of another type than the column: a mistake of the stage, caught by its tests.
    pub fn push(&mut self, cell: Cell<'_>) {
        let cell = match cell {
            Cell::Float(x) if !x.is_finite() => Cell::Null,
            other => other,
        };
        match (&mut self.column, cell) {
            (Column::Int { values, validity }, Cell::Int(v)) => push_value(values, validity, v, true),
            (Column::Int { values, validity }, Cell::Null) => push_value(values, validity, 0, false),
            // `+ 0.0`: equal values have equal bits.
            (Column::Float { values, validity }, Cell::Float(v)) => push_value(values, validity, v + 0.0, true),
            (Column::Float { values, validity }, Cell::Null) => push_value(values, validity, 0.0, false),
            (Column::Bool { values, validity }, Cell::Bool(v)) => push_value(values, validity, v, true),
            (Column::Bool { values, validity }, Cell::Null) => push_value(values, validity, false, false),
            (Column::Str(column), Cell::Str(text)) => {
                let code = match self.lookup.get(text) {
                    Some(code) => *code,
                    None => {
                        let code = column.values.len() as u32;
                        column.values.push(text.to_owned());
                        self.lookup.insert(text.to_owned(), code);
                        code
                    }
                };
                column.codes.push(code);
            }
            (Column::Str(column), Cell::Null) => column.codes.push(u32::MAX),
            (column, cell) => panic!("cell {cell:?} in a column of type {:?}", column.column_type()),
        }
    }
    /// The column.
    #[must_use]
    pub fn finish(self) -> Column {
        self.column
    }
}

fn push_value<T>(values: &mut Vec<T>, validity: &mut Option<Vec<bool>>, value: T, valid: bool) {
    if !valid && validity.is_none() {
        *validity = Some(vec![true; values.len()]);
    }
    values.push(value);
    if let Some(v) = validity {
        v.push(valid);
    }
}

/// Builds a table row by row.
#[derive(Debug)]
pub struct TableBuilder {
    schema: Schema,
    columns: Vec<ColumnBuilder>,
}

impl TableBuilder {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(fields: Vec<Field>) -> Self {
        let columns = fields.iter().map(|f| ColumnBuilder::new(f.column_type)).collect();
        Self { schema: Schema::new(fields), columns }
    }
    /// Appends a row: one cell per column, in order.
    ///
    /// # Panics
    /// When the number or the types of the cells do not fit the columns.
    pub fn row(&mut self, cells: &[Cell<'_>]) {
        assert_eq!(cells.len(), self.columns.len(), "cells of a row");
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell);
        }
    }
    /// The table.
    #[must_use]
    pub fn finish(self) -> Table {
        Table::from_parts(self.schema, self.columns.into_iter().map(ColumnBuilder::finish).collect())
            .expect("columns of a builder have one length and the types of the schema")
    }
}
