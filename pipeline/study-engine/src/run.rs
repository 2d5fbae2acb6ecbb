//! Running a study: the set-up around the dispatcher.

use crate::dispatch::{Dispatcher, Message};
use crate::executor::{Surroundings, execute};
use crate::files::LoadedFiles;
use crate::graph::Dag;
use crate::judge::Judge;
use crate::plan::{check_givers, walk};
use crate::select::Selection;
use crate::tables::Tables;
use crate::{EngineError, FileSource, RunEvent, RunOptions, RunReport};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use study_spec::Study;
use study_store::Store;

/// Stages inside the pool may nest: a thread that waits for a parallel loop of one node can take up another node.
const STACK_BYTES: usize = 16 << 20;
/// A stage may report progress as often as it likes; it is passed on this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Runs what is not cached, and says what happened to every node. What fails or is interrupted is in the report, not an error.
///
/// `cancel` interrupts the run when it is set: nothing more is started, stages under way see it, and what has finished is on
/// record. `events` is called from this thread only.
///
/// # Errors
/// As [`plan`](crate::plan), and when the store cannot be used at all.
pub fn run(
    study: &Study,
    store: &Store,
    files: &dyn FileSource,
    options: &RunOptions,
    cancel: &AtomicBool,
    events: &(dyn Fn(RunEvent<'_>) + Sync),
) -> Result<RunReport, EngineError> {
    let dag = Dag::of(study)?;
    let selection = Selection::new(study, &dag, options)?;
    let files = LoadedFiles::read(study, files, &selection.consulted)?;
    let judge = Judge::new(study, Some(store), &files);
    let _lease = store.lease()?;
    if selection.leaves_out_givers() {
        let (_, outputs) = walk(&judge, &selection);
        check_givers(study, &selection, &outputs)?;
    }
    let jobs = jobs(options);
    let tables = Tables::new(consumers(study));
    let mut dispatcher = Dispatcher::new(&judge, &dag, &selection, store, &tables, cancel, events, jobs);
    dispatcher.fail_fast = options.fail_fast;
    // A run that finds everything cached needs no threads.
    if !dispatcher.settle() {
        drive(&mut dispatcher, &Surroundings { study, store, tables: &tables, cancel }, jobs)?;
    }
    Ok(dispatcher.finish())
}

fn drive(dispatcher: &mut Dispatcher<'_>, around: &Surroundings<'_>, jobs: usize) -> Result<(), EngineError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .stack_size(STACK_BYTES)
        .thread_name(|i| format!("study-{i}"))
        .build()
        .map_err(|e| EngineError::Threads(e.to_string()))?;
    let (sender, messages) = mpsc::channel();
    pool.in_place_scope(|scope| {
        dispatcher.drive(&messages, &mut |work| {
            let sender = sender.clone();
            scope.spawn(move |_| {
                let node = work.node;
                let progress = throttled(&sender, node);
                let outcome = execute(around, work, &progress);
                // The dispatcher outlives every node it started.
                let _ = sender.send(Message::Ended { node, outcome });
            });
        });
    });
    Ok(())
}

/// Passes progress on to the dispatcher now and then, and always when all is done.
fn throttled(sender: &mpsc::Sender<Message>, node: usize) -> impl Fn(u64, u64) + Sync + use<> {
    let sender = sender.clone();
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    move |done, total| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if done >= total || last.is_none_or(|t| t.elapsed() >= PROGRESS_EVERY) {
            *last = Some(Instant::now());
            let _ = sender.send(Message::Progress { node, done, total });
        }
    }
}

fn jobs(options: &RunOptions) -> usize {
    match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// How many nodes read from each node.
fn consumers(study: &Study) -> Vec<usize> {
    let mut counts = vec![0; study.nodes.len()];
    for node in &study.nodes {
        crate::dispatch::givers_of(node).into_iter().for_each(|giver| counts[giver] += 1);
    }
    counts
}
