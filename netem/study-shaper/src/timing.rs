//! How good the timing of a trial was, from signals that do not depend on its outcome.
//!
//! A relay that is on time does not prove a clean trial: the endpoints wait for a processor as well. So besides the
//! lateness of packets, the waits of all threads, a canary in the endpoints' process, drops, and stolen time are looked at.
//! Thresholds were derived from a quiet and a contended series on two cores.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | lateness max taints above 50 % of the one-way delay | above 50 %, but never below 6 ms, which quiet runs have shown | a link with less than 12 ms is not tainted by one interrupt |
//! | share of run-queue wait as the kernel counts it | less 5 us per turn of the thread | a relay at 100 Mbit/s wakes 16,000 times a second; on idle cores the kernel counts 4 us each as waiting, 6 % in all, with packets on time |

use crate::clock;
use crate::error::{At, Step, StepError};
use crate::histogram::{Histogram, Summary};
use crate::machine::Ticks;
use crate::record::{DirectionRecord, LinkRecord};
use crate::rig::Rig;
use crate::schedstat::ThreadUse;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use study_link::Way;

/// Time between two looks of the canary, ns.
const CANARY_PERIOD: u64 = 5_000_000;

study_tree::choices! {
    /// The verdict on the timing of a trial.
    pub enum Quality {
        /// Nothing stands out.
        Clean = "clean",
        /// Something is worse than on a quiet machine, but within what the figures bear.
        Warn = "warn",
        /// Times of this trial are not those of the link.
        Tainted = "tainted",
    }
}

study_tree::choices! {
    /// What is looked at.
    pub enum SignalKind {
        /// 99th percentile of how late packets were handed over, ms.
        LatenessP99 = "lateness_p99",
        /// The latest packet, ms.
        LatenessMax = "lateness_max",
        /// Share of a thread's time spent ready but waiting for a processor, less what its wake-ups cost on an idle machine.
        RunQueueWait = "run_queue_wait",
        /// 99th percentile of how long after its time a sleeping thread wakes, ms.
        Canary = "canary_p99",
        /// Share of time that a relay thread was on a processor.
        RelayCpu = "relay_cpu",
        /// Packets lost by interfaces, sockets or refused writes.
        ForeignLosses = "foreign_losses",
        /// Share of UDP datagrams that found a full socket buffer.
        UdpBufferErrors = "udp_buffer_errors",
        /// Share of time that the hypervisor took away.
        Steal = "steal",
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// What was looked at.
    pub kind: SignalKind,
    /// Whose: a link and direction, a thread, a node, or the machine.
    pub subject: String,
    /// What was found; the unit is the kind's.
    pub measured: f64,
    /// Above this it is a warning.
    pub warn_above: f64,
    /// Above this the trial is tainted.
    pub taint_above: f64,
    /// The verdict.
    pub quality: Quality,
}

impl Signal {
    fn new(kind: SignalKind, subject: impl Into<String>, measured: f64, warn_above: f64, taint_above: f64) -> Self {
        let quality = match measured {
            m if m > taint_above => Quality::Tainted,
            m if m > warn_above => Quality::Warn,
            _ => Quality::Clean,
        };
        Self { kind, subject: subject.into(), measured, warn_above, taint_above, quality }
    }
}

/// The timing of a trial: every signal, clean ones too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The worst of the signals.
    pub quality: Quality,
    /// All of them.
    pub signals: Vec<Signal>,
    /// What the canary saw, ms.
    pub canary: Summary,
}

impl Timing {
    /// Whether times may be taken at their word.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.quality == Quality::Clean
    }
    /// The signals that are not clean, worst first.
    #[must_use]
    pub fn complaints(&self) -> Vec<&Signal> {
        let mut found: Vec<_> = self.signals.iter().filter(|signal| signal.quality != Quality::Clean).collect();
        found.sort_by_key(|signal| std::cmp::Reverse(signal.quality));
        found
    }
}

/// A thread that sleeps until every fifth millisecond and looks how late it is.
#[derive(Debug)]
pub struct Canary {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Histogram>>,
}

impl Canary {
    /// Starts it.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start() -> Result<Self, StepError> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("canary".to_owned())
            .spawn(move || sing(&asked))
            .at(Step::Child, "canary")?;
        Ok(Self { stop, thread: Some(thread) })
    }
    /// Ends it: how long it overslept.
    #[must_use]
    pub fn stop(mut self) -> Histogram {
        self.end().unwrap_or_default()
    }
    fn end(&mut self) -> Option<Histogram> {
        self.stop.store(true, Ordering::Release);
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.end();
    }
}

fn sing(stop: &AtomicBool) -> Histogram {
    let mut overslept = Histogram::default();
    let mut next = clock::now() + CANARY_PERIOD;
    while !stop.load(Ordering::Acquire) {
        clock::sleep_until(next);
        let now = clock::now();
        overslept.add(now.saturating_sub(next));
        // A missed look is not made up for: the wait that it would show has been counted.
        next = (next + CANARY_PERIOD).max(now);
    }
    overslept
}

/// UDP datagrams that came and those that found no room, of one node.
type Udp = (u64, u64);

/// Watches the timing of a trial from its first packet to its last.
#[derive(Debug)]
pub struct TimingWatch {
    canary: Canary,
    ticks: Ticks,
    udp: BTreeMap<String, Udp>,
}

fn udp(rig: &Rig, nodes: &[String]) -> BTreeMap<String, Udp> {
    let read = |node: &String| {
        rig.counters(node).map(|c| (c.protocol("Udp/InDatagrams"), c.udp_buffer_errors())).unwrap_or_default()
    };
    nodes.iter().map(|node| (node.clone(), read(node))).collect()
}

impl TimingWatch {
    /// Begins.
    ///
    /// # Errors
    /// When the canary cannot be started.
    pub fn begin(rig: &Rig) -> Result<Self, StepError> {
        Ok(Self { canary: Canary::start()?, ticks: Ticks::read(), udp: udp(rig, rig.nodes()) })
    }
    /// Ends and judges. `records` are the links' records of the trial, `endpoints` the named threads that sent and received.
    #[must_use]
    pub fn end(self, rig: &Rig, records: &[LinkRecord], endpoints: &[(String, ThreadUse)]) -> Timing {
        let canary = self.canary.stop().summary();
        let mut signals: Vec<Signal> = records.iter().flat_map(|record| of_link(rig, record)).collect();
        signals.extend(endpoints.iter().map(|(name, used)| run_queue(name, used)));
        signals.push(Signal::new(SignalKind::Canary, "machine", canary.p99_ms, 1.0, 3.0));
        for (node, now) in udp(rig, rig.nodes()) {
            let before = self.udp.get(&node).copied().unwrap_or_default();
            let (came, refused) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            let share = refused as f64 / (came + refused).max(1) as f64;
            signals.push(Signal::new(SignalKind::UdpBufferErrors, node, share, 0.0, 0.001));
        }
        signals.push(Signal::new(
            SignalKind::Steal,
            "machine",
            Ticks::read().since(self.ticks).stolen_share(),
            0.01,
            0.03,
        ));
        let quality = signals.iter().map(|signal| signal.quality).max().unwrap_or(Quality::Clean);
        Timing { quality, signals, canary }
    }
}

fn run_queue(name: &str, used: &ThreadUse) -> Signal {
    Signal::new(SignalKind::RunQueueWait, name, used.wait_share(), 0.02, 0.05)
}

fn of_link(rig: &Rig, record: &LinkRecord) -> Vec<Signal> {
    let one_way =
        |way: Way| rig.link(&record.link).map_or(0.0, |link| link.spec().params.way(way).one_way.as_millis_f64());
    let mut signals = Vec::new();
    for (way, direction) in [(Way::Down, &record.down), (Way::Up, &record.up)] {
        signals.extend(lateness(&format!("{} {}", record.link, way.name()), one_way(way), direction));
    }
    let relay = format!("relay {}", record.link);
    signals.push(run_queue(&relay, &record.relay));
    signals.push(Signal::new(SignalKind::RelayCpu, relay, record.relay.cpu_share(), 0.6, 0.85));
    signals.push(Signal::new(
        SignalKind::ForeignLosses,
        record.link.as_str(),
        record.foreign_losses() as f64,
        0.0,
        0.0,
    ));
    signals
}

fn lateness(subject: &str, one_way_ms: f64, direction: &DirectionRecord) -> [Signal; 2] {
    let summary = direction.lateness;
    let latest = (0.5 * one_way_ms).max(6.0);
    [
        Signal::new(SignalKind::LatenessP99, subject, summary.p99_ms, 1.0, (0.05 * one_way_ms).max(2.0)),
        Signal::new(SignalKind::LatenessMax, subject, summary.max_ms, latest.min(10.0), latest),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_where_they_were_measured() {
        let quality = |kind, measured| match kind {
            SignalKind::Canary => Signal::new(kind, "", measured, 1.0, 3.0).quality,
            _ => Signal::new(kind, "", measured, 0.0, 0.0).quality,
        };
        assert_eq!(quality(SignalKind::Canary, 1.0), Quality::Clean);
        assert_eq!(quality(SignalKind::Canary, 1.1), Quality::Warn);
        assert_eq!(quality(SignalKind::Canary, 3.1), Quality::Tainted);
        assert_eq!(quality(SignalKind::ForeignLosses, 1.0), Quality::Tainted);
        let wait = ThreadUse { wall_ms: 100.0, cpu_ms: 1.0, wait_ms: 6.0, turns: 10 };
        assert_eq!(run_queue("client", &wait).quality, Quality::Tainted);
    }

    #[test]
    fn the_canary_counts_and_ends() {
        let canary = Canary::start().unwrap();
        clock::sleep_until(clock::now() + 30_000_000);
        assert!(canary.stop().count() >= 1);
    }
}
