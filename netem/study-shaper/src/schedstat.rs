//! How long a thread ran and how long it waited for a processor.

use crate::clock;
use serde::{Deserialize, Serialize};

/// What a thread did over a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Length of the span, ms.
    pub wall_ms: f64,
    /// Time on a processor, ms.
    pub cpu_ms: f64,
    /// Time ready to run but waiting for a processor, ms.
    pub wait_ms: f64,
    /// How often it was put on a processor.
    pub turns: u64,
}

/// What a turn costs on a machine with nothing else to do, ms: from the wake-up to the first instruction. Measured 4 us on a
/// virtual machine with idle cores.
const TURN_MS: f64 = 0.005;

impl ThreadUse {
    /// Share of the span on a processor, 0 to 1.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        if self.wall_ms > 0.0 { self.cpu_ms / self.wall_ms } else { 0.0 }
    }
    /// Share of the span waiting for a processor, 0 to 1, beyond what its wake-ups cost on an idle machine.
    #[must_use]
    pub fn wait_share(&self) -> f64 {
        let excess = self.wait_ms - TURN_MS * self.turns as f64;
        if self.wall_ms > 0.0 { excess.max(0.0) / self.wall_ms } else { 0.0 }
    }
}

/// A watch on one thread. The figures are there as long as the thread is.
#[derive(Debug, Clone, Copy)]
pub struct ThreadWatch {
    thread: i32,
    wall: u64,
    then: Times,
}

/// Running time (ns), waiting time (ns) and turns of a thread since its start.
type Times = [u64; 3];

fn read(thread: i32) -> Option<Times> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

impl ThreadWatch {
    /// Begins to watch the calling thread.
    #[must_use]
    pub fn current() -> Self {
        Self::of(nix::unistd::gettid().as_raw())
    }
    /// Begins to watch the thread of this process with that number.
    #[must_use]
    pub fn of(thread: i32) -> Self {
        Self { thread, wall: clock::now(), then: read(thread).unwrap_or_default() }
    }
    /// A watch on the same thread from now on.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::of(self.thread)
    }
    /// What the thread did since; `None` when it has ended or the kernel does not count.
    #[must_use]
    pub fn used(&self) -> Option<ThreadUse> {
        let now = read(self.thread)?;
        let [cpu, wait, turns] = [0, 1, 2].map(|i| now[i].saturating_sub(self.then[i]));
        let wall_ms = clock::now().saturating_sub(self.wall) as f64 / 1e6;
        Some(ThreadUse { wall_ms, cpu_ms: cpu as f64 / 1e6, wait_ms: wait as f64 / 1e6, turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sees_its_own_use() {
        let watch = ThreadWatch::current();
        clock::sleep_until(clock::now() + 5_000_000);
        let used = watch.used().unwrap();
        assert!(used.wall_ms >= 5.0 && used.cpu_ms < used.wall_ms && used.turns >= 1, "{used:?}");
        assert!(ThreadWatch::of(-1).used().is_none());
    }

    #[test]
    fn wake_ups_are_no_contention() {
        let busy = ThreadUse { wall_ms: 1_000.0, cpu_ms: 200.0, wait_ms: 64.0, turns: 16_000 };
        assert_eq!(busy.wait_share(), 0.0);
        let contended = ThreadUse { wait_ms: 500.0, ..busy };
        assert_eq!(contended.wait_share(), 0.42);
    }
}
