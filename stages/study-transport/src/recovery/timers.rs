//! Retransmission timeout, tail loss probe and probe timeout.

use super::*;
use crate::send_queue::Chunk;

impl Recovery {
    pub(super) fn probe_period(&self) -> SimDuration {
        self.rtt.smoothed() + self.rtt.four_variations().max(SimDuration::from_millis(1))
    }

    /// Retransmission timeout of TCP or probe timeout of QUIC, without backoff.
    pub(super) fn timeout(&self) -> SimDuration {
        if !self.rtt.is_known() {
            return self.rules.initial_timeout;
        }
        match self.rules.tail {
            TailProbe::TlpRto => self.rtt.smoothed() + self.rtt.four_variations().max(self.rules.rto_floor),
            // RFC 9002 section 6.2.1: nobody delays acknowledgements of a handshake.
            TailProbe::Pto if self.in_handshake => self.probe_period(),
            TailProbe::Pto => self.probe_period() + self.peer_ack_delay,
        }
    }

    /// Sets the timer after packets were sent or acknowledged.
    pub fn arm(&mut self, chunks: &ChunkStore) {
        self.in_handshake =
            self.rules.tail == TailProbe::Pto && chunks.get(chunks.oldest()).is_some_and(Chunk::is_handshake);
        self.timer = self.rules.timer(self.deadline());
    }

    fn deadline(&self) -> SimTime {
        if self.loss_time != SimTime::NEVER {
            return self.loss_time;
        }
        if self.packets_in_flight == 0 {
            return SimTime::NEVER;
        }
        let timeout = (self.timeout() * (1 << self.backoff.min(12))).min(MAX_TIMEOUT);
        match self.rules.tail {
            TailProbe::Pto => self.last_sent + timeout,
            TailProbe::TlpRto => {
                let rto =
                    self.last_progress.max(if self.probe_sent { self.last_sent } else { SimTime::ZERO }) + timeout;
                if self.may_probe() {
                    rto.min(self.last_sent.max(self.last_progress) + self.tail_probe_delay())
                } else {
                    rto
                }
            }
        }
    }

    pub(super) fn may_probe(&self) -> bool {
        self.backoff == 0 && !self.probe_sent && self.episode == Episode::Open && self.rtt.is_known()
    }

    pub(super) fn tail_probe_delay(&self) -> SimDuration {
        let twice = self.rtt.smoothed() * 2;
        if self.packets_in_flight == 1 { twice + WORST_ACK_DELAY } else { twice }
    }

    /// The timer fired.
    pub fn on_timer(&mut self, now: SimTime, chunks: &mut ChunkStore, stats: &mut ConnectionStats) -> Probe {
        if self.loss_time != SimTime::NEVER {
            self.detect_losses(now, chunks, stats);
            return Probe::None;
        }
        stats.timeouts += 1;
        match self.rules.tail {
            TailProbe::Pto => {
                self.backoff += 1;
                Probe::Oldest(2)
            }
            // RFC 8985 section 7.2: capped at the timeout, the probe still goes first; the timeout is armed after it.
            TailProbe::TlpRto if self.may_probe() => {
                self.probe_sent = true;
                Probe::Newest
            }
            TailProbe::TlpRto => {
                self.backoff += 1;
                self.probe_sent = false;
                self.lost.clear();
                self.give_up_all(chunks, stats);
                self.controller.on_timeout(now, self.backoff == 1);
                self.prr = None;
                self.episode = Episode::Loss(chunks.end());
                self.next_episode = false;
                Probe::None
            }
        }
    }

    /// A timeout: whatever is in flight counts as lost.
    fn give_up_all(&mut self, chunks: &ChunkStore, stats: &mut ConnectionStats) {
        // Only the first timeout of a row can be judged: its successor's acknowledgements may be for either.
        let judged = self.rules.frto && self.backoff == 1;
        for sent in self.sent.iter_mut().filter(|s| s.state == State::TimedOut) {
            sent.state = State::Lost;
        }
        let state = if judged { State::TimedOut } else { State::Lost };
        for i in 0..self.sent.len() {
            if self.sent[i].state == State::InFlight {
                self.declare_lost(i, (state, LossTrigger::Timeout), chunks, stats);
            }
        }
        self.undo.disarm();
        self.timed_out = judged;
        self.requeue_unacked(chunks);
        self.drop_settled();
    }

    /// After a timeout everything unacknowledged is sent again in order, each chunk once.
    pub(super) fn requeue_unacked(&mut self, chunks: &ChunkStore) {
        self.lost.clear();
        self.lost.extend((chunks.oldest()..chunks.end()).filter(|c| chunks.get(*c).is_some_and(|x| !x.acked)));
    }
}
