//! `results/<study>/`: what the nodes made, in formats that other tools read.
//!
//! Publishing is idempotent and atomic per file. What is already there with the same content is left alone; a file that the
//! user changed is set aside, never overwritten; a file that was never published is never touched.

mod journal;
mod names;
mod tables;

pub use tables::with_labels;

use crate::exit::{Exit, Failure};
use journal::{Found, Journal, Line, failed};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use study_ident::{CanonicalHasher, Digest};
use study_spec::Study;
use study_store::{OutputRecord, Store, StoreError};

/// Unfinished files of processes that were killed are removed after this time.
const ABANDONED: Duration = Duration::from_secs(3600);

/// What is published.
pub struct Source<'a> {
    /// The study.
    pub study: &'a Study,
    /// Where the outputs are.
    pub store: &'a Store,
    /// Outputs of each node, in the order of the study's nodes.
    pub outputs: &'a [Option<Vec<OutputRecord>>],
}

impl Source<'_> {
    /// A frame from the store.
    pub fn read(&self, output: &OutputRecord) -> Result<study_table::Table, Failure> {
        Ok(study_engine::load_frame(self.store, output)?)
    }
}

/// What publishing did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Files written.
    pub written: usize,
    /// Files left as they were.
    pub unchanged: usize,
    /// Files of the user that stood in the way, with the names they have now.
    pub set_aside: Vec<(String, String)>,
}

/// The folder of a study: `<out>/<study>`, with the variant after a dot.
pub fn folder(out: &Path, study: &Study) -> PathBuf {
    let name = names::of_nodes(std::iter::once(study.name.as_str())).remove(study.name.as_str()).unwrap_or_default();
    out.join(if study.variant == "full" { name } else { format!("{name}.{}", study.variant) })
}

/// One unit of work: the files that come from one output.
struct Job<'a> {
    owner: &'a str,
    files: Vec<Target>,
    content: Content<'a>,
}

/// A file to be: path and digest of what it depends on.
struct Target {
    path: String,
    identity: Digest,
}

/// Where the bytes come from.
enum Content<'a> {
    /// Bytes as they are.
    Given(Vec<u8>),
    /// A stage's file.
    Object(&'a OutputRecord),
    /// A frame: Parquet, then CSV.
    Frame { output: &'a OutputRecord, node: usize },
    /// The data dictionary of all frames.
    Dictionary,
}

/// Publishes everything to `folder`, with up to `jobs` files at once; `run_json` is the description of the run. Stops between
/// two files when `cancel` is set.
pub fn publish(
    folder: &Path,
    source: &Source<'_>,
    run_json: Vec<u8>,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Published, Failure> {
    fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
    let jobs_to_do = plan(source, run_json)?;
    let publisher = Publisher {
        folder,
        journal: Mutex::new(Journal::read(folder)),
        published: Mutex::new(Published::default()),
        source,
    };
    publisher.sweep();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(job) = jobs_to_do.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::new(Exit::Interrupted, "interrupted while publishing")
                    .help("the next run publishes what is left"));
            }
            publisher.job(job)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..jobs.min(jobs_to_do.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        others.into_iter().fold(own, |outcome, other| {
            outcome.and(other.join().unwrap_or_else(|_| Err(Failure::new(Exit::Stage, "publishing panicked"))))
        })
    })?;
    publisher.remove_stale(&jobs_to_do)?;
    publisher.finish()
}

/// What there is to publish.
fn plan<'a>(source: &Source<'a>, run_json: Vec<u8>) -> Result<Vec<Job<'a>>, Failure> {
    let study = source.study;
    let stems = names::of_nodes(study.nodes.iter().map(|node| node.id.as_str()));
    let mut jobs = Vec::new();
    for (index, node) in study.nodes.iter().enumerate() {
        for output in source.outputs.get(index).into_iter().flatten().flatten() {
            let job = if output.frame {
                let stem = format!("tables/{}.{}", stems[node.id.as_str()], output.name);
                let identity = tables::identity(study, index, output);
                let files = ["parquet", "csv"].map(|ending| Target { path: format!("{stem}.{ending}"), identity });
                Job { owner: &node.id, files: files.into(), content: Content::Frame { output, node: index } }
            } else if names::is_inside(&output.name) {
                let path = output.name.replace("{node}", &stems[node.id.as_str()]);
                let files = vec![Target { path, identity: output.object }];
                Job { owner: &node.id, files, content: Content::Object(output) }
            } else {
                return Err(Failure::new(
                    Exit::Stage,
                    format!("node `{}` made a file outside its results: `{}`", node.id, output.name),
                ));
            };
            jobs.push(job);
        }
    }
    let mut all = CanonicalHasher::new("data-dictionary");
    jobs.iter().flat_map(|job| &job.files).for_each(|file| {
        all.text(&file.path);
        all.digest(&file.identity);
    });
    let single = |path: &str, identity, content| Job {
        owner: "",
        files: vec![Target { path: path.to_owned(), identity }],
        content,
    };
    jobs.push(single("data-dictionary.csv", all.finish(), Content::Dictionary));
    jobs.push(single("run.json", Digest::of(&run_json), Content::Given(run_json)));
    let mut paths = BTreeSet::new();
    match jobs.iter().flat_map(|job| &job.files).find(|file| !paths.insert(file.path.to_lowercase())) {
        Some(file) => Err(Failure::new(Exit::Stage, format!("two outputs are published as `{}`", file.path))
            .help("let one of the stages have another name")),
        None => Ok(jobs),
    }
}

struct Publisher<'a> {
    folder: &'a Path,
    journal: Mutex<Journal>,
    published: Mutex<Published>,
    source: &'a Source<'a>,
}

/// A lock; a thread that panicked is reported elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Publisher<'_> {
    fn job(&self, job: &Job<'_>) -> Result<(), Failure> {
        let mut due = Vec::new();
        for file in &job.files {
            let journal = lock(&self.journal);
            let same = journal
                .latest(&file.path)
                .is_some_and(|line| line.identity == file.identity && line.owner == job.owner);
            if same && journal.look(&file.path)? == Found::Current {
                lock(&self.published).unchanged += 1;
            } else {
                due.push(file);
            }
        }
        if due.is_empty() {
            return Ok(());
        }
        let contents = self.contents(job, &due)?;
        due.iter().zip(contents).try_for_each(|(file, bytes)| self.put(job.owner, file, &bytes))
    }

    /// The bytes of the files that are due.
    fn contents(&self, job: &Job<'_>, due: &[&Target]) -> Result<Vec<Vec<u8>>, Failure> {
        let Source { study, store, .. } = *self.source;
        match &job.content {
            Content::Given(bytes) => Ok(vec![bytes.clone()]),
            Content::Object(output) => Ok(vec![store.get_object(&output.object)?]),
            Content::Dictionary => Ok(vec![tables::dictionary(self.source)?]),
            Content::Frame { output, node } => {
                let table = tables::labelled(study, *node, study_engine::load_frame(store, output)?);
                due.iter().map(|file| tables::encode(study, &table, &file.path)).collect()
            }
        }
    }

    /// Puts a file into place.
    fn put(&self, owner: &str, file: &Target, bytes: &[u8]) -> Result<(), Failure> {
        let full = self.folder.join(&file.path);
        let parent = full.parent().unwrap_or(self.folder);
        fs::create_dir_all(parent).map_err(|e| failed("make", parent, &e))?;
        let digest = Digest::of(bytes);
        let line = |meta: &fs::Metadata| Line {
            path: file.path.clone(),
            owner: owner.to_owned(),
            identity: file.identity,
            digest,
            bytes: bytes.len() as u64,
            modified_ns: journal::modified_ns(meta),
        };
        let mut journal = lock(&self.journal);
        let mut published = lock(&self.published);
        let found = journal.look(&file.path)?;
        let there = match found {
            Found::Current => journal.latest(&file.path).map(|line| line.digest),
            Found::Ours(digest) | Found::Foreign(digest) => Some(digest),
            Found::Nothing => None,
        };
        if there == Some(digest) {
            // The very content is there: only the journal lags.
            let meta = fs::metadata(&full).map_err(|e| failed("look at", &full, &e))?;
            journal.adopt(line(&meta));
            published.unchanged += 1;
            return Ok(());
        }
        if let Found::Foreign(_) = found {
            let kept = set_aside(&full)?;
            published.set_aside.push((file.path.clone(), kept));
        }
        journal::replace(&full, bytes, |meta| journal.announce(line(meta)))?;
        published.written += 1;
        Ok(())
    }

    /// Removes what was published earlier and is not made any more, if nobody changed it.
    fn remove_stale(&self, jobs: &[Job<'_>]) -> Result<(), Failure> {
        let current: BTreeSet<&str> = jobs.iter().flat_map(|job| &job.files).map(|file| file.path.as_str()).collect();
        let mut journal = lock(&self.journal);
        let stale: Vec<String> =
            journal.lines().map(|line| line.path.clone()).filter(|path| !current.contains(path.as_str())).collect();
        for path in stale {
            if matches!(journal.look(&path)?, Found::Current | Found::Ours(_)) {
                let full = self.folder.join(&path);
                fs::remove_file(&full).map_err(|e| failed("remove", &full, &e))?;
            }
            journal.forget(&path);
        }
        Ok(())
    }

    /// Removes unfinished files of processes that were killed long ago.
    fn sweep(&self) {
        for folder in ["", "tables", "figures"] {
            let Ok(entries) = fs::read_dir(self.folder.join(folder)) else { continue };
            for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(journal::PART))
            {
                let age = entry.metadata().and_then(|meta| meta.modified()).ok();
                if age.and_then(|time| SystemTime::now().duration_since(time).ok()).is_some_and(|age| age > ABANDONED) {
                    // Somebody else may have been quicker.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    fn finish(self) -> Result<Published, Failure> {
        lock(&self.journal).compact()?;
        let mut published = self.published.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        published.set_aside.sort();
        Ok(published)
    }
}

/// Renames a file of the user to the first free name; returns that name.
fn set_aside(path: &Path) -> Result<String, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1u32..).map(|n| format!("{name}.edited-{n}")).find(|name| !path.with_file_name(name).exists());
    let kept = free.unwrap_or_default();
    fs::rename(path, path.with_file_name(&kept)).map_err(|e| failed("rename", path, &e))?;
    Ok(kept)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Corrupt { .. } | StoreError::Missing { .. } => Exit::Corrupt,
            StoreError::NotAStore { .. } => Exit::Usage,
            _ => Exit::Environment,
        };
        Self::new(exit, error.to_string()).maybe_help(error.help())
    }
}
