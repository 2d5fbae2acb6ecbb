//! CoDel: drop at the head when packets have waited too long for too long.
//!
//! Purpose: a queue that holds its standing delay near `target`, whatever the rate.
//!
//! Equations. A packet that leaves the queue after a wait of `target` or more marks the queue as above; when it has been above for
//! `interval` without a break, a packet is dropped, and while the state lasts the n-th drop comes `interval / sqrt(n)` after the one
//! before. A wait below `target`, or no more than one largest packet left behind, ends the state. When it begins again
//! within 16 intervals, n goes on from where it was, less the drops of the time before.
//!
//! Sources: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, RFC 8289 (section 5 for the state, 4.4 for the defaults).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | kernel: inverse square root by Newton steps in 16 or 32 bits | IEEE square root | drops up to 1e-4 of an interval apart |
//! | ECN marks instead of drops | drops | senders here do no ECN |
//! | RFC 8289: the state is per queue, time is that of the dequeue | the same; one packet is on the wire beside the queue | none |
//!
//! Random streams: none.

use super::{Item, QueueLimit, Room};
use std::collections::VecDeque;
use study_units::SimDuration;

study_tree::params! {
    /// Controlled delay: drops at the head when packets have waited too long.
    pub struct Codel {
        /// Standing delay that is tolerated, above 0 (RFC 8289: 5 ms).
        target: SimDuration = SimDuration::from_millis(5), in SimDuration::from_micros(1)..=SimDuration::from_secs(10);
        /// How long the delay may stay above it, about one round trip (RFC 8289: 100 ms).
        interval: SimDuration = SimDuration::from_millis(100), in SimDuration::from_micros(1)..=SimDuration::from_secs(100);
        /// Room of the queue (kernel: 1000 packets); the newcomer is dropped when there is none.
        limit: QueueLimit = QueueLimit::Packets(1_000);
    }
}

/// The control law's state, one per queue.
#[derive(Debug, Clone)]
pub(super) struct ControlLaw {
    target: u64,
    interval: u64,
    /// When the queue will have been above the target for an interval; 0 while it is below.
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    largest: u32,
}

/// Packets of one queue with their sum of bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Fifo {
    items: VecDeque<Item>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, item: Item) {
        self.bytes += u64::from(item.wire);
        self.items.push_back(item);
    }
    pub(super) fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= u64::from(item.wire);
        Some(item)
    }
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl ControlLaw {
    pub(super) const fn new(target: SimDuration, interval: SimDuration) -> Self {
        Self {
            target: target.as_nanos(),
            interval: interval.as_nanos(),
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            largest: 0,
        }
    }
    /// The head, and whether it has waited too long for too long.
    fn take(&mut self, now: u64, queue: &mut Fifo) -> Option<(Item, bool)> {
        let Some(item) = queue.pop() else {
            self.first_above = 0;
            return None;
        };
        self.largest = self.largest.max(item.wire);
        let above = now - item.at >= self.target && queue.bytes() > u64::from(self.largest);
        if !above {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now.saturating_add(self.interval);
        }
        Some((item, above && self.first_above <= now))
    }
    fn next_drop(&self, from: u64) -> u64 {
        from.saturating_add((self.interval as f64 / f64::from(self.count).sqrt()) as u64)
    }
    /// The packet that leaves at `now`; those dropped before it go to `dropped`.
    pub(super) fn dequeue(&mut self, now: u64, queue: &mut Fifo, dropped: &mut Vec<Item>) -> Option<Item> {
        let (mut item, mut late) = self.take(now, queue)?;
        if self.dropping {
            self.dropping = late;
            while self.dropping && now >= self.drop_next {
                dropped.push(item);
                self.count = self.count.saturating_add(1);
                let Some(next) = self.take(now, queue) else {
                    self.dropping = false;
                    return None;
                };
                (item, late) = next;
                self.dropping = late;
                self.drop_next = self.next_drop(self.drop_next);
            }
        } else if late {
            dropped.push(item);
            let next = self.take(now, queue);
            let more = self.count - self.last_count;
            let soon = now.saturating_sub(self.drop_next) < 16 * self.interval;
            self.count = if more > 1 && soon { more } else { 1 };
            self.drop_next = self.next_drop(now);
            self.last_count = self.count;
            self.dropping = true;
            item = next?.0;
        }
        Some(item)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CodelQueue {
    law: ControlLaw,
    queue: Fifo,
    room: Room,
}

impl CodelQueue {
    pub(super) fn new(params: &Codel) -> Self {
        Self {
            law: ControlLaw::new(params.target, params.interval),
            queue: Fifo::default(),
            room: Room::new(params.limit),
        }
    }
    pub(super) fn enqueue(&mut self, item: Item, on_wire: u32, dropped: &mut Vec<Item>) {
        if self.room.admits(self.queue.len(), self.queue.bytes(), on_wire, item.wire) {
            self.queue.push(item);
        } else {
            dropped.push(item);
        }
    }
    pub(super) fn dequeue(&mut self, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        self.law.dequeue(now, &mut self.queue, dropped)
    }
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    const MS: u64 = 1_000_000;

    fn item(at: u64) -> Item {
        Item { flow: 0, token: 0, wire: 1500, at, spike: 0, phase: Phase::Response }
    }

    #[test]
    fn drops_come_after_an_interval_and_then_by_the_inverse_square_root() {
        let mut law = ControlLaw::new(SimDuration::from_millis(5), SimDuration::from_millis(100));
        let (mut queue, mut drops) = (Fifo::default(), Vec::new());
        // A packet per ms leaves; all have waited 50 ms and more than one packet is left behind.
        queue.push(item(0));
        for t in 50..1000u64 {
            queue.push(item((t - 50) * MS));
            queue.push(item((t - 50) * MS));
            let mut dropped = Vec::new();
            law.dequeue(t * MS, &mut queue, &mut dropped);
            drops.extend(dropped.iter().map(|_| t));
        }
        // First above at 50 ms: entered at 150 ms, then intervals of 100/sqrt(1), 100/sqrt(2), ... rounded up to whole ms.
        let mut at = 150.0;
        let mut expected = vec![150];
        for n in 1.. {
            at += 100.0 / f64::from(n).sqrt();
            if at >= 1000.0 {
                break;
            }
            expected.push((at - 1e-4).ceil() as u64);
        }
        expected.retain(|t| *t < 1000);
        assert_eq!(drops, expected);
    }

    #[test]
    fn a_short_wait_or_a_single_packet_ends_the_state() {
        let mut law = ControlLaw::new(SimDuration::from_millis(5), SimDuration::from_millis(100));
        let (mut queue, mut dropped) = (Fifo::default(), Vec::new());
        for t in 0..400u64 {
            // Always one packet only, however long it has waited.
            queue.push(item(0));
            law.dequeue(t * MS, &mut queue, &mut dropped);
        }
        assert!(dropped.is_empty());
    }
}
