//! Random loss: which packets vanish on the way for reasons other than a full queue.
//!
//! Purpose: the registry of loss processes, one file each, and the clock they run on.
//!
//! A process is a chain over numbered slots and says for each slot whether it loses. With `clock: packet` every packet
//! is the next slot, as in netem. With `clock: time` a slot is a span of time; the chain steps whether or not a packet
//! comes, and a slot's decision holds for every packet that enters the link in it. It then depends on time alone, so
//! both arms of a comparison meet the same bad times (common random numbers), and idle time lets a burst pass.
//!
//! Cost: nothing is drawn per slot. A process draws how long its state lasts and how far the next loss is, and between
//! such events a packet costs one comparison. Draws happen in the order of events, never in the order of questions, so
//! the realisation does not depend on who asks when.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | netem draws per packet | geometric sojourns and gaps, same distribution | other numbers, same chain, less time |
//! | netem starts in GOOD | `packet` starts in GOOD, `time` in the stationary distribution | the first packets of a `packet` run see less loss |
//! | a radio link loses what it has transmitted | loss comes before the queue: a lost packet takes no capacity | a full link carries a share `L` more than with loss behind the transmitter |
//! | the same, under `time` | the slot of a packet is that of its arrival at the link | packets sent in one instant share one decision, however long their transmission takes |
//!
//! Random streams: `loss` under the direction's seed path.

mod bernoulli;
mod gilbert_elliott;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;

use study_ident::{RandomStream, SeedPath};
use study_units::SimDuration;

study_tree::choices! {
    /// What a loss process counts.
    pub enum LossClock {
        /// The chain steps with each packet, as netem does.
        Packet = "packet",
        /// The chain steps once per slot of time, whether or not a packet comes.
        Time = "time",
    }
}

study_tree::variants! {
    /// Why packets are lost at random.
    pub enum Loss {
        unit {
            /// Nothing is lost at random.
            None = "none",
        }
        data {
            /// Each slot is lost independently of the others.
            Bernoulli(Bernoulli) = "bernoulli",
            /// Losses come in bursts: a chain with a good and a bad state.
            GilbertElliott(GilbertElliott) = "gilbert_elliott",
        }
    }
}

impl Loss {
    /// Long-run share of slots that are lost, 0 to 1.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Bernoulli(p) => p.rate.get(),
            Self::GilbertElliott(p) => p.stationary_loss(),
        }
    }
    /// Mean number of lost slots in a row, at least 1; `None` when nothing is lost, infinite when everything is.
    #[must_use]
    pub fn mean_loss_run(&self) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Bernoulli(p) => (p.rate.get() > 0.0).then(|| 1.0 / (1.0 - p.rate.get())),
            Self::GilbertElliott(p) => p.mean_loss_run(),
        }
    }
    /// What the process counts; `None` when there is no process.
    #[must_use]
    pub const fn clock(&self) -> Option<LossClock> {
        match self {
            Self::None => None,
            Self::Bernoulli(p) => Some(p.clock),
            Self::GilbertElliott(p) => Some(p.clock),
        }
    }
    /// Length of a slot of time, if one is set.
    #[must_use]
    pub const fn slot(&self) -> Option<SimDuration> {
        match self {
            Self::None => None,
            Self::Bernoulli(p) => p.slot,
            Self::GilbertElliott(p) => p.slot,
        }
    }
    pub(crate) fn set_slot(&mut self, slot: SimDuration) {
        match self {
            Self::None => {}
            Self::Bernoulli(p) => p.slot = Some(slot),
            Self::GilbertElliott(p) => p.slot = Some(slot),
        }
    }
}

/// The run-time state of a process: one registry row each.
#[derive(Debug, Clone)]
enum Process {
    None,
    Bernoulli(bernoulli::Chain),
    GilbertElliott(gilbert_elliott::Chain),
}

impl Process {
    /// Whether slot `slot` is lost. Slots never go back; the same one may be asked again.
    fn lost(&mut self, slot: u64) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(chain) => chain.lost(slot),
            Self::GilbertElliott(chain) => chain.lost(slot),
        }
    }
    /// The first slot for which `lost` has anything to do: all before it are not lost.
    fn quiet_until(&self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Bernoulli(chain) => chain.quiet_until(),
            Self::GilbertElliott(chain) => chain.quiet_until(),
        }
    }
}

/// A process on its clock.
#[derive(Debug, Clone)]
pub(crate) struct LossGate {
    process: Process,
    /// Nanoseconds per slot; 0 with `clock: packet`.
    slot: u64,
    packets: u64,
    /// Packet number or instant before which nothing is lost.
    quiet_until: u64,
}

impl LossGate {
    /// # Panics
    /// When `clock: time` has no slot; decoding a study file never gives that.
    pub(crate) fn new(loss: &Loss, seed: SeedPath) -> Self {
        let slot = match loss.clock() {
            Some(LossClock::Time) => loss.slot().map_or(0, SimDuration::as_nanos),
            _ => 0,
        };
        assert!(loss.clock() != Some(LossClock::Time) || slot > 0, "a loss process with `clock: time` needs a slot");
        let stationary = slot > 0;
        let process = match loss {
            Loss::None => Process::None,
            Loss::Bernoulli(p) => Process::Bernoulli(bernoulli::Chain::new(p, seed.stream("loss"))),
            Loss::GilbertElliott(p) => {
                Process::GilbertElliott(gilbert_elliott::Chain::new(p, stationary, seed.stream("loss")))
            }
        };
        let mut gate = Self { process, slot, packets: 0, quiet_until: 0 };
        gate.set_quiet_until();
        gate
    }
    /// Whether the packet that enters the link now is lost.
    #[inline]
    pub(crate) fn loses(&mut self, now: u64) -> bool {
        let position = if self.slot == 0 {
            self.packets += 1;
            self.packets - 1
        } else {
            now
        };
        position >= self.quiet_until && self.decide(position)
    }
    #[cold]
    fn decide(&mut self, position: u64) -> bool {
        // No slot of time: the packet is the slot.
        let slot = position.checked_div(self.slot).unwrap_or(position);
        let lost = self.process.lost(slot);
        self.set_quiet_until();
        lost
    }
    fn set_quiet_until(&mut self) {
        self.quiet_until = self.process.quiet_until().saturating_mul(self.slot.max(1));
    }
}

/// Number of failures before the first success, for independent trials of one probability.
///
/// An exponential number with rate `-ln(1 - p)`, rounded down, is geometric exactly.
#[derive(Debug, Clone, Copy)]
struct Geometric {
    scale: f64,
}

impl Geometric {
    fn new(p: f64) -> Self {
        Self { scale: if p > 0.0 { -1.0 / libm::log1p(-p) } else { f64::INFINITY } }
    }
    /// `u64::MAX` when success never comes. Certain success and certain failure draw nothing.
    fn draw(self, stream: &mut RandomStream) -> u64 {
        if self.scale == 0.0 {
            0
        } else if self.scale.is_infinite() {
            u64::MAX
        } else {
            // A conversion that saturates: beyond 2^64 is never.
            (stream.exponential() * self.scale) as u64
        }
    }
}
