//! The worker: a process of its own for the trials of a node, because a user namespace can only be entered by one, and so that
//! whatever ends the parent ends it with all namespaces, interfaces and threads.
//!
//! The job goes in as one JSON document, one line of JSON comes out for each block.

use crate::block::warm_up;
use crate::error::TrialError;
use crate::job::Job;
use crate::record::{BlockRecord, Line};
use crate::schedule::{blocks_at_once, processors, run_blocks};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use study_shaper::backend::Privilege;
use study_shaper::{Backend, Children, choose, probe_all};

const WORKER: &str = "__trial-worker";
/// How often the parent looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Does the worker's work when the program was started for it. Call it in `main`, after [`study_shaper::early_main`].
#[must_use]
pub fn worker_main(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_none_or(|first| first != WORKER) {
        return None;
    }
    Some(match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = if error.environment { 3 } else { 4 };
            say(&Line::Error(error));
            ExitCode::from(code)
        }
    })
}

fn say(line: &Line) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone reads nothing, and this process ends with it.
    if let Ok(text) = serde_json::to_string(line) {
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }
}

fn work() -> Result<(), TrialError> {
    let mut text = String::new();
    let unreadable = |error: &dyn std::fmt::Display| TrialError::failed(format!("the job of the worker: {error}"));
    std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    let job: Job = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    for _ in 0..job.emulation.warm_ups {
        say(&Line::Block(Box::new(warm_up(&job)?)));
    }
    run_blocks(&job, blocks_at_once(&job, processors()), |block| say(&Line::Block(Box::new(block))))
}

/// The path of this program, which is its own probe and worker.
///
/// # Errors
/// When the system does not say.
pub fn this_program() -> Result<PathBuf, TrialError> {
    std::env::current_exe().map_err(|error| TrialError::failed(format!("the path of this program: {error}")))
}

/// The backend that is asked for, or the first that works on this machine. `program` is this program.
///
/// # Errors
/// [`TrialError::environment`] with what each backend lacks.
pub fn find_backend(program: &Path, asked: Option<Backend>) -> Result<Backend, TrialError> {
    let children = Children { program: program.to_owned(), tun_node: "/dev/net/tun".into() };
    match asked {
        None => Ok(choose(&probe_all(&children))?),
        Some(backend) => match study_shaper::probe(backend, &children).outcome {
            study_shaper::Outcome::Works => Ok(backend),
            study_shaper::Outcome::Fails { error, cure } => Err(TrialError::environment(
                format!("backend `{}` does not work here: {error}", backend.name()),
                cure.or_else(|| Some("`study doctor` says which do".to_owned())),
            )),
        },
    }
}

/// Ends the child when the parent's work ends, whatever way.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a job in a worker. `program` is this program; `finished` hears of each block as soon as it is over, in that order, and may
/// end the work.
///
/// # Errors
/// What the worker says; `None` when `cancel` was set or `finished` ended it.
pub fn run_job(
    program: &Path,
    job: &Job,
    cancel: &AtomicBool,
    mut finished: impl FnMut(&BlockRecord) -> ControlFlow<()>,
) -> Result<Option<Vec<BlockRecord>>, TrialError> {
    let lost = |error: &dyn std::fmt::Display| TrialError::failed(format!("the worker of the trials: {error}"));
    let mut command = match job.backend.row().privilege {
        Privilege::UserNamespace => study_shaper::worker_command(program),
        Privilege::Root | Privilege::Any => study_shaper::plain_worker_command(program),
    };
    let child = command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| lost(&e))?;
    let mut child = Ending(child);
    let text = serde_json::to_vec(job).map_err(|error| lost(&error))?;
    if let Some(mut pipe) = child.0.stdin.take() {
        // A worker that ended before it read says why on its own.
        let _ = pipe.write_all(&text);
    }
    let Some(output) = child.0.stdout.take() else { return Err(lost(&"no output")) };
    let (says, lines) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if says.send(line).is_err() {
                return;
            }
        }
    });
    let mut blocks = Vec::new();
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => match serde_json::from_str(&line).map_err(|error| lost(&error))? {
                Line::Block(block) => {
                    if finished(&block).is_break() {
                        return Ok(None);
                    }
                    blocks.push(*block);
                }
                Line::Error(error) => return Err(error),
            },
            Err(RecvTimeoutError::Timeout) if cancel.load(Ordering::Relaxed) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = reader.join();
    complete(job, blocks, &mut child.0).map(Some)
}

/// All blocks came, or the worker's end is the error.
fn complete(job: &Job, mut blocks: Vec<BlockRecord>, child: &mut Child) -> Result<Vec<BlockRecord>, TrialError> {
    // Blocks at once end in any order.
    blocks.sort_by_key(|block| (!block.warm_up, block.run));
    let measured = blocks.iter().filter(|block| !block.warm_up).count();
    if measured == job.runs.len() {
        return Ok(blocks);
    }
    let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
    Err(TrialError::failed(format!(
        "the worker of the trials ended ({status}) after {measured} of {} blocks; its message is above",
        job.runs.len()
    )))
}
