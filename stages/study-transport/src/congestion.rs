//! The contract of a congestion controller, and the registry.
//!
//! A controller sees acknowledged bytes, congestion events and timeouts, and says how many bytes may be in flight. All
//! sizes are payload bytes; `mss` is the payload of a full packet.

mod cubic;
mod fixed;
mod newreno;
mod slow_start;

use crate::RttEstimator;
use study_tree::choices;
use study_units::SimTime;

pub use cubic::Cubic;
pub use fixed::Fixed;
pub use newreno::NewReno;
pub use slow_start::{Growth, SlowStart, SlowStartChoice};

/// One acknowledgement, as the controller sees it.
#[derive(Debug, Clone, Copy)]
pub struct Acked<'a> {
    /// When it arrived.
    pub now: SimTime,
    /// Newly acknowledged bytes of packets sent outside recovery.
    pub bytes: u64,
    /// Whether the sender was held back by the window (and not by the application) when it last sent.
    pub window_limited: bool,
    /// Round-trip times.
    pub rtt: &'a RttEstimator,
    /// Largest packet number acknowledged so far.
    pub largest: u64,
    /// Number of the next packet to be sent.
    pub next: u64,
}

/// A congestion controller.
pub trait Controller: Send + std::fmt::Debug {
    /// Bytes that may be in flight.
    fn window(&self) -> u64;
    /// Bytes at which slow start ends; `u64::MAX` when unknown.
    fn ssthresh(&self) -> u64;
    /// Data was acknowledged.
    fn on_ack(&mut self, acked: &Acked<'_>);
    /// A loss began a recovery episode; called once per episode.
    fn on_congestion(&mut self, now: SimTime);
    /// A retransmission timeout of TCP (RFC 5681 section 3.1): the window falls to one packet. Only the `first` of a row of
    /// timeouts lowers ssthresh; it is held when the repeated segment is lost again.
    fn on_timeout(&mut self, now: SimTime, first: bool);
    /// Persistent congestion of QUIC (RFC 9002 section 7.6): the window falls to two packets.
    fn on_persistent_congestion(&mut self, now: SimTime);
    /// The connection was idle longer than its timeout (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, now: SimTime);
}

choices! {
    /// A congestion controller by name.
    pub enum CongestionControl {
        /// NewReno (RFC 5681, RFC 6582; RFC 9002 section 7 for QUIC).
        NewReno = "newreno",
        /// CUBIC (RFC 9438).
        Cubic = "cubic",
        /// A constant window, for bandwidth-delay-product labs.
        Fixed = "fixed",
    }
}

impl CongestionControl {
    /// A fresh controller for packets of `mss` bytes.
    #[must_use]
    pub fn build(self, mss: u32, params: &crate::TransportParams) -> Box<dyn Controller> {
        let slow_start = SlowStart::new(params.slow_start);
        match self {
            Self::NewReno => Box::new(NewReno::new(mss, params.initial_window, slow_start)),
            Self::Cubic => Box::new(Cubic::new(mss, params.initial_window, slow_start)),
            Self::Fixed => Box::new(Fixed::new(mss, params.fixed_window)),
        }
    }
}
