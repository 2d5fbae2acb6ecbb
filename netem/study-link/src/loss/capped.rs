//! Independent losses, but never more than so many in a row.
//!
//! Purpose: the interoperability runner's lossy link. Each packet is lost with `rate`, unless the `most_in_a_row` packets
//! before it were all lost: then it passes.
//!
//! Equations, with `p` = `rate` and `N` = `most_in_a_row`. Between two packets that pass, the number lost is `k` or more with
//! probability `p^k` for `k <= N`, so its mean is `m = p (1 - p^N) / (1 - p)` and the long-run loss `L = m / (1 + m)`, below `p`; the
//! mean loss run is `m / p`. (`p = 30 %`, `N = 3`: 29.43 %, runs of 1.39.)
//!
//! Sources: scenario drop-rate of quic-network-simulator (`--rate_to_client`, `--burst_to_client`).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | rates are whole percent | any share | none |
//! | only UDP packets | all packets | TCP is treated alike |
//!
//! Random streams: one exponential of `loss` per loss, and one per full run.

use super::{Geometric, LossClock, PhaseStreams};
use study_ident::RandomStream;
use study_units::{Bytes, Probability, SimDuration};

study_tree::params! {
    /// Independent losses with a longest run.
    pub struct Capped {
        /// Share of packets lost where the run is not full, 0 to 100 %.
        rate: Probability;
        /// Most packets lost in a row, at least 1.
        most_in_a_row: u32, in 1..=1_000_000;
        /// What a slot is: a packet, a span of time, or an amount of bytes.
        clock: LossClock = LossClock::Packet;
        /// Length of a slot with `clock: time`; default is one 1,500 B packet at the link's constant rate.
        slot: Option<SimDuration> = None;
        /// Length of a slot with `clock: byte`; default is 1,500 B.
        #[serde(skip_serializing_if = "Option::is_none")]
        slot_bytes: Option<Bytes> = None;
        /// Whether handshake, requests, responses and acknowledgements have runs of their own.
        #[serde(skip_serializing_if = "Option::is_none")]
        phases: Option<PhaseStreams> = None;
    }
}

impl Capped {
    /// Mean number of losses between two packets that pass.
    fn mean_between(&self) -> f64 {
        let (p, n) = (self.rate.get(), f64::from(self.most_in_a_row));
        if p == 1.0 { n } else { p * (1.0 - libm::pow(p, n)) / (1.0 - p) }
    }
    /// Long-run share of slots lost, 0 to 1.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        let mean = self.mean_between();
        mean / (1.0 + mean)
    }
    /// Mean number of lost slots in a row; `None` when nothing is lost.
    #[must_use]
    pub fn mean_loss_run(&self) -> Option<f64> {
        (self.rate.get() > 0.0).then(|| self.mean_between() / self.rate.get())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Chain {
    gap: Geometric,
    next_loss: u64,
    /// Losses in a row that end with `next_loss`.
    run: u32,
    most: u32,
    stream: RandomStream,
}

impl Chain {
    pub(super) fn new(params: &Capped, mut stream: RandomStream) -> Self {
        let gap = Geometric::new(params.rate.get());
        let next_loss = gap.draw(&mut stream);
        Self { gap, next_loss, run: 1, most: params.most_in_a_row, stream }
    }
    pub(super) fn lost(&mut self, slot: u64) -> bool {
        while self.next_loss < slot {
            let full = self.run >= self.most;
            let gap = self.gap.draw(&mut self.stream);
            self.run = if gap == 0 && !full { self.run + 1 } else { 1 };
            self.next_loss = self.next_loss.saturating_add(1 + u64::from(full)).saturating_add(gap);
        }
        self.next_loss == slot
    }
    pub(super) const fn quiet_until(&self) -> u64 {
        self.next_loss
    }
}
