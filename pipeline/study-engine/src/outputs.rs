//! Reading what nodes made.

use study_store::{OutputRecord, Store, StoreError};
use study_table::Table;

/// Reads a frame, checked against its digest.
///
/// # Errors
/// [`StoreError::Missing`] or [`StoreError::Corrupt`]: running the study again makes it anew.
pub fn load_frame(store: &Store, output: &OutputRecord) -> Result<Table, StoreError> {
    let bytes = store.get_object(&output.object)?;
    Table::decode(&bytes).map_err(|error| StoreError::Corrupt {
        what: "object",
        digest: output.object,
        why: error.to_string(),
        quarantined: None,
    })
}

/// Reads a file, checked against its digest.
///
/// # Errors
/// As [`load_frame`].
pub fn load_file(store: &Store, output: &OutputRecord) -> Result<Vec<u8>, StoreError> {
    store.get_object(&output.object)
}
