//! Frames in the formats that other tools read, and on a terminal.
//!
//! The only crate that names polars. Stages exchange [`study_table::Table`]; here tables become Parquet for pandas, R,
//! DuckDB and polars, CSV for everything else, JSON records for scripts and text for people. All of it is
//! deterministic: fixed compression, level and row-group size, one thread, no clock, no environment. The bytes of a
//! Parquet file still depend on the version of polars, which is why they are nobody's identity.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod convert;
mod dictionary;
mod parquet;
mod show;

pub use convert::{from_dataframe, to_dataframe};
pub use dictionary::data_dictionary;
pub use parquet::{read_parquet, write_parquet};
pub use show::{print_table, to_json, write_csv};

/// What went wrong with a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A column of a type that frames do not have.
    #[error("column `{column}` is of type `{found}`, which frames do not have (integers, floats, booleans, text)")]
    Type {
        /// Name of the column.
        column: String,
        /// Its type as polars names it.
        found: String,
    },
    /// An integer that does not fit into 64 signed bits.
    #[error("column `{column}` holds a number outside the range of a signed 64-bit integer")]
    Range {
        /// Name of the column.
        column: String,
    },
    /// polars refused.
    #[error("frame cannot be {doing}: {source}")]
    Polars {
        /// What was tried, e.g. `read as Parquet`.
        doing: &'static str,
        /// The reason.
        source: Box<polars::prelude::PolarsError>,
    },
    /// Columns that do not make a table.
    #[error(transparent)]
    Table(#[from] study_table::TableError),
}

impl FrameError {
    pub(crate) fn polars(doing: &'static str) -> impl Fn(polars::prelude::PolarsError) -> Self {
        move |source| Self::Polars { doing, source: Box::new(source) }
    }
}
