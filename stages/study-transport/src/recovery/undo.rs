//! Losses that were none: what the sender does when a packet that it gave up arrives after all.
//!
//! An acknowledgement here says which transmission arrived, so a false loss is seen as soon as the late packet is
//! acknowledged. TCP learns the same from timestamps (Eifel, RFC 3522 and 4015), DSACK (RFC 3708) or F-RTO (RFC 5682), QUIC from
//! its packet numbers. Three answers, each a switch of [`RecoveryRules`](crate::RecoveryRules):
//!
//! * `undo`: when every packet that an episode declared lost has arrived, the window returns to what it was
//!   (RFC 4015 section 3.2, RFC 9438 section 4.9.2; Linux does so).
//! * `frto`: when the first acknowledgement after a timeout is for a packet sent before it, the timeout was false:
//!   nothing more is sent again and the window returns.
//! * `adaptive_reordering`: TCP's `reo_wnd` grows by `min_rtt / 4` in each round trip with a false loss, up to one round
//!   trip, for 16 recoveries (RFC 8985 section 6.2 step 4). QUIC's packet threshold grows to the distance seen and its time
//!   threshold to the lateness seen, up to two round trips (RFC 9002 section 6.1 allows it; quinn keeps 3 and 9/8).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | F-RTO sends two new packets before it decides | the first acknowledgement decides | up to one round trip earlier, as with timestamps |
//! | Linux undoes from DSACKs of retransmissions | from the original's acknowledgement | up to one round trip earlier |

use super::*;

/// RFC 8985 section 6.2 step 4: recoveries until the multiplier is forgotten.
const PERSIST: u32 = 16;
/// Declared losses that are remembered for their lateness.
const GHOSTS: usize = 256;

/// What an episode declared lost and has not seen arrive.
#[derive(Debug, Default)]
pub struct Undo {
    lost: Vec<u64>,
    /// Entries before this one belong to an earlier episode.
    mark: usize,
    armed: bool,
}

impl Undo {
    /// A search for losses begins.
    pub fn mark(&mut self) {
        self.mark = self.lost.len();
    }
    pub fn on_lost(&mut self, number: u64) {
        self.lost.push(number);
    }
    /// The window is reduced for what was found since the mark.
    pub fn on_reduction(&mut self) {
        self.lost.drain(..self.mark);
        (self.mark, self.armed) = (0, true);
    }
    /// Nothing can be undone any more.
    pub fn disarm(&mut self) {
        self.lost.clear();
        (self.mark, self.armed) = (0, false);
    }
    /// A packet that was declared lost has arrived; whether it was the last of them.
    pub fn on_arrival(&mut self, number: u64) -> bool {
        let Some(index) = self.lost.iter().position(|n| *n == number) else { return false };
        self.lost.swap_remove(index);
        self.mark = self.mark.min(self.lost.len());
        self.armed && self.lost.is_empty()
    }
}

/// How much reordering is tolerated.
#[derive(Debug)]
pub struct Reordering {
    pub packets: u64,
    pub lateness: SimDuration,
    pub multiplier: u64,
    persist: u32,
    round_end: u64,
    ghosts: VecDeque<(u64, SimTime)>,
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            packets: PACKET_THRESHOLD,
            lateness: SimDuration::ZERO,
            multiplier: 1,
            persist: 0,
            round_end: 0,
            ghosts: VecDeque::new(),
        }
    }
}

impl Reordering {
    pub fn on_lost(&mut self, number: u64, sent: SimTime) {
        if self.ghosts.len() == GHOSTS {
            self.ghosts.pop_front();
        }
        self.ghosts.push_back((number, sent));
    }
    /// Packet `number` was declared lost and has arrived; `largest` was acknowledged before, `next` is the next to be sent.
    pub fn on_arrival(&mut self, now: SimTime, number: u64, largest: u64, next: u64) {
        self.packets = self.packets.max(largest.saturating_sub(number) + 1);
        if let Some((_, sent)) = self.ghosts.iter().find(|(n, _)| *n == number) {
            self.lateness = self.lateness.max(now.since(*sent));
        }
        if largest >= self.round_end {
            self.multiplier += 1;
            self.round_end = next;
        }
        self.persist = PERSIST;
    }
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }
}

impl Recovery {
    /// A packet that was given up has been acknowledged.
    pub(super) fn on_false_loss(&mut self, now: SimTime, number: u64, stats: &mut ConnectionStats) {
        stats.spurious += 1;
        if self.rules.adaptive_reordering {
            let next = self.base + self.sent.len() as u64;
            self.reordering.on_arrival(now, number, self.largest_acked.unwrap_or(number), next);
        }
        if self.rules.undo && self.undo.on_arrival(number) {
            self.restore_window(now);
            stats.undone += 1;
        }
    }

    fn restore_window(&mut self, now: SimTime) {
        self.controller.on_undo(now);
        self.undo.disarm();
        self.episode = Episode::Open;
        self.recovery_start = None;
        self.next_episode = false;
        self.prr = None;
    }

    /// After a timeout with F-RTO: the first acknowledgement decides whether it was false.
    pub(super) fn judge_timeout(
        &mut self,
        now: SimTime,
        original: bool,
        chunks: &ChunkStore,
        stats: &mut ConnectionStats,
    ) {
        if !self.timed_out {
            return;
        }
        self.timed_out = false;
        let mut back = Vec::new();
        let base = self.base;
        for (i, sent) in self.sent.iter_mut().enumerate().filter(|(_, s)| s.state == State::TimedOut) {
            if original && chunks.get(sent.chunk).is_some_and(|c| !c.acked) {
                sent.state = State::InFlight;
                self.in_flight += u64::from(sent.size);
                self.packets_in_flight += 1;
                stats.packets_lost -= 1;
                back.push(sent.chunk);
                if let Some(journal) = &mut self.journal {
                    journal.changes.push(Change::Restored(base + i as u64));
                }
            } else {
                sent.state = State::Lost;
            }
        }
        if original {
            back.sort_unstable();
            self.lost.retain(|chunk| back.binary_search(chunk).is_err());
            self.restore_window(now);
            stats.undone += 1;
        }
        self.drop_settled();
    }
}
