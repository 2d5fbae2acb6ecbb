//! A block: the arms of one run in random order, run again as a whole when the timing of one of them was tainted.
//!
//! Whether a block is run again depends on signals of the machine alone, never on what its sessions measured. The last
//! attempt is kept whatever its timing was, and says so.
//!
//! Random streams: `order/<attempt>` under the run.

use crate::error::TrialError;
use crate::job::{Job, Run};
use crate::record::BlockRecord;
use crate::trial::run_trial;
use crate::validity::{Evidence, record, tainted};

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
fn attempt(job: &Job, run: usize, attempt: u32) -> Result<BlockRecord, TrialError> {
    let of = &job.runs[run];
    let mut trials = order(job, of, attempt)
        .into_iter()
        .enumerate()
        .map(|(position, arm)| {
            let place = || format!("run {}, arm `{}`", of.run, job.arms[arm].name);
            run_trial(job, run, arm, position).map_err(|error| error.at(&place()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    trials.sort_by_key(|(trial, _)| trial.arm);
    let (trials, evidence): (Vec<_>, Vec<Evidence>) = trials.into_iter().unzip();
    Ok(BlockRecord {
        run,
        warm_up: attempt == 0,
        attempts: attempt,
        trials,
        checks: record(&evidence),
        taints: evidence.iter().map(tainted).collect(),
        tainted_attempts: vec![0; job.arms.len()],
    })
}

/// Runs a block.
pub(crate) fn run_block(job: &Job, run: usize) -> Result<BlockRecord, TrialError> {
    let mut before = vec![0; job.arms.len()];
    let mut attempts = 1;
    loop {
        let block = attempt(job, run, attempts)?;
        let tainted: Vec<bool> = (0..job.arms.len()).map(|arm| block.is_tainted(arm)).collect();
        if attempts > job.emulation.retries || !tainted.contains(&true) {
            return Ok(BlockRecord { tainted_attempts: before, ..block });
        }
        before.iter_mut().zip(tainted).for_each(|(count, tainted)| *count += u32::from(tainted));
        attempts += 1;
    }
}

/// Trials that warm the machine up: those of the first run, each arm once.
pub(crate) fn warm_up(job: &Job) -> Result<BlockRecord, TrialError> {
    attempt(job, 0, 0)
}
