//! Bursty losses: the chain of Gilbert and Elliott.
//!
//! Purpose: losses that come together, with few parameters. Two states, GOOD and BAD. Each slot is lost with the
//! probability of the state it is in; then the state changes, from GOOD with `p` (`good_to_bad`), from BAD with `r`
//! (`bad_to_good`). With `g` and `b` for `loss_in_good` and `loss_in_bad`:
//!
//! - share of BAD slots `p / (p + r)`; loss `L = (r g + p b) / (p + r)`
//! - lag-k correlation of the state `lambda^k` with `lambda = 1 - p - r`
//! - with `g = 0, b = 1`: mean loss run `1 / r`, mean run without loss `1 / p`, and the variance of the number of losses
//!   in n slots is, for large n, `(1 + lambda) / (1 - lambda)` times that of independent losses
//!
//! Sources: E. N. Gilbert, Bell System Technical Journal 39 (1960); E. O. Elliott, ibid. 42 (1963); the order "old state
//! decides, then the transition" is that of the kernel's netem and of the Go simulator that the shipped studies follow.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | netem `gemodel p r 1-h 1-k` | names with direction: `loss_in_bad` is netem's `1-h`, `loss_in_good` its `1-k` | none |
//! | netem defaults `r = 1 - p` | no default for `bad_to_good` | a forgotten value is an error |
//! | chain with both transitions 0 | stays GOOD for ever | its stationary loss is `loss_in_good` |
//!
//! Random streams: of `loss`, with `clock: time` one uniform for the first state; then per sojourn one exponential for
//! its length and, where the loss probability of its state is neither 0 nor 100 %, one per loss and one more.

use super::{Geometric, LossClock, PhaseStreams};
use study_ident::RandomStream;
use study_units::{Bytes, Probability, SimDuration};

study_tree::params! {
    /// Losses in bursts: a chain with a good and a bad state.
    pub struct GilbertElliott {
        /// Probability per slot to leave the good state.
        good_to_bad: Probability;
        /// Probability per slot to leave the bad state.
        bad_to_good: Probability;
        /// Share of slots lost in the bad state.
        loss_in_bad: Probability = Probability::ONE;
        /// Share of slots lost in the good state.
        loss_in_good: Probability = Probability::ZERO;
        /// What a slot is: a span of time, a packet, or an amount of bytes.
        clock: LossClock = LossClock::Time;
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

impl GilbertElliott {
    /// Long-run share of slots in the bad state, 0 to 1.
    #[must_use]
    pub fn bad_share(&self) -> f64 {
        let (p, r) = (self.good_to_bad.get(), self.bad_to_good.get());
        if p == 0.0 { 0.0 } else { p / (p + r) }
    }
    /// Long-run share of slots lost, 0 to 1.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_in_good.get() + bad * self.loss_in_bad.get()
    }
    /// Mean number of lost slots in a row; `None` when nothing is lost, infinite when everything is.
    #[must_use]
    pub fn mean_loss_run(&self) -> Option<f64> {
        let (p, r, bad) = (self.good_to_bad.get(), self.bad_to_good.get(), self.bad_share());
        let (g, b) = (self.loss_in_good.get(), self.loss_in_bad.get());
        // Each run ends with a lost slot followed by one that is not: count those.
        let ends = (1.0 - bad) * g * ((1.0 - p) * (1.0 - g) + p * (1.0 - b))
            + bad * b * (r * (1.0 - g) + (1.0 - r) * (1.0 - b));
        let loss = self.stationary_loss();
        (loss > 0.0).then(|| if ends > 0.0 { loss / ends } else { f64::INFINITY })
    }
}

/// One state's numbers, ready to draw from.
#[derive(Debug, Clone, Copy)]
struct State {
    stay: Geometric,
    gap: Geometric,
}

#[derive(Debug, Clone)]
pub(super) struct Chain {
    states: [State; 2],
    bad: bool,
    /// One past the last slot of the present sojourn.
    end: u64,
    /// Next lost slot, if it comes before `end`.
    next_loss: u64,
    stream: RandomStream,
}

impl Chain {
    pub(super) fn new(params: &GilbertElliott, stationary: bool, mut stream: RandomStream) -> Self {
        let state = |leave: Probability, loss: Probability| State {
            stay: Geometric::new(leave.get()),
            gap: Geometric::new(loss.get()),
        };
        let states = [state(params.good_to_bad, params.loss_in_good), state(params.bad_to_good, params.loss_in_bad)];
        let bad = stationary && stream.happens(params.bad_share());
        let mut chain = Self { states, bad, end: 0, next_loss: 0, stream };
        chain.begin_sojourn(0);
        chain
    }
    pub(super) fn lost(&mut self, slot: u64) -> bool {
        while slot >= self.quiet_until() {
            if self.next_loss >= self.end {
                // All losses of a sojourn are drawn before the next one begins, whoever asks: see the module.
                self.bad = !self.bad;
                self.begin_sojourn(self.end);
            } else if self.next_loss == slot {
                return true;
            } else {
                self.draw_loss(self.next_loss + 1);
            }
        }
        false
    }
    pub(super) fn quiet_until(&self) -> u64 {
        self.next_loss.min(self.end)
    }
    fn begin_sojourn(&mut self, start: u64) {
        // The old state decides the slot in which the transition is drawn, so a sojourn is at least one slot.
        let more = self.states[usize::from(self.bad)].stay.draw(&mut self.stream);
        self.end = start.saturating_add(1).saturating_add(more);
        self.draw_loss(start);
    }
    fn draw_loss(&mut self, from: u64) {
        self.next_loss = from.saturating_add(self.states[usize::from(self.bad)].gap.draw(&mut self.stream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(p: f64, r: f64, b: f64, g: f64) -> GilbertElliott {
        let share = |x| Probability::new(x).unwrap();
        GilbertElliott {
            good_to_bad: share(p),
            bad_to_good: share(r),
            loss_in_bad: share(b),
            loss_in_good: share(g),
            clock: LossClock::Packet,
            slot: None,
            slot_bytes: None,
            phases: None,
        }
    }

    #[test]
    fn stationary_loss_and_run_length_follow_the_closed_forms() {
        let flagship = params(0.03, 0.3, 0.4, 0.0);
        assert!((flagship.stationary_loss() - 0.03 / 0.33 * 0.4).abs() < 1e-15);
        // A loss is followed by a loss with 0.7 * 0.4, so runs have mean 1 / 0.72.
        assert!((flagship.mean_loss_run().unwrap() - 1.0 / 0.72).abs() < 1e-12);
        // netem's `gemodel 5% 20% 80% 5%`: (0.2 * 0.05 + 0.05 * 0.8) / 0.25.
        assert!((params(0.05, 0.2, 0.8, 0.05).stationary_loss() - 0.2).abs() < 1e-15);
        assert!((params(0.01, 0.25, 1.0, 0.0).mean_loss_run().unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn limits_of_the_parameters_have_limits_of_the_formulas() {
        assert_eq!(params(0.0, 0.0, 1.0, 0.0).stationary_loss(), 0.0);
        assert_eq!(params(0.0, 0.0, 1.0, 0.0).mean_loss_run(), None);
        assert_eq!(params(0.1, 0.0, 1.0, 0.0).stationary_loss(), 1.0);
        assert_eq!(params(0.1, 0.0, 1.0, 0.0).mean_loss_run(), Some(f64::INFINITY));
        assert_eq!(params(0.5, 0.5, 1.0, 1.0).mean_loss_run(), Some(f64::INFINITY));
    }
}
