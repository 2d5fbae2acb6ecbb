//! Independent losses.
//!
//! Purpose: the memoryless reference process. Equations: each slot is lost with probability `rate`; loss runs have mean
//! `1 / (1 - rate)` slots; the number of slots between losses is geometric, which is how it is drawn.
//!
//! Sources: netem's `loss random`; every analytic throughput formula (Mathis 1997, Padhye 1998) assumes something like it.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | netem `loss X% corr%` | no correlation parameter | its AR(1) filter distorts the rate; use `gilbert_elliott` for bursts |
//!
//! Random streams: one exponential of `loss` per loss.

use super::{Geometric, LossClock, PhaseStreams};
use study_ident::RandomStream;
use study_units::{Bytes, Probability, SimDuration};

study_tree::params! {
    /// Independent losses.
    pub struct Bernoulli {
        /// Share of slots lost, 0 to 100 %.
        rate: Probability;
        /// What a slot is: a packet, a span of time, or an amount of bytes.
        clock: LossClock = LossClock::Packet;
        /// Length of a slot with `clock: time`; default is one 1,500 B packet at the link's constant rate.
        slot: Option<SimDuration> = None;
        /// Length of a slot with `clock: byte`; default is 1,500 B.
        #[serde(skip_serializing_if = "Option::is_none")]
        slot_bytes: Option<Bytes> = None;
        /// Whether handshake, requests, responses and acknowledgements have chains of their own.
        #[serde(skip_serializing_if = "Option::is_none")]
        phases: Option<PhaseStreams> = None;
    }
}

#[derive(Debug, Clone)]
pub(super) struct Chain {
    gap: Geometric,
    next_loss: u64,
    stream: RandomStream,
}

impl Chain {
    pub(super) fn new(params: &Bernoulli, mut stream: RandomStream) -> Self {
        let gap = Geometric::new(params.rate.get());
        let next_loss = gap.draw(&mut stream);
        Self { gap, next_loss, stream }
    }
    pub(super) fn lost(&mut self, slot: u64) -> bool {
        while self.next_loss < slot {
            self.next_loss = (self.next_loss + 1).saturating_add(self.gap.draw(&mut self.stream));
        }
        self.next_loss == slot
    }
    pub(super) const fn quiet_until(&self) -> u64 {
        self.next_loss
    }
}
