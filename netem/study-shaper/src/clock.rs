//! The one clock of the shaper: `CLOCK_MONOTONIC` in nanoseconds, the same in all namespaces.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Nanoseconds of the monotonic clock.
#[must_use]
pub fn now() -> u64 {
    // The monotonic clock exists on every Linux; a failure is not possible with a valid id.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// A span for a system call.
pub(crate) fn timespec(nanos: u64) -> TimeSpec {
    TimeSpec::new((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64)
}

/// Sleeps until the monotonic clock shows `instant` (ns); returns at once when it has passed.
pub fn sleep_until(instant: u64) {
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &timespec(instant)).is_err() {}
}
