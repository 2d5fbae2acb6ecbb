//! Adaptation by throughput.
//!
//! The estimate is the harmonic mean of the last `n` samples, `n / sum of (duration / bits)` in kbit/s; the choice is the
//! highest rung whose nominal bitrate is at most `safety x estimate`, the lowest without a sample.
//!
//! Sources: the harmonic mean as in Jiang, Sekar, Zhang (FESTIVE, CoNEXT 2012) and Yin et al. (MPC, SIGCOMM 2015: last 5).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | FESTIVE: last 20, stepwise moves, randomised waits | last 5, moves at once | reacts within 5 segments; no coordination of several players |
//! | the Go simulator: lowest rung for three segments, mean, then exponential average (0.3) of up to 20, one rung up every tenth segment, x 0.85 | harmonic mean of the last 5, x 0.85, no probing | a single fast segment weighs little; no periodic overshoot |
//! | one request in flight | a sample's time begins at the completion before it | three segments in parallel give the rate of the link, not a third of it |
//!
//! Random streams: none.

use super::{Abr, AbrInput, SAMPLES_KEPT, ThroughputSample};
use study_units::Probability;

study_tree::params! {
    /// Parameters of throughput-based adaptation.
    pub struct ThroughputParams {
        /// Samples in the mean.
        samples: usize = 5, in 1..=SAMPLES_KEPT;
        /// Share of the estimate that is used.
        safety: Probability = Probability::new(0.85).unwrap_or(Probability::ONE);
    }
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Throughput {
    params: ThroughputParams,
}

impl Throughput {
    /// At the start of a session.
    #[must_use]
    pub fn new(params: &ThroughputParams) -> Self {
        Self { params: params.clone() }
    }
}

/// Harmonic mean in kbit/s; infinite when no sample took time, `None` without samples.
fn harmonic_mean_kbit_s(samples: &[ThroughputSample]) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let ms_per_kbit = |s: &ThroughputSample| s.duration.as_millis_f64() / (s.bytes.max(1) as f64 * 8.0 / 1e3);
    let sum: f64 = samples.iter().map(ms_per_kbit).sum();
    Some(1e3 * samples.len() as f64 / sum)
}

impl Abr for Throughput {
    fn choose(&mut self, input: &AbrInput<'_>) -> usize {
        let last = &input.samples[input.samples.len().saturating_sub(self.params.samples)..];
        let Some(estimate) = harmonic_mean_kbit_s(last) else { return 0 };
        let affordable = self.params.safety.get() * estimate;
        input.rungs_kbit_s.iter().rposition(|r| f64::from(*r) <= affordable).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abr::scenes::input;
    use study_units::SimDuration;

    fn params(samples: usize) -> ThroughputParams {
        ThroughputParams { samples, safety: Probability::new(0.85).unwrap() }
    }
    fn sample(bytes: u64, ms: u64) -> ThroughputSample {
        ThroughputSample { bytes, duration: SimDuration::from_millis(ms) }
    }

    #[test]
    fn the_mean_is_harmonic_over_the_last_samples() {
        // 1 MB in 1 s, 2 s and 4 s: 8, 4 and 2 Mbit/s; harmonic mean 3 / (1/8 + 1/4 + 1/2) = 3.43 Mbit/s.
        let samples = [sample(1_000_000, 1_000), sample(1_000_000, 2_000), sample(1_000_000, 4_000)];
        let mean = harmonic_mean_kbit_s(&samples).unwrap();
        assert!((mean - 24_000.0 / 7.0).abs() < 1e-9, "{mean}");
        let choose = |n| Throughput::new(&params(n)).choose(&input(0, Some(5), &samples));
        assert_eq!(choose(3), 2, "0.85 x 3,429 = 2,914 kbit/s");
        assert_eq!(choose(2), 2, "0.85 x 2,667 = 2,267");
        assert_eq!(choose(1), 2, "0.85 x 2,000 = 1,700");
    }

    #[test]
    fn the_rung_is_the_highest_that_fits_the_safe_share() {
        // 3,000 / 0.85 = 3,529.4 kbit/s.
        let at = |kbit_s: u64| Throughput::new(&params(5)).choose(&input(0, Some(0), &[sample(kbit_s * 125, 1_000)]));
        assert_eq!([3_529, 3_530].map(at), [2, 3]);
        assert_eq!(at(100), 0, "below every rung");
        assert_eq!(at(1_000_000), 5);
    }

    #[test]
    fn segments_that_complete_together_count_as_one_burst() {
        // Three segments of 1 MB in parallel at 8 Mbit/s, released at once after 3 s by a filled gap.
        let samples = [sample(1_000_000, 3_000), sample(1_000_000, 0), sample(1_000_000, 0)];
        assert!((harmonic_mean_kbit_s(&samples).unwrap() - 8_000.0).abs() < 1e-9);
        assert_eq!(Throughput::new(&params(2)).choose(&input(0, Some(0), &samples)), 5, "no time at all");
    }
}
