//! How many blocks are run at once: as many as the processors bear without packets being late.
//!
//! The budget was measured on two cores: 12,000 packets per second and core, relays and stacks together, and 10 links per core.
//! It counts what the links could carry, not what the sessions will ask for: what they ask for is the result.

use crate::block::run_block;
use crate::error::TrialError;
use crate::job::{Job, Run};
use crate::network::edges_in_use;
use crate::record::BlockRecord;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use study_link::LinkParams;

/// Packets per second and processor that links and stacks together bear before packets are late, measured on two cores.
pub const PACKETS_PER_PROCESSOR: f64 = 12_000.0;
/// Links per processor, at most.
pub const LINKS_PER_PROCESSOR: usize = 10;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// Packets of both directions for one of data: every second one is acknowledged.
const WITH_ACKS: f64 = 1.5;

/// Packets per second that a link carries in its faster direction, with those that acknowledge them; 0 without a rate.
#[must_use]
pub fn packets_per_second(link: &LinkParams) -> f64 {
    let rates = [link.down.mean_rate(), link.up.mean_rate()].into_iter().flatten();
    rates.max().map_or(0.0, |rate| rate.bits_per_second() as f64 / PACKET_BITS * WITH_ACKS)
}

/// Links of a run and the packets per second of all of them.
fn demand(job: &Job, run: &Run) -> (usize, f64) {
    let last_miles = run.viewers.iter().map(|viewer| &job.edges[viewer.edge].client_link);
    let edges = edges_in_use(run);
    let upstream = edges.iter().map(|edge| &job.edges[*edge].origin_link);
    (run.viewers.len() + edges.len(), last_miles.chain(upstream).map(packets_per_second).sum())
}

/// Blocks of so many links and packets per second that the processors bear at once, 1 at least.
fn fitting((links, packets): (usize, f64), processors: usize) -> usize {
    let by_packets = PACKETS_PER_PROCESSOR * processors as f64 / packets.max(1.0);
    (by_packets as usize).min(LINKS_PER_PROCESSOR * processors / links.max(1)).max(1)
}

/// Processors of this machine that this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Blocks at once: what the study says, else as many of its largest as the processors bear.
#[must_use]
pub fn blocks_at_once(job: &Job, processors: usize) -> usize {
    let fits = |run| fitting(demand(job, run), processors);
    match job.emulation.at_once {
        0 => job.runs.iter().map(fits).min().unwrap_or(1),
        asked => asked as usize,
    }
}

/// Runs all blocks, some at once; `finished` hears of each when it is over, from the threads that ran them.
///
/// # Errors
/// The first that comes; blocks under way are finished, no other is begun.
pub(crate) fn run_blocks(job: &Job, at_once: usize, finished: impl Fn(BlockRecord) + Sync) -> Result<(), TrialError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let error = Mutex::new(None);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= job.runs.len() {
                return;
            }
            match run_block(job, run) {
                Ok(block) => finished(block),
                Err(first) => {
                    failed.store(true, Ordering::Relaxed);
                    error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(first);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_once.min(job.runs.len()) {
            scope.spawn(work);
        }
        work();
    });
    error.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_link::{DirectionParams, Rate};

    #[test]
    fn blocks_share_the_budget_of_packets_and_links_and_one_always_runs() {
        let way = |rate| DirectionParams::plain("5 ms".parse().unwrap(), Rate::Constant(rate));
        let link = LinkParams { down: way("10 Mbit/s".parse().unwrap()), up: way("2 Mbit/s".parse().unwrap()) };
        assert_eq!(packets_per_second(&link), 1_250.0);
        assert_eq!(fitting((2, 2.0 * 1_250.0), 2), 9);
        assert_eq!(fitting((2, 2.0 * 1_250.0), 1), 4);
        // 0.1 Mbit/s each: the links are too many before the packets are.
        assert_eq!(fitting((4, 50.0), 2), 5);
        assert_eq!(fitting((30, 90_000.0), 2), 1);
    }
}
