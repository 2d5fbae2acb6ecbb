//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};
use study_ident::Digest;

/// A store that cannot be used, or something in it that cannot.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Written by a newer version of the program.
    #[error("the store `{}` has format {found}, and this version reads formats up to {known}", path.display())]
    NewerFormat {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format this version reads.
        known: u64,
    },
    /// The folder holds something else.
    #[error("`{}` is not a store: {why}", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What speaks against it.
        why: String,
    },
    /// Nothing is stored under that digest.
    #[error("{what} `{digest}` is missing from the store")]
    Missing {
        /// `object` or `record`.
        what: &'static str,
        /// Its name.
        digest: Digest,
    },
    /// What is stored does not have the digest it is stored under; it is treated as absent.
    #[error("{what} `{digest}` is corrupt: {why}")]
    Corrupt {
        /// `object` or `record`.
        what: &'static str,
        /// Its name.
        digest: Digest,
        /// What does not fit.
        why: String,
        /// Where it was moved to.
        quarantined: Option<PathBuf>,
    },
    /// The disk is full.
    #[error("no space left on the disk of the store, while writing `{}`", path.display())]
    Full {
        /// What was being written; it has been removed again.
        path: PathBuf,
    },
    /// The store cannot be written to.
    #[error("the store cannot be written to: `{}`: {source}", path.display())]
    ReadOnly {
        /// What was being written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Other processes use the store, and this needs it alone.
    #[error("the store is in use by {holder}")]
    Busy {
        /// Who uses it.
        holder: String,
    },
    /// The file system of the store has no locks, and this needs one.
    #[error("the file system of the store `{}` has no locks", path.display())]
    NoLocks {
        /// The store.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// The verb: `read`, `write`, `list`, ...
        action: &'static str,
        /// Of what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The error for a failed call on a file; full disks and read-only stores are told apart.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let path = path.to_owned();
        match source.kind() {
            StorageFull | QuotaExceeded => Self::Full { path },
            ReadOnlyFilesystem => Self::ReadOnly { path, source },
            PermissionDenied if action != "read" && action != "list" => Self::ReadOnly { path, source },
            _ => Self::Io { action, path, source },
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::NewerFormat { .. } => {
                "use the version of `study` that wrote it, or another folder with `--store DIR`".to_owned()
            }
            Self::NotAStore { .. } => {
                "name an empty folder, or one that does not exist yet, with `--store DIR`".to_owned()
            }
            Self::Missing { .. } | Self::Corrupt { .. } => {
                "run the study again: what is missing or corrupt is made anew".to_owned()
            }
            Self::Full { .. } => {
                "free some space (`study cache gc` removes what no result needs) and run again: finished nodes are kept"
                    .to_owned()
            }
            Self::ReadOnly { .. } => "use a folder that you may write to, with `--store DIR` or STUDY_STORE".to_owned(),
            Self::Busy { .. } => "wait until it has ended, then try again".to_owned(),
            Self::NoLocks { .. } => "keep the store on a local disk, with `--store DIR` or STUDY_STORE".to_owned(),
            Self::Io { source, .. } if source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                "too many files are open: raise the limit with `ulimit -n`".to_owned()
            }
            Self::Io { .. } => return None,
        })
    }

    /// Whether nothing more can be stored, so that going on is pointless.
    #[must_use]
    pub const fn stops_writing(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::ReadOnly { .. })
    }
}
