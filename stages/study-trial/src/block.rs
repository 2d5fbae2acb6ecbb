//! A block: the arms of one run in random order, run again as a whole when the timing of one of them was tainted.
//!
//! Whether a block is run again depends on signals of the machine alone, never on what its sessions measured. The last
//! attempt is kept whatever its timing was, and says so.
//!
//! Random streams: `order/<attempt>` under the run.

use crate::error::TrialError;
use crate::job::{Job, Run};
use crate::record::{BlockRecord, TrialRecord};
use crate::trial::run_trial;

/// Positions of the arms in the order in which they are run.
fn order(job: &Job, run: &Run, attempt: u32) -> Vec<usize> {
    let mut stream = run.seed(job).indexed("order", u64::from(attempt)).stream("arms");
    let mut order: Vec<usize> = (0..job.arms.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, stream.below(i as u64 + 1) as usize);
    }
    order
}

/// All arms once.
fn attempt(job: &Job, run: &Run, attempt: u32) -> Result<Vec<TrialRecord>, TrialError> {
    let mut trials = order(job, run, attempt)
        .into_iter()
        .enumerate()
        .map(|(position, arm)| {
            let place = || format!("run {}, arm `{}`", run.run, job.arms[arm].name);
            run_trial(job, run, arm, position).map_err(|error| error.at(&place()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    trials.sort_by_key(|trial| trial.arm);
    Ok(trials)
}

/// Runs a block.
pub(crate) fn run_block(job: &Job, run: usize) -> Result<BlockRecord, TrialError> {
    let mut tainted_attempts = vec![0; job.arms.len()];
    let mut attempts = 1;
    loop {
        let trials = attempt(job, &job.runs[run], attempts)?;
        if attempts > job.emulation.retries || !trials.iter().any(TrialRecord::is_tainted) {
            return Ok(BlockRecord { run, warm_up: false, attempts, trials, tainted_attempts });
        }
        for trial in trials.iter().filter(|trial| trial.is_tainted()) {
            tainted_attempts[trial.arm] += 1;
        }
        attempts += 1;
    }
}

/// Trials that warm the machine up: those of the first run, each arm once.
pub(crate) fn warm_up(job: &Job) -> Result<BlockRecord, TrialError> {
    let trials = attempt(job, &job.runs[0], 0)?;
    Ok(BlockRecord { run: 0, warm_up: true, attempts: 1, trials, tainted_attempts: vec![0; job.arms.len()] })
}
