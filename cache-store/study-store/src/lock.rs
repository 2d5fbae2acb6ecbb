//! Locks that die with their process.

use crate::StoreError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What came of trying to take a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    Yes,
    Busy,
    /// The file system has no locks.
    Unsupported,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// Takes a lock if it is free.
pub(crate) fn try_lock(file: &File, mode: Mode) -> io::Result<Locked> {
    let operation = match mode {
        Mode::Shared => FlockOperation::NonBlockingLockShared,
        Mode::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    outcome(file, operation)
}

/// Waits for a lock.
pub(crate) fn lock(file: &File, mode: Mode) -> io::Result<Locked> {
    let operation = match mode {
        Mode::Shared => FlockOperation::LockShared,
        Mode::Exclusive => FlockOperation::LockExclusive,
    };
    outcome(file, operation)
}

fn outcome(file: &File, operation: FlockOperation) -> io::Result<Locked> {
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(Locked::Yes),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Locked::Busy),
            // On some systems two of these are one number, so they cannot be one pattern.
            Err(e) if [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS].contains(&e) => {
                return Ok(Locked::Unsupported);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens a lock file, making it if need be; a read-only store is opened as it is (a shared lock needs no writing).
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).or_else(|error| {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => File::open(path).map_err(|_| error),
            _ => Err(error),
        }
    })
}

/// A line about this process, for those who wait for it.
pub(crate) fn describe_self() -> String {
    let command: Vec<String> = std::env::args_os()
        .enumerate()
        .map(|(i, argument)| {
            let text = argument.to_string_lossy().into_owned();
            // The program's own path says nothing that its name does not.
            if i == 0 { text.rsplit('/').next().unwrap_or_default().to_owned() } else { text }
        })
        .collect();
    let command: String = command.join(" ").chars().take(120).collect();
    format!("process {} (`{command}`)", std::process::id())
}

/// What a lock file says about its holder, with how long it has been held.
pub(crate) fn describe_holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|mut f| f.read_to_string(&mut text));
    if read.is_err() || text.trim().is_empty() {
        return "another process".to_owned();
    }
    let since = std::fs::metadata(path).and_then(|m| m.modified()).ok();
    match since.and_then(|t| SystemTime::now().duration_since(t).ok()) {
        Some(age) => format!("{}, for {} s", text.trim(), age.as_secs()),
        None => text.trim().to_owned(),
    }
}

/// Held while a run uses the store: garbage collection waits for it. Shared by any number of runs.
#[derive(Debug)]
pub struct Lease {
    _file: Option<File>,
}

impl Lease {
    /// Waits for a running garbage collection.
    pub(crate) fn shared(path: &Path) -> Result<Self, StoreError> {
        let file = match open_lock_file(path) {
            Ok(file) => file,
            // A read-only store without a lock file: nothing can be removed from it by us or through this path.
            Err(e) if matches!(e.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
                return Ok(Self { _file: None });
            }
            Err(e) => return Err(StoreError::io("open", path, e)),
        };
        lock(&file, Mode::Shared).map_err(|e| StoreError::io("lock", path, e))?;
        Ok(Self { _file: Some(file) })
    }
    /// Refused while any run uses the store.
    pub(crate) fn exclusive(root: &Path, path: &Path, holder: impl Fn() -> String) -> Result<Self, StoreError> {
        let file = open_lock_file(path).map_err(|e| StoreError::io("open", path, e))?;
        match try_lock(&file, Mode::Exclusive).map_err(|e| StoreError::io("lock", path, e))? {
            Locked::Yes => Ok(Self { _file: Some(file) }),
            Locked::Busy => Err(StoreError::Busy { holder: holder() }),
            Locked::Unsupported => Err(StoreError::NoLocks { path: root.to_owned() }),
        }
    }
}

/// The right to compute one key; others wait for it. Released when dropped, or by the kernel when the process dies.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Before the lock is released, so that whoever waits on this file sees that it is gone and takes a new one.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What came of trying to claim a key.
#[derive(Debug)]
pub enum Attempt {
    /// The key is ours.
    Held(Claim),
    /// Another process computes it.
    Busy {
        /// Who, since when.
        holder: String,
    },
}

pub(crate) fn try_claim(path: &Path) -> Result<Attempt, StoreError> {
    match claim_once(path, try_lock)? {
        Some(claim) => Ok(Attempt::Held(claim)),
        None => Ok(Attempt::Busy { holder: describe_holder(path) }),
    }
}

pub(crate) fn claim(path: &Path) -> Result<Claim, StoreError> {
    loop {
        if let Some(claim) = claim_once(path, lock)? {
            return Ok(claim);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `None` when the lock is busy. A lock on a file that was removed meanwhile by its former holder counts for nothing, so
/// it is taken again on the file that is there now.
fn claim_once(path: &Path, take: fn(&File, Mode) -> io::Result<Locked>) -> Result<Option<Claim>, StoreError> {
    let failed = |e| StoreError::io("claim", path, e);
    loop {
        let mut file = open_claim(path).map_err(failed)?;
        match take(&file, Mode::Exclusive).map_err(failed)? {
            Locked::Busy => return Ok(None),
            Locked::Yes | Locked::Unsupported => {}
        }
        let ours = file.metadata().map_err(failed)?;
        match std::fs::metadata(path) {
            Ok(there) if there.ino() == ours.ino() && there.dev() == ours.dev() => {
                file.set_len(0).and_then(|()| file.write_all(describe_self().as_bytes())).map_err(failed)?;
                return Ok(Some(Claim { path: path.to_owned(), _file: file }));
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
    }
}

fn open_claim(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            open()
        }
        other => other,
    }
}
