//! Tables as CSV.
//!
//! UTF-8, LF, a header line, decimal points, `true`/`false`; nothing for null, while an empty text is `""`. Floats are
//! written with the fewest digits that read back to the same bits, and never look like integers.

use crate::{Cell, Column, Table};
use std::fmt::Write;

impl Table {
    /// The table as CSV.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut out = String::with_capacity(64 + self.rows() * self.columns().len() * 8);
        for (i, field) in self.schema().fields.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(&quoted(&field.name));
        }
        out.push('\n');
        let texts: Vec<Vec<String>> = self.columns().iter().map(quoted_values).collect();
        for row in 0..self.rows() {
            for (c, column) in self.columns().iter().enumerate() {
                if c > 0 {
                    out.push(',');
                }
                match (column, self.cell(row, c)) {
                    (_, Cell::Null) => {}
                    // Every distinct text is quoted once, not once per row.
                    (Column::Str(s), _) => out.push_str(&texts[c][s.codes[row] as usize]),
                    (_, Cell::Float(x)) => write!(out, "{x:?}").expect("text takes any number"),
                    (_, cell) => write!(out, "{cell}").expect("text takes any value"),
                }
            }
            out.push('\n');
        }
        out
    }
}

fn quoted_values(column: &Column) -> Vec<String> {
    match column {
        Column::Str(s) => s.values.iter().map(|v| quoted(v)).collect(),
        _ => Vec::new(),
    }
}

/// A text as a CSV field (RFC 4180): in quotes when it holds a separator, a quote or a line break, or is empty.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use crate::{Cell, ColumnType, Field, TableBuilder};

    #[test]
    fn csv_keeps_nulls_apart_from_empty_texts_and_floats_exact() {
        let mut b = TableBuilder::new(vec![
            Field::new("id", ColumnType::Int, "", ""),
            Field::new("x_ms", ColumnType::Float, "ms", ""),
            Field::new("name, quoted", ColumnType::Str, "", ""),
            Field::new("hit", ColumnType::Bool, "", ""),
        ]);
        b.row(&[Cell::Int(-1), Cell::Float(0.1 + 0.2), Cell::Str("Zürich, \"東京\""), Cell::Bool(true)]);
        b.row(&[Cell::Null, Cell::Null, Cell::Null, Cell::Null]);
        b.row(&[Cell::Int(i64::MIN), Cell::Float(1e300), Cell::Str(""), Cell::Bool(false)]);
        b.row(&[Cell::Int(0), Cell::Float(2.0), Cell::Str("two\nlines"), Cell::Bool(false)]);
        assert_eq!(
            b.finish().to_csv(),
            "id,x_ms,\"name, quoted\",hit\n\
             -1,0.30000000000000004,\"Zürich, \"\"東京\"\"\",true\n\
             ,,,\n\
             -9223372036854775808,1e300,\"\",false\n\
             0,2.0,\"two\nlines\",false\n"
        );
    }

    #[test]
    fn an_empty_table_is_its_header() {
        let b = TableBuilder::new(vec![Field::new("id", ColumnType::Int, "", "")]);
        assert_eq!(b.finish().to_csv(), "id\n");
    }
}
