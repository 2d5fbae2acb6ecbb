//! The contract of a congestion controller, and the registry.
//!
//! A controller sees acknowledged bytes, congestion events and timeouts, and says how many bytes may be in flight. All
//! sizes are payload bytes; `mss` is the payload of a full packet.

mod bbr_v1;
mod cubic;
mod cubic_8312;
mod fixed;
mod newreno;
mod slow_start;

use crate::RttEstimator;
use study_tree::choices;
use study_units::{SimDuration, SimTime};

pub use bbr_v1::BbrV1;
pub use cubic::Cubic;
pub use cubic_8312::Cubic8312;
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

/// One acknowledgement as a measurement of the path, also during recovery (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// When it arrived.
    pub now: SimTime,
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// Bytes per second over the flight of the newest packet that it acknowledges; `None` over no time.
    pub rate: Option<f64>,
    /// Whether the application held the sender back when that packet left.
    pub application_limited: bool,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes that had been delivered when that packet left.
    pub prior_delivered: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// Round trip of that packet.
    pub rtt: SimDuration,
    /// Whether packets were declared lost since the acknowledgement before.
    pub lost: bool,
}

/// A congestion controller.
pub trait Controller: Send + std::fmt::Debug {
    /// Bytes that may be in flight.
    fn window(&self) -> u64;
    /// Bytes at which slow start ends; `u64::MAX` when unknown.
    fn ssthresh(&self) -> u64;
    /// Data was acknowledged.
    fn on_ack(&mut self, acked: &Acked<'_>);
    /// Whether it wants [`Controller::on_delivery`]; the others are spared the work.
    fn measures(&self) -> bool {
        false
    }
    /// Data was acknowledged, in recovery or not: for controllers that measure the path.
    fn on_delivery(&mut self, _delivery: &Delivery) {}
    /// Bytes per second at which packets are to leave, for controllers that say so; they are paced whatever `pacing` says.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// A loss began a recovery episode; called once per episode.
    fn on_congestion(&mut self, now: SimTime);
    /// A retransmission timeout of TCP (RFC 5681 section 3.1): the window falls to one packet. Only the `first` of a row of
    /// timeouts lowers ssthresh; it is held when the repeated segment is lost again.
    fn on_timeout(&mut self, now: SimTime, first: bool);
    /// Persistent congestion of QUIC (RFC 9002 section 7.6): the window falls to two packets.
    fn on_persistent_congestion(&mut self, now: SimTime);
    /// The last reduction was for nothing: the window returns to what it was before, if that is more (RFC 4015 section 3.2,
    /// RFC 9438 section 4.9.2).
    fn on_undo(&mut self, _now: SimTime) {}
    /// The connection was idle longer than its timeout (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, now: SimTime);
    /// A name for what it is doing, for logs.
    fn phase(&self) -> &'static str {
        if self.window() < self.ssthresh() { "slow_start" } else { "congestion_avoidance" }
    }
}

choices! {
    /// A congestion controller by name.
    pub enum CongestionControl {
        /// NewReno (RFC 5681, RFC 6582; RFC 9002 section 7 for QUIC).
        NewReno = "newreno",
        /// CUBIC (RFC 9438).
        Cubic = "cubic",
        /// BBR, first version (what Linux calls `bbr`).
        BbrV1 = "bbr_v1",
        /// A constant window, for bandwidth-delay-product labs.
        Fixed = "fixed",
    }
}

impl CongestionControl {
    /// A fresh controller for a connection.
    #[must_use]
    pub fn build(self, config: &crate::ConnectionConfig) -> Box<dyn Controller> {
        let (mss, initial) = (config.wire.payload, config.initial_window());
        let slow_start = SlowStart::new(config.params.slow_start);
        match self {
            Self::NewReno => Box::new(NewReno::new(mss, initial, slow_start, config.sender.strict_window)),
            Self::Cubic if config.sender.cubic_8312 => Box::new(Cubic8312::new(mss, initial)),
            Self::Cubic => Box::new(Cubic::new(mss, initial, slow_start)),
            Self::BbrV1 => Box::new(BbrV1::new(mss, initial)),
            Self::Fixed => Box::new(Fixed::new(mss, config.params.fixed_window)),
        }
    }
}
