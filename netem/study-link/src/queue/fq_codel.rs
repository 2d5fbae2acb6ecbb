//! FQ-CoDel: a queue per flow, served in turn by bytes, each under CoDel.
//!
//! Purpose: flows that share a bottleneck without one filling the other's queue; a flow that sends little hardly waits.
//!
//! How it works. A flow's packets go to queue `hash(flow) mod flows`. A queue that was idle enters the list of new queues with a
//! credit of `quantum` bytes. The next packet comes from the first new queue, else from the first old one; a queue without
//! credit gets a quantum and goes to the end of the old ones. A new queue that runs empty becomes old once (so that it
//! cannot jump the line for ever), an old one leaves the lists. When more than `limit` packets are queued, half of the packets
//! (at most 64) of the queue with the most bytes are dropped from its head.
//!
//! Sources: T. Hoeiland-Joergensen et al., RFC 8290 (sections 4.1 and 4.2); deficit round robin: Shreedhar and Varghese, SIGCOMM 1995.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | hash of the five-tuple with a random key | of the flow number (SplitMix64, no key) | which flows collide is the same in every run |
//! | kernel limits bytes of memory too (32 MB) | packets only | none at usual limits |
//!
//! Random streams: none.

use super::Item;
use super::codel::{ControlLaw, Fifo};
use std::collections::VecDeque;
use study_units::{Bytes, SimDuration};

study_tree::params! {
    /// A queue per flow, served in turn, each under controlled delay.
    pub struct FqCodel {
        /// Standing delay that is tolerated per queue, above 0 (RFC 8290: 5 ms).
        target: SimDuration = SimDuration::from_millis(5), in SimDuration::from_micros(1)..=SimDuration::from_secs(10);
        /// How long the delay may stay above it, about one round trip (RFC 8290: 100 ms).
        interval: SimDuration = SimDuration::from_millis(100), in SimDuration::from_micros(1)..=SimDuration::from_secs(100);
        /// Bytes that a queue may send in its turn (RFC 8290: 1514 B).
        quantum: Bytes = Bytes::new(1_514), in Bytes::new(1)..=Bytes::new(1 << 24);
        /// Number of queues (RFC 8290: 1024).
        flows: u32 = 1_024, in 1..=65_536;
        /// Packets in all queues together (RFC 8290: 10240), at least 1.
        limit: u32 = 10_240, in 1..=10_000_000;
    }
}

/// Most packets dropped at once from the fattest queue.
const DROP_BATCH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    Idle,
    New,
    Old,
}

#[derive(Debug, Clone)]
struct FlowQueue {
    fifo: Fifo,
    law: ControlLaw,
    credit: i64,
    listed: Listed,
}

#[derive(Debug, Clone)]
pub(crate) struct FqCodelQueue {
    params: FqCodel,
    /// Number of the bucket and its queue, made when the first packet of it comes.
    buckets: Vec<(u64, FlowQueue)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
}

/// SplitMix64's finaliser.
const fn hash(flow: u32) -> u64 {
    let x = (flow as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl FqCodelQueue {
    pub(super) fn new(params: &FqCodel) -> Self {
        Self { params: params.clone(), buckets: Vec::new(), new: VecDeque::new(), old: VecDeque::new(), packets: 0 }
    }
    fn bucket(&mut self, flow: u32) -> usize {
        let number = hash(flow) % u64::from(self.params.flows);
        self.buckets.iter().position(|(n, _)| *n == number).unwrap_or_else(|| {
            let law = ControlLaw::new(self.params.target, self.params.interval);
            self.buckets.push((number, FlowQueue { fifo: Fifo::default(), law, credit: 0, listed: Listed::Idle }));
            self.buckets.len() - 1
        })
    }
    pub(super) fn enqueue(&mut self, item: Item, dropped: &mut Vec<Item>) {
        let index = self.bucket(item.flow);
        let queue = &mut self.buckets[index].1;
        queue.fifo.push(item);
        self.packets += 1;
        if queue.listed == Listed::Idle {
            queue.listed = Listed::New;
            queue.credit = self.params.quantum.get() as i64;
            self.new.push_back(index);
        }
        if self.packets > self.params.limit as usize {
            self.drop_from_fattest(dropped);
        }
    }
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Item>) {
        // The first of equals, so that the choice does not depend on the order of a search.
        let fattest = (0..self.buckets.len()).rev().max_by_key(|i| self.buckets[*i].1.fifo.bytes());
        let Some(index) = fattest else { return };
        let fifo = &mut self.buckets[index].1.fifo;
        for _ in 0..fifo.len().div_ceil(2).min(DROP_BATCH) {
            dropped.extend(fifo.pop());
            self.packets -= 1;
        }
    }
    pub(super) fn dequeue(&mut self, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        loop {
            let (index, from_new) = match (self.new.front(), self.old.front()) {
                (Some(index), _) => (*index, true),
                (None, Some(index)) => (*index, false),
                (None, None) => return None,
            };
            let list = if from_new { &mut self.new } else { &mut self.old };
            let queue = &mut self.buckets[index].1;
            if queue.credit <= 0 {
                queue.credit += self.params.quantum.get() as i64;
                queue.listed = Listed::Old;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = queue.fifo.len();
            let item = queue.law.dequeue(now, &mut queue.fifo, dropped);
            self.packets -= before - queue.fifo.len();
            match item {
                Some(item) => {
                    queue.credit -= i64::from(item.wire);
                    return Some(item);
                }
                None => {
                    list.pop_front();
                    queue.listed = if from_new { Listed::Old } else { Listed::Idle };
                    if from_new {
                        self.old.push_back(index);
                    }
                }
            }
        }
    }
    pub(super) const fn len(&self) -> usize {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn item(flow: u32, wire: u32) -> Item {
        Item { flow, token: 0, wire, at: 0, spike: 0, phase: Phase::Response }
    }

    #[test]
    fn flows_share_by_bytes_and_a_new_flow_comes_first() {
        let mut queue = FqCodelQueue::new(&study_tree::defaults());
        let mut dropped = Vec::new();
        for _ in 0..100 {
            queue.enqueue(item(1, 1500), &mut dropped);
            queue.enqueue(item(2, 500), &mut dropped);
            queue.enqueue(item(2, 500), &mut dropped);
            queue.enqueue(item(2, 500), &mut dropped);
        }
        let mut bytes = [0u64; 4];
        for _ in 0..120 {
            let item = queue.dequeue(1, &mut dropped).unwrap();
            bytes[item.flow as usize] += u64::from(item.wire);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 1514 + 1500, "{bytes:?}");
        queue.enqueue(item(3, 100), &mut dropped);
        assert_eq!(queue.dequeue(1, &mut dropped).unwrap().flow, 3);
        assert!(dropped.is_empty());
    }

    #[test]
    fn overflow_takes_half_of_the_fattest_queue_from_its_head() {
        let mut params: FqCodel = study_tree::defaults();
        params.limit = 20;
        let mut queue = FqCodelQueue::new(&params);
        let mut dropped = Vec::new();
        for i in 0..20 {
            queue.enqueue(Item { token: i, ..item(1, 1500) }, &mut dropped);
        }
        queue.enqueue(item(2, 40), &mut dropped);
        assert_eq!(
            dropped.iter().map(|i| (i.flow, i.token)).collect::<Vec<_>>(),
            (0..10).map(|t| (1, t)).collect::<Vec<_>>()
        );
        assert_eq!(queue.len(), 11);
    }
}
