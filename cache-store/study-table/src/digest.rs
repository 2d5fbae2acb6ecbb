//! The logical identity of a table.

use crate::{Column, Table};
use study_ident::{CanonicalHasher, Digest};

/// Small updates are gathered so that hashing runs at the speed of memory.
const BUFFER: usize = 1 << 16;

impl Table {
    /// The identity of the table: schema (names, types, units), row count, and per column the values and their
    /// validity. Meanings are documentation and do not enter.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = CanonicalHasher::new("frame");
        hasher.uint(self.rows() as u64);
        hasher.uint(self.columns().len() as u64);
        for (field, column) in self.schema().fields.iter().zip(self.columns()) {
            hasher.text(&field.name);
            hasher.text(&format!("{:?}", field.column_type));
            hasher.text(&field.unit);
            hasher.digest(&column_digest(column));
        }
        hasher.finish()
    }
}

fn column_digest(column: &Column) -> Digest {
    let mut hasher = CanonicalHasher::new("column");
    let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER + 64);
    for row in 0..column.len() {
        if !column.is_valid(row) {
            buffer.push(0);
        } else {
            buffer.push(1);
            match column {
                Column::Int { values, .. } => buffer.extend_from_slice(&values[row].to_le_bytes()),
                Column::Float { values, .. } => buffer.extend_from_slice(&values[row].to_bits().to_le_bytes()),
                Column::Bool { values, .. } => buffer.push(u8::from(values[row])),
                Column::Str(s) => {
                    let text = s.get(row).unwrap_or_default();
                    buffer.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    buffer.extend_from_slice(text.as_bytes());
                }
            }
        }
        if buffer.len() >= BUFFER {
            hasher.bytes_unframed(&buffer);
            buffer.clear();
        }
    }
    hasher.bytes_unframed(&buffer);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use crate::{Cell, ColumnType, Field, Table, TableBuilder};

    fn table(rows: &[(i64, Option<f64>, &str)]) -> Table {
        let mut b = TableBuilder::new(vec![
            Field::new("id", ColumnType::Int, "", ""),
            Field::new("x_ms", ColumnType::Float, "ms", ""),
            Field::new("name", ColumnType::Str, "", ""),
        ]);
        for (id, x, name) in rows {
            b.row(&[Cell::Int(*id), x.map_or(Cell::Null, Cell::Float), Cell::Str(name)]);
        }
        b.finish()
    }

    #[test]
    fn identity_is_logical() {
        let a = table(&[(1, Some(2.0), "a"), (2, None, "b")]);
        assert_eq!(a.digest(), table(&[(1, Some(2.0), "a"), (2, None, "b")]).digest());
        // A dictionary in another order is the same table.
        let reordered = table(&[(9, None, "b"), (1, Some(2.0), "a"), (2, None, "b")]).filter(|row| row > 0);
        assert_eq!(a.digest(), reordered.digest());
        for other in [
            table(&[(1, Some(2.0), "a"), (2, Some(0.0), "b")]),
            table(&[(1, Some(2.5), "a"), (2, None, "b")]),
            table(&[(1, Some(2.0), "a"), (2, None, "c")]),
            table(&[(1, Some(2.0), "a")]),
        ] {
            assert_ne!(a.digest(), other.digest());
        }
    }

    #[test]
    fn encoding_reads_back_to_the_same_table() {
        let a = table(&[(1, Some(2.0), "a"), (2, None, "b"), (-3, Some(1e300), "ä")]);
        let bytes = a.encode();
        let b = Table::decode(&bytes).unwrap();
        assert_eq!(a.digest(), b.digest());
        assert_eq!(bytes, b.encode());
        for cut in 0..bytes.len() {
            assert!(Table::decode(&bytes[..cut]).is_err(), "truncated at {cut}");
        }
    }
}
