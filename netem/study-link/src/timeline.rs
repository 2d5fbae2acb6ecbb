//! Steps that follow one another in time: which one holds at an instant.
//!
//! Purpose: the common part of schedules of loss and of extra delay (the rate has its own, which is integrated).
//! A timeline begins with its first step at time 0. After the last step it begins again (`repeat`), or stays in the last.
//!
//! Random streams: none.

use study_tree::{Cx, Diagnostic, Node};
use study_units::SimDuration;

/// Why a list of durations is no timeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimelineError {
    #[error("a schedule without steps says nothing")]
    Empty,
    #[error("step {step} of the schedule lasts no time")]
    NoDuration { step: usize },
    #[error("the schedule lasts longer than 292 years")]
    TooLong,
}

/// Where each step ends \[ns\], counted from the beginning of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeline {
    ends: Vec<u64>,
    repeat: bool,
}

impl Timeline {
    pub(crate) fn new(durations: impl IntoIterator<Item = SimDuration>, repeat: bool) -> Result<Self, TimelineError> {
        let mut ends = Vec::new();
        let mut end = 0u64;
        for (step, duration) in durations.into_iter().enumerate() {
            if duration == SimDuration::ZERO {
                return Err(TimelineError::NoDuration { step });
            }
            end = end.checked_add(duration.as_nanos()).filter(|e| *e <= u64::MAX / 2).ok_or(TimelineError::TooLong)?;
            ends.push(end);
        }
        if ends.is_empty() { Err(TimelineError::Empty) } else { Ok(Self { ends, repeat }) }
    }
    /// The step that holds at `now`; a step begins at its first instant and ends before its last.
    pub(crate) fn at(&self, now: u64) -> usize {
        let period = self.ends.last().copied().unwrap_or(1);
        let within = if self.repeat { now % period } else { now };
        self.ends.partition_point(|end| *end <= within).min(self.ends.len() - 1)
    }
}

/// Reports a list under `schedule` that is no timeline; true when it is one.
pub(crate) fn checked(list: &Node, durations: impl IntoIterator<Item = SimDuration>, cx: &mut Cx<'_>) -> bool {
    let Err(error) = Timeline::new(durations, true) else { return true };
    let span = match error {
        TimelineError::NoDuration { step } => {
            list.items().and_then(|items| items.get(step)?.get("for")).map_or(list.span, |n| n.span)
        }
        _ => list.span,
    };
    let help = "give at least one step that lasts longer than 0, e.g. `{ for: 15 s, ... }`";
    cx.push(Diagnostic::error("out-of-range", span, error.to_string()).help(help));
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_begin_again_or_the_last_one_stays() {
        let steps = [10, 5].map(SimDuration::from_nanos);
        let (again, once) = (Timeline::new(steps, true).unwrap(), Timeline::new(steps, false).unwrap());
        for (now, repeated, single) in [(0, 0, 0), (9, 0, 0), (10, 1, 1), (14, 1, 1), (15, 0, 1), (1_000_000, 1, 1)] {
            assert_eq!((again.at(now), once.at(now)), (repeated, single), "{now}");
        }
        assert_eq!(Timeline::new([], true), Err(TimelineError::Empty));
        assert_eq!(Timeline::new([SimDuration::ZERO], true), Err(TimelineError::NoDuration { step: 0 }));
        let long = SimDuration::from_nanos(u64::MAX / 2);
        assert_eq!(Timeline::new([long, long], true), Err(TimelineError::TooLong));
    }
}
