//! What an action with a key made.
//!
//! A record is one JSON file with a checksum of itself in front: `{"check":"<blake3>","record":{...}}`. The checksum is
//! over the bytes of the inner object, so a record that was damaged or edited is noticed even where it is still JSON.

use crate::publish::Durability;
use crate::{FaultPoint, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, SystemTime};
use study_ident::Digest;

/// The form of the inner object.
const FORMAT: u32 = 1;
const BEFORE_CHECK: &str = "{\"check\":\"";
const BEFORE_BODY: &str = "\",\"record\":";
const AFTER_BODY: &str = "}\n";
/// The time of last use is written down at most this often.
const USE_RESOLUTION: Duration = Duration::from_secs(24 * 3600);

/// One frame or file that an action made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// Name of the frame, or path of the file relative to the results.
    pub name: String,
    /// Whether it is a frame.
    pub frame: bool,
    /// Identity of the content: of a frame its logical digest, of a file that of its bytes.
    pub logical: Digest,
    /// The object that holds it.
    pub object: Digest,
    /// Size of the object in bytes.
    pub bytes: u64,
    /// Rows of a frame.
    pub rows: Option<u64>,
}

/// One file that an action read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The object that holds it.
    pub object: Digest,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What an action made, and the document that its key is the digest of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Everything that the result depends on.
    pub key_document: Value,
    /// The kind of the stage.
    pub kind: String,
    /// What it made.
    pub outputs: Vec<OutputRecord>,
    /// The files it read, in the order of their slots; kept as objects beside the results.
    pub files: Vec<FileRecord>,
    /// Wall time in seconds, at least 0.
    pub seconds: f64,
    /// Counters of the work (`events`, `packets`, ...).
    pub counters: BTreeMap<String, u64>,
}

/// A record without its key document: what a hit needs.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordHead {
    /// The kind of the stage.
    pub kind: String,
    /// What it made.
    pub outputs: Vec<OutputRecord>,
    /// The files it read.
    pub files: Vec<FileRecord>,
    /// Wall time in seconds, at least 0.
    pub seconds: f64,
    /// Counters of the work.
    pub counters: BTreeMap<String, u64>,
    /// When a run last used it, to a day.
    pub last_used: SystemTime,
}

#[derive(Serialize)]
struct BodyOut<'a> {
    format: u32,
    key: &'a Digest,
    kind: &'a str,
    seconds: f64,
    counters: &'a BTreeMap<String, u64>,
    outputs: &'a [OutputRecord],
    files: &'a [FileRecord],
    key_document: &'a Value,
}

#[derive(Deserialize)]
struct BodyIn<D> {
    format: u32,
    key: Digest,
    kind: String,
    seconds: f64,
    counters: BTreeMap<String, u64>,
    outputs: Vec<OutputRecord>,
    files: Vec<FileRecord>,
    key_document: D,
}

impl Store {
    /// Writes the record of a key; an older one is replaced. Everything it names must have been stored before.
    ///
    /// # Errors
    /// When it cannot be written; the older one stays then.
    pub fn put_record(&self, key: &Digest, record: &Record) -> Result<(), StoreError> {
        let path = self.layout.action(key);
        let failed = |e| StoreError::io("write", &path, e);
        self.fault(FaultPoint::BeforeRecord).map_err(failed)?;
        let body = serde_json::to_string(&BodyOut {
            format: FORMAT,
            key,
            kind: &record.kind,
            seconds: record.seconds,
            counters: &record.counters,
            outputs: &record.outputs,
            files: &record.files,
            key_document: &record.key_document,
        })
        .map_err(|e| failed(e.into()))?;
        let check = Digest::of(body.as_bytes());
        let text = format!("{BEFORE_CHECK}{check}{BEFORE_BODY}{body}{AFTER_BODY}");
        self.publish(text.as_bytes(), &path, 0o644, Durability::Synced)?;
        self.fault(FaultPoint::AfterRecord).map_err(failed)
    }

    /// The record of a key, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] (treat it as absent: the next [`put_record`](Self::put_record) replaces it), or a failure of
    /// the file system.
    pub fn record(&self, key: &Digest) -> Result<Option<Record>, StoreError> {
        Ok(self.read_record::<Value>(key)?.map(|(body, _)| Record {
            key_document: body.key_document,
            kind: body.kind,
            outputs: body.outputs,
            files: body.files,
            seconds: body.seconds,
            counters: body.counters,
        }))
    }

    /// The record of a key without its key document, which makes it much cheaper to read.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_head(&self, key: &Digest) -> Result<Option<RecordHead>, StoreError> {
        Ok(self.read_record::<serde::de::IgnoredAny>(key)?.map(|(body, last_used)| RecordHead {
            kind: body.kind,
            outputs: body.outputs,
            files: body.files,
            seconds: body.seconds,
            counters: body.counters,
            last_used,
        }))
    }

    /// Notes that a run used a record, for garbage collection by last use. Costs nothing more than once a day; a store that
    /// cannot be written to stays as it is. Whether it was time to.
    pub fn touch(&self, key: &Digest, head: &RecordHead) -> bool {
        let now = SystemTime::now();
        let due = now.duration_since(head.last_used).is_ok_and(|age| age > USE_RESOLUTION);
        if due {
            let _ = File::open(self.layout.action(key)).and_then(|file| file.set_modified(now));
        }
        due
    }

    fn read_record<D: for<'de> Deserialize<'de>>(
        &self,
        key: &Digest,
    ) -> Result<Option<(BodyIn<D>, SystemTime)>, StoreError> {
        let path = self.layout.action(key);
        let (bytes, last_used) = match read_with_time(&path) {
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        match parse(key, &bytes) {
            Ok(body) => Ok(Some((body, last_used))),
            Err(why) => Err(StoreError::Corrupt { what: "record", digest: *key, why, quarantined: None }),
        }
    }
}

fn read_with_time(path: &Path) -> io::Result<(Vec<u8>, SystemTime)> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes)?;
    Ok((bytes, meta.modified()?))
}

fn parse<'de, D: Deserialize<'de>>(key: &Digest, bytes: &'de [u8]) -> Result<BodyIn<D>, String> {
    let (check, body) = split(bytes).ok_or("it is not a whole record")?;
    if Digest::of(body).to_string().as_bytes() != check {
        return Err("its checksum does not fit".to_owned());
    }
    let body: BodyIn<D> = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    if body.format != FORMAT {
        return Err(format!("it has format {}, and this version reads {FORMAT}", body.format));
    }
    if body.key != *key {
        return Err(format!("it is the record of {}", body.key));
    }
    Ok(body)
}

/// Checksum and inner object.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(BEFORE_CHECK.as_bytes())?;
    let (check, rest) = rest.split_at_checked(64)?;
    let body = rest.strip_prefix(BEFORE_BODY.as_bytes())?.strip_suffix(AFTER_BODY.as_bytes())?;
    Some((check, body))
}

/// Removes a record that nobody needs.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path, e)),
        _ => Ok(()),
    }
}
