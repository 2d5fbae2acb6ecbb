//! The stored form of a table: a JSON header, then the columns, little-endian.
//!
//! Layout: magic `STBL`, format (u32), header length (u64), header (JSON: schema, rows), then per column: validity
//! flag (u8) and, if set, one byte per row; then values (8 bytes, 1 byte for booleans), or for text the number of
//! distinct values, each length-prefixed, and one u32 code per row. All lengths are checked on reading.

use crate::{Column, ColumnType, Schema, StrColumn, Table};
use serde::{Deserialize, Serialize};
use std::fmt;

const MAGIC: &[u8; 4] = b"STBL";
const FORMAT: u32 = 1;

/// Stored bytes that are not a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stored table is unreadable: {}", self.0)
    }
}
impl std::error::Error for DecodeError {}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: Schema,
    rows: usize,
}

impl Table {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let header = serde_json::to_vec(&Header { schema: self.schema().clone(), rows: self.rows() })
            .expect("a schema is plain data");
        let mut out = Vec::with_capacity(header.len() + 16 + self.rows() * self.columns().len() * 8);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&(header.len() as u64).to_le_bytes());
        out.extend_from_slice(&header);
        self.columns().iter().for_each(|column| encode_column(column, &mut out));
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are truncated, of another format, or inconsistent.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Input(bytes);
        if input.take(4)? != MAGIC {
            return Err(DecodeError("not a table".into()));
        }
        let format = u32::from_le_bytes(input.array()?);
        if format != FORMAT {
            return Err(DecodeError(format!("format {format}, this version reads {FORMAT}")));
        }
        let length = input.length()?;
        let header: Header =
            serde_json::from_slice(input.take(length)?).map_err(|e| DecodeError(format!("header: {e}")))?;
        let columns = header
            .schema
            .fields
            .iter()
            .map(|field| decode_column(&mut input, field.column_type, header.rows))
            .collect::<Result<_, _>>()?;
        if !input.0.is_empty() {
            return Err(DecodeError("bytes after the last column".into()));
        }
        Self::from_parts(header.schema, columns).map_err(|e| DecodeError(e.to_string()))
    }
}

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    let write_validity = |validity: &Option<Vec<bool>>, out: &mut Vec<u8>| {
        out.push(u8::from(validity.is_some()));
        if let Some(v) = validity {
            out.extend(v.iter().map(|b| u8::from(*b)));
        }
    };
    match column {
        Column::Int { values, validity } => {
            write_validity(validity, out);
            values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
        }
        Column::Float { values, validity } => {
            write_validity(validity, out);
            values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
        }
        Column::Bool { values, validity } => {
            write_validity(validity, out);
            out.extend(values.iter().map(|b| u8::from(*b)));
        }
        Column::Str(s) => {
            out.push(0);
            out.extend_from_slice(&(s.values.len() as u64).to_le_bytes());
            for value in &s.values {
                out.extend_from_slice(&(value.len() as u64).to_le_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            s.codes.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
        }
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        if n > self.0.len() {
            return Err(DecodeError("truncated".into()));
        }
        let (head, tail) = self.0.split_at(n);
        self.0 = tail;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
    fn length(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| DecodeError("length".into()))
    }
    fn words(&mut self, n: usize, size: usize) -> Result<std::slice::ChunksExact<'a, u8>, DecodeError> {
        let total = n.checked_mul(size).ok_or_else(|| DecodeError("length".into()))?;
        Ok(self.take(total)?.chunks_exact(size))
    }
}

fn decode_column(input: &mut Input<'_>, column_type: ColumnType, rows: usize) -> Result<Column, DecodeError> {
    let has_validity = input.take(1)?[0] != 0;
    let validity = if has_validity { Some(input.take(rows)?.iter().map(|b| *b != 0).collect()) } else { None };
    let word = |w: &[u8]| <[u8; 8]>::try_from(w).unwrap_or_default();
    Ok(match column_type {
        ColumnType::Int => {
            Column::Int { values: input.words(rows, 8)?.map(|w| i64::from_le_bytes(word(w))).collect(), validity }
        }
        ColumnType::Float => {
            Column::Float { values: input.words(rows, 8)?.map(|w| f64::from_le_bytes(word(w))).collect(), validity }
        }
        ColumnType::Bool => Column::Bool { values: input.take(rows)?.iter().map(|b| *b != 0).collect(), validity },
        ColumnType::Str => {
            let count = input.length()?;
            let mut values = Vec::new();
            for _ in 0..count {
                let length = input.length()?;
                let text = std::str::from_utf8(input.take(length)?).map_err(|_| DecodeError("text".into()))?;
                values.push(text.to_owned());
            }
            let codes: Vec<u32> =
                input.words(rows, 4)?.map(|w| u32::from_le_bytes(<[u8; 4]>::try_from(w).unwrap_or_default())).collect();
            if codes.iter().any(|c| *c != u32::MAX && *c as usize >= values.len()) {
                return Err(DecodeError("text code out of range".into()));
            }
            Column::Str(StrColumn { values, codes })
        }
    })
}
