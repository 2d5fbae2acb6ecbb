//! What a study file says about a link.
//!
//! Purpose: both directions complete and without doubt. `symmetric: true` writes one direction for both; otherwise
//! `down` (towards the viewer) and `up` are given. A missing direction, a delay that may be a round trip or one way,
//! or a key without effect is refused where it stands.
//!
//! A decoded link is canonical: what can be worked out (`1 x BDP`, the default slot) is a number, so two spellings
//! of one link are equal. A rate that waits for a file is filled in by [`LinkParams::resolve`].

mod decode;

use crate::arq::Arq;
use crate::bucket::TokenBucket;
use crate::delay::DelaySchedule;
use crate::jitter::JitterParams;
use crate::loss::{Loss, LossAt, LossSchedule};
use crate::outage::Outages;
use crate::queue::Queue;
use crate::rate::{Rate, RateSchedule};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use study_units::{BitRate, Bytes, SimDuration};

study_tree::choices! {
    /// A direction of a link, seen from the viewer.
    pub enum Way {
        /// Towards the viewer.
        Down = "down",
        /// From the viewer.
        Up = "up",
    }
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionParams {
    /// Base delay: the smallest time between the last bit leaving and its arrival.
    pub one_way: SimDuration,
    /// How fast bits leave.
    pub rate: Rate,
    /// What is added to the base delay.
    pub jitter: Option<JitterParams>,
    /// Which packets vanish at random.
    pub loss: Loss,
    /// How many packets may wait.
    pub queue: Queue,
    /// Bytes that the link layer adds to each packet, 0 to 65,535.
    pub overhead: Bytes,
    /// Loss processes that follow one another; given, `loss` is `none` (in study files both are the key `loss`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_schedule: Option<LossSchedule>,
    /// Where loss strikes.
    #[serde(default = "entry", skip_serializing_if = "is_entry")]
    pub loss_at: LossAt,
    /// When all that is sent is lost.
    #[serde(default = "no_outage", skip_serializing_if = "is_no_outage")]
    pub outages: Outages,
    /// Link-layer repair of random losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<Arq>,
    /// Token bucket that makes packets wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<TokenBucket>,
    /// Token bucket that drops packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<TokenBucket>,
    /// Delay on top of the base delay, in steps over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_delay: Option<DelaySchedule>,
}

const fn entry() -> LossAt {
    LossAt::Entry
}
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_entry(at: &LossAt) -> bool {
    *at == LossAt::Entry
}
const fn no_outage() -> Outages {
    Outages::None
}
fn is_no_outage(outages: &Outages) -> bool {
    *outages == Outages::None
}

/// Both directions of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkParams {
    /// Towards the viewer.
    pub down: DirectionParams,
    /// From the viewer.
    pub up: DirectionParams,
}

/// Why the files of a link could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The stage was not given the file.
    #[error("file {slot} of the stage was asked for by the rate of a link and is not there")]
    Missing {
        /// Position among the files that the stage asked for.
        slot: usize,
    },
    /// The file does not say what it should.
    #[error("the rate log of a link cannot be read: {reason}")]
    Unreadable {
        /// What is wrong, from the reader of the format.
        reason: String,
    },
}

impl DirectionParams {
    /// A direction with a base delay and a rate, and nothing else: no loss, no jitter, a queue without limit.
    #[must_use]
    pub const fn plain(one_way: SimDuration, rate: Rate) -> Self {
        Self {
            one_way,
            rate,
            jitter: None,
            loss: Loss::None,
            queue: Queue::Unlimited,
            overhead: Bytes::new(0),
            loss_schedule: None,
            loss_at: LossAt::Entry,
            outages: Outages::None,
            arq: None,
            shaper: None,
            policer: None,
            extra_delay: None,
        }
    }
    /// The rate that holds in the long run: the mean rate or the shaper's, whichever is lower; `None` when neither limits
    /// or the rate is still a file.
    #[must_use]
    pub fn mean_rate(&self) -> Option<BitRate> {
        let shaped = self.shaper.as_ref().map(|shaper| shaper.rate);
        match (&self.rate, self.rate.mean()) {
            (Rate::Sabre(_), _) => None,
            (_, Some(rate)) => Some(shaped.map_or(rate, |shaped| shaped.min(rate))),
            (_, None) => shaped,
        }
    }
    /// Rate times the base round trip, in bytes; `None` when the rate is unlimited or still a file.
    #[must_use]
    pub fn bdp_bytes(&self, base_rtt: SimDuration) -> Option<u64> {
        self.mean_rate().map(|rate| rate.bytes_in(base_rtt))
    }
    /// Long-run share of packets that the loss process takes, 0 to 1, before any repair. With `clock: time` the share of
    /// time, with `clock: byte` that of full packets.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        match &self.loss_schedule {
            Some(schedule) => schedule.stationary_loss(),
            None => self.loss.stationary_loss(),
        }
    }
    /// Base delay plus the means of jitter and extra delay: the mean delay of a packet that does not queue, before order is
    /// kept.
    #[must_use]
    pub fn mean_delay(&self) -> SimDuration {
        let extra = self.extra_delay.as_ref().map_or(SimDuration::ZERO, DelaySchedule::mean);
        self.one_way + self.jitter.as_ref().map_or(SimDuration::ZERO, JitterParams::mean) + extra
    }
    fn settle(&mut self, base_rtt: SimDuration) {
        let bdp = self.bdp_bytes(base_rtt);
        if matches!(self.rate, Rate::Unlimited) && self.shaper.is_none() {
            self.queue = Queue::Unlimited;
        } else if let (Some(limit), Some(bdp)) = (self.queue.limit_mut(), bdp) {
            *limit = limit.settled(bdp);
        }
    }
}

impl LinkParams {
    /// The parameters of a direction.
    #[must_use]
    pub const fn way(&self, way: Way) -> &DirectionParams {
        match way {
            Way::Down => &self.down,
            Way::Up => &self.up,
        }
    }
    /// Smallest round trip: both base delays together.
    #[must_use]
    pub fn base_rtt(&self) -> SimDuration {
        self.down.one_way + self.up.one_way
    }
    /// Base round trip plus the mean jitter of both directions, before order is kept and without queues.
    #[must_use]
    pub fn mean_rtt(&self) -> SimDuration {
        self.down.mean_delay() + self.up.mean_delay()
    }
    /// Bandwidth-delay product of a direction in bytes; `None` when its rate is unlimited or still a file.
    #[must_use]
    pub fn bdp_bytes(&self, way: Way) -> Option<u64> {
        self.way(way).bdp_bytes(self.base_rtt())
    }
    /// Whether no rate waits for a file.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        !matches!(self.down.rate, Rate::Sabre(_)) && !matches!(self.up.rate, Rate::Sabre(_))
    }
    /// Fills in the rates that wait for a file, and what depends on them. `files` are the contents in the order in which
    /// the stage asked for them; `parse_sabre` reads a SABRE network log.
    ///
    /// # Errors
    /// A [`ResolveError`] when a file is missing or unreadable.
    pub fn resolve(
        mut self,
        files: &[Arc<[u8]>],
        parse_sabre: impl Fn(&[u8]) -> Result<RateSchedule, String>,
    ) -> Result<Self, ResolveError> {
        for direction in [&mut self.down, &mut self.up] {
            if let Rate::Sabre(file) = direction.rate {
                let bytes = files.get(file.slot).ok_or(ResolveError::Missing { slot: file.slot })?;
                let schedule = parse_sabre(bytes).map_err(|reason| ResolveError::Unreadable { reason })?;
                direction.rate = Rate::Schedule(schedule);
            }
        }
        self.settle();
        Ok(self)
    }
    fn settle(&mut self) {
        let base_rtt = self.base_rtt();
        self.down.settle(base_rtt);
        self.up.settle(base_rtt);
    }
}
