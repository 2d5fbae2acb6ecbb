//! The folder for unfinished files of one process.
//!
//! Each process has its own folder under `tmp/`, with a file `lock` that it keeps locked. A folder whose lock is free
//! belongs to a process that is dead, so it can be removed without asking and without looking at clocks. Making and
//! sweeping folders happen under one more lock, so that a folder is never seen between its making and its locking.

use crate::lock::{Locked, Mode, describe_holder, describe_self, lock, open_lock_file, try_lock};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    next: AtomicU64,
    _lock: File,
}

impl Scratch {
    /// A folder of our own under `parent`.
    pub fn create(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        let guard = open_lock_file(&parent.join(".lock"))?;
        lock(&guard, Mode::Exclusive)?;
        let folder = fresh_folder(parent)?;
        let made = (|| {
            let mut file = open_lock_file(&folder.join("lock"))?;
            try_lock(&file, Mode::Exclusive)?;
            file.write_all(describe_self().as_bytes())?;
            Ok(file)
        })();
        match made {
            Ok(file) => Ok(Self { folder, next: AtomicU64::new(0), _lock: file }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }
    /// A path that nobody else uses.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn fresh_folder(parent: &Path) -> io::Result<PathBuf> {
    let pid = std::process::id();
    let mut n = 0u32;
    loop {
        let folder = parent.join(format!("{pid}-{n}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(e) => return Err(e),
        }
    }
}

/// The folders of dead processes, with the bytes in them.
pub(crate) fn abandoned(parent: &Path, remove: bool) -> io::Result<Vec<(PathBuf, u64)>> {
    if folders(parent)?.is_empty() {
        return Ok(Vec::new());
    }
    let guard = open_lock_file(&parent.join(".lock"))?;
    // Without locks nobody can tell the dead from the living: leave everything.
    if lock(&guard, Mode::Exclusive)? != Locked::Yes {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for folder in folders(parent)? {
        let dead = match File::open(folder.join("lock")) {
            Ok(file) => try_lock(&file, Mode::Exclusive)? == Locked::Yes,
            // Killed between making the folder and its lock file: we hold the guard, so nobody is at it now.
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        };
        if dead {
            let bytes = size_of(&folder);
            if remove {
                fs::remove_dir_all(&folder)?;
            }
            found.push((folder, bytes));
        }
    }
    Ok(found)
}

/// Who has unfinished files here.
pub(crate) fn living(parent: &Path) -> Vec<String> {
    let busy = |folder: &PathBuf| {
        let file = File::open(folder.join("lock")).ok()?;
        matches!(try_lock(&file, Mode::Exclusive), Ok(Locked::Busy)).then_some(())
    };
    let mut found: Vec<String> = Vec::new();
    for folder in folders(parent).unwrap_or_default() {
        if busy(&folder).is_some() {
            found.push(describe_holder(&folder.join("lock")));
        }
    }
    found
}

fn folders(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum()
}
