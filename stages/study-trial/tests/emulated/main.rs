//! Blocks of trials on this machine, through the worker, with the first backend that works.
//!
//! Without the usual harness, because this program is its own probe and worker. What a machine forbids is skipped in one line;
//! with `STUDY_SHAPER_MUST_RUN` set a skip is a failure. Times are asserted only where the trial's own timing record is clean.

mod jobs;
mod sessions;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use study_shaper::{Backend, Early, early_main};
use study_trial::{BlockRecord, Job, TrialError, find_backend, run_job, worker_main};

/// A failed check says what it found.
pub type Check = Result<(), String>;
/// A check by name.
pub type Named = (&'static str, fn(Backend) -> Check);

fn main() -> ExitCode {
    let arguments = match early_main(std::env::args_os()) {
        Early::Exit(code) => return code,
        Early::Continue(arguments) => arguments,
    };
    if let Some(code) = worker_main(&arguments) {
        return code;
    }
    let words: Vec<String> = arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    if words.first().is_some_and(|word| word == "--list") {
        return ExitCode::SUCCESS;
    }
    let backend = match find_backend(&program(), None) {
        Ok(backend) => backend,
        Err(error) => {
            let must_run = std::env::var_os("STUDY_SHAPER_MUST_RUN").is_some();
            println!("{}: {error}", if must_run { "FAILED" } else { "skipped" });
            return ExitCode::from(u8::from(must_run));
        }
    };
    let filter: Vec<&str> = words.iter().filter(|word| !word.starts_with('-')).map(String::as_str).collect();
    let wanted = |name: &str| filter.is_empty() || filter.iter().any(|word| name.contains(word));
    let mut failed = 0;
    for (name, check) in sessions::ALL.iter().filter(|(name, _)| wanted(name)) {
        match check(backend) {
            Ok(()) => println!("test {name} ... ok"),
            Err(what) => {
                failed += 1;
                println!("test {name} ... FAILED\n    {}", what.replace('\n', "\n    "));
            }
        }
    }
    println!("\n{failed} failures on {}", backend.name());
    ExitCode::from(u8::from(failed > 0))
}

fn program() -> PathBuf {
    std::env::current_exe().expect("the path of this program")
}

/// Runs a job to its end.
pub fn run(job: &Job) -> Result<Vec<BlockRecord>, TrialError> {
    let blocks = run_job(&program(), job, &AtomicBool::new(false), |_| std::ops::ControlFlow::Continue(()))?;
    blocks.ok_or_else(|| TrialError::failed("interrupted"))
}

/// Fails with a text unless `holds`.
pub fn ensure(holds: bool, text: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(text()) }
}
