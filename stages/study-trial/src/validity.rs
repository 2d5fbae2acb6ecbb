//! The validity record of an emulated block: was the comparison fair, and did the trials run as designed?
//!
//! Purpose: numbers of two stacks are comparable when everything but the stack was equal, and when the machine did what
//! it was told. Neither is assumed here. A trial brings its [`Evidence`] (what was asked for beside what the kernel, the
//! stacks and the relay say), and [`record`] judges it check by check; the table of checks is [`registry::CHECKS`].
//!
//! A check either looks at one arm (*was it set up as asked, did it run cleanly?*) or at all arms of a block (*were they
//! equal?*). With `compare: as_deployed` unequal arms are a warning with the words "as deployed"; what failed to be set up as
//! asked fails all the same.
//!
//! | status | meaning | effect |
//! |---|---|---|
//! | `pass` | as it should be; the figure is on record | none |
//! | `unknown` | nothing says so: the evidence is missing | the reader is told |
//! | `warn` | worse than it should be, but within what figures bear, or a known difference of the stacks | `--strict` makes it an error |
//! | `fail` | figures of the block must not be compared | the whole block is left out, all arms |
//!
//! [`tainted`] is the narrower question whether a block is to be run again. It looks at signals that do not depend on the
//! outcome alone: a trial must not be repeated because it was slow.
//!
//! Sources: the catalogue of pitfalls E1 to E20 and H1 to H22 (each row names its own), and the thresholds of timing quality
//! in `study_shaper::timing`, which were measured on a quiet and on a contended machine with two cores.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | E4: a frame above MTU + 18 bytes | an IP packet above the MTU: relays see packets without a link-layer header | none |
//! | E1: segments up to MTU - 52 bytes | MTU - 40 where TCP has no timestamps | a host without timestamps does not fail |
//! | H5: the initial window as set | a kernel whose handshake took two repeats begins with one packet, as its rules say | a lossy link does not fail |
//! | taint rates above 2 points apart fail | they warn; they fail when chance alone does it in less than 5 % of studies | one tainted trial in 25 blocks is 4 points |
//! | H6: any receive-buffer error fails | the same; the trial is tainted (run again) only above 0.1 % of datagrams | one lost datagram is not repeated away |

mod blocks;
mod conduct;
mod control;
mod evidence;
mod finding;
mod host;
mod link;
mod loss;
pub mod registry;
mod session;
mod taint;
mod timing;
mod windows;
mod wire;

pub use blocks::{Finished, across_blocks};
pub use evidence::{Accepted, Asked, Compare, Dialed, Evidence, Hop, Host, Node, Order, Role, Thread, Transfers};
pub use taint::{Taint, tainted};

use finding::Finding;
use registry::CHECKS;
use serde::{Deserialize, Serialize};

study_tree::choices! {
    /// Outcome of a check, best first.
    pub enum Status {
        /// As it should be.
        Pass = "pass",
        /// Nothing says so.
        Unknown = "unknown",
        /// To be known by a reader.
        Warn = "warn",
        /// The block must not be compared.
        Fail = "fail",
    }
}

/// One row of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Which check: `E4`.
    pub id: String,
    /// The arm that it is about; `None`: all arms of the block.
    pub arm: Option<String>,
    /// Outcome.
    pub status: Status,
    /// What was found.
    pub measured: String,
    /// What should be.
    pub expected: String,
    /// Unit of both; empty for names.
    pub unit: String,
    /// What it means, in words.
    pub message: String,
}

impl Check {
    fn new(id: &str, arm: Option<&str>, finding: Finding) -> Self {
        Self {
            id: id.to_owned(),
            arm: arm.map(str::to_owned),
            status: finding.status,
            measured: finding.measured,
            expected: finding.expected,
            unit: finding.unit.to_owned(),
            message: finding.message,
        }
    }
}

/// The validity record of a block: the rows of each check that applies, in the order of the registry; those of single
/// arms before those that compare arms. `arms` are the trials of one block, one per arm.
#[must_use]
pub fn record(arms: &[Evidence]) -> Vec<Check> {
    let mut rows = Vec::new();
    for check in CHECKS {
        if let Some(each) = check.each {
            for evidence in arms {
                rows.extend(each(evidence).into_iter().map(|f| Check::new(check.id, Some(&evidence.arm), f)));
            }
        }
        if let Some(across) = check.across.filter(|_| arms.len() > 1) {
            rows.extend(across(arms).into_iter().map(|f| Check::new(check.id, None, f)));
        }
    }
    rows
}

/// The worst outcome of a record; `Pass` when it is empty.
#[must_use]
pub fn worst(rows: &[Check]) -> Status {
    rows.iter().map(|row| row.status).max().unwrap_or(Status::Pass)
}
