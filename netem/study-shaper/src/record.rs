//! What a link has done to the packets of a trial.

use crate::backend::Backend;
use crate::histogram::{Histogram, Summary};
use crate::schedstat::ThreadUse;
use serde::{Deserialize, Serialize};
use study_ident::{CanonicalHasher, Digest};

/// One bit per packet index: set when the loss process took that packet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LossBits {
    length: u64,
    words: Vec<u64>,
}

impl LossBits {
    /// Appends an index that is not lost (yet).
    pub(crate) fn push(&mut self) {
        if self.length.is_multiple_of(64) {
            self.words.push(0);
        }
        self.length += 1;
    }
    pub(crate) fn set(&mut self, index: u64) {
        if let Some(word) = self.words.get_mut((index / 64) as usize) {
            *word |= 1 << (index % 64);
        }
    }
    /// Number of packet indices.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }
    /// Whether no packet came.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
    /// Whether the packet with this index was lost.
    #[must_use]
    pub fn lost(&self, index: u64) -> bool {
        self.words.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
    /// The lost indices in order.
    pub fn indices(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.length).filter(|&index| self.lost(index))
    }
    /// Whether both agree on every index that both have: the same realisation, however many packets each saw.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let common = self.length.min(other.length);
        let whole = (common / 64) as usize;
        self.words[..whole] == other.words[..whole]
            && (whole as u64 * 64..common).all(|i| self.lost(i) == other.lost(i))
    }
    /// The digest of the first `length` bits (all there are, when fewer).
    #[must_use]
    pub fn digest(&self, length: u64) -> Digest {
        let length = length.min(self.length);
        let mut hasher = CanonicalHasher::new("study-shaper/loss-bits");
        hasher.uint(length);
        for (i, word) in self.words.iter().enumerate().take(length.div_ceil(64) as usize) {
            let rest = length - 64 * i as u64;
            hasher.uint(if rest < 64 { word & ((1 << rest) - 1) } else { *word });
        }
        hasher.finish()
    }
}

/// Packets lost under each label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Losses {
    /// The loss process took them.
    pub random: u64,
    /// The queue had no room or dropped them.
    pub queue: u64,
    /// The policer had no tokens.
    pub policer: u64,
    /// They came during an outage.
    pub outage: u64,
}

/// What the loss process took, as shares of what it was offered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RealisedLoss {
    /// Share of packets, 0 to 1.
    pub per_packet: f64,
    /// Share of bytes, 0 to 1.
    pub per_byte: f64,
    /// Packets per millisecond between the first packet and the last.
    pub per_ms: f64,
}

/// One direction of a link since its indices were last reset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionRecord {
    /// Packets that came and got an index.
    pub packets: u64,
    /// IP bytes of those packets.
    pub bytes: u64,
    /// Packets that were handed to the other side.
    pub delivered: u64,
    /// IP bytes of those packets.
    pub delivered_bytes: u64,
    /// Packets that were lost, by label.
    pub losses: Losses,
    /// What the loss process took.
    pub realised: RealisedLoss,
    /// Which indices the loss process took.
    pub loss_bits: LossBits,
    /// Digest of all those bits.
    pub loss_digest: Digest,
    /// Packets still on the way when the record was taken.
    pub in_flight: u64,
    /// How late packets were handed over: actual instant minus the model's.
    pub lateness: Summary,
    /// The same as a histogram.
    pub lateness_histogram: Histogram,
    /// Largest IP packet seen, bytes.
    pub largest_frame: u32,
    /// Packets larger than the link's MTU: offload was on somewhere.
    pub oversized: u64,
    /// Packets handed over after one with a higher index.
    pub reordered: u64,
    /// Packets that the kernel refused to take.
    pub write_errors: u64,
    /// The last refusal's error number.
    pub last_write_errno: i32,
    /// Packets that are not IPv4; they got no index and went nowhere.
    pub ignored: u64,
}

/// A link since its indices were last reset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Name of the link.
    pub link: String,
    /// What carried it.
    pub backend: Backend,
    /// Towards the near node.
    pub down: DirectionRecord,
    /// From the near node.
    pub up: DirectionRecord,
    /// Time since the reset, ms.
    pub span_ms: f64,
    /// Packets dropped by the interface of the near node before the relay saw them; the sender gets no error.
    pub near_interface_drops: u64,
    /// The same at the far node.
    pub far_interface_drops: u64,
    /// Packets that a packet socket of the relay had no room for.
    pub socket_drops: u64,
    /// Receive buffer of each packet socket, bytes as the kernel counts them; 0 with TUN.
    pub socket_buffer: u64,
    /// What the relay's thread did since the reset.
    pub relay: ThreadUse,
    /// Whether a port of the relay failed for good; then the link has been dead since.
    pub broken: bool,
}

impl LinkRecord {
    /// Packets lost outside the model: by interfaces, sockets or refused writes. Anything but 0 spoils the trial.
    #[must_use]
    pub const fn foreign_losses(&self) -> u64 {
        self.near_interface_drops
            + self.far_interface_drops
            + self.socket_drops
            + self.down.write_errors
            + self.up.write_errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(length: u64, lost: &[u64]) -> LossBits {
        let mut bits = LossBits::default();
        (0..length).for_each(|_| bits.push());
        lost.iter().for_each(|&i| bits.set(i));
        bits
    }

    #[test]
    fn realisations_of_different_length_are_compared_where_both_have_packets() {
        let (long, short) = (bits(200, &[3, 64, 150]), bits(140, &[3, 64]));
        assert!(long.agrees_with(&short) && short.agrees_with(&long));
        assert!(!long.agrees_with(&bits(151, &[3, 64])));
        assert_eq!(long.digest(140), short.digest(1_000));
        assert_ne!(long.digest(200), short.digest(200));
        assert_eq!(long.indices().collect::<Vec<_>>(), [3, 64, 150]);
    }
}
