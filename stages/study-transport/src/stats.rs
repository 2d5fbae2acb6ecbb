//! What a connection tells about itself.

use crate::account::Parts;
use study_units::{SimDuration, SimTime};

/// One response as the client saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamReport {
    /// When the client asked (the handshake may still have been under way).
    pub requested: SimTime,
    /// When the first byte of the response could be read.
    pub first_byte: SimTime,
    /// When the last byte could be read.
    pub completed: SimTime,
    /// How much earlier the last byte would have been readable had no other stream been in the way: the head-of-line wait.
    pub hol_wait: SimDuration,
    /// What the time from `requested` to `completed` was spent on; sums to it exactly.
    pub parts: Parts,
    /// Bytes of the body.
    pub bytes: u64,
    /// Packets of this stream that were sent again.
    pub lost_packets: u32,
    /// Bytes of this stream that were sent again.
    pub retransmitted: u64,
}

/// Counters of one connection.
#[derive(Debug, Clone, Default)]
pub struct ConnectionStats {
    /// Packets sent by the server, retransmissions included.
    pub packets_sent: u64,
    /// Packets that the server declared lost.
    pub packets_lost: u64,
    /// Of these, how many arrived after all.
    pub spurious: u64,
    /// Reductions of the window that were taken back.
    pub undone: u64,
    /// Payload bytes sent again.
    pub retransmitted: u64,
    /// Packets sent by the client, acknowledgements included.
    pub client_packets: u64,
    /// Congestion events.
    pub congestion_events: u64,
    /// Retransmission timeouts, or probe timeouts.
    pub timeouts: u64,
    /// How often the server had data and congestion window, and a flow-control window or a buffer held it back.
    pub flow_blocked: u64,
    /// How long it was held back so.
    pub flow_blocked_time: SimDuration,
    /// Steps of the simulation.
    pub events: u64,
    /// Round-trip times as the server measured them.
    pub rtt: RttHistogram,
}

impl ConnectionStats {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Self) {
        // Named one by one, so that a new counter is not forgotten.
        let Self {
            packets_sent,
            packets_lost,
            spurious,
            undone,
            retransmitted,
            client_packets,
            congestion_events,
            timeouts,
            flow_blocked,
            flow_blocked_time,
            events,
            rtt,
        } = other;
        self.packets_sent += packets_sent;
        self.packets_lost += packets_lost;
        self.spurious += spurious;
        self.undone += undone;
        self.retransmitted += retransmitted;
        self.client_packets += client_packets;
        self.congestion_events += congestion_events;
        self.timeouts += timeouts;
        self.flow_blocked += flow_blocked;
        self.flow_blocked_time = self.flow_blocked_time + *flow_blocked_time;
        self.events += events;
        self.rtt.merge(rtt);
    }
}

/// Round-trip times in logarithmic bins of 1/16 octave (at most 6.25 % wide).
#[derive(Debug, Clone, Default)]
pub struct RttHistogram {
    bins: Vec<u32>,
    count: u64,
    sum_ns: u128,
}

const SUB_BITS: u32 = 4;

impl RttHistogram {
    /// Adds the samples of another.
    pub fn merge(&mut self, other: &Self) {
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }
    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, sample: SimDuration) {
        let bin = bin_of(sample.as_micros().max(1));
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum_ns += u128::from(sample.as_nanos());
    }
    /// Mean, if there is a sample.
    #[must_use]
    pub fn mean(&self) -> Option<SimDuration> {
        (self.count > 0).then(|| SimDuration::from_nanos((self.sum_ns / u128::from(self.count)) as u64))
    }
    /// The middle of the bin that holds quantile `q` in [0, 1], in microseconds; exact to half a bin (3 %).
    #[must_use]
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bin, n) in self.bins.iter().enumerate() {
            seen += u64::from(*n);
            if seen >= rank && *n > 0 {
                return Some((lower_edge(bin) + lower_edge(bin + 1)) / 2);
            }
        }
        None
    }
}

fn bin_of(us: u64) -> usize {
    if us < 1 << SUB_BITS {
        return us as usize;
    }
    let octave = 63 - us.leading_zeros();
    let sub = (us >> (octave - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    (((octave - SUB_BITS + 1) << SUB_BITS) as u64 + sub) as usize
}

fn lower_edge(bin: usize) -> u64 {
    let (octave, sub) = ((bin as u64) >> SUB_BITS, (bin as u64) & ((1 << SUB_BITS) - 1));
    if octave == 0 { sub } else { ((1 << SUB_BITS) + sub) << (octave - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_value_once_and_are_narrow() {
        for us in [0u64, 1, 5, 15, 16, 17, 31, 32, 33, 1000, 123_456, 10_000_000] {
            let bin = bin_of(us);
            assert!(lower_edge(bin) <= us && us < lower_edge(bin + 1), "{us} in bin {bin}");
            assert!(lower_edge(bin + 1) - lower_edge(bin) <= us / 16 + 1);
        }
    }

    #[test]
    fn quantiles_are_within_half_a_bin() {
        let mut h = RttHistogram::default();
        (1..=1000u64).for_each(|ms| h.record(SimDuration::from_millis(ms)));
        for (q, ms) in [(0.5, 500.0), (0.95, 950.0)] {
            let us = h.quantile_us(q).unwrap() as f64;
            assert!((us / 1000.0 / ms - 1.0).abs() < 0.035, "{q}: {us}");
        }
        assert_eq!(RttHistogram::default().quantile_us(0.5), None);
    }
}
