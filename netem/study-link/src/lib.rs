//! The link model: what happens to a packet between one end of a path and the other, one direction at a time.
//!
//! Purpose: one definition of a link for the simulator and for the shaper that treats real packets. It is sans-IO: time
//! is an argument, randomness comes from named streams, and [`Direction::send`] answers for each packet when it
//! arrives or why it does not.
//!
//! ```text
//! send(now, bytes) -> loss -> queue (drop-tail) -> transmitter (rate) -> base delay -> jitter -> Deliver(t)
//!                      |            |
//!                  LostRandom  DroppedQueue
//! ```
//!
//! Each step has its own module with its equations and sources: [`loss`], [`queue`], [`rate`], [`jitter`];
//! [`direction`] joins them and [`params`] reads them from a study file.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod direction;
pub mod jitter;
pub mod loss;
pub mod params;
pub mod queue;
pub mod rate;

pub use direction::{Direction, LinkCounters, Verdict};
pub use jitter::{JitterDistribution, JitterParams};
pub use loss::{Bernoulli, GilbertElliott, Loss, LossClock};
pub use params::{DirectionParams, LinkParams, ResolveError, Way};
pub use queue::{Queue, QueueLimit};
pub use rate::{Rate, RateSchedule, RateStep, ScheduleError};

/// Bytes of a full packet at the IP layer; defaults that depend on "a packet" (slot, smallest queue) mean this one.
pub const FULL_PACKET_BYTES: u64 = 1500;
