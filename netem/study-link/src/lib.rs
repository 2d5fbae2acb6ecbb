//! The link model: what happens to a packet between one end of a path and the other, one direction at a time.
//!
//! Purpose: one definition of a link for the simulator and for the shaper that treats real packets. It is sans-IO: time
//! is an argument, randomness comes from named streams, and [`Direction::send`] answers for each packet when it
//! arrives or why it does not. Queues that decide when a packet leaves, and bottlenecks that flows share, answer later:
//! [`Bottleneck`].
//!
//! ```text
//! send(now, bytes) -> outage -> loss -> policer -> queue -> shaper -> transmitter (rate) -> delay -> jitter -> Deliver(t)
//!                       |         |        |         |                     |
//!                  LostOutage LostRandom DroppedPolicer DroppedQueue  (LostRandom with `loss_at: transmission`)
//! ```
//!
//! Each step has its own module with its equations and sources: [`outage`], [`loss`], [`bucket`] (policer and shaper),
//! [`queue`], [`rate`], [`delay`], [`jitter`], [`arq`]; [`direction`] and [`bottleneck`] join them and [`params`] reads
//! them from a study file.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod arq;
pub mod bottleneck;
pub mod bucket;
pub mod delay;
pub mod direction;
mod entry;
mod exit;
pub mod jitter;
pub mod loss;
pub mod outage;
pub mod params;
pub mod queue;
pub mod rate;
mod timeline;

pub use arq::Arq;
pub use bottleneck::{Bottleneck, Channel, Departure};
pub use bucket::TokenBucket;
pub use delay::{DelaySchedule, DelayStep};
pub use direction::{Direction, LinkCounters, Verdict};
pub use jitter::{JitterDistribution, JitterParams};
pub use loss::{
    Bernoulli, Capped, Drops, FourState, GilbertElliott, Loss, LossAt, LossClock, LossSchedule, LossStep, Phase,
    PhaseStreams,
};
pub use outage::{OutagePeriod, OutageWindow, Outages};
pub use params::{DirectionParams, LinkParams, ResolveError, Way};
pub use queue::{Codel, FqCodel, Queue, QueueLimit};
pub use rate::{Rate, RateSchedule, RateStep, ScheduleError};

/// Bytes of a full packet at the IP layer; defaults that depend on "a packet" (slot, smallest queue) mean this one.
pub const FULL_PACKET_BYTES: u64 = 1500;
