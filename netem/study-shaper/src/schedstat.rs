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
}

impl ThreadUse {
    /// Share of the span on a processor, 0 to 1.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        if self.wall_ms > 0.0 { self.cpu_ms / self.wall_ms } else { 0.0 }
    }
    /// Share of the span waiting for a processor, 0 to 1.
    #[must_use]
    pub fn wait_share(&self) -> f64 {
        if self.wall_ms > 0.0 { self.wait_ms / self.wall_ms } else { 0.0 }
    }
}

/// A watch on one thread. The figures are there as long as the thread is.
#[derive(Debug, Clone, Copy)]
pub struct ThreadWatch {
    thread: i32,
    wall: u64,
    cpu: u64,
    wait: u64,
}

/// Running and waiting time of a thread of this process, ns.
fn read(thread: i32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some((words.next()??, words.next()??))
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
        let (cpu, wait) = read(thread).unwrap_or_default();
        Self { thread, wall: clock::now(), cpu, wait }
    }
    /// What the thread did since; `None` when it has ended or the kernel does not count.
    #[must_use]
    pub fn used(&self) -> Option<ThreadUse> {
        let (cpu, wait) = read(self.thread)?;
        let ms = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e6;
        Some(ThreadUse {
            wall_ms: ms(clock::now(), self.wall),
            cpu_ms: ms(cpu, self.cpu),
            wait_ms: ms(wait, self.wait),
        })
    }
}
