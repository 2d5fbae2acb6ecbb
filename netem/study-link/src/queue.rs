//! Queues in front of the transmitter: who may wait.
//!
//! Purpose: the registry of queue disciplines, one file each. A queue decides whether a packet is admitted; the order
//! is first in, first out, so the transmitter alone decides when it leaves.
//!
//! Random streams: none.

mod drop_tail;

use crate::FULL_PACKET_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::json;
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
        data {
            /// They wait as long as there is room; the newcomer is dropped when there is none.
            DropTail(QueueLimit) = "drop_tail",
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

/// The run-time state of a queue: one registry row each.
#[derive(Debug, Clone)]
pub(crate) enum QueueState {
    Unlimited,
    DropTail(drop_tail::DropTail),
}

impl QueueState {
    /// # Panics
    /// When the limit still is a multiple of an unknown bandwidth-delay product.
    pub(crate) fn new(queue: &Queue) -> Self {
        match queue {
            Queue::Unlimited => Self::Unlimited,
            Queue::DropTail(limit) => Self::DropTail(drop_tail::DropTail::new(*limit)),
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
