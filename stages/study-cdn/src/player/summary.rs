//! What is kept of a session.

use super::playhead::Playhead;
use crate::catalog::Title;
use study_units::{SimDuration, SimTime};

/// One segment of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentRecord {
    /// When the request left the player.
    pub requested: SimTime,
    /// When the last byte was there; `None` while it is not.
    pub completed: Option<SimTime>,
    /// Rung, from 0.
    pub rung: usize,
    /// Bytes received, 0 until it is complete.
    pub bytes: u64,
    /// Buffer when the request left.
    pub buffer_before: SimDuration,
    /// Buffer right after the segment was there; a segment that came before its turn adds nothing yet.
    pub buffer_after: SimDuration,
    /// Length of the stall that ended with this segment, 0 when none did.
    pub stall: SimDuration,
}

impl SegmentRecord {
    pub(super) const fn requested(now: SimTime, rung: usize, buffer_before: SimDuration) -> Self {
        Self {
            requested: now,
            completed: None,
            rung,
            bytes: 0,
            buffer_before,
            buffer_after: SimDuration::ZERO,
            stall: SimDuration::ZERO,
        }
    }
}

/// What a viewer experienced. `wall = startup + played + stall` exactly, for a session that started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionSummary {
    /// From arrival until playback started; `None` when it never did.
    pub startup: Option<SimDuration>,
    /// Stalls of more than 0 ns.
    pub stall_count: u32,
    /// Length of all stalls.
    pub stall: SimDuration,
    /// Play time.
    pub played: SimDuration,
    /// When the last of the buffer was played, or the session was given up.
    pub ended: SimTime,
    /// From arrival to the end.
    pub wall: SimDuration,
    /// Nominal bitrate in kbit/s, weighted by the time it was played; `None` when nothing was.
    pub mean_bitrate_kbit_s: Option<f64>,
    /// Segments that arrived, without a gap before them, at another rung than the one before.
    pub switches: u32,
    /// Segments that arrived without a gap before them.
    pub segments: usize,
    /// Bytes of these segments.
    pub bytes: u64,
    /// Whether every segment arrived.
    pub completed: bool,
}

impl SessionSummary {
    /// From the segments that arrived without gap.
    pub(super) fn new(
        start: SimTime,
        head: &Playhead,
        arrived: &[SegmentRecord],
        segments: usize,
        title: &Title,
    ) -> Self {
        Self {
            startup: head.startup(),
            stall_count: head.stall_count(),
            stall: head.stall(),
            played: head.played(),
            ended: head.ended(),
            wall: head.ended().since(start),
            mean_bitrate_kbit_s: mean_bitrate(arrived, title, head.played()),
            switches: arrived.windows(2).filter(|pair| pair[0].rung != pair[1].rung).count() as u32,
            segments: arrived.len(),
            bytes: arrived.iter().map(|r| r.bytes).sum(),
            completed: arrived.len() == segments,
        }
    }
    /// Share of the time after start-up that was stalled, in [0, 1]; 0 when neither played nor stalled.
    #[must_use]
    pub fn stall_ratio(&self) -> f64 {
        let total = self.stall + self.played;
        if total == SimDuration::ZERO { 0.0 } else { self.stall.as_nanos() as f64 / total.as_nanos() as f64 }
    }
}

fn mean_bitrate(arrived: &[SegmentRecord], title: &Title, played: SimDuration) -> Option<f64> {
    let mut left = played;
    let mut weighted: u128 = 0;
    for (segment, record) in arrived.iter().enumerate() {
        let shown = title.duration(segment).min(left);
        weighted += u128::from(title.rungs_kbit_s()[record.rung]) * u128::from(shown.as_nanos());
        left = left - shown;
    }
    (played > SimDuration::ZERO).then(|| weighted as f64 / played.as_nanos() as f64)
}
