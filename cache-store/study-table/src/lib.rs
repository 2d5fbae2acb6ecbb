//! Plain columnar tables, and the canonical digest that is a frame's identity.
//!
//! A table is what stages exchange: named columns of 64-bit integers, 64-bit floats, booleans or text, each with an
//! optional validity. Its identity is logical: one blake3 per column over values and validity, over schema and row
//! count; neither dictionaries nor the stored encoding enter it, so a new Parquet or compression library changes no key.

mod build;
mod column;
mod csv;
mod digest;
mod encode;
mod schema;
mod table;

pub use build::{ColumnBuilder, TableBuilder};
pub use column::{Column, StrColumn};
pub use encode::DecodeError;
pub use schema::{ColumnType, Field, Schema};
pub use table::{Cell, Table, TableError};
