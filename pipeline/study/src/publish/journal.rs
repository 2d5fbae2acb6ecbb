//! What was published, so that a rerun writes nothing twice and touches nothing of the user's.
//!
//! One JSON line per file in `.published.jsonl` of the results folder; of several lines for one path the last is valid. A
//! line is appended before its file is renamed into place, so that after a kill between the two both the old and the
//! new content are known as ours.

use crate::exit::Failure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use study_ident::Digest;

const NAME: &str = ".published.jsonl";

/// One published file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Path inside the results folder, with `/`.
    pub path: String,
    /// Id of the node it comes from; empty for what belongs to the study as a whole.
    pub owner: String,
    /// Digest of everything the content depends on.
    pub identity: Digest,
    /// Digest of the bytes that were written.
    pub digest: Digest,
    /// How many.
    pub bytes: u64,
    /// Time of the last change, in nanoseconds since 1970; only to see quickly that nobody touched the file.
    pub modified_ns: u64,
}

/// Everything that was published to one folder.
#[derive(Debug, Default)]
pub struct Journal {
    folder: PathBuf,
    latest: BTreeMap<String, Line>,
    ours: BTreeMap<String, BTreeSet<Digest>>,
    changed: bool,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// What was published last, unchanged.
    Current,
    /// Something that was published earlier.
    Ours(Digest),
    /// Something that was never published: the user's.
    Foreign(Digest),
}

impl Journal {
    /// Reads it; lines that a kill cut short are skipped.
    pub fn read(folder: &Path) -> Self {
        let mut journal = Self { folder: folder.to_owned(), ..Self::default() };
        let text = fs::read_to_string(folder.join(NAME)).unwrap_or_default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            journal.note(line);
        }
        journal.changed = false;
        journal
    }
    fn note(&mut self, line: Line) {
        self.ours.entry(line.path.clone()).or_default().insert(line.digest);
        self.latest.insert(line.path.clone(), line);
        self.changed = true;
    }
    /// The last line of a path.
    pub fn latest(&self, path: &str) -> Option<&Line> {
        self.latest.get(path)
    }
    /// All last lines.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.latest.values()
    }
    /// Looks at the disk; reads a file only when its size and time do not settle the question.
    pub fn look(&self, path: &str) -> Result<Found, Failure> {
        let full = self.folder.join(path);
        let meta = match fs::symlink_metadata(&full) {
            Ok(meta) => meta,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(e) => return Err(failed("look at", &full, &e)),
        };
        if !meta.is_file() {
            return Err(Failure::environment(format!("`{}` is in the way: a file is published there", full.display()))
                .help("move it away, or publish elsewhere with `--out DIR`"));
        }
        let line = self.latest.get(path);
        if line.is_some_and(|line| line.bytes == meta.len() && line.modified_ns == modified_ns(&meta)) {
            return Ok(Found::Current);
        }
        let digest = Digest::of(&fs::read(&full).map_err(|e| failed("read", &full, &e))?);
        if line.is_some_and(|line| line.digest == digest) {
            return Ok(Found::Current);
        }
        let ours = self.ours.get(path).is_some_and(|digests| digests.contains(&digest));
        Ok(if ours { Found::Ours(digest) } else { Found::Foreign(digest) })
    }
    /// Appends a line to the file, before what it speaks of is put into place.
    pub fn announce(&mut self, line: Line) -> Result<(), Failure> {
        let path = self.folder.join(NAME);
        let mut text = serde_json::to_string(&line).expect("a line is plain data");
        text.push('\n');
        let open = OpenOptions::new().append(true).create(true).open(&path);
        open.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| failed("write", &path, &e))?;
        self.note(line);
        Ok(())
    }
    /// Takes in a line without writing it yet.
    pub fn adopt(&mut self, line: Line) {
        self.note(line);
    }
    /// Forgets a path.
    pub fn forget(&mut self, path: &str) {
        self.changed |= self.latest.remove(path).is_some();
        self.ours.remove(path);
    }
    /// Writes the file anew with one line per path, if anything changed.
    pub fn compact(&mut self) -> Result<(), Failure> {
        if !self.changed {
            return Ok(());
        }
        let lines = self.latest.values().map(|line| serde_json::to_string(line).expect("a line is plain data") + "\n");
        let text: String = lines.collect();
        replace(&self.folder.join(NAME), text.as_bytes(), |_| Ok(()))?;
        self.changed = false;
        Ok(())
    }
}

/// Writes a file under another name in the same folder and renames it. `before` is called between the two.
pub fn replace(
    path: &Path,
    bytes: &[u8],
    before: impl FnOnce(&fs::Metadata) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}{PART}", std::process::id()));
    let written = File::create(&part).and_then(|mut file| file.write_all(bytes).and_then(|()| file.metadata()));
    let outcome = match written {
        Ok(meta) => before(&meta).and_then(|()| fs::rename(&part, path).map_err(|e| failed("write", path, &e))),
        Err(e) => Err(failed("write", path, &e)),
    };
    if outcome.is_err() {
        // Best effort: the reason is reported already.
        let _ = fs::remove_file(&part);
    }
    outcome
}

/// Ending of unfinished files.
pub const PART: &str = ".study-part";

/// Nanoseconds since 1970; 0 where the file system does not know.
pub fn modified_ns(meta: &fs::Metadata) -> u64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0)
}

/// A failure of the file system while results are published.
pub fn failed(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let failure = Failure::environment(format!("cannot {action} `{}`: {error}", path.display()));
    match error.kind() {
        StorageFull | QuotaExceeded => failure.help(
            "free some space and run again: the computed results are in the store, only publishing them is repeated",
        ),
        _ => failure.help("publish to a folder that you may write to, with `--out DIR`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str, bytes: &[u8], modified_ns: u64) -> Line {
        let digest = Digest::of(bytes);
        Line {
            path: path.to_owned(),
            owner: String::new(),
            identity: digest,
            digest,
            bytes: bytes.len() as u64,
            modified_ns,
        }
    }

    /// Publishes as `publish` does.
    fn publish(journal: &mut Journal, path: &str, bytes: &[u8]) {
        let full = journal.folder.join(path);
        replace(&full, bytes, |meta| journal.announce(line(path, bytes, modified_ns(meta)))).unwrap();
    }

    #[test]
    fn what_was_published_is_known_and_what_the_user_wrote_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::read(folder.path());
        assert_eq!(journal.look("a").unwrap(), Found::Nothing);
        publish(&mut journal, "a", b"one");
        assert_eq!(journal.look("a").unwrap(), Found::Current);
        publish(&mut journal, "a", b"two!");
        journal.compact().unwrap();
        let journal = Journal::read(folder.path());
        assert_eq!(journal.look("a").unwrap(), Found::Current);
        fs::write(folder.path().join("a"), b"mine").unwrap();
        assert_eq!(journal.look("a").unwrap(), Found::Foreign(Digest::of(b"mine")));
        fs::write(folder.path().join("a"), b"two!").unwrap();
        assert_eq!(journal.look("a").unwrap(), Found::Current, "the same content at another time");
    }

    #[test]
    fn after_a_kill_between_line_and_file_the_old_content_still_counts_as_ours() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::read(folder.path());
        publish(&mut journal, "a", b"old");
        journal.announce(line("a", b"new", 1)).unwrap();
        let journal = Journal::read(folder.path());
        assert_eq!(journal.look("a").unwrap(), Found::Ours(Digest::of(b"old")));
    }

    #[test]
    fn a_line_that_was_cut_short_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::read(folder.path());
        publish(&mut journal, "a", b"one");
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        fs::write(folder.path().join(NAME), format!("{text}{}", &text[..20])).unwrap();
        assert_eq!(Journal::read(folder.path()).look("a").unwrap(), Found::Current);
    }
}
