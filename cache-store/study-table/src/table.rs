//! Tables and the few operations that stages need on them; anything larger belongs to `study-frames`.

use crate::{Column, ColumnBuilder, ColumnType, Field, Schema};
use std::fmt;

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// Text.
    Str(&'a str),
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Int(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Str(v) => f.write_str(v),
        }
    }
}

/// Columns of equal length under one schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    schema: Schema,
    columns: Vec<Column>,
    rows: usize,
}

/// A table that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableError {
    /// Columns of different length, or not of the schema's types.
    Shape(String),
    /// No column of that name.
    NoColumn(String),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(what) => write!(f, "malformed table: {what}"),
            Self::NoColumn(name) => write!(f, "no column `{name}`"),
        }
    }
}
impl std::error::Error for TableError {}

impl Table {
    /// From a schema and its columns.
    ///
    /// # Errors
    /// [`TableError::Shape`] when lengths or types do not fit.
    pub fn from_parts(schema: Schema, columns: Vec<Column>) -> Result<Self, TableError> {
        if schema.fields.len() != columns.len() {
            return Err(TableError::Shape(format!("{} fields, {} columns", schema.fields.len(), columns.len())));
        }
        let rows = columns.first().map_or(0, Column::len);
        for (field, column) in schema.fields.iter().zip(&columns) {
            if column.len() != rows || column.column_type() != field.column_type {
                return Err(TableError::Shape(format!("column `{}`", field.name)));
            }
        }
        Ok(Self { schema, columns, rows })
    }
    /// Rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }
    /// The schema.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }
    /// All columns, in the order of the schema.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// A column by name.
    ///
    /// # Errors
    /// [`TableError::NoColumn`].
    pub fn column(&self, name: &str) -> Result<&Column, TableError> {
        let position = self.schema.position(name).ok_or_else(|| TableError::NoColumn(name.to_owned()))?;
        Ok(&self.columns[position])
    }
    /// One value.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let column = &self.columns[column];
        if !column.is_valid(row) {
            return Cell::Null;
        }
        match column {
            Column::Int { values, .. } => Cell::Int(values[row]),
            Column::Float { values, .. } => Cell::Float(values[row]),
            Column::Bool { values, .. } => Cell::Bool(values[row]),
            Column::Str(s) => s.get(row).map_or(Cell::Null, Cell::Str),
        }
    }
    /// The table with a column of one repeated text put at `position` (for `node` and matrix axes).
    #[must_use]
    pub fn with_constant(mut self, position: usize, field: Field, cell: Cell<'_>) -> Self {
        let mut builder = ColumnBuilder::new(field.column_type);
        (0..self.rows).for_each(|_| builder.push(cell));
        self.schema.fields.insert(position, field);
        self.columns.insert(position, builder.finish());
        self
    }
    /// The rows for which `keep` is true, in order.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..self.rows).filter(|row| keep(*row)).collect();
        let columns = (0..self.columns.len())
            .map(|c| {
                let mut builder = ColumnBuilder::new(self.schema.fields[c].column_type);
                rows.iter().for_each(|row| builder.push(self.cell(*row, c)));
                builder.finish()
            })
            .collect();
        Self { schema: self.schema.clone(), columns, rows: rows.len() }
    }
    /// Tables one below the other; columns are matched by name, and one that a part lacks is null there. Columns keep the
    /// order of their first appearance.
    ///
    /// # Errors
    /// [`TableError::Shape`] when two parts have one name with two types.
    pub fn stack(parts: &[&Self]) -> Result<Self, TableError> {
        let mut fields: Vec<Field> = Vec::new();
        for part in parts {
            for field in &part.schema.fields {
                match fields.iter().find(|f| f.name == field.name) {
                    None => fields.push(field.clone()),
                    Some(known) if known.column_type != field.column_type => {
                        return Err(TableError::Shape(format!("column `{}` has two types", field.name)));
                    }
                    Some(_) => {}
                }
            }
        }
        let mut columns: Vec<ColumnBuilder> = fields.iter().map(|f| ColumnBuilder::new(f.column_type)).collect();
        for part in parts {
            for (field, builder) in fields.iter().zip(&mut columns) {
                match part.schema.position(&field.name) {
                    Some(c) => (0..part.rows).for_each(|row| builder.push(part.cell(row, c))),
                    None => (0..part.rows).for_each(|_| builder.push(Cell::Null)),
                }
            }
        }
        Self::from_parts(Schema::new(fields), columns.into_iter().map(ColumnBuilder::finish).collect())
    }
    /// An integer column as numbers; nulls are refused.
    ///
    /// # Errors
    /// No such column, another type, or a null.
    pub fn ints(&self, name: &str) -> Result<&[i64], TableError> {
        match self.column(name)? {
            Column::Int { values, validity: None } => Ok(values),
            _ => Err(TableError::Shape(format!("column `{name}` is not of integers without nulls"))),
        }
    }
    /// A column as floats, `None` for null.
    ///
    /// # Errors
    /// No such column, or text.
    pub fn floats(&self, name: &str) -> Result<Vec<Option<f64>>, TableError> {
        let column = self.column(name)?;
        if column.column_type() == ColumnType::Str {
            return Err(TableError::Shape(format!("column `{name}` is text")));
        }
        Ok((0..self.rows).map(|row| column.float(row)).collect())
    }
    /// A text column.
    ///
    /// # Errors
    /// No such column, or not text.
    pub fn texts(&self, name: &str) -> Result<&crate::StrColumn, TableError> {
        match self.column(name)? {
            Column::Str(column) => Ok(column),
            _ => Err(TableError::Shape(format!("column `{name}` is not text"))),
        }
    }
}
