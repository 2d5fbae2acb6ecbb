//! Writing a file so that it is there whole or not at all.

use crate::{Store, StoreError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

/// Places at which a test makes writing fail, or kills the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPoint {
    /// Nothing of the file exists yet.
    BeforeTemp,
    /// Half of it is in the temporary file.
    MidWrite,
    /// All of it is in the temporary file, on disk.
    BeforeRename,
    /// The objects are there, the record is not.
    BeforeRecord,
    /// The record is there.
    AfterRecord,
}

/// Called at each [`FaultPoint`]; an error is taken for one of the file system.
pub type FaultHook = Arc<dyn Fn(FaultPoint) -> io::Result<()> + Send + Sync>;

/// How much a file matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Survives a power cut.
    Synced,
    /// Only helps to explain; may be lost.
    Advisory,
}

impl Store {
    pub(crate) fn fault(&self, point: FaultPoint) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(point))
    }

    /// Writes `bytes` to a temporary file of this process and renames it to `target`. On failure nothing is left.
    pub(crate) fn publish(
        &self,
        bytes: &[u8],
        target: &Path,
        mode: u32,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let failed = |e| StoreError::io("write", target, e);
        self.fault(FaultPoint::BeforeTemp).map_err(failed)?;
        let temporary = self.scratch()?.path();
        let written = self
            .write_temporary(bytes, &temporary, mode, durability)
            .and_then(|()| self.fault(FaultPoint::BeforeRename))
            .and_then(|()| rename_into(&temporary, target, durability));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(failed)
    }

    fn write_temporary(&self, bytes: &[u8], path: &Path, mode: u32, durability: Durability) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(first)?;
        self.fault(FaultPoint::MidWrite)?;
        file.write_all(rest)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        Ok(())
    }
}

fn rename_into(from: &Path, target: &Path, durability: Durability) -> io::Result<()> {
    if let Err(error) = fs::rename(from, target) {
        let (io::ErrorKind::NotFound, Some(folder)) = (error.kind(), target.parent()) else { return Err(error) };
        fs::create_dir_all(folder)?;
        // The names of new folders must be on disk before what is in them counts: up to the store's own folder.
        if durability == Durability::Synced {
            folder.ancestors().skip(1).take(2).try_for_each(sync_folder)?;
        }
        fs::rename(from, target)?;
    }
    match (durability, target.parent()) {
        (Durability::Synced, Some(folder)) => sync_folder(folder),
        _ => Ok(()),
    }
}

/// Makes the names in a folder survive a power cut. File systems that cannot are taken as they are.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}
