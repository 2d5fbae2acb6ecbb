//! What a trial found out, as it crosses the pipe from the worker.

use crate::error::TrialError;
use serde::{Deserialize, Serialize};
use study_shaper::{Backend, Calibration, LinkRecord, Timing};

/// A line of a worker's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A block is over.
    Block(Box<BlockRecord>),
    /// Nothing more will come.
    Error(TrialError),
}

/// All arms of one run, or warm-up trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Position among the job's runs.
    pub run: usize,
    /// Whether it only warmed the machine up.
    pub warm_up: bool,
    /// Attempts that it took, 1 when the first was clean.
    pub attempts: u32,
    /// The trials, in the order of the job's arms.
    pub trials: Vec<TrialRecord>,
    /// Their validity record.
    pub checks: Vec<crate::validity::Check>,
    /// What tainted each of them, by arm.
    pub taints: Vec<Vec<crate::validity::Taint>>,
    /// Trials of earlier attempts whose timing was tainted, by arm.
    pub tainted_attempts: Vec<u32>,
}

impl BlockRecord {
    /// Whether times of this arm may not be taken at their word.
    #[must_use]
    pub fn is_tainted(&self, arm: usize) -> bool {
        self.taints.get(arm).is_some_and(|taints| !taints.is_empty())
    }
}

/// One arm of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Position among the job's arms.
    pub arm: usize,
    /// Position in the block's random order, from 0.
    pub position: usize,
    /// What carried the links.
    pub backend: Backend,
    /// How long the network took to build, ms.
    pub setup_ms: f64,
    /// From the first arrival to the end of the last session, ms.
    pub span_ms: f64,
    /// Sessions by viewer.
    pub sessions: Vec<SessionRecord>,
    /// Last miles, one for each viewer, and then the origin's links, one for each edge in use.
    pub links: Vec<LinkRecord>,
    /// The same links as measured before the trial.
    pub calibrations: Vec<Calibration>,
    /// How good the timing was.
    pub timing: Timing,
    /// Counters of the edges.
    pub edges: EdgeTotals,
}

/// Sums over the edges of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EdgeTotals {
    /// Requests answered from a cache.
    pub hits: u64,
    /// Requests that caused a fetch.
    pub misses: u64,
    /// Requests that joined a fetch.
    pub coalesced: u64,
    /// Fetches from the origin.
    pub origin_fetches: u64,
}

/// What one viewer's session was. Times in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Position among the run's viewers.
    pub viewer: usize,
    /// Session state that the handshake had; the one that was asked for where it is not known.
    pub session: String,
    /// From arrival until the first request could be sent; `None` when that never was.
    pub handshake_us: Option<u64>,
    /// From arrival to playback.
    pub startup_us: Option<u64>,
    /// Stalls of more than 0 ns.
    pub stall_count: u32,
    /// Length of all stalls.
    pub stall_us: u64,
    /// Play time.
    pub played_us: u64,
    /// Share of stalls.
    pub stall_ratio: f64,
    /// Nominal bitrate in kbit/s, weighted by the time it was played.
    pub mean_bitrate_kbit_s: Option<f64>,
    /// Segments at another rung than the one before.
    pub switches: u32,
    /// Segments that arrived in order.
    pub segments: usize,
    /// Bytes of these.
    pub bytes: u64,
    /// Whether every segment arrived.
    pub completed: bool,
    /// Every transfer, failed ones too, in the order of the requests.
    pub transfers: Vec<TransferRecord>,
    /// Packets that the edge sent on this connection; `None` when its counters could not be read.
    pub packets_sent: Option<u64>,
    /// Packets sent again (TCP) or declared lost (QUIC).
    pub packets_lost: Option<u64>,
    /// Bytes sent again (TCP) or declared lost (QUIC).
    pub retransmitted_bytes: Option<u64>,
    /// Smoothed round-trip time at the end, as the edge has it.
    pub rtt_us: Option<u64>,
    /// Why the connection could not be made.
    pub error: Option<String>,
}

/// One transfer. Times in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferRecord {
    /// Segment, from 0.
    pub segment: usize,
    /// Rung, from 0.
    pub rung: usize,
    /// Bytes of the segment.
    pub bytes: u64,
    /// What the edge said: `hit`, `miss` or `coalesced`; empty when nothing came.
    pub cache: String,
    /// When the player asked, since the start of the trial.
    pub requested_us: u64,
    /// From the request to the first byte of the body.
    pub ttfb_us: Option<u64>,
    /// From the request to the last byte of the body; `None` when the transfer failed.
    pub ttlb_us: Option<u64>,
    /// From the edge's request to the origin's headers; of a miss.
    pub origin_fetch_us: Option<u64>,
    /// Playback buffer when the player asked.
    pub buffer_before_us: u64,
    /// Playback buffer right after the segment had come.
    pub buffer_after_us: u64,
    /// The stall that it ended.
    pub stall_us: u64,
    /// Why it failed.
    pub error: Option<String>,
}
