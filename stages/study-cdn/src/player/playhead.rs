//! The play head: what has been played, what is buffered, and whether the viewer waits.

use study_units::{SimDuration, SimTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been played yet.
    Starting,
    Playing,
    Stalled {
        since: SimTime,
    },
    Ended {
        at: SimTime,
    },
}

/// Accounts for every nanosecond from the viewer's arrival: start-up, play or stall.
#[derive(Debug, Clone)]
pub(super) struct Playhead {
    start: SimTime,
    now: SimTime,
    phase: Phase,
    buffer: SimDuration,
    played: SimDuration,
    startup: Option<SimDuration>,
    stall: SimDuration,
    stall_count: u32,
}

impl Playhead {
    pub(super) const fn new(start: SimTime) -> Self {
        Self {
            start,
            now: start,
            phase: Phase::Starting,
            buffer: SimDuration::ZERO,
            played: SimDuration::ZERO,
            startup: None,
            stall: SimDuration::ZERO,
            stall_count: 0,
        }
    }
    /// Moves on to `now`; `more` says whether segments are missing after what is buffered.
    pub(super) fn advance(&mut self, now: SimTime, more: bool) {
        if now <= self.now {
            return;
        }
        if self.phase == Phase::Playing {
            let elapsed = now.since(self.now);
            if elapsed < self.buffer {
                self.buffer = self.buffer - elapsed;
                self.played = self.played + elapsed;
            } else {
                let dry = self.run_dry();
                self.phase = if more { Phase::Stalled { since: dry } } else { Phase::Ended { at: dry } };
            }
        }
        self.now = now;
    }
    /// Adds a segment to the buffer.
    pub(super) fn append(&mut self, duration: SimDuration) {
        self.buffer = self.buffer + duration;
    }
    /// Starts or goes on if there is enough, or if no more can come. Returns the length of the stall that ended.
    pub(super) fn resume(&mut self, startup: SimDuration, rebuffer: SimDuration, no_more: bool) -> SimDuration {
        let enough = |threshold| self.buffer > SimDuration::ZERO && (no_more || self.buffer >= threshold);
        match self.phase {
            Phase::Starting if enough(startup) => {
                self.startup = Some(self.now.since(self.start));
                self.phase = Phase::Playing;
                SimDuration::ZERO
            }
            Phase::Stalled { since } if enough(rebuffer) => {
                self.phase = Phase::Playing;
                self.count_stall(since)
            }
            _ => SimDuration::ZERO,
        }
    }
    /// Plays the rest of the buffer, if playback is under way, and ends.
    pub(super) fn play_out(&mut self) {
        let at = match self.phase {
            Phase::Playing => self.run_dry(),
            Phase::Stalled { since } => {
                self.count_stall(since);
                self.now
            }
            Phase::Starting => self.now,
            Phase::Ended { at } => at,
        };
        self.phase = Phase::Ended { at };
    }
    /// Plays the whole buffer; returns when it is empty.
    fn run_dry(&mut self) -> SimTime {
        let dry = self.now + self.buffer;
        self.played = self.played + self.buffer;
        self.buffer = SimDuration::ZERO;
        dry
    }
    /// Ends a stall now. A segment that came in the instant the buffer ran dry was in time.
    fn count_stall(&mut self, since: SimTime) -> SimDuration {
        let length = self.now.since(since);
        if length > SimDuration::ZERO {
            self.stall = self.stall + length;
            self.stall_count += 1;
        }
        length
    }
    pub(super) const fn buffer(&self) -> SimDuration {
        self.buffer
    }
    pub(super) const fn played(&self) -> SimDuration {
        self.played
    }
    pub(super) const fn startup(&self) -> Option<SimDuration> {
        self.startup
    }
    pub(super) const fn stall(&self) -> SimDuration {
        self.stall
    }
    pub(super) const fn stall_count(&self) -> u32 {
        self.stall_count
    }
    pub(super) fn is_playing(&self) -> bool {
        self.phase == Phase::Playing
    }
    /// When the session ended; the last instant told while it has not.
    pub(super) const fn ended(&self) -> SimTime {
        match self.phase {
            Phase::Ended { at } => at,
            _ => self.now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SimTime {
        SimTime::from_nanos(ms * 1_000_000)
    }
    fn ms(ms: u64) -> SimDuration {
        SimDuration::from_millis(ms)
    }

    #[test]
    fn a_stall_begins_when_the_buffer_runs_dry_not_when_someone_looks() {
        let mut head = Playhead::new(at(100));
        head.advance(at(300), true);
        head.append(ms(1_000));
        assert_eq!(head.resume(ms(1_000), ms(0), false), ms(0));
        assert_eq!(head.startup(), Some(ms(200)));
        head.advance(at(5_000), true);
        head.append(ms(1_000));
        assert_eq!(head.resume(ms(0), ms(0), false), ms(3_700), "dry at 1.3 s");
        assert_eq!((head.stall(), head.stall_count(), head.played()), (ms(3_700), 1, ms(1_000)));
    }

    #[test]
    fn a_segment_in_the_last_instant_is_in_time() {
        let mut head = Playhead::new(at(0));
        head.append(ms(1_000));
        head.resume(ms(0), ms(0), false);
        head.advance(at(1_000), true);
        head.append(ms(1_000));
        assert_eq!(head.resume(ms(0), ms(0), false), ms(0));
        assert_eq!((head.stall(), head.stall_count()), (ms(0), 0));
        assert!(head.is_playing());
    }

    #[test]
    fn nothing_starts_without_a_segment() {
        let mut head = Playhead::new(at(0));
        head.advance(at(5), true);
        head.resume(ms(0), ms(0), true);
        assert_eq!(head.startup(), None);
    }
}
