//! BBR, first version (draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! Equations: `BtlBw` is the largest delivery rate of the last 10 rounds, `RTprop` the smallest round trip of the last 10 s,
//! `BDP = BtlBw x RTprop`. Pacing rate = gain x BtlBw, window = gain x BDP, not below 4 packets. Startup and its
//! window: 2 / ln 2 = 2.885, until the rate grew by less than a quarter over three rounds; drain: 1 / 2.885 until no more than a
//! BDP is in flight; ProbeBW: 1.25, 0.75, then six times 1, one RTprop each, window 2 BDP; ProbeRTT: 4 packets for 200 ms and a
//! round when RTprop is older than 10 s. A loss changes nothing; a timeout sets one packet until the next delivery.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the cycle starts at a random phase | always at the same | flows that start together probe together |
//! | packet conservation in the first round of a recovery | none | a little more in flight after a loss |
//! | RTprop from every sample | the same, taken by the sender | none |
//!
//! Consumes no random numbers.

use super::{Acked, Controller, Delivery};
use study_units::{SimDuration, SimTime};

const HIGH_GAIN: f64 = 2.885;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const RATE_ROUNDS: u64 = 10;
const RTPROP_AGE: SimDuration = SimDuration::from_secs(10);
const PROBE_RTT: SimDuration = SimDuration::from_millis(200);
const MIN_PACKETS: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of BBRv1; rates in bytes per second, windows in bytes.
#[derive(Debug, Clone)]
pub struct BbrV1 {
    mss: u64,
    window: u64,
    initial: u64,
    phase: Phase,
    /// (round, rate): candidates for the largest of the last ten rounds, falling.
    rates: Vec<(u64, f64)>,
    round: u64,
    next_round: u64,
    rtprop: Option<SimDuration>,
    rtprop_at: SimTime,
    full_rate: f64,
    flat_rounds: u32,
    filled: bool,
    cycle: usize,
    cycle_at: SimTime,
    /// In ProbeRTT: when it may end, and the window to go back to.
    probe_until: SimTime,
    saved: u64,
}

impl BbrV1 {
    /// `mss` bytes a packet, `initial` packets at first.
    #[must_use]
    pub fn new(mss: u32, initial: f64) -> Self {
        let window = (f64::from(mss) * initial) as u64;
        Self {
            mss: u64::from(mss),
            window,
            initial: window,
            phase: Phase::Startup,
            rates: Vec::new(),
            round: 0,
            next_round: 0,
            rtprop: None,
            rtprop_at: SimTime::ZERO,
            full_rate: 0.0,
            flat_rounds: 0,
            filled: false,
            cycle: 0,
            cycle_at: SimTime::ZERO,
            probe_until: SimTime::NEVER,
            saved: 0,
        }
    }

    fn rate(&self) -> f64 {
        self.rates.first().map_or(0.0, |(_, rate)| *rate)
    }

    fn bdp(&self, gain: f64) -> u64 {
        match self.rtprop {
            Some(rtprop) if self.rate() > 0.0 => (gain * self.rate() * rtprop.as_secs_f64()) as u64,
            _ => self.initial,
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.phase {
            Phase::Startup => (HIGH_GAIN, HIGH_GAIN),
            Phase::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Phase::ProbeBw => (CYCLE[self.cycle], 2.0),
            Phase::ProbeRtt => (1.0, 1.0),
        }
    }

    /// Returns whether a round began.
    fn count_round(&mut self, d: &Delivery) -> bool {
        let began = d.prior_delivered >= self.next_round;
        if began {
            self.next_round = d.delivered;
            self.round += 1;
        }
        began
    }

    fn take_rate(&mut self, d: &Delivery) {
        let Some(rate) = d.rate.filter(|rate| !d.application_limited || *rate >= self.rate()) else { return };
        self.rates.retain(|(round, known)| *known > rate && round + RATE_ROUNDS > self.round);
        self.rates.push((self.round, rate));
        let (oldest, round) = (self.rates[0].0, self.round);
        if oldest + RATE_ROUNDS <= round {
            self.rates.remove(0);
        }
    }

    fn check_full(&mut self, d: &Delivery) {
        if self.filled || d.application_limited {
            return;
        }
        if self.rate() >= 1.25 * self.full_rate {
            (self.full_rate, self.flat_rounds) = (self.rate(), 0);
        } else {
            self.flat_rounds += 1;
            self.filled = self.flat_rounds >= 3;
        }
    }

    fn change_phase(&mut self, d: &Delivery) {
        if self.phase == Phase::Startup && self.filled {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && d.in_flight <= self.bdp(1.0) {
            (self.phase, self.cycle, self.cycle_at) = (Phase::ProbeBw, 2, d.now);
        }
        if self.phase == Phase::ProbeBw {
            let over = d.now.since(self.cycle_at) > self.rtprop.unwrap_or_default();
            let next = match CYCLE[self.cycle] {
                gain if gain > 1.0 => over && (d.lost || d.in_flight >= self.bdp(gain)),
                gain if gain < 1.0 => over || d.in_flight <= self.bdp(1.0),
                _ => over,
            };
            if next {
                (self.cycle, self.cycle_at) = ((self.cycle + 1) % CYCLE.len(), d.now);
            }
        }
    }

    fn probe_rtt(&mut self, d: &Delivery, expired: bool) {
        if expired && self.phase != Phase::ProbeRtt {
            (self.phase, self.saved, self.probe_until) = (Phase::ProbeRtt, self.window, SimTime::NEVER);
        }
        if self.phase != Phase::ProbeRtt {
            return;
        }
        if self.probe_until == SimTime::NEVER && d.in_flight <= MIN_PACKETS * self.mss {
            self.probe_until = d.now + PROBE_RTT;
        }
        if d.now >= self.probe_until {
            self.rtprop_at = d.now;
            self.window = self.window.max(self.saved);
            self.phase = if self.filled { Phase::ProbeBw } else { Phase::Startup };
            (self.cycle, self.cycle_at) = (2, d.now);
        }
    }

    fn set_window(&mut self, acked: u64) {
        let target = self.bdp(self.gains().1) + 3 * self.mss;
        if self.filled {
            self.window = (self.window + acked).min(target);
        } else if self.window < target {
            self.window += acked;
        }
        let floor = MIN_PACKETS * self.mss;
        self.window = if self.phase == Phase::ProbeRtt { floor } else { self.window.max(floor) };
    }
}

impl Controller for BbrV1 {
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Startup => "startup",
            Phase::Drain => "drain",
            Phase::ProbeBw => "probe_bw",
            Phase::ProbeRtt => "probe_rtt",
        }
    }
    fn on_ack(&mut self, _acked: &Acked<'_>) {}
    fn measures(&self) -> bool {
        true
    }
    fn on_delivery(&mut self, d: &Delivery) {
        let expired = self.rtprop.is_some() && d.now.since(self.rtprop_at) > RTPROP_AGE;
        if self.rtprop.is_none_or(|known| d.rtt <= known) || expired {
            (self.rtprop, self.rtprop_at) = (Some(d.rtt), d.now);
        }
        let began = self.count_round(d);
        self.take_rate(d);
        if began {
            self.check_full(d);
        }
        self.change_phase(d);
        self.probe_rtt(d, expired);
        self.set_window(d.bytes);
    }
    fn pacing_rate(&self) -> Option<f64> {
        (self.rate() > 0.0).then(|| self.gains().0 * self.rate())
    }
    fn on_congestion(&mut self, _now: SimTime) {}
    fn on_timeout(&mut self, _now: SimTime, _first: bool) {
        self.window = self.mss;
    }
    fn on_persistent_congestion(&mut self, _now: SimTime) {
        self.window = MIN_PACKETS * self.mss;
    }
    fn on_idle_restart(&mut self, _now: SimTime) {}
}
