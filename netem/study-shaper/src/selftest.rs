//! A few seconds on a backend: how accurate it is on this machine now, and what rate it carries.
//!
//! Purpose: the figures that `study doctor` shows, measured as a trial would meet them: from outside of the model, over
//! sockets in the link's namespaces, with the machine's load beside them. A busy machine is said to be busy; its figures are
//! shown all the same.
//!
//! * Round trips: 200 probes from each end, 3 ms apart, over 50 ms and 50 Mbit/s; the error is measured minus expected (base
//!   delays and transmission), the worse end's.
//! * Rates: full packets at 1.05 times the link's rate towards the near end for 0.4 s; carried means within 1 % and nothing lost
//!   outside the model.
//! * Links at once: [`links_within_budget`], computed and not measured.
//!
//! Random streams: those of the links, which draw nothing here.

use crate::backend::Backend;
use crate::calibration::{CalibrationOptions, calibrate, slope};
use crate::child::{Children, self_test_in_child};
use crate::clock;
use crate::error::{At, ShaperError, Step, StepError};
use crate::histogram::Summary;
use crate::machine::{Ticks, cores};
use crate::rig::{Link, Rig, RigOptions};
use crate::timing::{Quality, Signal, TimingWatch};
use crate::topology::{End, Topology};
use serde::{Deserialize, Serialize};
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use study_ident::SeedPath;
use study_link::{DirectionParams, LinkParams, Queue, QueueLimit, Rate};
use study_units::{BitRate, SimDuration};

/// One-way delay of the link whose round trips are measured, ms.
const ONE_WAY_MS: u64 = 25;
/// Rates that are tried, Mbit/s.
const RATES: [u64; 3] = [10, 50, 100];
/// How long each is tried, ns.
const STREAM_NS: u64 = 400_000_000;
/// How far off a carried rate may be, as a share.
const RATE_TOLERANCE: f64 = 0.01;
/// IP and UDP headers, bytes.
const HEADERS: usize = 28;
/// Packets per second that a core carries with accurate timing (measured on two cores: relay and stacks together).
const PACKETS_PER_CORE: u64 = 12_000;
/// Links that a core carries at most, however slow they are.
const LINKS_PER_CORE: u64 = 10;
/// Above this share of all processors, other programs make the machine busy.
const OTHERS_BUSY: f64 = 0.25;
/// Above this share, stolen time makes it busy: the taint threshold of [`crate::SignalKind::Steal`].
const STEAL_BUSY: f64 = 0.03;

study_tree::choices! {
    /// Whether the machine was quiet while it was tested.
    pub enum Verdict {
        /// The figures are those of the backend.
        Quiet = "quiet",
        /// Others were at work: the figures are worse than the backend's own.
        Busy = "busy",
    }
}

/// How far round trips are from what the link definition says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTripError {
    /// What a round trip should take, ms.
    pub expected_ms: f64,
    /// Probes sent, both ends together.
    pub sent: u32,
    /// Probes that came back.
    pub answered: u32,
    /// Median minus expected, the worse end's, ms.
    pub p50_ms: f64,
    /// 99th percentile minus expected, the worse end's, ms.
    pub p99_ms: f64,
}

/// A rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CarriedRate {
    /// What the link was set to, Mbit/s.
    pub asked_mbit_s: f64,
    /// What arrived, Mbit/s; `None` when too little did.
    pub measured_mbit_s: Option<f64>,
    /// Whether that is within 1 % and nothing was lost outside the model.
    pub carried: bool,
    /// Packets lost outside the model.
    pub foreign_losses: u64,
    /// Share of a core that the relay took, 0 to 1.
    pub relay_cpu: f64,
    /// How late packets were handed over.
    pub lateness: Summary,
}

/// What the machine did meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Meanwhile {
    /// Share of all processors that other programs took, 0 to 1.
    pub others: f64,
    /// Share of time that the hypervisor took away, 0 to 1.
    pub steal: f64,
}

/// A self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// What was tested.
    pub backend: Backend,
    /// How long it took, s.
    pub seconds: f64,
    /// Set-up of two nodes and a link, ms.
    pub setup_ms: f64,
    /// Round trips.
    pub round_trips: RoundTripError,
    /// How late packets of the round trips were handed over, the worse direction's.
    pub lateness: Summary,
    /// Rates, in rising order.
    pub rates: Vec<CarriedRate>,
    /// The highest rate up to which all were carried, Mbit/s; `None` when not even the lowest was.
    pub highest_carried_mbit_s: Option<f64>,
    /// Links of 10 Mbit/s at once, by the packet budget.
    pub links_of_10_mbit_s: u64,
    /// What the machine did meanwhile.
    pub meanwhile: Meanwhile,
    /// The verdict on the machine.
    pub verdict: Verdict,
    /// What was worse than on a quiet machine while round trips were measured.
    pub complaints: Vec<Signal>,
}

/// Links of one rate that may work at once: the sum of full packets in both directions, half as many for acknowledgements,
/// stays within 12,000 per second and core, and there are at most 10 per core.
#[must_use]
pub fn links_within_budget(rate: BitRate, cores: u32) -> u64 {
    // A full packet has 12,000 bits; thousandths of a packet keep slow links exact enough.
    let thousandths = rate.bits_per_second().saturating_mul(3).div_ceil(24).max(1);
    (PACKETS_PER_CORE * 1_000 * u64::from(cores) / thousandths).min(LINKS_PER_CORE * u64::from(cores))
}

impl SelfTest {
    /// Tests a backend in a child process, about 5 s. Nothing of it outlives the calling thread.
    ///
    /// # Errors
    /// The step that failed.
    pub fn run(backend: Backend, children: &Children) -> Result<Self, StepError> {
        self_test_in_child(backend, children)
    }

    /// The test itself, in a process that may make namespaces.
    pub(crate) fn measure(backend: Backend, tun_node: &Path) -> Result<Self, ShaperError> {
        let (began, ticks, own) = (clock::now(), Ticks::read(), own_ticks());
        let trips = round_trips(backend, tun_node)?;
        let rates = RATES.iter().map(|&mbit| rate(backend, tun_node, mbit)).collect::<Result<Vec<_>, _>>()?;
        let meanwhile = meanwhile(Ticks::read().since(ticks), own_ticks().saturating_sub(own));
        let busy = trips.quality == Quality::Tainted || meanwhile.others > OTHERS_BUSY || meanwhile.steal > STEAL_BUSY;
        let carried = rates.iter().take_while(|rate| rate.carried).last();
        Ok(Self {
            backend,
            seconds: clock::now().saturating_sub(began) as f64 / 1e9,
            setup_ms: trips.setup.as_secs_f64() * 1e3,
            round_trips: trips.error,
            lateness: trips.lateness,
            highest_carried_mbit_s: carried.map(|rate| rate.asked_mbit_s),
            rates,
            links_of_10_mbit_s: links_within_budget(BitRate::from_bits_per_second(10_000_000), cores()),
            meanwhile,
            verdict: if busy { Verdict::Busy } else { Verdict::Quiet },
            complaints: trips.complaints,
        })
    }
}

/// Two nodes and an open link, the same both ways.
fn pair(backend: Backend, tun_node: &Path, one_way_ms: u64, mbit: u64) -> Result<Rig, ShaperError> {
    let rate = Rate::Constant(BitRate::from_bits_per_second(mbit * 1_000_000));
    let mut way = DirectionParams::plain(SimDuration::from_millis(one_way_ms), rate);
    way.queue = Queue::DropTail(QueueLimit::Packets(1_000));
    let params = LinkParams { down: way.clone(), up: way };
    let topology = Topology::chain(&["near", "far"], vec![params], SeedPath::root(0))?;
    let options = RigOptions { tun_node: tun_node.to_owned(), ..RigOptions::default() };
    let rig = Rig::build(&topology, backend, &options)?;
    rig.links()[0].start();
    Ok(rig)
}

struct Trips {
    setup: Duration,
    error: RoundTripError,
    lateness: Summary,
    quality: Quality,
    complaints: Vec<Signal>,
}

fn round_trips(backend: Backend, tun_node: &Path) -> Result<Trips, ShaperError> {
    let rig = pair(backend, tun_node, ONE_WAY_MS, 50)?;
    let link = &rig.links()[0];
    let watch = TimingWatch::begin(&rig)?;
    let options = CalibrationOptions { probes: 200, every: Duration::from_millis(3), burst: 0 };
    let found = calibrate(&rig, link, &options)?;
    let record = link.record();
    let timing = watch.end(&rig, std::slice::from_ref(&record), &[]);
    let ends = [found.from_near, found.from_far];
    let worse = |figure: fn(&Summary) -> f64| {
        let off = ends.iter().map(|trips| figure(&trips.rtt) - found.expected_rtt_ms);
        off.fold(0.0_f64, |worst, off| if off.abs() > worst.abs() { off } else { worst })
    };
    let error = RoundTripError {
        expected_ms: found.expected_rtt_ms,
        sent: ends.iter().map(|trips| trips.sent).sum(),
        answered: ends.iter().map(|trips| trips.answered).sum(),
        p50_ms: worse(|rtt| rtt.p50_ms),
        p99_ms: worse(|rtt| rtt.p99_ms),
    };
    let (down, up) = (record.down.lateness, record.up.lateness);
    let lateness = if down.p99_ms > up.p99_ms { down } else { up };
    let complaints = timing.complaints().into_iter().cloned().collect();
    Ok(Trips { setup: rig.setup(), error, lateness, quality: timing.quality, complaints })
}

fn rate(backend: Backend, tun_node: &Path, mbit: u64) -> Result<CarriedRate, ShaperError> {
    let rig = pair(backend, tun_node, 1, mbit)?;
    let link = &rig.links()[0];
    let arrivals = stream(&rig, link, 1.05 * mbit as f64)?;
    let record = link.record();
    let bits = 8.0 * f64::from(link.mtu());
    let measured = slope(&arrivals).map(|packets| packets * bits / 1e6);
    let asked = mbit as f64;
    let near = measured.is_some_and(|measured| (measured / asked - 1.0).abs() <= RATE_TOLERANCE);
    let foreign_losses = record.foreign_losses();
    Ok(CarriedRate {
        asked_mbit_s: asked,
        measured_mbit_s: measured,
        carried: near && foreign_losses == 0,
        foreign_losses,
        relay_cpu: record.relay.cpu_share(),
        lateness: record.down.lateness,
    })
}

fn socket(rig: &Rig, link: &Link, end: End) -> Result<UdpSocket, ShaperError> {
    let node = if end == End::Near { &link.spec().near } else { &link.spec().far };
    rig.run_in(node, || UdpSocket::bind((link.address(end), 0)).at(Step::FirstPacket, "bind"))
}

/// Sends full packets at this rate towards the near end: when each arrived, ns.
fn stream(rig: &Rig, link: &Link, mbit: f64) -> Result<Vec<u64>, ShaperError> {
    let (sender, receiver) = (socket(rig, link, End::Far)?, socket(rig, link, End::Near)?);
    let target = receiver.local_addr().at(Step::FirstPacket, "address")?;
    receiver.set_read_timeout(Some(Duration::from_millis(200))).at(Step::FirstPacket, "time-out")?;
    let payload = vec![0; link.mtu() as usize - HEADERS];
    let per_ns = mbit / 8e3 / f64::from(link.mtu());
    std::thread::scope(|scope| {
        let arrivals = scope.spawn(|| {
            let (mut times, mut buffer) = (Vec::new(), [0; 2_048]);
            while receiver.recv(&mut buffer).is_ok() {
                times.push(clock::now());
            }
            times
        });
        let (began, mut sent) = (clock::now(), 0_u64);
        loop {
            let passed = clock::now().saturating_sub(began);
            if passed >= STREAM_NS {
                break;
            }
            while sent < (passed as f64 * per_ns) as u64 {
                sender.send_to(&payload, target).at(Step::FirstPacket, "send")?;
                sent += 1;
            }
            clock::sleep_until(began + passed + 500_000);
        }
        Ok(arrivals.join().unwrap_or_default())
    })
}

/// Ticks of a processor that this process has taken: fields 14 and 15 of its `stat` (proc_pid_stat(5)).
fn own_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn meanwhile(span: Ticks, own: u64) -> Meanwhile {
    let own = if span.all == 0 { 0.0 } else { own as f64 / span.all as f64 };
    Meanwhile { others: (span.busy_share() - own).max(0.0), steal: span.stolen_share() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_counts_packets_and_links() {
        let links = |mbit: u64, cores| links_within_budget(BitRate::from_bits_per_second(mbit * 1_000_000), cores);
        assert_eq!(links(10, 2), 19, "1,250 packets per second each, of 24,000");
        assert_eq!(links(100, 2), 1);
        assert_eq!(links(1, 2), 20, "never more than 10 per core");
        assert_eq!(links(1_000, 1), 0);
        assert_eq!(links(0, 1), 10);
    }

    #[test]
    fn what_this_process_takes_is_nobody_elses() {
        let span = Ticks { all: 200, idle: 100, stolen: 20 };
        let found = meanwhile(span, 30);
        assert!((found.others - 0.25).abs() < 1e-12 && (found.steal - 0.1).abs() < 1e-12, "{found:?}");
        assert_eq!(meanwhile(span, 500).others, 0.0);
    }
}
