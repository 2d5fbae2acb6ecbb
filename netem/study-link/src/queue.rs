//! Queues in front of the transmitter: who may wait, and who goes next.
//!
//! Purpose: the registry of queue disciplines, one file each. `unlimited` and `drop_tail` decide when a packet comes, and
//! the order is first in, first out, so a [`crate::Direction`] answers at once. `codel` and `fq_codel` decide when a packet leaves;
//! they need a [`crate::Bottleneck`], which answers later.
//!
//! Random streams: none.

mod codel;
mod drop_tail;
mod fq_codel;

pub use codel::Codel;
pub use fq_codel::FqCodel;

use crate::{FULL_PACKET_BYTES, Phase};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::fmt;
use study_tree::{Cx, Decode, Diagnostic, Node};
use study_units::{Bytes, Quantity};

study_tree::variants! {
    /// What happens to packets that find the link busy.
    pub enum Queue {
        unit {
            /// All of them wait.
            Unlimited = "unlimited",
        }
        defaulted {
            /// They wait, and are dropped at the head when they have waited too long for too long.
            Codel(Codel) = "codel",
            /// Each flow has a queue, served in turn and under CoDel.
            FqCodel(FqCodel) = "fq_codel",
        }
        data {
            /// They wait as long as there is room; the newcomer is dropped when there is none.
            DropTail(QueueLimit) = "drop_tail",
        }
    }
}

impl Queue {
    /// Whether a packet's fate is known when it comes, so that a [`crate::Direction`] will do.
    #[must_use]
    pub const fn decides_at_arrival(&self) -> bool {
        matches!(self, Self::Unlimited | Self::DropTail(_))
    }
    pub(crate) const fn limit_mut(&mut self) -> Option<&mut QueueLimit> {
        match self {
            Self::DropTail(limit) => Some(limit),
            Self::Codel(params) => Some(&mut params.limit),
            Self::Unlimited | Self::FqCodel(_) => None,
        }
    }
}

/// Room of a queue. The packet on the wire counts, whole, until its last bit has left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum QueueLimit {
    /// A multiple, above 0, of the bandwidth-delay product, which is the (mean) rate times the base round trip and at
    /// least ten full packets. Turned into bytes as soon as the rate is known.
    Bdp(f64),
    /// Packets of any size, at least 1.
    Packets(u64),
    /// Bytes on the wire, overhead included, at least one full packet.
    Bytes(Bytes),
}

/// The smallest bandwidth-delay product that a queue is sized by: ten full packets.
const SMALLEST_BDP_BYTES: u64 = 10 * FULL_PACKET_BYTES;

impl QueueLimit {
    /// The limit with a bandwidth-delay product of `bdp` bytes filled in; never below one full packet.
    pub(crate) fn settled(self, bdp: u64) -> Self {
        match self {
            Self::Bdp(factor) => {
                let bytes = (factor * bdp.max(SMALLEST_BDP_BYTES) as f64) as u64;
                Self::Bytes(Bytes::new(bytes.max(FULL_PACKET_BYTES)))
            }
            settled => settled,
        }
    }
    fn parse(text: &str) -> Result<Self, LimitError> {
        let text = text.trim();
        if let Some(factor) = text.strip_suffix("BDP") {
            let factor = factor.trim().strip_suffix('x').ok_or(LimitError::Unreadable)?;
            let factor: f64 = factor.trim().parse().map_err(|_| LimitError::Unreadable)?;
            return if factor > 0.0 && factor <= 1e6 { Ok(Self::Bdp(factor)) } else { Err(LimitError::TooSmall) };
        }
        if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            return match count.trim().parse().map_err(|_| LimitError::Unreadable)? {
                0 => Err(LimitError::TooSmall),
                count => Ok(Self::Packets(count)),
            };
        }
        let bytes = Bytes::parse_quantity(text).map_err(|_| LimitError::Unreadable)?;
        if bytes.get() < FULL_PACKET_BYTES { Err(LimitError::TooSmall) } else { Ok(Self::Bytes(bytes)) }
    }
}

enum LimitError {
    Unreadable,
    TooSmall,
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(factor) => write!(f, "{factor} x BDP"),
            Self::Packets(1) => write!(f, "1 packet"),
            Self::Packets(count) => write!(f, "{count} packets"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl From<QueueLimit> for String {
    fn from(limit: QueueLimit) -> Self {
        limit.to_string()
    }
}

impl TryFrom<String> for QueueLimit {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|_| format!("`{text}` is not the room of a queue"))
    }
}

impl Decode for QueueLimit {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let problem = match node.text().map(Self::parse) {
            Some(Ok(limit)) => return Some(limit),
            Some(Err(LimitError::TooSmall)) => Diagnostic::error(
                "out-of-range",
                node.span,
                format!("a queue of {} has no room for a full packet", node.describe()),
            )
            .help(format!("give at least `1 packet` or `{FULL_PACKET_BYTES} B`; the packet on the wire counts")),
            Some(Err(LimitError::Unreadable)) => {
                Diagnostic::error("bad-quantity", node.span, format!("{} is not the room of a queue", node.describe()))
                    .help("write `1 x BDP`, `100 packets` or `64 KiB`")
            }
            None => Diagnostic::error("wrong-type", node.span, format!("expected a limit, found {}", node.describe()))
                .help("write `1 x BDP`, `100 packets` or `64 KiB`"),
        };
        cx.push(problem);
        None
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "string", "description": "room of a queue, the packet on the wire included",
            "examples": ["1 x BDP", "100 packets", "64 KiB"] })
    }
}

/// Room in packets and bytes, one of them without limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    most_packets: u64,
    most_bytes: u64,
}

impl Room {
    /// # Panics
    /// When the limit still is a multiple of an unknown bandwidth-delay product.
    fn new(limit: QueueLimit) -> Self {
        let (most_packets, most_bytes) = match limit {
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes.get()),
            QueueLimit::Bdp(_) => panic!("the room of a queue is still a multiple of an unknown rate: resolve first"),
        };
        Self { most_packets, most_bytes }
    }
    /// Whether `wire` bytes fit beside `packets` of `bytes` in the queue and `on_wire` bytes (0: nothing) in transmission.
    fn admits(self, packets: usize, bytes: u64, on_wire: u32, wire: u32) -> bool {
        packets as u64 + u64::from(on_wire > 0) < self.most_packets
            && bytes + u64::from(on_wire) + u64::from(wire) <= self.most_bytes
    }
}

/// The run-time state of a queue that decides at arrival: one registry row each.
#[derive(Debug, Clone)]
pub(crate) enum QueueState {
    Unlimited,
    DropTail(drop_tail::DropTail),
}

impl QueueState {
    /// # Panics
    /// When the limit still is a multiple of an unknown bandwidth-delay product, or when the queue decides at departure.
    pub(crate) fn new(queue: &Queue) -> Self {
        match queue {
            Queue::Unlimited => Self::Unlimited,
            Queue::DropTail(limit) => Self::DropTail(drop_tail::DropTail::new(*limit)),
            Queue::Codel(_) | Queue::FqCodel(_) => {
                panic!("`{}` decides when a packet leaves: use a `Bottleneck`", queue.name())
            }
        }
    }
    /// Whether `wire` bytes that come now find room.
    #[inline]
    pub(crate) fn admits(&mut self, now: u64, wire: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::DropTail(queue) => queue.admits(now, wire),
        }
    }
    /// Takes in an admitted packet whose last bit leaves at `finish`.
    #[inline]
    pub(crate) fn push(&mut self, finish: u64, wire: u32) {
        match self {
            Self::Unlimited => {}
            Self::DropTail(queue) => queue.push(finish, wire),
        }
    }
}

/// A packet in a queue that decides when it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    pub flow: u32,
    pub token: u64,
    pub wire: u32,
    pub at: u64,
    /// Delay that the link layer's repair adds.
    pub spike: u64,
    pub phase: Phase,
}

/// The run-time state of a queue that is asked for the next packet: one registry row each.
#[derive(Debug, Clone)]
pub(crate) enum Discipline {
    /// First in, first out; without room it is unlimited.
    Fifo(VecDeque<Item>, u64, Option<Room>),
    Codel(codel::CodelQueue),
    FqCodel(fq_codel::FqCodelQueue),
}

impl Discipline {
    /// # Panics
    /// When the limit still is a multiple of an unknown bandwidth-delay product.
    pub(crate) fn new(queue: &Queue) -> Self {
        match queue {
            Queue::Unlimited => Self::Fifo(VecDeque::new(), 0, None),
            Queue::DropTail(limit) => Self::Fifo(VecDeque::new(), 0, Some(Room::new(*limit))),
            Queue::Codel(params) => Self::Codel(codel::CodelQueue::new(params)),
            Queue::FqCodel(params) => Self::FqCodel(fq_codel::FqCodelQueue::new(params)),
        }
    }
    /// Takes in a packet while `on_wire` bytes (0: nothing) are in transmission; whatever is dropped goes to `dropped`.
    pub(crate) fn enqueue(&mut self, item: Item, on_wire: u32, dropped: &mut Vec<Item>) {
        match self {
            Self::Fifo(items, bytes, room) => {
                if room.is_none_or(|room| room.admits(items.len(), *bytes, on_wire, item.wire)) {
                    *bytes += u64::from(item.wire);
                    items.push_back(item);
                } else {
                    dropped.push(item);
                }
            }
            Self::Codel(queue) => queue.enqueue(item, on_wire, dropped),
            Self::FqCodel(queue) => queue.enqueue(item, dropped),
        }
    }
    /// The packet that leaves at `now`; those dropped before it go to `dropped`.
    pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut Vec<Item>) -> Option<Item> {
        match self {
            Self::Fifo(items, bytes, _) => {
                let item = items.pop_front()?;
                *bytes -= u64::from(item.wire);
                Some(item)
            }
            Self::Codel(queue) => queue.dequeue(now, dropped),
            Self::FqCodel(queue) => queue.dequeue(now, dropped),
        }
    }
    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(items, ..) => items.len(),
            Self::Codel(queue) => queue.len(),
            Self::FqCodel(queue) => queue.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_one_canonical_spelling_that_reads_back() {
        for (text, canonical) in [
            ("1 x BDP", "1 x BDP"),
            ("0.5x BDP", "0.5 x BDP"),
            ("100 packets", "100 packets"),
            ("1 packet", "1 packet"),
            ("64 KiB", "64 KiB"),
        ] {
            let limit = QueueLimit::try_from(text.to_owned()).unwrap();
            assert_eq!(limit.to_string(), canonical);
            assert_eq!(QueueLimit::try_from(canonical.to_owned()).unwrap(), limit);
        }
        for text in ["0 packets", "1499 B", "0 x BDP", "-1 x BDP", "nan x BDP", "BDP", "100", "1.5 packets", "x BDP"] {
            assert!(QueueLimit::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bdp_below_ten_packets_counts_as_ten_packets() {
        assert_eq!(QueueLimit::Bdp(1.0).settled(75_000), QueueLimit::Bytes(Bytes::new(75_000)));
        assert_eq!(QueueLimit::Bdp(1.0).settled(100), QueueLimit::Bytes(Bytes::new(15_000)));
        assert_eq!(QueueLimit::Bdp(0.001).settled(100), QueueLimit::Bytes(Bytes::new(1_500)));
        assert_eq!(QueueLimit::Packets(3).settled(100), QueueLimit::Packets(3));
    }
}
