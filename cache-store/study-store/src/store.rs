//! Opening a store.

use crate::layout::Layout;
use crate::lock::{self, Attempt, Claim, Lease};
use crate::publish::sync_folder;
use crate::scratch::{self, Scratch};
use crate::{FaultHook, StoreError};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use study_ident::Digest;

/// The format that this version writes, and the newest it reads.
const FORMAT: u64 = 1;

/// What a store's folder may hold. A folder with anything else in it and no `VERSION` is somebody else's.
const OWN_NAMES: [&str; 8] = ["VERSION", "lock", "objects", "actions", "nodes", "quarantine", "tmp", "claims"];

/// A store in a folder. Any number of threads and processes may use one at once.
pub struct Store {
    pub(crate) layout: Layout,
    pub(crate) hook: Option<FaultHook>,
    scratch: Mutex<Option<Arc<Scratch>>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("root", &self.layout.root).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in a folder, making it if there is none, and sweeps what dead processes left unfinished.
    ///
    /// # Errors
    /// The folder holds something else, was written by a newer version, or cannot be made.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let store = Self::at(dir);
        if !store.is_there()? {
            store.create().map_err(|e| StoreError::io("create", dir, e))?;
        }
        // A read-only store is still good for reading.
        let _ = scratch::abandoned(&store.layout.scratch(), true);
        Ok(store)
    }

    /// Opens the store in a folder if there is one; changes nothing.
    ///
    /// # Errors
    /// The folder holds something else, or was written by a newer version.
    pub fn open_existing(dir: &Path) -> Result<Option<Self>, StoreError> {
        let store = Self::at(dir);
        Ok(store.is_there()?.then_some(store))
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.layout.root
    }

    /// For tests: calls `hook` at each [`FaultPoint`](crate::FaultPoint) of writing.
    #[must_use]
    pub fn with_fault_hook(mut self, hook: FaultHook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Held by a run for as long as it uses the store, so that garbage collection removes nothing under it. Waits while a
    /// garbage collection is at work.
    ///
    /// # Errors
    /// When the lock file cannot be opened.
    pub fn lease(&self) -> Result<Lease, StoreError> {
        Lease::shared(&self.layout.lock())
    }

    /// The right to compute a key; waits while another process (or thread) has it. Look for the record again after it:
    /// whoever had the claim may have made it.
    ///
    /// # Errors
    /// When the claim file cannot be made.
    pub fn claim(&self, key: &Digest) -> Result<Claim, StoreError> {
        lock::claim(&self.layout.claim(key))
    }

    /// As [`claim`](Self::claim), without waiting.
    ///
    /// # Errors
    /// When the claim file cannot be made.
    pub fn try_claim(&self, key: &Digest) -> Result<Attempt, StoreError> {
        lock::try_claim(&self.layout.claim(key))
    }

    /// This process's folder for unfinished files, made when it is first needed.
    pub(crate) fn scratch(&self) -> Result<Arc<Scratch>, StoreError> {
        let mut slot = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scratch) = &*slot {
            return Ok(Arc::clone(scratch));
        }
        let parent = self.layout.scratch();
        let made = Arc::new(Scratch::create(&parent).map_err(|e| StoreError::io("create", &parent, e))?);
        *slot = Some(Arc::clone(&made));
        Ok(made)
    }

    fn at(dir: &Path) -> Self {
        Self { layout: Layout { root: dir.to_owned() }, hook: None, scratch: Mutex::new(None) }
    }

    /// Whether there is a store that this version can use; nothing at all, or an empty folder, is no store yet.
    fn is_there(&self) -> Result<bool, StoreError> {
        let root = &self.layout.root;
        let not_a_store = |why: String| StoreError::NotAStore { path: root.clone(), why };
        let version = match fs::read_to_string(self.layout.version()) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return match foreign_name(root).map_err(|e| StoreError::io("list", root, e))? {
                    Some(name) => Err(not_a_store(format!("it holds `{name}` and no `VERSION`"))),
                    None => Ok(false),
                };
            }
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => return Err(not_a_store("it is a file".to_owned())),
            Err(e) => return Err(StoreError::io("read", &self.layout.version(), e)),
        };
        match version.trim().parse::<u64>() {
            Ok(found) if found > FORMAT => Err(StoreError::NewerFormat { path: root.clone(), found, known: FORMAT }),
            Ok(1..) => Ok(true),
            _ => Err(not_a_store("its `VERSION` is not a number".to_owned())),
        }
    }

    fn create(&self) -> io::Result<()> {
        let root = &self.layout.root;
        fs::create_dir_all(root)?;
        // Not through `tmp/`: that folder counts for something only in a folder that is known to be a store.
        let temporary = root.join(format!("VERSION.{}", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(format!("{FORMAT}\n").as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.layout.version()));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        fs::create_dir_all(self.layout.objects())?;
        fs::create_dir_all(self.layout.actions())?;
        sync_folder(root)
    }
}

/// A name in a folder that no store has.
fn foreign_name(root: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    for entry in entries {
        let name: PathBuf = entry?.file_name().into();
        let name = name.to_string_lossy().into_owned();
        if !OWN_NAMES.contains(&name.as_str()) && !name.starts_with("VERSION.") {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
