//! NewReno.
//!
//! Equations (RFC 5681 section 3.1, RFC 9002 section 7.3): slow start: cwnd += acknowledged bytes; congestion
//! avoidance: cwnd += mss once per window of acknowledged bytes; congestion: ssthresh = cwnd / 2, cwnd = ssthresh,
//! not below two packets; timeout: cwnd = one packet.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 5681: ssthresh = FlightSize / 2 | cwnd / 2 (RFC 9002) | none while the window is the limit; growth stops when it is not |
//! | RFC 9002: windows in bytes | halved windows are rounded down to whole packets, as in packet-counting stacks | none above 20 packets; a byte-counted fraction never fits a packet |
//! | RFC 3465: at most 2 packets of growth per acknowledgement | no limit | only with acknowledgements of more than 2 packets |
//!
//! Consumes no random numbers.

use super::{Acked, Controller, SlowStart};
use study_units::SimTime;

/// State of NewReno, in bytes.
#[derive(Debug, Clone)]
pub struct NewReno {
    mss: u64,
    initial: u64,
    window: u64,
    ssthresh: u64,
    credit: u64,
    /// The window is counted in bytes instead of whole packets.
    in_bytes: bool,
    /// Window and ssthresh before the last reduction.
    before: Option<(u64, u64)>,
    slow_start: SlowStart,
}

impl NewReno {
    /// `mss` bytes a packet, `initial` packets at first; `in_bytes` as RFC 9002 has it, else whole packets.
    #[must_use]
    pub fn new(mss: u32, initial: f64, slow_start: SlowStart, in_bytes: bool) -> Self {
        let window = (f64::from(mss) * initial) as u64;
        Self {
            mss: u64::from(mss),
            initial: window,
            window,
            ssthresh: u64::MAX,
            credit: 0,
            in_bytes,
            before: None,
            slow_start,
        }
    }
}

impl Controller for NewReno {
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
    fn on_ack(&mut self, acked: &Acked<'_>) {
        if !acked.window_limited {
            return;
        }
        if self.window < self.ssthresh {
            let growth = self.slow_start.on_ack(acked, self.window / self.mss, self.ssthresh == u64::MAX);
            self.window += growth.bytes;
            if growth.exit {
                self.ssthresh = self.window;
            }
            return;
        }
        self.credit += acked.bytes;
        // What fits into the window are whole packets, so a window of them is what a round trip acknowledges.
        let fits = if self.in_bytes { self.window } else { self.window / self.mss * self.mss };
        if self.credit >= fits {
            self.credit -= fits;
            self.window += self.mss;
        }
    }
    fn on_congestion(&mut self, _now: SimTime) {
        self.before = Some((self.window, self.ssthresh));
        self.window = if self.in_bytes {
            (self.window / 2).max(2 * self.mss)
        } else {
            (self.window / 2 / self.mss).max(2) * self.mss
        };
        self.ssthresh = self.window;
        // quinn keeps what was acknowledged towards the next packet of growth.
        if !self.in_bytes {
            self.credit = 0;
        }
    }
    fn on_timeout(&mut self, _now: SimTime, first: bool) {
        if first {
            self.before = Some((self.window, self.ssthresh));
            self.ssthresh = (self.window / 2).max(2 * self.mss);
        }
        self.window = self.mss;
        self.credit = 0;
    }
    fn on_persistent_congestion(&mut self, _now: SimTime) {
        self.before = None;
        self.window = 2 * self.mss;
        self.credit = 0;
    }
    fn on_undo(&mut self, _now: SimTime) {
        if let Some((window, ssthresh)) = self.before.take() {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
        }
    }
    fn on_idle_restart(&mut self, _now: SimTime) {
        self.window = self.window.min(self.initial);
        self.credit = 0;
    }
}
