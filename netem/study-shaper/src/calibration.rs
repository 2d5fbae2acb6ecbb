//! What a link really does, measured before a trial from outside of the model: round trips both ways, rate, losses.
//!
//! The link is open and at index 0 when a calibration begins; the packets of the calibration meet the same model as those of
//! the trial. Call [`Link::reset_indices`] afterwards.

use crate::clock;
use crate::error::{At, ShaperError, Step, StepError};
use crate::histogram::Summary;
use crate::rig::{Link, Rig};
use crate::topology::End;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study_link::{DirectionParams, Outages, Rate, Way};

/// IP and UDP headers, bytes.
const HEADERS: u64 = 28;
/// Smallest UDP payload of a probe, bytes: a number and a time.
const PAYLOAD: usize = 64;
/// Packets of a direction that the relay has seen before a series of probes, and how long the model let each take.
type Scheduled = Vec<Option<u64>>;
/// How long after the last arrival a burst is over.
const SILENCE: Duration = Duration::from_millis(250);

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalibrationOptions {
    /// Probes in each direction, at least 20.
    pub probes: u32,
    /// Time between two probes.
    pub every: Duration,
    /// Full packets of a burst in each direction, 0 for none; those that find the queue full do not count.
    pub burst: u32,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self { probes: 20, every: Duration::from_millis(2), burst: 0 }
    }
}

/// Round trips begun at one end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Probes sent.
    pub sent: u32,
    /// Probes that came back.
    pub answered: u32,
    /// Their times, ms.
    pub rtt: Summary,
    /// Smallest time, ms.
    pub min_ms: f64,
    /// Median over the probes of how much longer they took than the model let their packets take, ms: what the machine adds. `None`
    /// when the model's delays are not known at once, as behind CoDel.
    pub added_ms: Option<f64>,
}

/// The rate of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRate {
    /// Packets that arrived.
    pub packets: u32,
    /// What the model is set to, bit/s.
    pub expected: f64,
    /// What was measured, bit/s, link overhead included: the median over halves of the burst. Packets that the loss process
    /// takes after their transmission are missing in it.
    pub measured: f64,
}

/// What a link was measured to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Name of the link.
    pub link: String,
    /// What a round trip should take: base delays, transmission, mean jitter, ms.
    pub expected_rtt_ms: f64,
    /// Whether every round trip should take that: no jitter, no delay that changes, nothing that repairs or shapes.
    pub steady: bool,
    /// Round trips begun at the near end.
    pub from_near: RoundTrips,
    /// Round trips begun at the far end.
    pub from_far: RoundTrips,
    /// Towards the near end; `None` when not asked for or without a constant rate.
    pub rate_down: Option<MeasuredRate>,
    /// From the near end.
    pub rate_up: Option<MeasuredRate>,
    /// Packets and random losses of the calibration itself, down and up, from the loss bits.
    pub losses: [(u64, u64); 2],
}

impl Calibration {
    /// How far round trips are off, the larger of both ends' medians, ms. Each probe is compared with what the model let its own two
    /// packets take, so that jitter is no error; on a steady link also with the definition.
    #[must_use]
    pub fn rtt_error_ms(&self) -> f64 {
        let from_definition = |trips: &RoundTrips| (trips.rtt.p50_ms - self.expected_rtt_ms).abs();
        let off = |trips: &RoundTrips| match trips.added_ms {
            Some(added) if self.steady => added.abs().max(from_definition(trips)),
            Some(added) => added.abs(),
            None => from_definition(trips),
        };
        off(&self.from_near).max(off(&self.from_far))
    }
    /// How far off the round trip may be: the larger of 1 ms and 2 %.
    #[must_use]
    pub fn rtt_tolerance_ms(&self) -> f64 {
        (0.02 * self.expected_rtt_ms).max(1.0)
    }
    /// Whether the round trip is what the link definition says.
    #[must_use]
    pub fn rtt_holds(&self) -> bool {
        self.rtt_error_ms() <= self.rtt_tolerance_ms()
    }
}

/// Transmission of a probe, ms.
fn transmission(way: &DirectionParams) -> f64 {
    let wire = PAYLOAD as u64 + HEADERS + way.overhead.get();
    way.mean_rate().map_or(0.0, |rate| rate.serialization(wire).as_millis_f64())
}

fn expected_rtt(link: &Link) -> f64 {
    let params = &link.spec().params;
    params.mean_rtt().as_millis_f64() + transmission(&params.down) + transmission(&params.up)
}

fn is_steady(way: &DirectionParams) -> bool {
    let changes = way.jitter.is_some() || way.extra_delay.is_some() || way.outages != Outages::None;
    !changes && way.arq.is_none() && way.shaper.is_none() && matches!(way.rate, Rate::Constant(_) | Rate::Unlimited)
}

/// Measures an open link.
///
/// # Errors
/// When sockets cannot be made, or not a single probe of a direction is answered.
pub fn calibrate(rig: &Rig, link: &Link, options: &CalibrationOptions) -> Result<Calibration, ShaperError> {
    let from_near = round_trips(rig, link, End::Near, options)?;
    let from_far = round_trips(rig, link, End::Far, options)?;
    let (rate_down, rate_up) = match options.burst {
        0 => (None, None),
        packets => (rate(rig, link, Way::Down, packets)?, rate(rig, link, Way::Up, packets)?),
    };
    let record = link.record();
    Ok(Calibration {
        link: link.spec().name.clone(),
        expected_rtt_ms: expected_rtt(link),
        steady: Way::ALL.iter().all(|way| is_steady(link.spec().params.way(*way))),
        from_near,
        from_far,
        rate_down,
        rate_up,
        losses: [&record.down, &record.up].map(|way| (way.packets, way.losses.random)),
    })
}

/// A UDP socket at an end of a link.
fn socket(rig: &Rig, link: &Link, end: End) -> Result<UdpSocket, ShaperError> {
    let node = match end {
        End::Near => &link.spec().near,
        End::Far => &link.spec().far,
    };
    rig.run_in(node, || UdpSocket::bind((link.address(end), 0)).at(Step::FirstPacket, "bind"))
}

const fn other(end: End) -> End {
    match end {
        End::Near => End::Far,
        End::Far => End::Near,
    }
}

fn round_trips(rig: &Rig, link: &Link, from: End, options: &CalibrationOptions) -> Result<RoundTrips, ShaperError> {
    let (asker, echo) = (socket(rig, link, from)?, socket(rig, link, other(from))?);
    let target = echo.local_addr().at(Step::FirstPacket, "address")?;
    let probes = options.probes.max(20);
    // Everything that can come back has come back by then: twice the round trip and some.
    let patience = Duration::from_nanos(2 * link.spec().params.mean_rtt().as_nanos()) + SILENCE;
    let done = AtomicBool::new(false);
    let (out, back) = match from {
        End::Near => (Way::Up, Way::Down),
        End::Far => (Way::Down, Way::Up),
    };
    let before = link.record();
    let seen = |way: Way| if way == Way::Up { before.up.packets } else { before.down.packets } as usize;
    let answers = std::thread::scope(|scope| {
        scope.spawn(|| echo_until(&echo, &done));
        let receiver = scope.spawn(|| collect(&asker, probes, patience + options.every * probes));
        let sent = ask(&asker, target, probes, options.every);
        let answers = receiver.join().unwrap_or_default();
        done.store(true, Ordering::Release);
        sent.map(|()| answers)
    })?;
    if answers.is_empty() {
        return Err(ShaperError::Unanswered { link: link.spec().name.clone(), sent: probes, answered: 0 });
    }
    let added_ms = added(&answers, [(&link.scheduled(out), seen(out)), (&link.scheduled(back), seen(back))]);
    let mut times: Vec<u64> = answers.iter().map(|answer| answer.took).collect();
    let rtt = Summary::of(&mut times);
    Ok(RoundTrips { sent: probes, answered: times.len() as u32, rtt, min_ms: times[0] as f64 / 1e6, added_ms })
}

/// A probe that came back.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// Its round trip, ns.
    took: u64,
    /// Number of the probe.
    probe: usize,
    /// Number of its echo.
    echo: usize,
}

/// The median of what the probes took above the model's delays of their packets, ms.
fn added(answers: &[Answer], [(out, asked), (back, echoed)]: [(&Scheduled, usize); 2]) -> Option<f64> {
    let of = |delays: &Scheduled, index: usize| delays.get(index).copied().flatten();
    let mut above: Vec<f64> = answers
        .iter()
        .filter_map(|a| Some((a.took, of(out, asked + a.probe)? + of(back, echoed + a.echo)?)))
        .map(|(took, model)| (took as f64 - model as f64) / 1e6)
        .collect();
    above.sort_by(f64::total_cmp);
    above.get(above.len() / 2).copied()
}

fn ask(socket: &UdpSocket, target: SocketAddr, probes: u32, every: Duration) -> Result<(), StepError> {
    let began = clock::now();
    for i in 0..u64::from(probes) {
        clock::sleep_until(began + i * every.as_nanos() as u64);
        let mut payload = [0; PAYLOAD];
        payload[8..16].copy_from_slice(&i.to_le_bytes());
        payload[..8].copy_from_slice(&clock::now().to_le_bytes());
        socket.send_to(&payload, target).at(Step::FirstPacket, "send")?;
    }
    Ok(())
}

fn echo_until(socket: &UdpSocket, done: &AtomicBool) {
    let mut buffer = [0; 2048];
    if socket.set_read_timeout(Some(Duration::from_millis(20))).is_err() {
        return;
    }
    let mut echoes: u64 = 0;
    while !done.load(Ordering::Acquire) {
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            buffer[16..24].copy_from_slice(&echoes.to_le_bytes());
            echoes += u64::from(socket.send_to(&buffer[..length], from).is_ok());
        }
    }
}

/// Receives up to so many answers.
fn collect(socket: &UdpSocket, probes: u32, patience: Duration) -> Vec<Answer> {
    let mut answers = Vec::new();
    let until = clock::now() + patience.as_nanos() as u64;
    let mut buffer = [0; 2048];
    let number = |bytes: &[u8], at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    while answers.len() < probes as usize {
        let left = until.saturating_sub(clock::now());
        if left == 0 || socket.set_read_timeout(Some(Duration::from_nanos(left.max(1_000)))).is_err() {
            break;
        }
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let now = clock::now();
        let heard = &buffer[..length];
        if let (Some(sent), Some(probe), Some(echo)) = (number(heard, 0), number(heard, 8), number(heard, 16)) {
            answers.push(Answer { took: now.saturating_sub(sent), probe: probe as usize, echo: echo as usize });
        }
    }
    answers
}

/// Sends full packets all at once and looks how far apart they arrive.
fn rate(rig: &Rig, link: &Link, way: Way, packets: u32) -> Result<Option<MeasuredRate>, ShaperError> {
    let params = link.spec().params.way(way);
    let Some(expected) = params.mean_rate() else { return Ok(None) };
    let (from, to) = match way {
        Way::Up => (End::Near, End::Far),
        Way::Down => (End::Far, End::Near),
    };
    let (sender, receiver) = (socket(rig, link, from)?, socket(rig, link, to)?);
    let target = receiver.local_addr().at(Step::FirstPacket, "address")?;
    let patience = Duration::from_nanos(params.mean_delay().as_nanos()) + SILENCE;
    let size = link.mtu() as usize - HEADERS as usize;
    let arrivals = std::thread::scope(|scope| {
        let arrivals = scope.spawn(|| arrivals(&receiver, packets, patience));
        let payload = vec![0; size];
        for _ in 0..packets {
            sender.send_to(&payload, target).at(Step::FirstPacket, "send")?;
        }
        Ok::<_, StepError>(arrivals.join().unwrap_or_default())
    })?;
    let wire = u64::from(link.mtu()) + params.overhead.get();
    let Some(measured) = slope(&arrivals).map(|packets_per_second| 8.0 * wire as f64 * packets_per_second) else {
        return Ok(None);
    };
    Ok(Some(MeasuredRate { packets: arrivals.len() as u32, expected: expected.bits_per_second() as f64, measured }))
}

/// Packets per second of a steady arrival, from the median time that half of the packets take: a few that were received late
/// do not matter. `None` with fewer than four arrivals or none apart.
#[must_use]
pub fn slope(arrivals: &[u64]) -> Option<f64> {
    let half = arrivals.len() / 2;
    if half < 2 {
        return None;
    }
    let mut spans: Vec<u64> =
        arrivals.iter().zip(&arrivals[half..]).map(|(first, last)| last.saturating_sub(*first)).collect();
    spans.sort_unstable();
    let span = spans[spans.len() / 2];
    (span > 0).then(|| half as f64 * 1e9 / span as f64)
}

fn arrivals(socket: &UdpSocket, packets: u32, patience: Duration) -> Vec<u64> {
    let mut times = Vec::new();
    let mut buffer = [0; 65_536];
    if socket.set_read_timeout(Some(patience)).is_err() {
        return times;
    }
    while times.len() < packets as usize && socket.recv(&mut buffer).is_ok() {
        times.push(clock::now());
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_compared_with_what_the_model_let_its_own_packets_take() {
        let ms = |x: u64| x * 1_000_000;
        let out: Scheduled = vec![None, Some(ms(10)), Some(ms(30)), None, Some(ms(12))];
        let back: Scheduled = vec![Some(ms(5)), Some(ms(9)), Some(ms(7))];
        // The first packet of `out` was there before; probe 2 was lost; the echoes of 0, 1 and 3 left in that order.
        let answers =
            [(15, 0, 0), (40, 1, 1), (19, 3, 2)].map(|(took, probe, echo)| Answer { took: ms(took), probe, echo });
        assert_eq!(added(&answers, [(&out, 1), (&back, 0)]), Some(0.0));
        assert_eq!(added(&answers[1..2], [(&out, 1), (&back, 0)]), Some(1.0));
        assert_eq!(added(&answers, [(&vec![None; 5], 1), (&back, 0)]), None);
    }

    #[test]
    fn a_late_first_arrival_does_not_change_the_rate() {
        let mut arrivals: Vec<u64> = (0..80).map(|i| i * 600_000).collect();
        (arrivals[0], arrivals[79]) = (900_000, 79 * 600_000 + 2_000_000);
        assert_eq!(slope(&arrivals), Some(1e9 / 600_000.0));
        assert_eq!((slope(&arrivals[..3]), slope(&[5; 8])), (None, None));
    }
}
