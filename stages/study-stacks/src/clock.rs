//! The one clock of a trial.
//!
//! `CLOCK_MONOTONIC` in integer nanoseconds, the same for every thread, process and network namespace of a machine, so that
//! an instant noted by a client and one noted by a server can be subtracted.

use rustix::time::{ClockId, clock_gettime};
use study_units::SimTime;

/// Now, in nanoseconds since the machine started.
#[must_use]
pub fn now() -> SimTime {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    SimTime::from_nanos(seconds * 1_000_000_000 + nanos)
}
