//! From the last bit that leaves to the arrival: base delay, extra delay, jitter, repair and order.

use crate::DirectionParams;
use crate::delay::DelaySchedule;
use crate::jitter::JitterProcess;
use crate::timeline::Timeline;
use study_ident::SeedPath;
use study_units::{SimDuration, SimTime};

/// Extra delay by step.
#[derive(Debug, Clone)]
struct Extra {
    timeline: Timeline,
    delays: Vec<SimDuration>,
}

impl Extra {
    /// # Panics
    /// When there is no step or one lasts no time; decoding a study file never gives that.
    fn new(schedule: &DelaySchedule) -> Self {
        let timeline = Timeline::new(schedule.schedule.iter().map(|s| s.duration), schedule.repeat);
        let timeline = timeline.unwrap_or_else(|error| panic!("a schedule of delays: {error}"));
        Self { timeline, delays: schedule.schedule.iter().map(|s| s.delay).collect() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Exit {
    base_delay: SimDuration,
    jitter: Option<JitterProcess>,
    extra: Option<Box<Extra>>,
    /// Whether the delay varies and packets must not overtake one another.
    keeps_order: bool,
    /// Packets never overtake one that the link layer repaired.
    repaired_until: SimTime,
}

impl Exit {
    pub(crate) fn new(params: &DirectionParams, seed: SeedPath) -> Self {
        let varies = params.jitter.is_some() || params.extra_delay.is_some();
        Self {
            base_delay: params.one_way,
            jitter: params.jitter.as_ref().map(|j| JitterProcess::new(j, seed)),
            extra: params.extra_delay.as_ref().map(|schedule| Box::new(Extra::new(schedule))),
            keeps_order: varies && params.jitter.as_ref().is_none_or(|j| !j.reorder),
            repaired_until: SimTime::ZERO,
        }
    }
    /// Whether the delay has no steps, so that [`Exit::arrival_plain`] will do for packets without repair.
    pub(crate) const fn is_plain(&self) -> bool {
        self.extra.is_none()
    }
    /// [`Exit::arrival`] where [`Exit::is_plain`] and nothing is ever repaired.
    #[inline]
    pub(crate) fn arrival_plain(&mut self, finish: u64, last: &mut SimTime) -> SimTime {
        let mut arrival = SimTime::from_nanos(finish) + self.base_delay;
        if let Some(jitter) = &mut self.jitter {
            arrival += SimDuration::from_nanos(jitter.at(finish));
            if self.keeps_order {
                arrival = arrival.max(*last);
            }
        }
        *last = arrival.max(*last);
        arrival
    }
    /// When a packet arrives whose last bit leaves at `finish`; `last` is the latest arrival so far, kept up to date.
    pub(crate) fn arrival(&mut self, finish: u64, spike: u64, last: &mut SimTime) -> SimTime {
        let mut arrival = SimTime::from_nanos(finish) + self.base_delay;
        if let Some(extra) = &self.extra {
            arrival += extra.delays[extra.timeline.at(finish)];
        }
        if let Some(jitter) = &mut self.jitter {
            arrival += SimDuration::from_nanos(jitter.at(finish));
        }
        if self.keeps_order {
            arrival = arrival.max(*last);
        }
        if spike > 0 {
            self.repaired_until = self.repaired_until.max(arrival + SimDuration::from_nanos(spike));
        }
        arrival = arrival.max(self.repaired_until);
        *last = arrival.max(*last);
        arrival
    }
}
