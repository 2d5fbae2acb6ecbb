//! Token buckets: a shaper, which makes packets wait, and a policer, which drops them.
//!
//! Purpose: what access networks do to hold a subscriber to a rate. Tokens come at `rate` and are kept up to `burst`; a
//! packet of `w` bytes on the wire takes `8 w` bits of tokens. The bucket is full at time 0.
//!
//! Equations. Level `b(t) = min(B, b(t0) + rate (t - t0))`, in bits times nanoseconds per second, as integers. A policer
//! lets a packet pass when `b >= 8 w` and drops it otherwise, without taking tokens. A shaper lets its transmission
//! begin at the first whole nanosecond with `b >= 8 w`; the bits then leave at the link's own rate (the peak rate of the
//! kernel's tbf), and packets that wait for tokens wait in the direction's queue. So no interval of length `t` sees
//! transmissions of more than `burst + rate t` begin, or packets of more than that pass the policer.
//!
//! Sources: ITU-T I.371 (generic cell rate algorithm); tc-tbf(8); T. Flach et al., SIGCOMM 2016, for policers.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | tbf drops a packet larger than its burst | it waits for a full bucket and goes into debt | only for packets above the smallest `burst`, one full packet |
//! | tbf keeps one peeked packet outside the queue | it counts in the queue until its last bit has left | one packet less room |
//! | two-rate policers (RFC 2698) colour packets | one rate, one colour | none for drops |
//!
//! Random streams: none.

use crate::FULL_PACKET_BYTES;
use study_tree::{Cx, Diagnostic, Node};
use study_units::{BitRate, Bytes};

study_tree::params! {
    /// A token bucket.
    pub struct TokenBucket {
        /// Rate at which tokens come, above 0.
        rate: BitRate, in BitRate::from_bits_per_second(1)..=BitRate::from_bits_per_second(u64::MAX);
        /// Most tokens that are saved, at least one full packet of 1,500 B with its overhead.
        burst: Bytes, in Bytes::new(1_500)..=Bytes::new(1 << 40);
    }
}

/// Refuses a burst in which a full packet with its overhead never fits.
pub(crate) fn checked(bucket: &TokenBucket, overhead: u64, node: &Node, cx: &mut Cx<'_>) -> bool {
    let least = FULL_PACKET_BYTES + overhead;
    if bucket.burst.get() >= least {
        return true;
    }
    let span = node.get("burst").map_or(node.span, |n| n.span);
    let message = format!("a burst of {} has no room for a full packet with its overhead", bucket.burst);
    cx.push(Diagnostic::error("out-of-range", span, message).help(format!("give at least `{least} B`")));
    false
}

/// Bit nanoseconds per second in one byte.
const BYTE: i128 = 8_000_000_000;

/// The run-time state of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    rate: i128,
    most: i128,
    level: i128,
    /// When the level was right.
    at: u64,
}

impl Bucket {
    pub(crate) fn new(params: &TokenBucket) -> Self {
        let most = i128::from(params.burst.get()) * BYTE;
        Self { rate: i128::from(params.rate.bits_per_second().max(1)), most, level: most, at: 0 }
    }
    fn fill(&mut self, now: u64) {
        let new = self.rate.saturating_mul(i128::from(now.saturating_sub(self.at)));
        self.level = self.level.saturating_add(new).min(self.most);
        self.at = self.at.max(now);
    }
    /// Policer: whether `wire` bytes at `now` pass. `now` never goes back.
    pub(crate) fn passes(&mut self, now: u64, wire: u32) -> bool {
        self.fill(now);
        let need = i128::from(wire) * BYTE;
        let passes = self.level >= need;
        if passes {
            self.level -= need;
        }
        passes
    }
    /// Shaper: when the transmission of `wire` bytes that may begin at `start` does begin. `start` never goes back.
    pub(crate) fn begin(&mut self, start: u64, wire: u32) -> u64 {
        self.fill(start);
        let need = i128::from(wire) * BYTE;
        let missing = need.min(self.most) - self.level;
        let wait = if missing > 0 { (missing + self.rate - 1) / self.rate } else { 0 };
        let begin = start.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
        self.fill(begin);
        self.level -= need;
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(mbit: u64, burst: u64) -> Bucket {
        Bucket::new(&TokenBucket { rate: BitRate::from_bits_per_second(mbit * 1_000_000), burst: Bytes::new(burst) })
    }

    #[test]
    fn a_burst_passes_and_then_packets_pass_at_the_rate() {
        // 12 Mbit/s: a full packet's tokens in 1 ms.
        let mut policer = bucket(12, 3_000);
        let verdicts = [0, 0, 0, 999_999, 1_000_000, 1_999_999, 2_000_000].map(|t| policer.passes(t, 1500));
        assert_eq!(verdicts, [true, true, false, false, true, false, true]);
        let mut shaper = bucket(12, 3_000);
        let begins: Vec<u64> = (0..4)
            .scan(0, |at, _| {
                *at = shaper.begin(*at, 1500);
                Some(*at)
            })
            .collect();
        assert_eq!(begins, [0, 0, 1_000_000, 2_000_000]);
    }

    #[test]
    fn a_packet_above_the_burst_waits_for_a_full_bucket_and_leaves_a_debt() {
        let mut shaper = bucket(12, 1_500);
        assert_eq!(shaper.begin(0, 3_000), 0);
        assert_eq!(shaper.begin(0, 1_500), 2_000_000);
    }
}
