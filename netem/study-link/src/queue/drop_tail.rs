//! Drop-tail: room for so many packets or bytes, and the newcomer is dropped when it does not fit.
//!
//! Purpose: the plain bottleneck buffer. A packet is in the system from its arrival until its last bit has left, the
//! one on the wire included, and counts whole all that time. With room for `K` packets (or `K` times their size in
//! bytes) the link is the K of M/D/1/K. A departure at the instant of an arrival comes first.
//!
//! Sources: D. G. Kendall's notation; blocking of M/D/1/K from the chain embedded at departures (test data).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | ns-3 point-to-point: the packet on the wire is outside the queue | inside | `100 packets` there are `101 packets` here |
//! | kernel bfifo under tbf: a packet leaves the queue when its transmission begins | when it ends | one packet less room here |
//! | a fluid queue frees room bit by bit | packet by packet | up to one packet less room in bytes |
//!
//! Random streams: none.

use super::{QueueLimit, Room};
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub(crate) struct DropTail {
    /// Last instant on the wire and size of every packet in the system, oldest first.
    waiting: VecDeque<(u64, u32)>,
    backlog_bytes: u64,
    room: Room,
}

impl DropTail {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self { waiting: VecDeque::new(), backlog_bytes: 0, room: Room::new(limit) }
    }
    #[inline]
    pub(super) fn admits(&mut self, now: u64, wire: u32) -> bool {
        while let Some(&(finish, bytes)) = self.waiting.front()
            && finish <= now
        {
            self.waiting.pop_front();
            self.backlog_bytes -= u64::from(bytes);
        }
        self.room.admits(self.waiting.len(), self.backlog_bytes, 0, wire)
    }
    #[inline]
    pub(super) fn push(&mut self, finish: u64, wire: u32) {
        self.waiting.push_back((finish, wire));
        self.backlog_bytes += u64::from(wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_units::Bytes;

    #[test]
    fn the_packet_on_the_wire_counts_until_its_last_bit_has_left() {
        for limit in [QueueLimit::Packets(2), QueueLimit::Bytes(Bytes::new(3000))] {
            let mut queue = DropTail::new(limit);
            for (now, admitted) in [(0, true), (0, true), (0, false), (9, false), (10, true), (19, false), (20, true)] {
                assert_eq!(queue.admits(now, 1500), admitted, "{limit} at {now}");
                if admitted {
                    let last = queue.waiting.back().map_or(now, |w| w.0);
                    queue.push(last.max(now) + 10, 1500);
                }
            }
        }
    }

    #[test]
    fn a_small_packet_still_fits_where_a_full_one_does_not() {
        let mut queue = DropTail::new(QueueLimit::Bytes(Bytes::new(2000)));
        assert!(queue.admits(0, 1500));
        queue.push(10, 1500);
        assert!(!queue.admits(1, 501));
        assert!(queue.admits(1, 500));
    }
}
