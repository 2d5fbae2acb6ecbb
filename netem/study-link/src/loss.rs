//! Random loss: which packets vanish on the way for reasons other than a full queue.
//!
//! Purpose: the registry of loss processes, one file each, and the clock they run on.
//!
//! A process is a chain over numbered slots and says for each slot whether it loses. The clock says what a slot is:
//!
//! - `packet`: every packet is the next slot, as in netem.
//! - `time`: a slot is a span of time; the chain steps whether or not a packet comes, and a slot's decision holds for every
//!   packet that enters the link in it. It depends on time alone, so both arms of a comparison meet the same bad times
//!   (common random numbers), and idle time lets a burst pass.
//! - `byte`: a slot is an amount of bytes offered to the direction, overhead included, and a lost slot takes the packet
//!   that carries its first byte. Two arms that offer the same bytes lose the same number of packets at the same offsets,
//!   whatever their packet sizes: equal exposure per byte. A packet shorter than a slot is lost with the share of a slot
//!   that it is, so acknowledgements are hardly ever lost.
//!
//! With `phases: split` (the default of `byte`) the handshake, requests, responses and acknowledgements of a direction count
//! their own slots and draw from streams of their own, so that a longer handshake of one arm does not shift the losses of
//! its responses. `joint` (the default of `packet`, netem's way) has one chain per direction. A clock of time needs no such
//! split: the key is refused there.
//!
//! Where the process stands is a key of the direction, `loss_at`. At the `entry` (default) a lost packet takes neither room nor
//! capacity, and the slot of `clock: time` is that of the instant at which it enters, so packets sent in one instant share one
//! decision, however long their transmission takes. At the `transmission` a packet is lost after it has been sent on the wire,
//! as on a radio link, and its slot of time is the one in which its transmission begins: packets sent in one instant then meet
//! different slots. The default stays at the entry because the analytic references of congestion control assume it and
//! because earlier results keep; which of the two holds can decide a comparison of paced with bursty senders, so say it.
//!
//! Cost: nothing is drawn per slot. A process draws how long its state lasts and how far the next loss is, and between
//! such events a packet costs one comparison. Draws happen in the order of events, never in the order of questions, so
//! the realisation does not depend on who asks when.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | netem draws per packet | geometric sojourns and gaps, same distribution | other numbers, same chain, less time |
//! | netem starts in GOOD | `packet` with `phases: joint` starts in GOOD, all others in the stationary distribution | the first packets of a `packet` run see less loss |
//! | a radio link loses what it has transmitted | by default loss comes before the queue: a lost packet takes no capacity | a full link carries a share `L` more; `loss_at: transmission` is the other way |
//! | bit errors strike in proportion to length on every clock | only on `byte` | `packet` and `time` lose short packets as often as long ones |
//!
//! Random streams: `loss` under the direction's seed path; with `phases: split` `handshake`, `request`, `response` and `ack` under `loss`.

mod bernoulli;
mod capped;
mod drops;
mod four_state;
mod gate;
mod gilbert_elliott;
mod schedule;

pub use bernoulli::Bernoulli;
pub use capped::Capped;
pub use drops::Drops;
pub use four_state::FourState;
pub(crate) use gate::LossStage;
pub use gilbert_elliott::GilbertElliott;
pub use schedule::{LossSchedule, LossStep};

use study_ident::RandomStream;
use study_tree::{Cx, Node};
use study_units::{Bytes, SimDuration};

study_tree::choices! {
    /// What a loss process counts.
    pub enum LossClock {
        /// The chain steps with each packet, as netem does.
        Packet = "packet",
        /// The chain steps once per slot of time, whether or not a packet comes.
        Time = "time",
        /// The chain steps once per slot of bytes offered to the direction.
        Byte = "byte",
    }
}

study_tree::choices! {
    /// Which packets share a chain.
    pub enum PhaseStreams {
        /// All packets of a direction.
        Joint = "joint",
        /// Handshake, requests, responses and acknowledgements have chains of their own.
        Split = "split",
    }
}

study_tree::choices! {
    /// Where a direction loses packets at random.
    pub enum LossAt {
        /// Before the queue: a lost packet takes neither room nor capacity.
        Entry = "entry",
        /// After its transmission: a lost packet has taken its room and its time on the wire.
        Transmission = "transmission",
    }
}

study_tree::choices! {
    /// What a packet belongs to; names its random stream under `phases: split`.
    pub enum Phase {
        /// A flight of the handshake.
        Handshake = "handshake",
        /// A request.
        Request = "request",
        /// Data of a response.
        Response = "response",
        /// An acknowledgement without data.
        Ack = "ack",
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
            /// Losses come in bursts with gaps, and alone: four states.
            FourState(FourState) = "four_state",
            /// Independent losses, never more than so many in a row.
            Capped(Capped) = "capped",
            /// The packets of a list are lost.
            Drops(Drops) = "drops",
        }
    }
}

/// The keys that say on which clock a process runs.
struct ClockKeys<'a> {
    clock: LossClock,
    slot: &'a mut Option<SimDuration>,
    slot_bytes: &'a mut Option<Bytes>,
    phases: &'a mut Option<PhaseStreams>,
}

impl Loss {
    /// Long-run share of slots that are lost, 0 to 1.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        match self {
            // A finite list is nothing in the long run.
            Self::None | Self::Drops(_) => 0.0,
            Self::Bernoulli(p) => p.rate.get(),
            Self::GilbertElliott(p) => p.stationary_loss(),
            Self::FourState(p) => p.stationary_loss(),
            Self::Capped(p) => p.stationary_loss(),
        }
    }
    /// Mean number of lost slots in a row, at least 1; `None` when nothing is lost or by list, infinite when everything is.
    #[must_use]
    pub fn mean_loss_run(&self) -> Option<f64> {
        match self {
            Self::None | Self::Drops(_) => None,
            Self::Bernoulli(p) => (p.rate.get() > 0.0).then(|| 1.0 / (1.0 - p.rate.get())),
            Self::GilbertElliott(p) => p.mean_loss_run(),
            Self::FourState(p) => p.mean_loss_run(),
            Self::Capped(p) => p.mean_loss_run(),
        }
    }
    /// What the process counts; `None` when there is no process.
    #[must_use]
    pub const fn clock(&self) -> Option<LossClock> {
        match self {
            Self::None => None,
            Self::Bernoulli(p) => Some(p.clock),
            Self::GilbertElliott(p) => Some(p.clock),
            Self::FourState(p) => Some(p.clock),
            Self::Capped(p) => Some(p.clock),
            Self::Drops(_) => Some(LossClock::Packet),
        }
    }
    /// Length of a slot of time, if one is set.
    #[must_use]
    pub const fn slot(&self) -> Option<SimDuration> {
        match self {
            Self::None | Self::Drops(_) => None,
            Self::Bernoulli(p) => p.slot,
            Self::GilbertElliott(p) => p.slot,
            Self::FourState(p) => p.slot,
            Self::Capped(p) => p.slot,
        }
    }
    /// Length of a slot of bytes, if one is set.
    #[must_use]
    pub const fn slot_bytes(&self) -> Option<Bytes> {
        match self {
            Self::None | Self::Drops(_) => None,
            Self::Bernoulli(p) => p.slot_bytes,
            Self::GilbertElliott(p) => p.slot_bytes,
            Self::FourState(p) => p.slot_bytes,
            Self::Capped(p) => p.slot_bytes,
        }
    }
    /// Which packets share a chain.
    #[must_use]
    pub const fn phases(&self) -> PhaseStreams {
        let phases = match self {
            Self::None | Self::Drops(_) => None,
            Self::Bernoulli(p) => p.phases,
            Self::GilbertElliott(p) => p.phases,
            Self::FourState(p) => p.phases,
            Self::Capped(p) => p.phases,
        };
        match phases {
            Some(phases) => phases,
            None => PhaseStreams::Joint,
        }
    }
    fn clock_keys(&mut self) -> Option<ClockKeys<'_>> {
        macro_rules! keys {
            ($p:ident) => {
                Some(ClockKeys {
                    clock: $p.clock,
                    slot: &mut $p.slot,
                    slot_bytes: &mut $p.slot_bytes,
                    phases: &mut $p.phases,
                })
            };
        }
        match self {
            Self::None | Self::Drops(_) => None,
            Self::Bernoulli(p) => keys!(p),
            Self::GilbertElliott(p) => keys!(p),
            Self::FourState(p) => keys!(p),
            Self::Capped(p) => keys!(p),
        }
    }
    /// Fills in the slot and the phases that the clock implies; a slot of time stays open when `full_packet` is unknown.
    pub(crate) fn settle_clock(&mut self, full_packet: Option<SimDuration>) {
        let Some(keys) = self.clock_keys() else { return };
        match keys.clock {
            LossClock::Packet => *keys.phases = keys.phases.filter(|phases| *phases != PhaseStreams::Joint),
            LossClock::Byte => {
                keys.slot_bytes.get_or_insert(Bytes::new(crate::FULL_PACKET_BYTES));
                keys.phases.get_or_insert(PhaseStreams::Split);
            }
            LossClock::Time => *keys.slot = keys.slot.or(full_packet),
        }
    }
    /// The process's own checks of what its keys say together.
    pub(crate) fn checked(&self, node: &Node, cx: &mut Cx<'_>) -> bool {
        match self {
            Self::FourState(p) => p.checked(node, cx),
            Self::Drops(p) => p.checked(node, cx),
            _ => true,
        }
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
