//! What recovery shows of itself to a recorder.

use super::*;
use crate::qlog::TimerKind;

/// A change that only recovery knows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A packet was given up.
    Lost { number: u64, trigger: LossTrigger },
    /// A packet that a false timeout gave up is in flight again.
    Restored(u64),
    /// A packet in flight is not waited for any more: all content is acknowledged.
    Settled(u64),
    /// The window fell to its minimum (RFC 9002 section 7.6).
    PersistentCongestion,
}

/// Changes since it was last read.
#[derive(Debug, Default)]
pub struct Journal {
    pub changes: Vec<Change>,
}

impl Recovery {
    /// Before all packets are settled: those in flight.
    pub(super) fn note_settled(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let in_flight = self.sent.iter().enumerate().filter(|(_, s)| s.state == State::InFlight);
        journal.changes.extend(in_flight.map(|(i, _)| Change::Settled(self.base + i as u64)));
    }

    /// When a packet left that is not settled.
    pub fn sent_at(&self, number: u64) -> Option<SimTime> {
        self.sent.get(number.checked_sub(self.base)? as usize).map(|sent| sent.at)
    }

    /// Packets in flight.
    pub const fn packets_in_flight(&self) -> u64 {
        self.packets_in_flight
    }

    /// Timeouts in a row.
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// What the timer waits for.
    pub fn timer_kind(&self) -> TimerKind {
        if self.loss_time == SimTime::NEVER { TimerKind::Pto } else { TimerKind::Ack }
    }

    /// Whether a recovery is under way: TCP until everything sent before it is acknowledged, QUIC until something is that was sent
    /// after it began (RFC 9002 section 7.3.2); `newest_acked` is when the newest acknowledged packet left.
    pub fn in_recovery(&self, newest_acked: Option<SimTime>) -> bool {
        if self.rules.episode_by_sequence {
            return matches!(self.episode, Episode::Recovery(_));
        }
        self.recovery_start.is_some_and(|start| newest_acked.is_none_or(|newest| newest <= start))
    }
}
