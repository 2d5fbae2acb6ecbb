//! Names, types, units and meanings of columns.

use serde::{Deserialize, Serialize};

/// The type of a column: plain types only, so that pandas, R, DuckDB and CSV agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// 64-bit signed integer.
    Int,
    /// 64-bit float; never NaN or infinite (absent values are null).
    Float,
    /// Boolean.
    Bool,
    /// UTF-8 text.
    Str,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Name, with the unit in it where there is one (`ttlb_us`).
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Unit, empty when there is none (`us`, `bytes`, `kbit/s`, `1` for shares).
    pub unit: String,
    /// What it means, one sentence; for the data dictionary.
    pub meaning: String,
}

impl Field {
    /// A column with its unit and meaning.
    #[must_use]
    pub fn new(name: &str, column_type: ColumnType, unit: &str, meaning: &str) -> Self {
        Self { name: name.to_owned(), column_type, unit: unit.to_owned(), meaning: meaning.to_owned() }
    }
}

/// The columns of a table, key columns first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Schema {
    /// Columns in order.
    pub fields: Vec<Field>,
}

impl Schema {
    /// From fields.
    #[must_use]
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields }
    }
    /// Position of a column.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }
}
