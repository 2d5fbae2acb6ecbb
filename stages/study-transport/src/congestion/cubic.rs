//! CUBIC (RFC 9438).
//!
//! Equations, in packets and seconds, C = 0.4, beta = 0.7:
//! `W_cubic(t) = C (t - K)^3 + W_max` (fig. 1), `K = cbrt((W_max - cwnd_epoch) / C)` (fig. 2);
//! Reno-friendly region: `W_est += alpha * acked / cwnd` with `alpha = 3 (1 - beta) / (1 + beta)` until `W_est` reaches
//! the window before the reduction, then 1 (section 4.3); the window is the larger of the two. Fast convergence:
//! `W_max = cwnd (1 + beta) / 2` when the window did not reach the last `W_max` (section 4.7).
//! Timeout: `ssthresh = beta cwnd`, `cwnd = 1` (section 4.8).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | `W_est` fractional | stepped by whole packets, no credit carried from recovery | Reno region not more aggressive than Reno |
//! | epoch may begin at loss detection in older stacks | begins at the first acknowledgement in congestion avoidance (section 4.2) | as the RFC |
//! | time while the application limits | the epoch moves on by the time that was not window-limited (section 5.8) | no jump after a pause |
//!
//! Consumes no random numbers; the cube root is `libm`'s, for equal bits everywhere.

use super::{Acked, Controller, SlowStart};
use study_units::{SimDuration, SimTime};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC; windows in packets.
#[derive(Debug, Clone)]
pub struct Cubic {
    mss: f64,
    initial: f64,
    window: f64,
    ssthresh: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Since when the sender has not been limited by the window.
    unlimited_since: Option<SimTime>,
    before: Option<Before>,
    slow_start: SlowStart,
}

/// What section 4.9 restores when the last reduction was for nothing.
#[derive(Debug, Clone, Copy)]
struct Before {
    window: f64,
    ssthresh: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// One stretch of congestion avoidance.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: SimTime,
    k: f64,
    w_max: f64,
    w_est: f64,
    credit: f64,
}

impl Cubic {
    /// `mss` bytes a packet, `initial` packets at first.
    #[must_use]
    pub fn new(mss: u32, initial: f64, slow_start: SlowStart) -> Self {
        Self {
            mss: f64::from(mss),
            initial,
            window: initial,
            ssthresh: f64::INFINITY,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            unlimited_since: None,
            before: None,
            slow_start,
        }
    }

    /// `K` of RFC 9438 figure 2 in seconds, for windows in packets.
    #[must_use]
    pub fn k(w_max: f64, cwnd_epoch: f64) -> f64 {
        libm::cbrt((w_max - cwnd_epoch).max(0.0) / C)
    }

    fn begin_epoch(&self, now: SimTime) -> Epoch {
        let w_max = if self.window < self.w_max { self.w_max } else { self.window };
        Epoch { start: now, k: Self::k(w_max, self.window), w_max, w_est: self.window, credit: 0.0 }
    }

    fn reduce(&mut self) {
        self.before = Some(Before {
            window: self.window,
            ssthresh: self.ssthresh,
            w_max: self.w_max,
            cwnd_prior: self.cwnd_prior,
            epoch: self.epoch,
        });
        // Fast convergence: release capacity to a newcomer when this flow did not get back to where it was.
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.cwnd_prior = self.window;
        self.ssthresh = (self.window * BETA).max(2.0);
        self.epoch = None;
    }
}

impl Controller for Cubic {
    fn window(&self) -> u64 {
        (self.window * self.mss) as u64
    }
    fn ssthresh(&self) -> u64 {
        if self.ssthresh.is_finite() { (self.ssthresh * self.mss) as u64 } else { u64::MAX }
    }
    fn on_ack(&mut self, acked: &Acked<'_>) {
        if !acked.window_limited {
            self.unlimited_since.get_or_insert(acked.now);
            return;
        }
        let pause = self.unlimited_since.take().map_or(SimDuration::ZERO, |since| acked.now.since(since));
        let packets = acked.bytes as f64 / self.mss;
        if self.window < self.ssthresh {
            let growth = self.slow_start.on_ack(acked, self.window as u64, self.ssthresh.is_infinite());
            self.window += growth.bytes as f64 / self.mss;
            if growth.exit {
                self.ssthresh = self.window;
            }
            return;
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(acked.now));
        if self.epoch.is_some() {
            epoch.start += pause;
        }
        epoch.credit += packets;
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        // What fits into the window are whole packets, so that is what one round trip acknowledges.
        let fits = self.window.floor();
        if epoch.credit * alpha >= fits {
            epoch.credit -= fits / alpha;
            epoch.w_est += 1.0;
        }
        let cubic = |t: f64| C * (t - epoch.k) * (t - epoch.k) * (t - epoch.k) + epoch.w_max;
        let t = acked.now.since(epoch.start).as_secs_f64();
        if cubic(t) < epoch.w_est {
            self.window = self.window.max(epoch.w_est);
        } else {
            let target = cubic(t + acked.rtt.smoothed().as_secs_f64()).clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window * packets;
        }
        self.epoch = Some(epoch);
    }
    fn on_congestion(&mut self, _now: SimTime) {
        self.reduce();
        self.window = self.ssthresh;
    }
    fn on_timeout(&mut self, _now: SimTime, first: bool) {
        if first {
            self.reduce();
        }
        self.epoch = None;
        self.window = 1.0;
        // Section 4.8: the next congestion avoidance starts with K = 0 at the window it begins with.
        self.w_max = 0.0;
    }
    fn on_persistent_congestion(&mut self, _now: SimTime) {
        self.before = None;
        self.window = 2.0;
        self.epoch = None;
        // As after a timeout.
        self.w_max = 0.0;
    }
    fn on_undo(&mut self, _now: SimTime) {
        let Some(before) = self.before.take().filter(|b| self.window < b.window) else { return };
        self.window = before.window;
        self.ssthresh = before.ssthresh;
        self.w_max = before.w_max;
        self.cwnd_prior = before.cwnd_prior;
        self.epoch = before.epoch;
    }
    fn on_idle_restart(&mut self, _now: SimTime) {
        self.window = self.window.min(self.initial);
        self.epoch = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::SlowStartChoice;

    fn cubic(initial: f64) -> Cubic {
        Cubic::new(1000, initial, SlowStart::new(SlowStartChoice::Standard))
    }

    #[test]
    fn k_is_that_of_the_reference() {
        // transport.md 1.3: K(10), K(100), K(1000) for a reduction by beta from W_max.
        for (w_max, seconds) in [(10.0, 1.9574), (100.0, 4.2172), (1000.0, 9.0856)] {
            assert!((Cubic::k(w_max, BETA * w_max) - seconds).abs() < 5e-5, "{w_max}");
        }
    }

    #[test]
    fn the_reno_region_grows_by_whole_packets() {
        let mut cubic = cubic(10.0);
        cubic.on_congestion(SimTime::ZERO);
        assert_eq!(cubic.window(), 7000);
        let rtt = crate::RttEstimator::default();
        let mut windows = std::collections::BTreeSet::new();
        for i in 0..40 {
            let acked = Acked {
                now: SimTime::from_nanos(i),
                bytes: 1000,
                window_limited: true,
                rtt: &rtt,
                largest: i,
                next: i,
            };
            cubic.on_ack(&acked);
            windows.insert(cubic.window());
        }
        // At t = 0 the cubic curve stands at beta W_max, so only W_est moves: alpha / W per packet, whole packets.
        assert_eq!(windows.into_iter().collect::<Vec<_>>(), [7000, 8000, 9000]);
    }

    #[test]
    fn fast_convergence_lowers_w_max() {
        let mut cubic = cubic(100.0);
        cubic.on_congestion(SimTime::ZERO);
        assert!((cubic.w_max - 100.0).abs() < 1e-9);
        cubic.on_congestion(SimTime::ZERO);
        assert!((cubic.w_max - 0.85 * 70.0).abs() < 1e-9);
    }
}
