//! The server's loss detection and retransmission timers.
//!
//! Every transmission has its own number. QUIC (RFC 9002 section 6): a packet is lost when one sent at least three
//! later is acknowledged, or when it was sent 9/8 max(srtt, latest) before now. TCP (RACK-TLP, RFC 8985): a packet is
//! lost when a later one is acknowledged and `sent + rack.rtt + reo_wnd` has passed; `reo_wnd` is zero in recovery or
//! once three later packets are acknowledged, and `min_rtt / 4` before. Tail: probe timeout (RFC 9002 section 6.2), or
//! tail loss probe after `2 srtt` and retransmission timeout after `srtt + max(floor, 4 rttvar)`.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 9937 (was 6937) proportional rate reduction | a switch, [`prr`]; without it sending resumes when the pipe is below the window (RFC 6675) | without it a recovery may begin with a silent half round trip |
//! | RFC 9002 section 6.2.4: a PING asks for packets whose content is acknowledged otherwise | they count as settled | in flight drops to zero a little earlier |
//! | F-RTO, DSACK, Eifel (RFC 5682, 3708, 3522) infer from acknowledgements which transmission arrived | known exactly, see [`undo`] | a false loss is seen at the first acknowledgement that can tell |
//!
//! Consumes no random numbers.

mod observe;
mod prr;
mod timers;
mod undo;

pub use observe::{Change, Journal};

use crate::config::{RecoveryRules, TailProbe};
use crate::congestion::{Acked, Controller, Delivery};
use crate::qlog::LossTrigger;
use crate::receiver::Receiver;
use crate::rtt::RttEstimator;
use crate::send_queue::ChunkStore;
use crate::stats::ConnectionStats;
use prr::Prr;
use std::collections::VecDeque;
use std::ops::Range;
use study_units::{SimDuration, SimTime};
use undo::{Reordering, Undo};

const PACKET_THRESHOLD: u64 = 3;
/// RFC 6298 section 2.5: an upper bound of at least 60 s; for both protocols, so that none waits longer.
pub const MAX_TIMEOUT: SimDuration = SimDuration::from_secs(60);
/// RFC 8985 section 7.2: worst-case delay of an acknowledgement for a single packet in flight.
const WORST_ACK_DELAY: SimDuration = SimDuration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Acked,
    Lost,
    /// Given up by a timeout whose truth the next acknowledgement tells (F-RTO).
    TimedOut,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    chunk: u64,
    at: SimTime,
    size: u32,
    state: State,
    /// For the delivery rate: bytes delivered when it left, when that was, when the flight's first packet left.
    delivered: u64,
    delivered_at: SimTime,
    first_sent: SimTime,
    application_limited: bool,
}

/// TCP's congestion states that matter here (RFC 5681, RFC 6675).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Episode {
    Open,
    /// Until everything below this chunk is acknowledged, losses of it belong to the same event and the window does not
    /// grow. A loss above it begins the next episode when this one ends (Linux; RFC 6675 with RFC 6582 section 3.2).
    Recovery(u64),
    /// After a timeout: the window grows, further losses belong to it.
    Loss(u64),
}

/// What the timer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Nothing: losses were found by time.
    None,
    /// Send this many packets whatever the window says: new data, or else the oldest unacknowledged.
    Oldest(u32),
    /// Send one packet: new data, or else the newest unacknowledged (RFC 8985 section 7.3).
    Newest,
}

/// Packets in flight and what is known about them.
#[derive(Debug)]
pub struct Recovery {
    rules: RecoveryRules,
    peer_ack_delay: SimDuration,
    sent: VecDeque<Sent>,
    base: u64,
    pub in_flight: u64,
    packets_in_flight: u64,
    largest_acked: Option<u64>,
    /// Round trip of the most recently sent packet that is acknowledged (RACK.rtt).
    rack_rtt: SimDuration,
    pub rtt: RttEstimator,
    pub controller: Box<dyn Controller>,
    recovery_start: Option<SimTime>,
    episode: Episode,
    /// During the episode something was lost that was first sent after it began: the next episode follows at once.
    next_episode: bool,
    loss_time: SimTime,
    last_sent: SimTime,
    last_progress: SimTime,
    backoff: u32,
    probe_sent: bool,
    reordering_seen: bool,
    reordering: Reordering,
    undo: Undo,
    prr: Option<Prr>,
    mss: u64,
    /// Bytes declared lost by the search under way.
    newly_lost: u64,
    /// A timeout has happened, and F-RTO has not yet judged it.
    timed_out: bool,
    /// The oldest packet in flight belongs to the handshake.
    in_handshake: bool,
    /// Numbers that were still in flight when everything was last acknowledged.
    settled: Range<u64>,
    /// Bytes delivered so far, when the last of them were, and when the packet that told so had left.
    delivered: u64,
    delivered_at: SimTime,
    first_sent: SimTime,
    lost_since_delivery: bool,
    /// The controller wants deliveries.
    measures: bool,
    /// When the round-trip time was first known: persistent congestion looks at nothing older (RFC 9002 section 7.6.2).
    first_sample: SimTime,
    /// Chunks to be sent again, oldest first.
    pub lost: VecDeque<u64>,
    pub window_limited: bool,
    /// The first lost packet of an episode is sent again whatever the window says (RFC 6675 section 5 step 4.3, RFC 9002 section 7.3.2).
    pub fast_retransmit: bool,
    /// When something is to be done without an acknowledgement.
    pub timer: SimTime,
    /// What a recorder wants to know, where there is one.
    pub journal: Option<Box<Journal>>,
}

impl Recovery {
    pub fn new(rules: RecoveryRules, peer_ack_delay: SimDuration, controller: Box<dyn Controller>, mss: u32) -> Self {
        let measures = controller.measures();
        Self {
            rules,
            peer_ack_delay,
            sent: VecDeque::new(),
            base: 0,
            in_flight: 0,
            packets_in_flight: 0,
            largest_acked: None,
            rack_rtt: SimDuration::ZERO,
            rtt: RttEstimator::default(),
            controller,
            recovery_start: None,
            episode: Episode::Open,
            next_episode: false,
            loss_time: SimTime::NEVER,
            last_sent: SimTime::ZERO,
            last_progress: SimTime::ZERO,
            backoff: 0,
            probe_sent: false,
            reordering_seen: false,
            reordering: Reordering::default(),
            undo: Undo::default(),
            prr: None,
            mss: u64::from(mss),
            newly_lost: 0,
            timed_out: false,
            in_handshake: false,
            settled: 0..0,
            delivered: 0,
            delivered_at: SimTime::ZERO,
            first_sent: SimTime::ZERO,
            lost_since_delivery: false,
            measures,
            first_sample: SimTime::NEVER,
            lost: VecDeque::new(),
            window_limited: false,
            fast_retransmit: false,
            timer: SimTime::NEVER,
            journal: None,
        }
    }

    /// Registers a transmission; returns its number.
    #[inline]
    pub fn on_sent(&mut self, now: SimTime, chunk: u64, size: u32) -> u64 {
        if self.packets_in_flight == 0 {
            (self.last_progress, self.delivered_at, self.first_sent) = (now, now, now);
        }
        self.sent.push_back(Sent {
            chunk,
            at: now,
            size,
            state: State::InFlight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            application_limited: !self.window_limited,
        });
        self.in_flight += u64::from(size);
        self.packets_in_flight += 1;
        self.last_sent = now;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(u64::from(size));
        }
        self.base + self.sent.len() as u64 - 1
    }

    /// Bytes that may be in flight now: the controller's window, or less while a recovery is paced by [`prr`].
    #[inline]
    pub fn window(&self) -> u64 {
        self.prr.as_ref().map_or_else(|| self.controller.window(), |prr| prr.window)
    }

    /// Nothing in flight for longer than a retransmission timeout: the window is no longer a measurement (RFC 5681
    /// section 4.1). The same timeout for both protocols, so that idle behaviour is equal where the study says so.
    pub fn is_idle(&self, now: SimTime) -> bool {
        let timeout = self.rtt.smoothed() + self.rtt.four_variations().max(self.rules.rto_floor);
        self.packets_in_flight == 0 && self.rtt.is_known() && now.since(self.last_sent) > timeout
    }

    /// An acknowledgement up to `upto` of the receiver's log, held there for `held`.
    pub fn on_ack(
        &mut self,
        now: SimTime,
        upto: u64,
        held: SimDuration,
        receiver: &mut Receiver,
        chunks: &mut ChunkStore,
        stats: &mut ConnectionStats,
    ) {
        let mut acked_bytes = 0;
        let mut newest: Option<(u64, SimTime)> = None;
        let mut earliest: Option<SimTime> = None;
        let mut progress = false;
        let mut original = false;
        let losses_before = stats.packets_lost;
        let oldest_before = chunks.oldest();
        let mut flight: Option<(u64, SimTime)> = None;
        let delivered_before = self.delivered;
        while let Some((number, chunk)) = receiver.take_log(upto) {
            progress = true;
            self.reordering_seen |= self.largest_acked.is_some_and(|l| number < l);
            if let Some(content) = chunks.get_mut(chunk) {
                content.acked = true;
            }
            let Some(sent) = number.checked_sub(self.base).and_then(|i| self.sent.get_mut(i as usize)) else {
                if !self.settled.contains(&number) {
                    self.on_false_loss(now, number, stats);
                }
                continue;
            };
            let state = sent.state;
            if state == State::InFlight {
                self.in_flight -= u64::from(sent.size);
                self.packets_in_flight -= 1;
                if self.recovery_start.is_none_or(|start| sent.at > start) {
                    acked_bytes += u64::from(sent.size);
                }
                earliest = Some(earliest.map_or(sent.at, |e: SimTime| e.min(sent.at)));
                self.delivered += u64::from(sent.size);
                if self.measures && flight.is_none_or(|(_, at)| sent.at >= at) {
                    flight = Some((number, sent.at));
                }
            }
            sent.state = State::Acked;
            if newest.is_none_or(|(n, _)| number > n) {
                newest = Some((number, sent.at));
            }
            if state != State::InFlight {
                original |= state == State::TimedOut;
                self.on_false_loss(now, number, stats);
            }
        }
        if !progress {
            return;
        }
        // Before entries are dropped; copied once, not for each packet.
        let flight = flight.and_then(|(number, _)| self.sent.get((number - self.base) as usize).copied());
        self.last_progress = now;
        self.backoff = 0;
        self.probe_sent = false;
        self.judge_timeout(now, original, chunks, stats);
        self.sample_rtt(now, held, newest, earliest, stats);
        chunks.prune();
        self.end_episode(now, chunks, stats);
        let grows = !matches!(self.episode, Episode::Recovery(_));
        if acked_bytes > 0 && grows {
            let acked = Acked {
                now,
                bytes: acked_bytes,
                window_limited: self.window_limited,
                rtt: &self.rtt,
                largest: self.largest_acked.unwrap_or(0),
                next: self.base + self.sent.len() as u64,
            };
            self.controller.on_ack(&acked);
        }
        self.detect_losses(now, chunks, stats);
        if let Some(prr) = &mut self.prr {
            let safe = stats.packets_lost == losses_before && chunks.oldest() > oldest_before;
            prr.on_ack(self.delivered - delivered_before, self.in_flight, self.mss, safe);
        }
        if let Some(flight) = flight {
            self.measure(now, self.delivered - delivered_before, flight);
        }
        if chunks.oldest() == chunks.end() {
            // Last, because a tail that a probe repaired is a loss like any other (RFC 8985 section 7.4).
            self.settle_duplicates();
            self.end_episode(now, chunks, stats);
        }
    }

    /// Tells the controller how fast data was delivered over the flight of the newest packet acknowledged.
    fn measure(&mut self, now: SimTime, bytes: u64, flight: Sent) {
        let interval = flight.at.since(flight.first_sent).max(now.since(flight.delivered_at)).as_secs_f64();
        (self.delivered_at, self.first_sent) = (now, flight.at);
        self.controller.on_delivery(&Delivery {
            now,
            bytes,
            rate: (interval > 0.0).then(|| (self.delivered - flight.delivered) as f64 / interval),
            application_limited: flight.application_limited,
            delivered: self.delivered,
            prior_delivered: flight.delivered,
            in_flight: self.in_flight,
            rtt: now.since(flight.at),
            lost: std::mem::take(&mut self.lost_since_delivery),
        });
    }

    /// Everything is acknowledged; what is still in flight carries nothing new. Without this, a lost duplicate would be
    /// waited for without end (a QUIC sender would ask for it with a PING).
    fn settle_duplicates(&mut self) {
        let end = self.base + self.sent.len() as u64;
        self.note_settled();
        self.settled = self.base..end;
        self.base = end;
        self.sent.clear();
        (self.in_flight, self.packets_in_flight, self.loss_time) = (0, 0, SimTime::NEVER);
        self.timed_out = false;
        self.lost.clear();
    }

    fn sample_rtt(
        &mut self,
        now: SimTime,
        held: SimDuration,
        newest: Option<(u64, SimTime)>,
        earliest: Option<SimTime>,
        stats: &mut ConnectionStats,
    ) {
        let Some((number, sent)) = newest else { return };
        if self.largest_acked.is_some_and(|l| number < l) {
            return;
        }
        self.largest_acked = Some(number);
        self.rack_rtt = now.since(sent);
        // RFC 9002 section 5.1: the largest acknowledged packet gives the sample. TCP's timestamp echo belongs to the
        // earliest packet that the acknowledgement covers (RFC 7323 section 4.3), so its sample includes the delay.
        let (sample, delay) = if self.rules.subtract_ack_delay {
            (now.since(sent), held.as_nanos().min(self.peer_ack_delay.as_nanos()))
        } else {
            (now.since(earliest.unwrap_or(sent)), 0)
        };
        self.first_sample = self.first_sample.min(now);
        self.rtt.update(sample, SimDuration::from_nanos(delay));
        stats.rtt.record(now.since(sent));
    }

    fn end_episode(&mut self, now: SimTime, chunks: &ChunkStore, stats: &mut ConnectionStats) {
        if let Some(point) = self.recovery_point()
            && chunks.oldest() >= point
        {
            self.episode = Episode::Open;
            self.prr = None;
            self.reordering.on_recovery_end();
            if std::mem::take(&mut self.next_episode) {
                self.begin_episode(now, chunks, stats);
            }
        }
    }

    const fn recovery_point(&self) -> Option<u64> {
        match self.episode {
            Episode::Open => None,
            Episode::Recovery(point) | Episode::Loss(point) => Some(point),
        }
    }

    /// One reduction of the window.
    fn begin_episode(&mut self, now: SimTime, chunks: &ChunkStore, stats: &mut ConnectionStats) {
        stats.congestion_events += 1;
        self.fast_retransmit = true;
        self.controller.on_congestion(now);
        self.undo.on_reduction();
        if self.rules.episode_by_sequence {
            self.episode = Episode::Recovery(chunks.end());
            if self.rules.prr {
                let mut prr = Prr::new(self.in_flight + self.newly_lost, self.controller.window());
                prr.on_ack(0, self.in_flight, self.mss, false);
                self.prr = Some(prr);
            }
        } else {
            self.recovery_start = Some(now);
        }
    }

    fn reordering_window(&self, acked_later: u64) -> SimDuration {
        let in_recovery = self.episode != Episode::Open;
        if !self.reordering_seen && (in_recovery || acked_later >= PACKET_THRESHOLD) {
            SimDuration::ZERO
        } else {
            SimDuration::from_nanos(self.rtt.min().as_nanos() / 4 * self.reordering.multiplier).min(self.rtt.smoothed())
        }
    }

    /// Declares packets lost, by number or by time.
    fn detect_losses(&mut self, now: SimTime, chunks: &mut ChunkStore, stats: &mut ConnectionStats) {
        self.loss_time = SimTime::NEVER;
        self.newly_lost = 0;
        self.undo.mark();
        self.drop_settled();
        let Some(largest) = self.largest_acked.filter(|l| *l >= self.base) else { return };
        let end = (largest - self.base) as usize;
        let wait = if self.rules.rack {
            let acked_later = self.sent.iter().take(end + 1).filter(|s| s.state == State::Acked).count() as u64;
            self.rack_rtt + self.reordering_window(acked_later)
        } else {
            // RFC 9002 section 6.1.2, with the granularity of 1 ms as the floor.
            let rtt = self.rtt.smoothed().max(self.rtt.latest());
            let late = self.reordering.lateness.min(rtt * 2);
            SimDuration::from_nanos(rtt.as_nanos() * 9 / 8).max(SimDuration::from_millis(1)).max(late)
        };
        let threshold = self.reordering.packets;
        let mut newest_lost: Option<SimTime> = None;
        let mut oldest_lost: Option<SimTime> = None;
        let mut span = SimDuration::ZERO;
        for i in 0..end {
            let sent = self.sent[i];
            if sent.state == State::Acked {
                oldest_lost = None;
                continue;
            }
            if sent.state != State::InFlight {
                continue;
            }
            let by_number = !self.rules.rack && self.base + i as u64 + threshold <= largest;
            if by_number || sent.at + wait <= now {
                let trigger = if by_number { LossTrigger::Reordering } else { LossTrigger::Time };
                self.declare_lost(i, (State::Lost, trigger), chunks, stats);
                newest_lost = Some(sent.at);
                if sent.at > self.first_sample {
                    span = span.max(sent.at.since(*oldest_lost.get_or_insert(sent.at)));
                }
            } else {
                self.loss_time = self.loss_time.min(sent.at + wait);
            }
        }
        if let Some(newest) = newest_lost {
            self.congestion(now, newest, span, chunks, stats);
            self.drop_settled();
        }
    }

    fn declare_lost(
        &mut self,
        index: usize,
        (state, trigger): (State, LossTrigger),
        chunks: &ChunkStore,
        stats: &mut ConnectionStats,
    ) {
        if let Some(journal) = &mut self.journal {
            journal.changes.push(Change::Lost { number: self.base + index as u64, trigger });
        }
        let sent = &mut self.sent[index];
        sent.state = state;
        self.in_flight -= u64::from(sent.size);
        self.newly_lost += u64::from(sent.size);
        self.packets_in_flight -= 1;
        let number = self.base + index as u64;
        if self.rules.adaptive_reordering {
            self.reordering.on_lost(number, sent.at);
        }
        if self.rules.undo && state == State::Lost {
            self.undo.on_lost(number);
        }
        stats.packets_lost += 1;
        self.lost_since_delivery = true;
        let chunk = sent.chunk;
        if chunks.get(chunk).is_some_and(|c| !c.acked) {
            self.lost.push_back(chunk);
        }
        self.next_episode |=
            self.rules.episode_by_sequence && self.recovery_point().is_some_and(|point| chunk >= point);
    }

    fn congestion(
        &mut self,
        now: SimTime,
        newest_lost: SimTime,
        span: SimDuration,
        chunks: &ChunkStore,
        stats: &mut ConnectionStats,
    ) {
        let new_event = if self.rules.episode_by_sequence {
            self.episode == Episode::Open
        } else {
            self.recovery_start.is_none_or(|start| newest_lost > start)
        };
        if new_event {
            self.begin_episode(now, chunks, stats);
        }
        if self.rules.tail == TailProbe::Pto && self.rtt.is_known() {
            // RFC 9002 section 7.6.1: three probe timeouts without backoff.
            let period = (self.probe_period() + self.peer_ack_delay) * 3;
            if span > period {
                self.controller.on_persistent_congestion(now);
                if let Some(journal) = &mut self.journal {
                    journal.changes.push(Change::PersistentCongestion);
                }
                self.undo.disarm();
                self.recovery_start = None;
            }
        }
    }

    #[inline]
    fn drop_settled(&mut self) {
        if self.timed_out {
            return;
        }
        while self.sent.front().is_some_and(|s| s.state != State::InFlight) {
            self.sent.pop_front();
            self.base += 1;
        }
    }
}
