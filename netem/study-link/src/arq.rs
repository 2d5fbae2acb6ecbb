//! Link-layer repair (automatic repeat request): a loss becomes a delay, and order is kept.
//!
//! Purpose: radio links hide most of their losses. A packet that the loss process takes is sent again by the link after
//! `delay`; each repeat fails with `retry_loss`, independently. The k-th repeat succeeds: the packet arrives `k delay`
//! later, and so does everything behind it that would have overtaken it. After `attempts` failures it is lost.
//!
//! Equations. With loss `L` of the process and `q` = `retry_loss`: residual loss `L q^n`, `n` = `attempts`; a packet that the
//! process takes and the link repairs is late by `delay k` with probability `(1 - q) q^(k-1) / (1 - q^n)`.
//!
//! Sources: 3GPP TS 36.321 (LTE: at most four transmissions of a block, 8 ms apart); the operating point of 10 % first
//! transmission errors is usual practice there.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a repeat takes capacity | it takes none | up to a share `L / (1 - q)` more carried bytes at full load |
//! | the loss of a repeat depends on the channel's state | independent with `retry_loss` | no long spikes in a bad state unless `retry_loss` is high |
//!
//! Random streams: one uniform of `arq` per repeat.

use study_ident::{RandomStream, SeedPath};
use study_units::{Probability, SimDuration};

study_tree::params! {
    /// Link-layer repair of random losses.
    pub struct Arq {
        /// Time until a lost packet is sent again, above 0 (LTE: 8 ms).
        delay: SimDuration = SimDuration::from_millis(8), in SimDuration::from_nanos(1)..=SimDuration::from_secs(10);
        /// How often it is sent again before it is given up, 1 to 100.
        attempts: u32 = 3, in 1..=100;
        /// Share of repeats that are lost again, 0 to 100 %.
        retry_loss: Probability = Probability::new(0.1).unwrap_or_default();
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ArqProcess {
    delay: u64,
    attempts: u32,
    retry_loss: f64,
    stream: RandomStream,
}

impl ArqProcess {
    pub(crate) fn new(params: &Arq, seed: SeedPath) -> Self {
        Self {
            delay: params.delay.as_nanos(),
            attempts: params.attempts,
            retry_loss: params.retry_loss.get(),
            stream: seed.stream("arq"),
        }
    }
    /// How late a lost packet comes \[ns\]; `None` when it is given up.
    pub(crate) fn repair(&mut self) -> Option<u64> {
        let repeats = (1..=self.attempts).find(|_| !self.stream.happens(self.retry_loss))?;
        Some(self.delay * u64::from(repeats))
    }
}
