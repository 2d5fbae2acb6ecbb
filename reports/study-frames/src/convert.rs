//! Between tables and polars' data frames.

use crate::FrameError;
use polars::prelude::{BooleanChunked, Float64Chunked, Int64Chunked, Series, StringChunked};
use polars::prelude::{Column as PolarsColumn, DataFrame, DataType, IntoColumn, NamedFrom, NewChunkedArray};
use study_table::{Cell, Column, ColumnBuilder, ColumnType, Field, Schema, Table};

/// The table as a polars data frame of the same columns.
///
/// # Errors
/// [`FrameError::Polars`] when two columns have one name.
pub fn to_dataframe(table: &Table) -> Result<DataFrame, FrameError> {
    let columns = table.schema().fields.iter().zip(table.columns()).map(|(f, c)| to_polars(&f.name, c)).collect();
    DataFrame::new(table.rows(), columns).map_err(FrameError::polars("turned into a data frame"))
}

fn to_polars(name: &str, column: &Column) -> PolarsColumn {
    let name = name.into();
    match column {
        Column::Int { values, validity: None } => Series::new(name, values).into(),
        Column::Float { values, validity: None } => Series::new(name, values).into(),
        Column::Bool { values, validity: None } => Series::new(name, values).into(),
        Column::Int { values, validity: Some(v) } => {
            Int64Chunked::from_iter_options(name, optional(values, v)).into_column()
        }
        Column::Float { values, validity: Some(v) } => {
            Float64Chunked::from_iter_options(name, optional(values, v)).into_column()
        }
        Column::Bool { values, validity: Some(v) } => {
            BooleanChunked::from_iter_options(name, optional(values, v)).into_column()
        }
        Column::Str(s) => {
            StringChunked::from_iter_options(name, (0..s.codes.len()).map(|row| s.get(row))).into_column()
        }
    }
}

fn optional<'a, T: Copy>(values: &'a [T], validity: &'a [bool]) -> impl Iterator<Item = Option<T>> + 'a {
    values.iter().zip(validity).map(|(value, valid)| valid.then_some(*value))
}

/// A polars data frame as a table. Integers and floats of any width are taken; units and meanings come from `known`,
/// by name, and are empty for columns it does not have.
///
/// # Errors
/// [`FrameError::Type`] for columns of other types, [`FrameError::Range`] for integers beyond 64 signed bits.
pub fn from_dataframe(frame: &DataFrame, known: &Schema) -> Result<Table, FrameError> {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for column in frame.columns() {
        let (column_type, values) = from_polars(column)?;
        let name = column.name().as_str();
        let documented = known.position(name).map(|i| &known.fields[i]).filter(|f| f.column_type == column_type);
        fields.push(documented.cloned().unwrap_or_else(|| Field::new(name, column_type, "", "")));
        columns.push(values);
    }
    Ok(Table::from_parts(Schema::new(fields), columns)?)
}

fn from_polars(column: &PolarsColumn) -> Result<(ColumnType, Column), FrameError> {
    let name = || column.name().to_string();
    let (column_type, wanted) = match column.dtype() {
        DataType::Boolean => (ColumnType::Bool, DataType::Boolean),
        DataType::String => (ColumnType::Str, DataType::String),
        DataType::Float32 | DataType::Float64 => (ColumnType::Float, DataType::Float64),
        dtype if dtype.is_integer() => (ColumnType::Int, DataType::Int64),
        // A file whose column holds nothing has no better type to offer.
        DataType::Null => (ColumnType::Str, DataType::String),
        other => return Err(FrameError::Type { column: name(), found: other.to_string() }),
    };
    let cast = column.strict_cast(&wanted).map_err(|_| FrameError::Range { column: name() })?;
    let series = cast.as_materialized_series();
    let mut builder = ColumnBuilder::new(column_type);
    let failed = FrameError::polars("read column by column");
    // `map_or` in each arm: the four iterators have four types.
    match column_type {
        ColumnType::Int => {
            series.i64().map_err(failed)?.iter().for_each(|v| builder.push(v.map_or(Cell::Null, Cell::Int)));
        }
        ColumnType::Float => {
            series.f64().map_err(failed)?.iter().for_each(|v| builder.push(v.map_or(Cell::Null, Cell::Float)));
        }
        ColumnType::Bool => {
            series.bool().map_err(failed)?.iter().for_each(|v| builder.push(v.map_or(Cell::Null, Cell::Bool)));
        }
        ColumnType::Str => {
            series.str().map_err(failed)?.iter().for_each(|v| builder.push(v.map_or(Cell::Null, Cell::Str)));
        }
    }
    Ok((column_type, builder.finish()))
}
