//! One direction of a relayed link: the model, the packets on the way, and the record.

use crate::clock;
use crate::histogram::Histogram;
use crate::phase;
use crate::port::Port;
use crate::record::{DirectionRecord, LossBits, Losses, RealisedLoss};
use crate::topology::LinkSpec;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use study_link::{Channel, LinkCounters, Verdict, Way};
use study_units::SimTime;

/// Spent packet buffers that are kept for the next packets.
const POOL: usize = 1_024;
/// Packets whose delay by the model is remembered, the first: those of a calibration.
const REMEMBERED: u64 = 256;

/// A packet that is on the way.
#[derive(Debug)]
struct Due {
    /// When it arrives, ns of model time.
    at: u64,
    index: u64,
    bytes: Vec<u8>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.index) == (other.at, other.index)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.index).cmp(&(other.at, other.index))
    }
}

/// The state of a direction since its indices were reset.
#[derive(Debug)]
pub(crate) struct WayState {
    way: Way,
    mtu: u32,
    channel: Channel,
    due: BinaryHeap<Reverse<Due>>,
    /// Packets whose fate the queue decides later.
    waiting: BTreeMap<u64, Vec<u8>>,
    pool: Vec<Vec<u8>>,
    seen: Seen,
    lateness: Histogram,
    header: usize,
    /// Delay by the model of the first packets by index, ns; `None`: lost, or known only later.
    delays: Vec<Option<u64>>,
}

/// What is counted here; the rest is in the model's counters.
#[derive(Debug, Default)]
struct Seen {
    bits: LossBits,
    bytes: u64,
    delivered: u64,
    delivered_bytes: u64,
    largest: u32,
    oversized: u64,
    highest: Option<u64>,
    reordered: u64,
    write_errors: u64,
    last_errno: i32,
    ignored: u64,
}

impl WayState {
    pub(crate) fn new(spec: &LinkSpec, way: Way, mtu: u32) -> Self {
        Self {
            way,
            mtu,
            channel: Channel::new(spec.params.way(way), spec.seed.child(way.name())),
            due: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            pool: Vec::new(),
            seen: Seen::default(),
            lateness: Histogram::default(),
            header: 0,
            delays: Vec::new(),
        }
    }
    /// Takes a packet in at `now` (ns of model time); `header` bytes before its IP header are not the link's business.
    pub(crate) fn accept(&mut self, now: u64, bytes: &[u8], header: usize) {
        let packet = bytes.get(header..).unwrap_or_default();
        if packet.first().is_none_or(|first| first >> 4 != 4) {
            self.seen.ignored += 1;
            return;
        }
        self.header = header;
        let (index, length) = (self.seen.bits.len(), packet.len() as u32);
        self.seen.bits.push();
        self.seen.bytes += u64::from(length);
        self.seen.largest = self.seen.largest.max(length);
        self.seen.oversized += u64::from(length > self.mtu);
        let mut buffer = self.pool.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        let verdict = self.channel.offer(SimTime::from_nanos(now), 0, length, phase::of(packet, self.way), index);
        if index < REMEMBERED {
            self.delays.push(match verdict {
                Some(Verdict::Deliver(at)) => Some(at.as_nanos().saturating_sub(now)),
                _ => None,
            });
        }
        match verdict {
            Some(verdict) => self.decided(index, verdict, buffer),
            None => drop(self.waiting.insert(index, buffer)),
        }
        self.decide(now);
    }
    fn decided(&mut self, index: u64, verdict: Verdict, bytes: Vec<u8>) {
        match verdict {
            Verdict::Deliver(at) => {
                self.due.push(Reverse(Due { at: at.as_nanos(), index, bytes }));
                return;
            }
            Verdict::LostRandom => self.seen.bits.set(index),
            Verdict::LostOutage | Verdict::DroppedQueue | Verdict::DroppedPolicer => {}
        }
        self.recycle(bytes);
    }
    /// Asks the queue for fates that are known by now.
    fn decide(&mut self, now: u64) {
        while let Some(fate) = self.channel.pop(SimTime::from_nanos(now)) {
            if let Some(bytes) = self.waiting.remove(&fate.token) {
                self.decided(fate.token, fate.verdict, bytes);
            }
        }
    }
    fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.pool.len() < POOL {
            bytes.clear();
            self.pool.push(bytes);
        }
    }
    /// Hands over what is due at `now` (model time; `epoch` is its zero on the clock).
    pub(crate) fn release(&mut self, now: u64, epoch: u64, to: &Port) {
        self.decide(now);
        while self.due.peek().is_some_and(|Reverse(first)| first.at <= now) {
            let Some(Reverse(due)) = self.due.pop() else { return };
            let sent = to.send(&due.bytes);
            self.lateness.add((clock::now() - epoch).saturating_sub(due.at));
            match sent {
                Ok(()) => {
                    self.seen.delivered += 1;
                    self.seen.delivered_bytes += (due.bytes.len() - self.header) as u64;
                    self.seen.reordered += u64::from(self.seen.highest.is_some_and(|highest| due.index < highest));
                    self.seen.highest = self.seen.highest.max(Some(due.index));
                }
                Err(errno) => {
                    self.seen.write_errors += 1;
                    self.seen.last_errno = errno as i32;
                }
            }
            self.recycle(due.bytes);
        }
    }
    /// Delay by the model of the first packets by index, ns; `None`: lost, or known only later.
    pub(crate) fn delays(&self) -> &[Option<u64>] {
        &self.delays
    }
    /// When something is to do next, ns of model time; the largest number when never.
    pub(crate) fn next_event(&self) -> u64 {
        let due = self.due.peek().map_or(u64::MAX, |Reverse(first)| first.at);
        due.min(self.channel.next_event().as_nanos())
    }
    /// What the direction has done so far.
    pub(crate) fn record(&self) -> DirectionRecord {
        let (counters, seen) = (self.channel.counters(), &self.seen);
        DirectionRecord {
            packets: seen.bits.len(),
            bytes: seen.bytes,
            delivered: seen.delivered,
            delivered_bytes: seen.delivered_bytes,
            losses: losses(&counters),
            realised: RealisedLoss {
                per_packet: counters.random_loss_per_packet(),
                per_byte: counters.random_loss_per_byte(),
                per_ms: counters.random_losses_per_ms(),
            },
            loss_digest: seen.bits.digest(u64::MAX),
            loss_bits: seen.bits.clone(),
            in_flight: (self.due.len() + self.waiting.len()) as u64,
            lateness: self.lateness.summary(),
            lateness_histogram: self.lateness.clone(),
            largest_frame: seen.largest,
            oversized: seen.oversized,
            reordered: seen.reordered,
            write_errors: seen.write_errors,
            last_write_errno: seen.last_errno,
            ignored: seen.ignored,
        }
    }
}

const fn losses(counters: &LinkCounters) -> Losses {
    Losses {
        random: counters.lost_random,
        queue: counters.lost_queue,
        policer: counters.lost_policer,
        outage: counters.lost_outage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_ident::SeedPath;
    use study_link::{DirectionParams, LinkParams, Rate};
    use study_units::SimDuration;

    #[test]
    fn what_is_not_ipv4_gets_no_index_and_what_stands_before_a_packet_is_not_counted() {
        let way = DirectionParams::plain(SimDuration::from_millis(3), Rate::Unlimited);
        let params = LinkParams { down: way.clone(), up: way };
        let (name, near, far) = ("l".to_owned(), "a".to_owned(), "b".to_owned());
        let spec = LinkSpec { name, near, far, params, seed: SeedPath::root(1) };
        let mut state = WayState::new(&spec, Way::Up, 1500);
        for packet in [&[0x60; 40][..], &[], &[0, 0, 0x60, 0]] {
            state.accept(1, packet, 0);
        }
        let mut packet = vec![0; 24 + 1_600];
        packet[24] = 0x45;
        state.accept(2, &packet, 24);
        let record = state.record();
        assert_eq!((record.ignored, record.packets, record.bytes, record.largest_frame), (3, 1, 1_600, 1_600));
        assert_eq!((record.oversized, record.in_flight, state.next_event()), (1, 1, 3_000_002));
    }
}
