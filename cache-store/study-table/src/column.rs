//! Columns.

use crate::ColumnType;

/// Text as a dictionary of distinct values and one code per row; nulls have code `u32::MAX`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StrColumn {
    /// Distinct values in order of first use.
    pub values: Vec<String>,
    /// Index into `values` per row, `u32::MAX` for null.
    pub codes: Vec<u32>,
}

impl StrColumn {
    /// The text of a row, `None` for null.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        self.values.get(self.codes[row] as usize).map(String::as_str)
    }
}

/// The values of one column. Nulls of numbers are `None` entries in `validity` (`false` = null); the value is then 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Integers.
    Int {
        /// Values; 0 where null.
        values: Vec<i64>,
        /// `false` where null; absent when nothing is null.
        validity: Option<Vec<bool>>,
    },
    /// Floats.
    Float {
        /// Values; 0 where null.
        values: Vec<f64>,
        /// `false` where null; absent when nothing is null.
        validity: Option<Vec<bool>>,
    },
    /// Booleans.
    Bool {
        /// Values; `false` where null.
        values: Vec<bool>,
        /// `false` where null; absent when nothing is null.
        validity: Option<Vec<bool>>,
    },
    /// Text.
    Str(StrColumn),
}

impl Column {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int { values, .. } => values.len(),
            Self::Float { values, .. } => values.len(),
            Self::Bool { values, .. } => values.len(),
            Self::Str(column) => column.codes.len(),
        }
    }
    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Its type.
    #[must_use]
    pub const fn column_type(&self) -> ColumnType {
        match self {
            Self::Int { .. } => ColumnType::Int,
            Self::Float { .. } => ColumnType::Float,
            Self::Bool { .. } => ColumnType::Bool,
            Self::Str(_) => ColumnType::Str,
        }
    }
    /// Whether a row has a value.
    #[must_use]
    pub fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Int { validity, .. } | Self::Float { validity, .. } | Self::Bool { validity, .. } => {
                validity.as_ref().is_none_or(|v| v[row])
            }
            Self::Str(column) => column.codes[row] != u32::MAX,
        }
    }
    /// A number as a float, `None` for null and for text; booleans are 0 and 1.
    #[must_use]
    pub fn float(&self, row: usize) -> Option<f64> {
        if !self.is_valid(row) {
            return None;
        }
        match self {
            Self::Int { values, .. } => Some(values[row] as f64),
            Self::Float { values, .. } => Some(values[row]),
            Self::Bool { values, .. } => Some(f64::from(u8::from(values[row]))),
            Self::Str(_) => None,
        }
    }
    /// An integer, `None` for null and for other types.
    #[must_use]
    pub fn int(&self, row: usize) -> Option<i64> {
        match self {
            Self::Int { values, .. } if self.is_valid(row) => Some(values[row]),
            _ => None,
        }
    }
    /// Text, `None` for null and for other types.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Str(column) => column.get(row),
            _ => None,
        }
    }
}
