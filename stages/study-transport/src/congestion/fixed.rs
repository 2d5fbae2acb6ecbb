//! A constant window: rate = window / RTT, the first law of the bandwidth-delay-product lab.
//!
//! Losses and timeouts do not change it. Consumes no random numbers.

use super::{Acked, Controller};
use study_units::SimTime;

/// A window that never changes, in bytes.
#[derive(Debug, Clone)]
pub struct Fixed {
    window: u64,
}

impl Fixed {
    /// `packets` packets of `mss` bytes.
    #[must_use]
    pub fn new(mss: u32, packets: u32) -> Self {
        Self { window: u64::from(mss) * u64::from(packets) }
    }
}

impl Controller for Fixed {
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        self.window
    }
    fn on_ack(&mut self, _acked: &Acked<'_>) {}
    fn on_congestion(&mut self, _now: SimTime) {}
    fn on_timeout(&mut self, _now: SimTime, _first: bool) {}
    fn on_persistent_congestion(&mut self, _now: SimTime) {}
    fn on_idle_restart(&mut self, _now: SimTime) {}
}
