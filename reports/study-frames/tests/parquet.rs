//! Parquet there and back. One test binary only: each that links polars is hundreds of megabytes.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use study_frames::{from_dataframe, read_parquet, to_dataframe, write_csv, write_parquet};
use study_table::{Cell, ColumnType, Field, Schema, Table, TableBuilder};

fn fields() -> Vec<Field> {
    vec![
        Field::new("run", ColumnType::Int, "", "number of the run"),
        Field::new("ttlb_us", ColumnType::Int, "us", "time to the last byte"),
        Field::new("ratio", ColumnType::Float, "1", "a share"),
        Field::new("hit", ColumnType::Bool, "", "whether it was a hit"),
        Field::new("edge", ColumnType::Str, "", "where; 'ä' and 東 are letters too"),
    ]
}

fn awkward() -> Table {
    let mut b = TableBuilder::new(fields());
    b.row(&[Cell::Int(0), Cell::Int(i64::MIN), Cell::Float(0.1 + 0.2), Cell::Bool(true), Cell::Str("東京")]);
    b.row(&[Cell::Int(-1), Cell::Null, Cell::Null, Cell::Null, Cell::Null]);
    b.row(&[Cell::Int(i64::MAX), Cell::Int(0), Cell::Float(-1e-300), Cell::Bool(false), Cell::Str("")]);
    b.row(&[Cell::Int(3), Cell::Int(-7), Cell::Float(f64::MAX), Cell::Bool(true), Cell::Str("a \"b\", c\nd")]);
    b.finish()
}

fn there_and_back(table: &Table) -> Table {
    read_parquet(&write_parquet(table, &BTreeMap::new()).unwrap()).unwrap().0
}

#[test]
fn every_value_type_survives_parquet() {
    let table = awkward();
    let back = there_and_back(&table);
    assert_eq!(back.digest(), table.digest());
    assert_eq!(back.schema(), table.schema(), "units and meanings too");
    assert_eq!(write_csv(&back), write_csv(&table));
}

#[test]
fn empty_tables_keep_their_columns() {
    let table = TableBuilder::new(fields()).finish();
    let back = there_and_back(&table);
    assert_eq!(back.rows(), 0);
    assert_eq!(back.schema(), table.schema());
}

#[test]
fn a_column_of_nulls_keeps_its_type() {
    let mut b = TableBuilder::new(fields());
    b.row(&[Cell::Null; 5]);
    let table = b.finish();
    assert_eq!(there_and_back(&table).digest(), table.digest());
}

#[test]
fn more_rows_than_a_row_group_come_back_in_order() {
    let mut b = TableBuilder::new(fields());
    for i in 0..140_000 {
        let edge = if i % 3 == 0 { "singapore" } else { "mumbai" };
        b.row(&[Cell::Int(i), Cell::Int(-i), Cell::Float(i as f64 / 7.0), Cell::Bool(i % 2 == 0), Cell::Str(edge)]);
    }
    let table = b.finish();
    assert_eq!(there_and_back(&table).digest(), table.digest());
}

#[test]
fn metadata_carries_units_and_what_the_caller_adds() {
    let extra = BTreeMap::from([("study.node".to_owned(), "transport[prefetch=3]".to_owned())]);
    let (_, metadata) = read_parquet(&write_parquet(&awkward(), &extra).unwrap()).unwrap();
    assert_eq!(metadata["unit:ttlb_us"], "us");
    assert_eq!(metadata["study.node"], "transport[prefetch=3]");
    assert!(!metadata.contains_key("unit:run"), "no unit, no entry");
}

#[test]
fn the_same_table_gives_the_same_bytes() {
    let (a, b) = (awkward(), awkward().filter(|_| true));
    assert_eq!(write_parquet(&a, &BTreeMap::new()).unwrap(), write_parquet(&b, &BTreeMap::new()).unwrap());
}

#[test]
fn bytes_that_are_not_parquet_are_refused_with_a_reason() {
    let good = write_parquet(&awkward(), &BTreeMap::new()).unwrap();
    for bytes in [&b""[..], b"PAR1", b"not parquet at all", &good[..good.len() / 2]] {
        let error = read_parquet(bytes).unwrap_err().to_string();
        assert!(error.starts_with("frame cannot be read as Parquet: "), "{error}");
    }
}

#[test]
fn frames_of_other_tools_are_taken_where_the_types_fit() {
    use polars::prelude::{DataType, IntoColumn, NamedFrom, Series};
    let column = |name: &str, dtype| Series::new(name.into(), [1i64, 2]).cast(&dtype).unwrap().into_column();
    let frame = |column| polars::prelude::DataFrame::new(2, vec![column]).unwrap();
    for dtype in [DataType::Int32, DataType::UInt32, DataType::UInt64] {
        let table = from_dataframe(&frame(column("n", dtype)), &Schema::default()).unwrap();
        assert_eq!(table.ints("n").unwrap(), [1, 2]);
    }
    let halves = from_dataframe(&frame(column("x", DataType::Float32)), &Schema::default()).unwrap();
    assert_eq!(halves.floats("x").unwrap(), [Some(1.0), Some(2.0)]);
    let huge = Series::new("n".into(), [u64::MAX, 0]).into_column();
    let error = from_dataframe(&frame(huge), &Schema::default()).unwrap_err();
    assert_eq!(error.to_string(), "column `n` holds a number outside the range of a signed 64-bit integer");
    let binary = Series::new("raw".into(), [&b"a"[..], b"b"]).into_column();
    let error = from_dataframe(&frame(binary), &Schema::default()).unwrap_err().to_string();
    assert!(error.starts_with("column `raw` is of type `binary`"), "{error}");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let mut b =
        TableBuilder::new(vec![Field::new("a", ColumnType::Int, "", ""), Field::new("a", ColumnType::Int, "", "")]);
    b.row(&[Cell::Int(1), Cell::Int(2)]);
    assert!(to_dataframe(&b.finish()).is_err());
}
