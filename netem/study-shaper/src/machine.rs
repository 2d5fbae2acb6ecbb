//! What a machine has that decides about emulation: kernel, congestion controllers, buffers, cores, and who else is at work.

use crate::child::{Children, try_qdisc_in_child};
use crate::error::StepError;
use crate::sysctl;
use serde::{Deserialize, Serialize};

/// Receive buffer below which a packet backend without root holds too few full packets for 100 Mbit/s, bytes: 4 MiB hold
/// about 1,700 of them.
pub const WANTED_RECEIVE_BUFFER: u64 = 4 << 20;

/// What there is, as the kernel says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Release of the kernel.
    pub kernel: String,
    /// Whether this process is root.
    pub root: bool,
    /// Processors that this process may use.
    pub cores: u32,
    /// The congestion control of sockets that do not ask for one.
    pub congestion_control: Option<String>,
    /// Congestion controllers that are loaded.
    pub congestion_controls: Vec<String>,
    /// Those that a process without privilege may ask for.
    pub allowed_congestion_controls: Vec<String>,
    /// Largest receive buffer that may be asked for, bytes (`net.core.rmem_max`).
    pub rmem_max: Option<u64>,
    /// Largest send buffer that may be asked for, bytes (`net.core.wmem_max`).
    pub wmem_max: Option<u64>,
    /// Why the queueing discipline `fq` cannot be had; `None` when it can. Without it TCP paces by its own timers.
    pub fq: Option<StepError>,
    /// Whether a filter on system calls is active: containers have one.
    pub seccomp: bool,
    /// Processes that ran or waited in the last minute, on average.
    pub load: Option<f64>,
}

impl Machine {
    /// Looks.
    #[must_use]
    pub fn look(children: &Children) -> Self {
        let list = |name: &str| -> Vec<String> {
            sysctl::read(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let number = |name: &str| sysctl::read(name)?.parse().ok();
        let first = |path: &str| std::fs::read_to_string(path).ok()?.split_whitespace().next().map(str::to_owned);
        Self {
            kernel: sysctl::read("kernel.osrelease").unwrap_or_default(),
            root: nix::unistd::getuid().is_root(),
            cores: cores(),
            congestion_control: sysctl::read("net.ipv4.tcp_congestion_control"),
            congestion_controls: list("net.ipv4.tcp_available_congestion_control"),
            allowed_congestion_controls: list("net.ipv4.tcp_allowed_congestion_control"),
            rmem_max: number("net.core.rmem_max"),
            wmem_max: number("net.core.wmem_max"),
            fq: try_qdisc_in_child("fq", children).err(),
            seccomp: filtered(&std::fs::read_to_string("/proc/self/status").unwrap_or_default()),
            load: first("/proc/loadavg").and_then(|text| text.parse().ok()),
        }
    }
}

/// Processors that this process may use, at least 1.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// Whether the status of a process names a filter on its system calls (mode 2).
fn filtered(status: &str) -> bool {
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

/// What the kernel counts of its processors' time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// All of it.
    pub(crate) all: u64,
    /// Without work, or waiting for a disk.
    pub(crate) idle: u64,
    /// Taken away by the hypervisor.
    pub(crate) stolen: u64,
}

impl Ticks {
    /// Now.
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::parse(text.lines().next().unwrap_or_default())
    }
    fn parse(line: &str) -> Self {
        // The last two of ten fields are guests' time, counted in the first two already.
        let fields: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
        let at = |i: usize| fields.get(i).copied().unwrap_or(0);
        Self { all: fields.iter().sum(), idle: at(3) + at(4), stolen: at(7) }
    }
    /// Ticks since an earlier look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            idle: self.idle.saturating_sub(before.idle),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }
    /// Share of all ticks that were stolen, 0 to 1.
    pub(crate) fn stolen_share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.stolen as f64 / self.all as f64 }
    }
    /// Share of all ticks in which somebody worked, 0 to 1.
    pub(crate) fn busy_share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.all.saturating_sub(self.idle + self.stolen) as f64 / self.all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_ticks_and_guests_are_not_counted_twice() {
        let before = Ticks::parse("cpu 100 0 100 800 0 0 0 0 50 0");
        let after = Ticks::parse("cpu 150 0 130 890 10 0 0 20 90 0");
        let span = after.since(before);
        assert_eq!((span.all, span.idle, span.stolen), (200, 100, 20));
        assert_eq!((span.stolen_share(), span.busy_share()), (0.1, 0.4));
        assert_eq!(after.since(after).stolen_share(), 0.0);
    }

    #[test]
    fn a_filter_on_system_calls_is_seen() {
        assert!(filtered("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!filtered("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t2\n"));
    }
}
