//! Losses by list: the packets with these numbers, and no others.
//!
//! Purpose: scripted losses for tests and for replaying a recorded loss vector. Packets of the direction are counted from
//! 1, over all that enter it (handshake and acknowledgements included).
//!
//! Sources: the droplist scenario of quic-network-simulator (`--drops_to_client=1,3,15`).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | droplist counts IP packets at the link, from 1 | the same | none |
//!
//! Random streams: none.

use study_tree::{Cx, Diagnostic, Node};

study_tree::params! {
    /// The packets with these numbers are lost.
    pub struct Drops {
        /// Numbers of packets, from 1, each larger than the one before.
        packets: Vec<u64>;
    }
}

impl Drops {
    /// Refuses a list that is empty or not in order.
    pub(super) fn checked(&self, node: &Node, cx: &mut Cx<'_>) -> bool {
        let wrong =
            (0..self.packets.len()).find(|i| self.packets[*i] <= i.checked_sub(1).map_or(0, |j| self.packets[j]));
        let (index, message) = match wrong {
            Some(i) => (i, format!("packet number {} is not above the one before, or below 1", self.packets[i])),
            None if self.packets.is_empty() => (0, "a list without packets loses nothing".to_owned()),
            None => return true,
        };
        let list = node.get("packets").unwrap_or(node);
        let span = list.items().and_then(|items| items.get(index)).map_or(list.span, |n| n.span);
        cx.push(
            Diagnostic::error("out-of-range", span, message)
                .help("give numbers from 1 in rising order, e.g. `[1, 3, 15]`"),
        );
        false
    }
}

#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// Slots to lose, the next one last.
    left: Vec<u64>,
}

impl Chain {
    pub(super) fn new(params: &Drops) -> Self {
        Self { left: params.packets.iter().rev().map(|n| n - 1).collect() }
    }
    pub(super) fn lost(&mut self, slot: u64) -> bool {
        while self.left.last().is_some_and(|next| *next < slot) {
            self.left.pop();
        }
        self.left.last() == Some(&slot)
    }
    pub(super) fn quiet_until(&self) -> u64 {
        self.left.last().copied().unwrap_or(u64::MAX)
    }
}
