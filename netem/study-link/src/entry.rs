//! What meets a packet at the entry of a direction: outage, random loss (or its repair), policer.

use crate::arq::ArqProcess;
use crate::bucket::Bucket;
use crate::loss::{LossAt, LossStage, Phase};
use crate::outage::Outages;
use crate::{DirectionParams, LinkCounters, Verdict};
use study_ident::SeedPath;

/// What few links have, apart from the state that every packet touches.
#[derive(Debug, Clone)]
struct Rare {
    outages: Outages,
    policer: Option<Bucket>,
    arq: Option<ArqProcess>,
    loss_at: LossAt,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    loss: LossStage,
    rare: Option<Box<Rare>>,
}

impl Entry {
    pub(crate) fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        let loss = match &params.loss_schedule {
            Some(schedule) => LossStage::steps(schedule, seed),
            None => LossStage::new(&params.loss, seed),
        };
        let plain = params.outages == Outages::None
            && params.policer.is_none()
            && params.arq.is_none()
            && params.loss_at == LossAt::Entry;
        let rare = || {
            Box::new(Rare {
                outages: params.outages.clone(),
                policer: params.policer.as_ref().map(Bucket::new),
                arq: params.arq.as_ref().map(|arq| ArqProcess::new(arq, seed)),
                loss_at: params.loss_at,
            })
        };
        Self { loss, rare: (!plain).then(rare) }
    }
    /// Whether there is nothing but loss at the entry, so that [`Entry::loses`] tells all.
    pub(crate) const fn is_plain(&self) -> bool {
        self.rare.is_none()
    }
    /// Whether the loss process takes a packet, where [`Entry::is_plain`].
    #[inline]
    pub(crate) fn loses(&mut self, now: u64, wire: u32, phase: Phase, counters: &mut LinkCounters) -> bool {
        let loses = self.loss.loses(now, wire, phase);
        if loses {
            lost(wire, counters);
        }
        loses
    }
    /// Whether a packet of `wire` bytes enters at `now`: the delay \[ns\] that a repair adds, or why not.
    pub(crate) fn judge(
        &mut self,
        now: u64,
        wire: u32,
        phase: Phase,
        counters: &mut LinkCounters,
    ) -> Result<u64, Verdict> {
        if !self.is_plain() {
            return self.judge_rare(now, wire, phase, counters);
        }
        if self.loses(now, wire, phase, counters) { Err(Verdict::LostRandom) } else { Ok(0) }
    }
    fn judge_rare(&mut self, now: u64, wire: u32, phase: Phase, counters: &mut LinkCounters) -> Result<u64, Verdict> {
        let Some(rare) = &mut self.rare else { return Ok(0) };
        if rare.outages.holds(now) {
            counters.lost_outage += 1;
            return Err(Verdict::LostOutage);
        }
        let mut spike = 0;
        if rare.loss_at == LossAt::Entry && self.loss.loses(now, wire, phase) {
            spike = repaired(&mut rare.arq, wire, counters)?;
        }
        if rare.policer.as_mut().is_some_and(|policer| !policer.passes(now, wire)) {
            counters.lost_policer += 1;
            return Err(Verdict::DroppedPolicer);
        }
        Ok(spike)
    }
    /// The same after the transmission that began at `start`, where loss stands there.
    pub(crate) fn judge_sent(
        &mut self,
        start: u64,
        wire: u32,
        phase: Phase,
        counters: &mut LinkCounters,
    ) -> Result<u64, Verdict> {
        let Some(rare) = &mut self.rare else { return Ok(0) };
        if rare.loss_at == LossAt::Transmission && self.loss.loses(start, wire, phase) {
            return repaired(&mut rare.arq, wire, counters);
        }
        Ok(0)
    }
}

fn lost(wire: u32, counters: &mut LinkCounters) -> Verdict {
    counters.lost_random += 1;
    counters.lost_random_bytes += u64::from(wire);
    Verdict::LostRandom
}

/// How late a packet that the loss process took comes after all.
fn repaired(arq: &mut Option<ArqProcess>, wire: u32, counters: &mut LinkCounters) -> Result<u64, Verdict> {
    match arq.as_mut().and_then(ArqProcess::repair) {
        Some(spike) => {
            counters.repaired += 1;
            Ok(spike)
        }
        None => Err(lost(wire, counters)),
    }
}
