//! Garbage collection.
//!
//! Roots are the records; a record goes when it was not used for longer than asked, or, least recently used first, while
//! the store is larger than asked. An object goes when no record that stays names it. Records go before objects, so a
//! collection that is killed leaves unreferenced objects, never a record without its objects; running it again
//! finishes the job. Needs the store alone: it is refused while a run holds a [`Lease`](crate::Lease).

use crate::inspect::{Entry, list, sorted_names};
use crate::{Lease, RecordHead, Store, StoreError, record, scratch};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use study_ident::Digest;

/// What may go.
#[derive(Debug, Clone, Default)]
pub struct GcOptions {
    /// Only say what would go.
    pub dry_run: bool,
    /// Records that no run used for longer than this go (last use is known to a day).
    pub older_than: Option<Duration>,
    /// The store is brought down to this many bytes of objects and records, least recently used first.
    pub max_size: Option<u64>,
    /// Keys whose records stay whatever else is asked.
    pub pinned: BTreeSet<Digest>,
}

/// How many things, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct GcCount {
    /// Files.
    pub items: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// What went (or would go), and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct GcReport {
    /// Whether nothing was removed.
    pub dry_run: bool,
    /// By reason: `older-than`, `over-size`, `corrupt-record`, `unreferenced`, `quarantined`, `abandoned`.
    pub removed: BTreeMap<&'static str, GcCount>,
    /// Objects and records that stay.
    pub kept: GcCount,
}

impl GcReport {
    fn add(&mut self, reason: &'static str, bytes: u64) {
        let count = self.removed.entry(reason).or_default();
        count.items += 1;
        count.bytes += bytes;
    }
    fn keep(&mut self, bytes: u64) {
        self.kept.items += 1;
        self.kept.bytes += bytes;
    }
    /// Bytes that went, for all reasons.
    #[must_use]
    pub fn removed_bytes(&self) -> u64 {
        self.removed.values().map(|count| count.bytes).sum()
    }
}

/// A record under consideration.
struct Candidate {
    entry: Entry,
    key: Option<Digest>,
    objects: BTreeSet<Digest>,
    /// Why it goes.
    reason: Option<&'static str>,
}

impl Store {
    /// Removes what no result needs.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while a run uses the store, [`StoreError::NoLocks`] where that cannot be known, or a failure of
    /// the file system.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        let _alone = Lease::exclusive(&self.layout.root, &self.layout.lock(), || {
            let users = scratch::living(&self.layout.scratch());
            if users.is_empty() { "another process".to_owned() } else { users.join(", ") }
        })?;
        let mut report = GcReport { dry_run: options.dry_run, ..GcReport::default() };
        let objects = self.object_entries()?;
        let mut records = self.candidates()?;
        mark_old(&mut records, options);
        if let Some(limit) = options.max_size {
            mark_over_size(&mut records, &objects, limit, &options.pinned);
        }
        self.sweep_records(&records, &mut report)?;
        self.sweep_objects(&objects, &records, &mut report)?;
        self.sweep_rest(&records, &mut report)?;
        Ok(report)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        let mut found = Vec::new();
        for entry in self.record_entries()? {
            let head = match &entry.digest {
                Some(key) => self.record_head(key).ok().flatten(),
                None => None,
            };
            found.push(Candidate {
                key: entry.digest,
                objects: head.as_ref().map(objects_of).unwrap_or_default(),
                reason: head.is_none().then_some("corrupt-record"),
                entry,
            });
        }
        Ok(found)
    }

    fn sweep_records(&self, records: &[Candidate], report: &mut GcReport) -> Result<(), StoreError> {
        for candidate in records {
            match candidate.reason {
                None => report.keep(candidate.entry.bytes),
                Some(reason) => {
                    if !report.dry_run {
                        record::remove(&candidate.entry.path)?;
                    }
                    report.add(reason, candidate.entry.bytes);
                }
            }
        }
        Ok(())
    }

    fn sweep_objects(&self, objects: &[Entry], records: &[Candidate], report: &mut GcReport) -> Result<(), StoreError> {
        let mut needed: BTreeSet<Digest> = BTreeSet::new();
        let mut freed: BTreeMap<Digest, &'static str> = BTreeMap::new();
        for candidate in records {
            match candidate.reason {
                None => needed.extend(&candidate.objects),
                Some(reason) => candidate.objects.iter().for_each(|object| {
                    freed.entry(*object).or_insert(reason);
                }),
            }
        }
        for entry in objects {
            // A file that is no object is somebody else's: it is left alone.
            let Some(digest) = entry.digest else { continue };
            if needed.contains(&digest) {
                report.keep(entry.bytes);
            } else {
                if !report.dry_run {
                    record::remove(&entry.path)?;
                }
                report.add(freed.get(&digest).copied().unwrap_or("unreferenced"), entry.bytes);
            }
        }
        Ok(())
    }

    /// Corrupt objects, leftovers of dead processes, and histories of keys that are gone.
    fn sweep_rest(&self, records: &[Candidate], report: &mut GcReport) -> Result<(), StoreError> {
        for entry in list(&self.layout.quarantine(), "")? {
            if !report.dry_run {
                record::remove(&entry.path)?;
            }
            report.add("quarantined", entry.bytes);
        }
        let scratch = self.layout.scratch();
        let abandoned =
            scratch::abandoned(&scratch, !report.dry_run).map_err(|e| StoreError::io("remove", &scratch, e))?;
        abandoned.iter().for_each(|(_, bytes)| report.add("abandoned", *bytes));
        if report.dry_run {
            return Ok(());
        }
        // Claims of processes that were killed: nobody else runs now.
        for claim in sorted_names(&self.layout.claims())? {
            record::remove(&claim)?;
        }
        let alive: BTreeSet<Digest> = records.iter().filter(|c| c.reason.is_none()).filter_map(|c| c.key).collect();
        for study in sorted_names(&self.layout.nodes())? {
            forget_histories(&study, &alive)?;
        }
        Ok(())
    }
}

fn objects_of(head: &RecordHead) -> BTreeSet<Digest> {
    head.outputs.iter().map(|o| o.object).chain(head.files.iter().map(|f| f.object)).collect()
}

fn mark_old(records: &mut [Candidate], options: &GcOptions) {
    let Some(limit) = options.older_than else { return };
    let now = SystemTime::now();
    for candidate in records.iter_mut().filter(|c| c.reason.is_none()) {
        let pinned = candidate.key.is_some_and(|key| options.pinned.contains(&key));
        // A clock that went backwards makes a record young, never old.
        let age = now.duration_since(candidate.entry.modified).unwrap_or_default();
        if age > limit && !pinned {
            candidate.reason = Some("older-than");
        }
    }
}

/// Marks least recently used records until what stays fits.
fn mark_over_size(records: &mut [Candidate], objects: &[Entry], limit: u64, pinned: &BTreeSet<Digest>) {
    let sizes: BTreeMap<Digest, u64> = objects.iter().filter_map(|e| Some((e.digest?, e.bytes))).collect();
    let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut total = 0;
    for candidate in records.iter().filter(|c| c.reason.is_none()) {
        total += candidate.entry.bytes;
        for object in &candidate.objects {
            let count = users.entry(*object).or_default();
            if *count == 0 {
                total += sizes.get(object).copied().unwrap_or(0);
            }
            *count += 1;
        }
    }
    let mut order: Vec<usize> = (0..records.len()).filter(|i| records[*i].reason.is_none()).collect();
    order.sort_by_key(|i| (records[*i].entry.modified, records[*i].key));
    for i in order {
        if total <= limit {
            break;
        }
        let candidate = &mut records[i];
        if candidate.key.is_some_and(|key| pinned.contains(&key)) {
            continue;
        }
        candidate.reason = Some("over-size");
        total -= candidate.entry.bytes;
        for object in &candidate.objects {
            if let Some(count) = users.get_mut(object) {
                *count -= 1;
                if *count == 0 {
                    total -= sizes.get(object).copied().unwrap_or(0);
                }
            }
        }
    }
}

fn forget_histories(study: &Path, alive: &BTreeSet<Digest>) -> Result<(), StoreError> {
    let mut removed = false;
    for path in sorted_names(study)? {
        let is_history = path.extension().is_some_and(|e| e == "json");
        if is_history && !Store::keys_in(&path).iter().any(|key| alive.contains(key)) {
            record::remove(&path)?;
            removed = true;
        }
    }
    if removed {
        // The next run writes its histories anew.
        record::remove(&study.join(".last-run"))?;
        let _ = fs::remove_dir(study);
    }
    Ok(())
}
