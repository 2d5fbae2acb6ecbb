//! Looking at a store as a whole.

use crate::{RecordHead, Store, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use study_ident::Digest;

/// How much is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Stats {
    /// Objects.
    pub objects: u64,
    /// Bytes in objects.
    pub object_bytes: u64,
    /// Action records.
    pub records: u64,
    /// Bytes in action records.
    pub record_bytes: u64,
    /// Corrupt objects that were set aside.
    pub quarantined: u64,
    /// Bytes in them.
    pub quarantined_bytes: u64,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Bad {
    /// `object`, `record`, or `stray` for a file that belongs to no store.
    pub what: &'static str,
    /// Its digest or path inside the store.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What checking everything found.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Objects read and hashed.
    pub objects: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Records read.
    pub records: u64,
    /// What is corrupt, or needed by a record and missing.
    pub bad: Vec<Bad>,
}

/// A file in one of the sharded folders.
#[derive(Debug)]
pub(crate) struct Entry {
    pub path: PathBuf,
    /// Nothing when the name is not a digest.
    pub digest: Option<Digest>,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl Store {
    /// How much there is.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        for entry in self.object_entries()? {
            stats.objects += 1;
            stats.object_bytes += entry.bytes;
        }
        for entry in self.record_entries()? {
            stats.records += 1;
            stats.record_bytes += entry.bytes;
        }
        for entry in list(&self.layout.quarantine(), "")? {
            stats.quarantined += 1;
            stats.quarantined_bytes += entry.bytes;
        }
        Ok(stats)
    }

    /// Reads everything and checks it: each object against its digest, each record against its checksum, and that what
    /// records name is there. Changes nothing.
    ///
    /// # Errors
    /// When a folder cannot be listed; what is wrong with the content is in the report.
    pub fn verify(&self) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let mut sizes: BTreeMap<Digest, u64> = BTreeMap::new();
        for entry in self.object_entries()? {
            let Some(digest) = entry.digest else {
                report.bad.push(self.stray(&entry));
                continue;
            };
            report.objects += 1;
            report.bytes += entry.bytes;
            match fs::read(&entry.path) {
                Ok(bytes) if Digest::of(&bytes) == digest => {
                    sizes.insert(digest, bytes.len() as u64);
                }
                Ok(_) => report.bad.push(bad("object", &digest, "its content has another digest")),
                Err(e) => report.bad.push(bad("object", &digest, &format!("it cannot be read: {e}"))),
            }
        }
        for entry in self.record_entries()? {
            report.records += 1;
            let Some(key) = entry.digest else {
                report.bad.push(self.stray(&entry));
                continue;
            };
            match self.record_head(&key) {
                Ok(Some(head)) => report.bad.extend(lacking(&key, &head, &sizes)),
                Ok(None) => {}
                Err(e) => report.bad.push(bad("record", &key, &e.to_string())),
            }
        }
        Ok(report)
    }

    /// Checks everything as [`verify`](Self::verify) does, moves corrupt objects to `quarantine/` and removes corrupt
    /// records, so that the next run makes them anew.
    ///
    /// # Errors
    /// When a folder cannot be listed, or a record not be removed.
    pub fn repair(&self) -> Result<VerifyReport, StoreError> {
        let report = self.verify()?;
        for bad in &report.bad {
            let Ok(digest) = bad.name.parse::<Digest>() else { continue };
            match bad.what {
                // Looks again: another process may have put it right meanwhile.
                "object" => drop(self.get_object(&digest)),
                "record" if self.record_head(&digest).is_err() => crate::record::remove(&self.layout.action(&digest))?,
                _ => {}
            }
        }
        Ok(report)
    }

    pub(crate) fn object_entries(&self) -> Result<Vec<Entry>, StoreError> {
        list_sharded(&self.layout.objects(), "")
    }
    pub(crate) fn record_entries(&self) -> Result<Vec<Entry>, StoreError> {
        list_sharded(&self.layout.actions(), ".json")
    }
    fn stray(&self, entry: &Entry) -> Bad {
        let inside = entry.path.strip_prefix(&self.layout.root).unwrap_or(&entry.path);
        Bad {
            what: "stray",
            name: inside.display().to_string(),
            problem: "its name is not that of an object or record".to_owned(),
        }
    }
}

fn bad(what: &'static str, digest: &Digest, problem: &str) -> Bad {
    Bad { what, name: digest.to_string(), problem: problem.to_owned() }
}

/// What a record names and the store does not have, or has with another size.
fn lacking(key: &Digest, head: &RecordHead, sizes: &BTreeMap<Digest, u64>) -> Vec<Bad> {
    let outputs = head.outputs.iter().map(|o| (o.object, o.bytes, format!("`{}`", o.name)));
    let files = head.files.iter().map(|f| (f.object, f.bytes, "a file it read".to_owned()));
    let mut found = Vec::new();
    for (object, bytes, name) in outputs.chain(files) {
        match sizes.get(&object) {
            Some(size) if *size == bytes => {}
            Some(size) => found.push(bad("record", key, &format!("{name} has {size} bytes, not {bytes}"))),
            None => found.push(bad("record", key, &format!("{name}, object {object}, is missing or corrupt"))),
        }
    }
    found
}

fn list_sharded(folder: &Path, ending: &str) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for shard in sorted_names(folder)? {
        entries.extend(list(&shard, ending)?);
    }
    Ok(entries)
}

/// Files of a folder in order of their names.
pub(crate) fn list(folder: &Path, ending: &str) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for path in sorted_names(folder)? {
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            // Removed meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest = name.strip_suffix(ending).and_then(|name| name.parse().ok());
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        entries.push(Entry { digest, bytes: meta.len(), modified, path });
    }
    Ok(entries)
}

/// The paths in a folder, sorted; none when there is no folder.
pub(crate) fn sorted_names(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::io("list", folder, e)),
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(|e| StoreError::io("list", folder, e))?;
    paths.sort();
    Ok(paths)
}
