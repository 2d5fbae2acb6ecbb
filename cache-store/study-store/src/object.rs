//! Bytes by their digest.

use crate::publish::{Durability, sync_folder};
use crate::{Store, StoreError};
use std::fs;
use std::io;
use std::path::PathBuf;
use study_ident::Digest;

/// What a look at an object without reading it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectState {
    /// There, with the right size.
    Present,
    /// Not there.
    Missing,
    /// Of another size than recorded, or found corrupt earlier.
    Corrupt,
}

impl Store {
    /// Stores bytes and returns their digest. Bytes that are there already are checked, and replaced if they are corrupt.
    ///
    /// # Errors
    /// When they cannot be written; nothing of them is left then.
    pub fn put_object(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        let path = self.layout.object(&digest);
        match fs::read(&path) {
            Ok(there) if there == bytes => {
                // Another process may have renamed it a moment ago, without its folder being synced yet.
                if let Some(folder) = path.parent() {
                    sync_folder(folder).map_err(|e| StoreError::io("write", &path, e))?;
                }
                return Ok(digest);
            }
            Ok(_) => {
                self.set_aside(&digest);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(StoreError::io("read", &path, e)),
        }
        self.publish(bytes, &path, 0o444, Durability::Synced)?;
        Ok(digest)
    }

    /// Reads bytes and checks them against their digest. Corrupt ones are moved to `quarantine/` and never returned.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Corrupt`] (both: make it anew), or a failure of the file system.
    pub fn get_object(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.layout.object(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { what: "object", digest: *digest });
            }
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        if Digest::of(&bytes) == *digest {
            return Ok(bytes);
        }
        let quarantined = self.set_aside(digest);
        let why = format!("its {} bytes have another digest", bytes.len());
        Err(StoreError::Corrupt { what: "object", digest: *digest, why, quarantined })
    }

    /// Looks at an object without reading it: `bytes` is the recorded size.
    #[must_use]
    pub fn object_state(&self, digest: &Digest, bytes: u64) -> ObjectState {
        match fs::symlink_metadata(self.layout.object(digest)) {
            Ok(meta) if meta.is_file() && meta.len() == bytes => ObjectState::Present,
            Ok(_) => ObjectState::Corrupt,
            Err(_) if self.layout.quarantine().join(digest.to_string()).exists() => ObjectState::Corrupt,
            Err(_) => ObjectState::Missing,
        }
    }

    /// Whether an object is there with that size; its content is checked when it is read.
    #[must_use]
    pub fn has_object(&self, digest: &Digest, bytes: u64) -> bool {
        self.object_state(digest, bytes) == ObjectState::Present
    }

    /// Moves an object out of the way; a store that cannot be written to keeps it where it is.
    pub(crate) fn set_aside(&self, digest: &Digest) -> Option<PathBuf> {
        let folder = self.layout.quarantine();
        let aside = folder.join(digest.to_string());
        fs::create_dir_all(&folder).ok()?;
        fs::rename(self.layout.object(digest), &aside).ok()?;
        Some(aside)
    }
}
