//! Loss processes at run time: each on its clock, split by phase, in steps over time.

use super::{Loss, LossClock, LossSchedule, Phase, PhaseStreams};
use super::{bernoulli, capped, drops, four_state, gilbert_elliott};
use crate::timeline::Timeline;
use study_ident::{RandomStream, SeedPath};
use study_units::{Bytes, SimDuration};

/// The run-time state of a process: one registry row each.
#[derive(Debug, Clone)]
enum Process {
    None,
    Bernoulli(bernoulli::Chain),
    GilbertElliott(gilbert_elliott::Chain),
    FourState(four_state::Chain),
    Capped(capped::Chain),
    Drops(drops::Chain),
}

impl Process {
    fn new(loss: &Loss, stationary: bool, stream: RandomStream) -> Self {
        match loss {
            Loss::None => Self::None,
            Loss::Bernoulli(p) => Self::Bernoulli(bernoulli::Chain::new(p, stream)),
            Loss::GilbertElliott(p) => Self::GilbertElliott(gilbert_elliott::Chain::new(p, stationary, stream)),
            Loss::FourState(p) => Self::FourState(four_state::Chain::new(p, stationary, stream)),
            Loss::Capped(p) => Self::Capped(capped::Chain::new(p, stream)),
            Loss::Drops(p) => Self::Drops(drops::Chain::new(p)),
        }
    }
    /// Whether slot `slot` is lost. Slots never go back; the same one may be asked again.
    fn lost(&mut self, slot: u64) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(chain) => chain.lost(slot),
            Self::GilbertElliott(chain) => chain.lost(slot),
            Self::FourState(chain) => chain.lost(slot),
            Self::Capped(chain) => chain.lost(slot),
            Self::Drops(chain) => chain.lost(slot),
        }
    }
    /// The first slot for which `lost` has anything to do: all before it are not lost.
    fn quiet_until(&self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Bernoulli(chain) => chain.quiet_until(),
            Self::GilbertElliott(chain) => chain.quiet_until(),
            Self::FourState(chain) => chain.quiet_until(),
            Self::Capped(chain) => chain.quiet_until(),
            Self::Drops(chain) => chain.quiet_until(),
        }
    }
}

/// A process on its clock.
#[derive(Debug, Clone)]
pub(crate) struct LossGate {
    process: Process,
    clock: LossClock,
    /// Nanoseconds or bytes per slot; 1 with `clock: packet`.
    slot: u64,
    /// Packets or bytes that came.
    position: u64,
    /// Packet number, instant or byte before which nothing is lost.
    quiet_until: u64,
}

impl LossGate {
    /// # Panics
    /// When `clock: time` or `byte` has no slot; decoding a study file never gives that.
    fn new(loss: &Loss, stream: RandomStream) -> Self {
        let clock = loss.clock().unwrap_or(LossClock::Packet);
        let slot = match clock {
            LossClock::Packet => 1,
            LossClock::Time => loss.slot().map_or(0, SimDuration::as_nanos),
            LossClock::Byte => loss.slot_bytes().map_or(0, Bytes::get),
        };
        assert!(slot > 0, "a loss process with `clock: {}` needs a slot", clock.name());
        let stationary = clock != LossClock::Packet || loss.phases() == PhaseStreams::Split;
        let mut gate =
            Self { process: Process::new(loss, stationary, stream), clock, slot, position: 0, quiet_until: 0 };
        gate.set_quiet_until();
        gate
    }
    /// Whether the packet of `wire` bytes that comes now is lost.
    #[inline]
    fn loses(&mut self, now: u64, wire: u32) -> bool {
        match self.clock {
            LossClock::Packet => {
                let packet = self.position;
                self.position += 1;
                packet >= self.quiet_until && self.decide(packet)
            }
            LossClock::Time => now >= self.quiet_until && self.decide(now / self.slot),
            LossClock::Byte => {
                let from = self.position;
                self.position += u64::from(wire);
                self.position > self.quiet_until && self.decide_bytes(from)
            }
        }
    }
    #[cold]
    fn decide(&mut self, slot: u64) -> bool {
        let lost = self.process.lost(slot);
        self.set_quiet_until();
        lost
    }
    /// A packet that ends before `position` carries the first bytes of these slots; each lost one takes it.
    #[cold]
    fn decide_bytes(&mut self, from: u64) -> bool {
        let mut lost = false;
        for slot in from.div_ceil(self.slot)..self.position.div_ceil(self.slot) {
            lost |= self.process.lost(slot);
        }
        self.set_quiet_until();
        lost
    }
    fn set_quiet_until(&mut self) {
        self.quiet_until = self.process.quiet_until().saturating_mul(self.slot);
    }
}

/// The losses of a direction.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "nearly all are `One`, and every packet would pay for a pointer")]
pub(crate) enum LossStage {
    One(LossGate),
    /// One gate per phase.
    Split(Box<[LossGate; 4]>),
    /// One stage per step.
    Steps(Timeline, Vec<LossStage>),
}

impl LossStage {
    pub(crate) fn new(loss: &Loss, seed: SeedPath) -> Self {
        if loss.phases() == PhaseStreams::Joint {
            return Self::One(LossGate::new(loss, seed.stream("loss")));
        }
        let gate = |phase: Phase| LossGate::new(loss, seed.child("loss").stream(phase.name()));
        Self::Split(Box::new([Phase::Handshake, Phase::Request, Phase::Response, Phase::Ack].map(gate)))
    }
    /// # Panics
    /// When there is no step or one lasts no time; decoding a study file never gives that.
    pub(crate) fn steps(schedule: &LossSchedule, seed: SeedPath) -> Self {
        let timeline = Timeline::new(schedule.schedule.iter().map(|s| s.duration), schedule.repeat);
        let timeline = timeline.unwrap_or_else(|error| panic!("a schedule of losses: {error}"));
        let stage = |(i, step): (usize, &super::LossStep)| Self::new(&step.loss, seed.indexed("step", i as u64));
        Self::Steps(timeline, schedule.schedule.iter().enumerate().map(stage).collect())
    }
    /// Whether the packet of `wire` bytes that comes now is lost.
    #[inline]
    pub(crate) fn loses(&mut self, now: u64, wire: u32, phase: Phase) -> bool {
        match self {
            Self::One(gate) => gate.loses(now, wire),
            Self::Split(gates) => gates[phase as usize].loses(now, wire),
            Self::Steps(timeline, stages) => {
                let step = timeline.at(now);
                stages[step].loses(now, wire, phase)
            }
        }
    }
}
