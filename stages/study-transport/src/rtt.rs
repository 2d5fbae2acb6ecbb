//! Round-trip time estimation.
//!
//! Equations (RFC 6298 section 2, RFC 9002 section 5.3): first sample R: srtt = R, rttvar = R / 2; then
//! rttvar = 3/4 rttvar + 1/4 |srtt - R|, srtt = 7/8 srtt + 1/8 R. All in integer nanoseconds.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 6298 clock granularity G | 1 ns for RTO, 1 ms in the QUIC probe timeout (RFC 9002 section 6.1.2) | none above 1 ms |
//! | Linux `min_rtt` window of 5 min | minimum since the start | none on links whose base delay is constant |

use study_units::SimDuration;

/// Smoothed round-trip time, its variation and its minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RttEstimator {
    smoothed: u64,
    variation: u64,
    latest: u64,
    min: u64,
    samples: u64,
}

impl RttEstimator {
    /// Takes a sample; `ack_delay` is what the receiver says it held the acknowledgement (zero where it says nothing).
    pub fn update(&mut self, sample: SimDuration, ack_delay: SimDuration) {
        let raw = sample.as_nanos();
        self.latest = raw;
        self.min = if self.samples == 0 { raw } else { self.min.min(raw) };
        self.samples += 1;
        // RFC 9002 section 5.3: the delay is not subtracted where that would go below the minimum.
        let delay = ack_delay.as_nanos();
        let adjusted = if raw >= self.min + delay { raw - delay } else { raw };
        if self.samples == 1 {
            self.smoothed = adjusted;
            self.variation = adjusted / 2;
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(adjusted)) / 4;
            self.smoothed = (7 * self.smoothed + adjusted) / 8;
        }
    }
    /// Whether there has been a sample.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.samples > 0
    }
    /// Smoothed round-trip time; zero before the first sample.
    #[must_use]
    pub const fn smoothed(&self) -> SimDuration {
        SimDuration::from_nanos(self.smoothed)
    }
    /// Smallest sample.
    #[must_use]
    pub const fn min(&self) -> SimDuration {
        SimDuration::from_nanos(self.min)
    }
    /// Latest sample.
    #[must_use]
    pub const fn latest(&self) -> SimDuration {
        SimDuration::from_nanos(self.latest)
    }
    /// Four times the variation.
    #[must_use]
    pub const fn four_variations(&self) -> SimDuration {
        SimDuration::from_nanos(4 * self.variation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_samples_give_the_settling_variation_of_the_reference() {
        // transport.md 1.9: after k equal samples 4 * rttvar = 2 R * 0.75^k (k counted after the first).
        let r = SimDuration::from_millis(100);
        let mut rtt = RttEstimator::default();
        rtt.update(r, SimDuration::ZERO);
        assert_eq!(rtt.four_variations(), r * 2);
        let mut expected = 2.0 * 100e6;
        for k in 1..=5 {
            rtt.update(r, SimDuration::ZERO);
            expected *= 0.75;
            assert!((rtt.four_variations().as_nanos() as f64 - expected).abs() < 20.0, "k = {k}");
        }
        assert_eq!(rtt.smoothed(), r);
    }

    #[test]
    fn the_reported_delay_is_subtracted_but_never_below_the_minimum() {
        let mut rtt = RttEstimator::default();
        rtt.update(SimDuration::from_millis(50), SimDuration::ZERO);
        rtt.update(SimDuration::from_millis(75), SimDuration::from_millis(25));
        assert_eq!(rtt.smoothed(), SimDuration::from_millis(50));
        rtt.update(SimDuration::from_millis(60), SimDuration::from_millis(25));
        assert_eq!(rtt.smoothed(), SimDuration::from_micros(51_250));
    }
}
