//! Tables as Parquet files.
//!
//! The file-level key-value metadata holds the schema with units and meanings (`study.schema`, JSON), one `unit:NAME`
//! entry for each column that has a unit, and what the caller adds. Readers that know neither still see plain columns.

use crate::{FrameError, from_dataframe, to_dataframe};
use polars_io::SerReader;
use polars_io::parquet::read::{ParallelStrategy, ParquetReader};
use polars_io::parquet::write::{KeyValueMetadata, ParquetCompression, ParquetWriter, StatisticsOptions};
use std::collections::BTreeMap;
use std::io::Cursor;
use study_table::{Schema, Table};

/// Key of the schema in the metadata of a file.
const SCHEMA_KEY: &str = "study.schema";
/// Rows per row group: small enough that a reader with little memory can go through a large file group by group.
const ROW_GROUP: usize = 1 << 17;

/// The table as a Parquet file: zstd at its default level (a quarter smaller than snappy, and faster where the Rust
/// around it is not optimised), smallest and largest value and nulls per row group, one thread. `metadata` is added to
/// the file's key-value metadata.
///
/// # Errors
/// [`FrameError::Polars`] when two columns have one name.
pub fn write_parquet(table: &Table, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, FrameError> {
    let mut frame = to_dataframe(table)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .with_statistics(StatisticsOptions::default())
        .with_row_group_size(Some(ROW_GROUP))
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(key_values(table.schema(), metadata))))
        .set_parallel(false)
        .finish(&mut frame)
        .map_err(FrameError::polars("written as Parquet"))?;
    Ok(bytes)
}

fn key_values(schema: &Schema, metadata: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut pairs = metadata.clone();
    for field in schema.fields.iter().filter(|f| !f.unit.is_empty()) {
        pairs.insert(format!("unit:{}", field.name), field.unit.clone());
    }
    pairs.insert(SCHEMA_KEY.to_owned(), serde_json::to_string(schema).expect("a schema is plain data"));
    pairs.into_iter().collect()
}

/// Reads a Parquet file: the table, with units and meanings if [`write_parquet`] made it, and the key-value metadata.
///
/// # Errors
/// [`FrameError`] when the bytes are not Parquet or hold types that frames do not have.
pub fn read_parquet(bytes: &[u8]) -> Result<(Table, BTreeMap<String, String>), FrameError> {
    let failed = FrameError::polars("read as Parquet");
    let mut reader = ParquetReader::new(Cursor::new(bytes)).read_parallel(ParallelStrategy::None);
    let stored = reader.get_metadata().map_err(&failed)?.key_value_metadata().clone().unwrap_or_default();
    let mut metadata: BTreeMap<String, String> =
        stored.into_iter().filter_map(|pair| pair.value.map(|value| (pair.key, value))).collect();
    // The writer's own copy of the schema: no business of the caller's.
    metadata.remove("ARROW:schema");
    let known = metadata.remove(SCHEMA_KEY).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let frame = reader.finish().map_err(&failed)?;
    Ok((from_dataframe(&frame, &known)?, metadata))
}
