//! Bursty losses with gaps in the bursts: the four-state chain of Salsano and of netem.
//!
//! Purpose: bursts in which some packets get through, and isolated losses beside them. States: 1 received in a gap,
//! 2 received in a burst, 3 lost in a burst, 4 lost alone. Each slot makes one draw for the transition, and the *new* state
//! decides: 3 and 4 lose. Transitions: 1 -> 3 `p13`, 1 -> 4 `p14`; 3 -> 1 `p31`, 3 -> 2 `p32`; 2 -> 3 `p23`; 4 -> 1 always; else it stays.
//!
//! Equations, for `p13, p31 > 0`. Balance between {1, 4} and {2, 3}: `pi3 = pi1 p13 / p31`; `pi2 = pi3 p32 / p23`; `pi4 = pi1 p14`. So
//! the long-run loss is `L = (p13 p23 + p14 p31 p23) / (p31 p23 + p13 p23 + p13 p32 + p14 p31 p23)`. Loss runs end whenever state
//! 3 or 4 is left: mean run `(pi3 + pi4) / (pi3 (p31 + p32) + pi4)`; inside state 3 it is `1 / (p31 + p32)`.
//!
//! Sources: S. Salsano, F. Ludovici, A. Ordine, D. Giannuzzi, "Definition of a general and intuitive loss model for packet
//! networks and its implementation in the netem module in the Linux kernel", technical report 3.1 (2012); sch_netem.c.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | old kernels compare one draw with `p13` only and so reach state 4 too seldom, and lose the packet that ends a burst (3 -> 1) | the chain as published | emulation on such kernels differs: record the kernel |
//! | later kernels swap the names of states 3 and 4 | the paper's names | none |
//! | kernels before April 2026 compare strictly: a draw equal to a boundary leaves the state as it is | such draws do not exist | below 1e-9 |
//! | netem's defaults: `p31 = 1 - p13`, `p32 = 0`, `p23 = 1`, `p14 = 0` | no default for `p31` | a forgotten value is an error |
//!
//! Random streams: of `loss`, per sojourn one exponential for its length and one uniform for where it leads; stationary start: one more uniform.

use super::{Geometric, LossClock, PhaseStreams};
use study_ident::RandomStream;
use study_tree::{Cx, Diagnostic, Node};
use study_units::{Bytes, Probability, SimDuration};

study_tree::params! {
    /// Losses in bursts with gaps, and isolated ones: four states.
    pub struct FourState {
        /// Probability per slot that a burst begins (1 to 3).
        p13: Probability;
        /// Probability per lost slot of a burst that the burst ends (3 to 1); with `p32` at most 100 %.
        p31: Probability;
        /// Probability per lost slot of a burst that a received stretch within the burst begins (3 to 2).
        p32: Probability = Probability::ZERO;
        /// Probability per received slot within a burst that losses resume (2 to 3).
        p23: Probability = Probability::ONE;
        /// Probability per slot of an isolated loss (1 to 4); with `p13` at most 100 %.
        p14: Probability = Probability::ZERO;
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

impl FourState {
    /// Long-run shares of slots in states 1 to 4. A chain that is caught in one part of its states has its limit from state 1.
    #[must_use]
    pub fn shares(&self) -> [f64; 4] {
        let [p13, p31, p32, p23, p14] = [self.p13, self.p31, self.p32, self.p23, self.p14].map(Probability::get);
        let weights = if p13 == 0.0 {
            [1.0, 0.0, 0.0, p14]
        } else if p32 > 0.0 && p23 == 0.0 {
            [0.0, 1.0, 0.0, 0.0]
        } else {
            let within = if p32 > 0.0 { p32 / p23 } else { 0.0 };
            let burst =
                if p31 > 0.0 { p13 / p31 } else { return [0.0, within / (1.0 + within), 1.0 / (1.0 + within), 0.0] };
            [1.0, burst * within, burst, p14]
        };
        let sum: f64 = weights.iter().sum();
        weights.map(|w| w / sum)
    }
    /// Long-run share of slots lost, 0 to 1.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        let shares = self.shares();
        shares[2] + shares[3]
    }
    /// Mean number of lost slots in a row; `None` when nothing is lost, infinite when everything is.
    #[must_use]
    pub fn mean_loss_run(&self) -> Option<f64> {
        let [_, _, burst, alone] = self.shares();
        let ends = burst * (self.p31.get() + self.p32.get()) + alone;
        let loss = burst + alone;
        (loss > 0.0).then(|| if ends > 0.0 { loss / ends } else { f64::INFINITY })
    }
    /// Refuses probabilities that leave a state with more than certainty.
    pub(super) fn checked(&self, node: &Node, cx: &mut Cx<'_>) -> bool {
        let sums = [("p14", self.p13, self.p14, "p13"), ("p32", self.p31, self.p32, "p31")];
        for (key, a, b, other) in sums {
            if a.get() + b.get() > 1.0 + 1e-12 {
                let span = node.get(key).map_or(node.span, |n| n.span);
                let message = format!("`{other}` and `{key}` together are above 100 %");
                cx.push(
                    Diagnostic::error("out-of-range", span, message).help("both leave one state: lower one of them"),
                );
                return false;
            }
        }
        true
    }
}

/// The states by their published numbers, less one.
const LOST: [bool; 4] = [false, false, true, true];

#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// How long a state lasts beyond its first slot.
    stay: [Geometric; 4],
    /// Where state 1 leads: share that goes to 3; where state 3 leads: share that goes to 1.
    to_burst: f64,
    to_gap: f64,
    state: usize,
    /// One past the last slot of the present sojourn.
    end: u64,
    stream: RandomStream,
}

impl Chain {
    pub(super) fn new(params: &FourState, stationary: bool, mut stream: RandomStream) -> Self {
        let [p13, p31, p32, p23, p14] =
            [params.p13, params.p31, params.p32, params.p23, params.p14].map(Probability::get);
        let share = |a: f64, b: f64| if a > 0.0 { a / (a + b) } else { 0.0 };
        // The state before slot 0; its sojourn goes on into slot 0 with the rest of a geometric number.
        let mut state = 0;
        if stationary {
            let mut u = stream.uniform();
            for (i, s) in params.shares().into_iter().enumerate() {
                if s > 0.0 {
                    state = i;
                    if u < s {
                        break;
                    }
                    u -= s;
                }
            }
        }
        let stay = [(p13 + p14).min(1.0), p23, (p31 + p32).min(1.0), 1.0].map(Geometric::new);
        let mut chain = Self { stay, to_burst: share(p13, p14), to_gap: share(p31, p32), state, end: 0, stream };
        chain.end = chain.stay[state].draw(&mut chain.stream);
        chain
    }
    pub(super) fn lost(&mut self, slot: u64) -> bool {
        while slot >= self.end {
            let forward = self.stream.uniform();
            self.state = match self.state {
                0 if forward < self.to_burst => 2,
                0 => 3,
                1 => 2,
                2 if forward < self.to_gap => 0,
                2 => 1,
                _ => 0,
            };
            let more = self.stay[self.state].draw(&mut self.stream);
            self.end = self.end.saturating_add(1).saturating_add(more);
        }
        LOST[self.state]
    }
    pub(super) const fn quiet_until(&self) -> u64 {
        if LOST[self.state] { 0 } else { self.end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(p: [f64; 5]) -> FourState {
        let [p13, p31, p32, p23, p14] = p.map(|x| Probability::new(x).unwrap());
        FourState { p13, p31, p32, p23, p14, clock: LossClock::Packet, slot: None, slot_bytes: None, phases: None }
    }

    #[test]
    fn the_published_example_and_its_closed_form_agree() {
        let example = params([0.02, 0.3, 0.1, 0.6, 0.005]);
        for (share, expected) in example.shares().iter().zip([0.923_551, 0.010_262, 0.061_570, 0.004_618]) {
            assert!((share - expected).abs() < 1e-6, "{share} {expected}");
        }
        assert!((example.stationary_loss() - 0.066_187_8).abs() < 1e-7);
        let [p13, p31, p32, p23, p14] = [0.02, 0.3, 0.1, 0.6, 0.005];
        let closed = (p13 * p23 + p14 * p31 * p23) / (p31 * p23 + p13 * p23 + p13 * p32 + p14 * p31 * p23);
        assert!((example.stationary_loss() - closed).abs() < 1e-15);
        assert!((params([0.02, 0.3, 0.1, 0.6, 0.0]).mean_loss_run().unwrap() - 2.5).abs() < 1e-12);
    }

    #[test]
    fn limits_of_the_parameters_have_limits_of_the_formulas() {
        assert_eq!(params([0.0, 0.0, 0.0, 1.0, 0.0]).mean_loss_run(), None);
        assert!((params([0.0, 0.3, 0.0, 1.0, 0.25]).stationary_loss() - 0.2).abs() < 1e-15);
        assert_eq!(params([0.1, 0.0, 0.0, 1.0, 0.0]).mean_loss_run(), Some(f64::INFINITY));
        assert_eq!(params([0.1, 0.0, 0.5, 0.5, 0.0]).stationary_loss(), 0.5);
        assert_eq!(params([0.1, 0.3, 0.5, 0.0, 0.1]).stationary_loss(), 0.0, "caught in state 2");
    }
}
