//! Tables for people and scripts.

use serde_json::{Map, Value};
use study_table::{Cell, ColumnType, Table};

/// Longest text shown in a cell of [`print_table`]; longer ones end in `…`.
const WIDEST: usize = 40;

/// The table as CSV: UTF-8, LF, a header, decimal points, nothing for null, floats that read back to the same bits.
#[must_use]
pub fn write_csv(table: &Table) -> Vec<u8> {
    table.to_csv().into_bytes()
}

/// The table as a list of records. Null cells are `null`, so that every record has every key.
#[must_use]
pub fn to_json(table: &Table) -> Value {
    let record = |row: usize| {
        let fields = table.schema().fields.iter().enumerate();
        Value::Object(fields.map(|(c, f)| (f.name.clone(), value(table.cell(row, c)))).collect::<Map<_, _>>())
    };
    Value::Array((0..table.rows()).map(record).collect())
}

fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(v) => v.into(),
        Cell::Float(v) => v.into(),
        Cell::Bool(v) => v.into(),
        Cell::Str(v) => v.into(),
    }
}

/// The table for a terminal: name and unit of each column, the first and last rows (at most `max_rows` in all), and
/// what was left out. Numbers are right-aligned, floats rounded to six significant digits, null is `-`.
#[must_use]
pub fn print_table(table: &Table, max_rows: usize) -> String {
    let rows = table.rows();
    let (head, tail) = if rows <= max_rows { (rows, 0) } else { (max_rows.div_ceil(2), max_rows / 2) };
    let shown: Vec<usize> = (0..head).chain(rows - tail..rows).collect();
    let columns: Vec<Vec<String>> = (0..table.columns().len()).map(|c| column_texts(table, c, &shown)).collect();
    let widths: Vec<usize> = columns.iter().map(|c| c.iter().map(|t| t.chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    // Two header lines: names and units.
    for line in 0..shown.len() + 2 {
        if line == 2 + head && tail > 0 {
            out.push_str(&format!("… {} rows …\n", rows - head - tail));
        }
        let mut text = String::new();
        for (c, column) in columns.iter().enumerate() {
            let right = table.schema().fields[c].column_type != ColumnType::Str;
            let gap = " ".repeat(widths[c] - column[line].chars().count());
            let parts = if right { [gap.as_str(), &column[line]] } else { [&column[line], gap.as_str()] };
            text.push_str(&parts.concat());
            text.push_str("  ");
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out.push_str(&format!("{rows} rows, {} columns\n", table.columns().len()));
    out
}

fn column_texts(table: &Table, column: usize, rows: &[usize]) -> Vec<String> {
    let field = &table.schema().fields[column];
    let unit = if field.unit.is_empty() { String::new() } else { format!("[{}]", field.unit) };
    let cells = rows.iter().map(|row| cell_text(table.cell(*row, column)));
    [field.name.clone(), unit].into_iter().chain(cells).collect()
}

fn cell_text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Null => "-".to_owned(),
        Cell::Float(x) => short_float(x),
        // Control characters would move the cursor.
        Cell::Str(text) => shorten(&text.replace(char::is_control, " ")),
        other => other.to_string(),
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// Six significant digits, without trailing zeros.
fn short_float(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    let magnitude = rounded.abs();
    if magnitude != 0.0 && !(1e-4..1e15).contains(&magnitude) { format!("{rounded:e}") } else { format!("{rounded}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_table::{Field, TableBuilder};

    fn table(rows: i64) -> Table {
        let mut b = TableBuilder::new(vec![
            Field::new("edge", ColumnType::Str, "", ""),
            Field::new("rtt_ms", ColumnType::Float, "ms", ""),
            Field::new("run", ColumnType::Int, "", ""),
        ]);
        for run in 0..rows {
            let edge = if run == 1 { Cell::Null } else { Cell::Str("São Paulo") };
            b.row(&[edge, Cell::Float(30.0 + 1.0 / 3.0), Cell::Int(run)]);
        }
        b.finish()
    }

    #[test]
    fn a_long_table_shows_both_ends_and_says_what_is_left_out() {
        assert_eq!(
            print_table(&table(10), 3),
            "edge        rtt_ms  run\n\
             \x20             [ms]\n\
             São Paulo  30.3333    0\n\
             -          30.3333    1\n\
             … 7 rows …\n\
             São Paulo  30.3333    9\n\
             10 rows, 3 columns\n"
        );
        assert!(!print_table(&table(3), 3).contains('…'));
        assert!(print_table(&table(0), 3).ends_with("0 rows, 3 columns\n"));
    }

    #[test]
    fn numbers_are_rounded_for_people_and_exact_for_scripts() {
        assert_eq!(short_float(0.1 + 0.2), "0.3");
        assert_eq!(short_float(123_456_789.0), "123457000");
        assert_eq!(short_float(-1.5e-9), "-1.5e-9");
        assert_eq!(short_float(0.0), "0");
        let json = to_json(&table(2));
        assert_eq!(json[0]["rtt_ms"], serde_json::json!(30.0 + 1.0 / 3.0));
        assert_eq!(json[1]["edge"], Value::Null);
        assert_eq!(json.as_array().unwrap().len(), 2);
    }

    #[test]
    fn long_and_dangerous_texts_are_tamed() {
        assert_eq!(cell_text(Cell::Str("a\u{1b}[31mb\nc")), "a [31mb c");
        assert_eq!(cell_text(Cell::Str(&"x".repeat(100))).chars().count(), WIDEST);
    }
}
