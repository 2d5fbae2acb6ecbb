//! CUBIC as quinn has it: RFC 8312 with a closed form for the Reno-friendly window.
//!
//! Equations, in packets and seconds, C = 0.4, beta = 0.7, `t` since the loss was detected:
//! `W_cubic(t) = C (t - K)^3 + W_max`, `K = cbrt(W_max (1 - beta) / C)`; `W_est(t) = beta W_max + 3 (1 - beta) / (1 + beta) t / RTT`
//! (RFC 8312 section 4.2). For each packet acknowledged the window would grow to `W_est` or by `(W_cubic(t + RTT) - cwnd) / cwnd`;
//! that is saved up, and the window grows by whole packets.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 9438: `W_est` by acknowledged packets, `t` from the start of congestion avoidance | by time, `t` from the detection of the loss, through idle time too | another window after pauses; a little faster at small windows |
//! | quinn: the window in bytes, growth in datagrams | in packets | none |
//!
//! Consumes no random numbers.

use super::{Acked, Controller};
use study_units::SimTime;

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const MINIMUM: f64 = 2.0;

/// State; windows in packets.
#[derive(Debug, Clone)]
pub struct Cubic8312 {
    mss: f64,
    window: f64,
    ssthresh: f64,
    w_max: f64,
    k: f64,
    since: Option<SimTime>,
    saved: f64,
}

impl Cubic8312 {
    /// `mss` bytes a packet, `initial` packets at first.
    #[must_use]
    pub fn new(mss: u32, initial: f64) -> Self {
        Self {
            mss: f64::from(mss),
            window: initial,
            ssthresh: f64::INFINITY,
            w_max: 0.0,
            k: 0.0,
            since: None,
            saved: 0.0,
        }
    }

    fn grow(&mut self, now: SimTime, rtt: f64) {
        let since = *self.since.get_or_insert_with(|| {
            (self.w_max, self.k) = (self.window, 0.0);
            now
        });
        let t = now.since(since).as_secs_f64();
        let ahead = t + rtt - self.k;
        let w_cubic = C * ahead * ahead * ahead + self.w_max;
        let w_est = self.w_max * BETA + 3.0 * (1.0 - BETA) / (1.0 + BETA) * t / rtt.max(1e-9);
        if w_cubic < w_est {
            self.saved += (w_est - self.window).max(0.0);
        } else if self.window < w_cubic {
            self.saved += (w_cubic - self.window) / self.window;
        }
        if self.saved >= 1.0 {
            self.window += 1.0;
            self.saved = 0.0;
        }
    }
}

impl Controller for Cubic8312 {
    fn window(&self) -> u64 {
        (self.window * self.mss) as u64
    }
    fn ssthresh(&self) -> u64 {
        if self.ssthresh.is_finite() { (self.ssthresh * self.mss) as u64 } else { u64::MAX }
    }
    fn on_ack(&mut self, acked: &Acked<'_>) {
        if !acked.window_limited {
            return;
        }
        let mut packets = acked.bytes as f64 / self.mss;
        let rtt = acked.rtt.smoothed().as_secs_f64();
        while packets > 0.0 {
            if self.window < self.ssthresh {
                self.window += packets.min(1.0);
            } else {
                self.grow(acked.now, rtt);
            }
            packets -= 1.0;
        }
    }
    fn on_congestion(&mut self, now: SimTime) {
        self.since = Some(now);
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.ssthresh = (self.window * BETA).max(MINIMUM);
        self.window = self.ssthresh;
        self.k = libm::cbrt(self.w_max * (1.0 - BETA) / C);
        self.saved *= BETA;
    }
    fn on_timeout(&mut self, now: SimTime, first: bool) {
        if first {
            self.on_congestion(now);
        }
        self.window = 1.0;
    }
    fn on_persistent_congestion(&mut self, _now: SimTime) {
        self.since = None;
        self.w_max = self.window;
        self.ssthresh = (self.window * BETA).max(MINIMUM);
        self.saved = 0.0;
        self.window = MINIMUM;
    }
    fn on_idle_restart(&mut self, _now: SimTime) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_units::SimDuration;

    fn acknowledge(cubic: &mut Cubic8312, rtt: &crate::RttEstimator, at: SimDuration, packets: u64) {
        for i in 0..packets {
            let acked = Acked { now: SimTime::ZERO + at, bytes: 1_000, window_limited: true, rtt, largest: i, next: i };
            cubic.on_ack(&acked);
        }
    }

    #[test]
    fn the_friendly_window_follows_the_closed_form() {
        let mut rtt = crate::RttEstimator::default();
        rtt.update(SimDuration::from_millis(100), SimDuration::ZERO);
        let mut cubic = Cubic8312::new(1_000, 10.0);
        cubic.on_congestion(SimTime::ZERO);
        assert_eq!(cubic.window(), 7_000);
        // One second later W_est is 7 + 0.5294 * 10 = 12.29 and W_cubic 9.8, so every acknowledgement saves what is missing to
        // 12.29: a packet each up to 12, then four times 0.29 for the 13th, and nothing beyond.
        let second = SimDuration::from_secs(1);
        let windows: Vec<u64> = (0..12)
            .map(|_| {
                acknowledge(&mut cubic, &rtt, second, 1);
                cubic.window() / 1_000
            })
            .collect();
        assert_eq!(windows, [8, 9, 10, 11, 12, 12, 12, 12, 13, 13, 13, 13]);
    }

    #[test]
    fn the_concave_region_grows_by_a_share_of_what_is_missing() {
        let mut rtt = crate::RttEstimator::default();
        rtt.update(SimDuration::from_millis(100), SimDuration::ZERO);
        let mut cubic = Cubic8312::new(1_000, 100.0);
        cubic.on_congestion(SimTime::ZERO);
        // K = cbrt(100 * 0.3 / 0.4) = 4.217 s; W_cubic(0.1) = 72.084 (W_est is 70): 2.084 / 70 of a packet each, so 33.6 make one.
        acknowledge(&mut cubic, &rtt, SimDuration::ZERO, 33);
        assert_eq!(cubic.window(), 70_000);
        acknowledge(&mut cubic, &rtt, SimDuration::ZERO, 1);
        assert_eq!(cubic.window(), 71_000);
    }
}
