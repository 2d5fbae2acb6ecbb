//! The resampled distribution of a statistic and the intervals read from it.

use super::{Interval, tails};
use crate::{NotEstimable, mean, normal_cdf, normal_quantile, quantile};
use study_ident::RandomStream;

/// The resampled distribution of a statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicates {
    estimate: f64,
    sorted: Vec<f64>,
}

impl Replicates {
    /// Draws `resamples` times `clusters` cluster numbers with replacement and evaluates the statistic on each draw.
    ///
    /// # Errors
    /// With fewer than two clusters, or when the statistic is not finite on some draw.
    pub fn of_statistic(
        clusters: usize,
        resamples: usize,
        stream: &mut RandomStream,
        mut statistic: impl FnMut(&[u32]) -> f64,
    ) -> Result<Self, NotEstimable> {
        match clusters {
            0 => return Err(NotEstimable::Empty),
            1 => return Err(NotEstimable::OneCluster),
            _ => {}
        }
        let mut picks: Vec<u32> = (0..clusters as u32).collect();
        let estimate = statistic(&picks);
        let drawn = (0..resamples).map(|_| {
            draw(stream, &mut picks);
            statistic(&picks)
        });
        let values: Vec<f64> = drawn.collect();
        Self::new(estimate, values)
    }
    /// From an estimate and replicates made elsewhere, in any order.
    ///
    /// # Errors
    /// Without replicates, or when one (or the estimate) is not finite.
    pub fn new(estimate: f64, mut replicates: Vec<f64>) -> Result<Self, NotEstimable> {
        if replicates.is_empty() {
            return Err(NotEstimable::Empty);
        }
        if !estimate.is_finite() || replicates.iter().any(|x| !x.is_finite()) {
            return Err(NotEstimable::NotFinite);
        }
        replicates.sort_unstable_by(f64::total_cmp);
        Ok(Self { estimate, sorted: replicates })
    }
    /// The statistic on the data themselves.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }
    /// The replicates in ascending order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }
    fn at(&self, p: f64) -> f64 {
        quantile(&self.sorted, p).unwrap_or(self.estimate)
    }
    /// The percentile interval; `level` in (0, 1).
    #[must_use]
    pub fn percentile(&self, level: f64) -> Interval {
        let (below, above) = tails(level);
        Interval { low: self.at(below), high: self.at(above) }
    }
    /// The basic (reflected) interval; `level` in (0, 1).
    #[must_use]
    pub fn basic(&self, level: f64) -> Interval {
        self.percentile(level).map(|x| 2.0 * self.estimate - x)
    }
    /// The bias correction z0 by mid-ranks. Replicates within rounding of the estimate count as equal to it.
    ///
    /// # Errors
    /// When all replicates lie on one side of the estimate.
    pub fn bias_correction(&self) -> Result<f64, NotEstimable> {
        let width = self.sorted[self.sorted.len() - 1] - self.sorted[0];
        let slack = 1e-12 * width.max(self.estimate.abs());
        let below = self.sorted.partition_point(|x| *x < self.estimate - slack);
        let upto = self.sorted.partition_point(|x| *x <= self.estimate + slack);
        let share = 0.5 * (below + upto) as f64 / self.sorted.len() as f64;
        if share > 0.0 && share < 1.0 { Ok(normal_quantile(share)) } else { Err(NotEstimable::Degenerate) }
    }
    /// The bias-corrected and accelerated interval; `level` in (0, 1), `acceleration` from [`jackknife_acceleration`].
    ///
    /// # Errors
    /// When the correction leaves the resampled distribution.
    pub fn bca(&self, level: f64, acceleration: f64) -> Result<Interval, NotEstimable> {
        let z0 = self.bias_correction()?;
        let (below, above) = tails(level);
        let corrected = |p: f64| {
            let z = z0 + normal_quantile(p);
            let denominator = 1.0 - acceleration * z;
            // Past the pole the corrected share would run backwards.
            if denominator > 0.0 { Ok(normal_cdf(z0 + z / denominator)) } else { Err(NotEstimable::Degenerate) }
        };
        Ok(Interval { low: self.at(corrected(below)?), high: self.at(corrected(above)?) })
    }
}

/// Fills `picks` with cluster numbers below its length, two from each 64-bit word by multiply-shift on 32 bits.
pub(super) fn draw(stream: &mut RandomStream, picks: &mut [u32]) {
    let clusters = picks.len() as u64;
    for pair in picks.chunks_mut(2) {
        let word = stream.bits();
        pair[0] = (((word & 0xffff_ffff) * clusters) >> 32) as u32;
        if let Some(second) = pair.get_mut(1) {
            *second = (((word >> 32) * clusters) >> 32) as u32;
        }
    }
}

/// The acceleration of BCa from the statistic with each cluster left out in turn: `sum d^3 / (6 (sum d^2)^1.5)`,
/// `d` = mean of all minus each. 0 when they do not vary.
#[must_use]
pub fn jackknife_acceleration(left_out: &[f64]) -> f64 {
    let Some(centre) = mean(left_out) else { return 0.0 };
    let squares: Vec<f64> = left_out.iter().map(|x| (centre - x) * (centre - x)).collect();
    let cubes: Vec<f64> = left_out.iter().map(|x| (centre - x) * (centre - x) * (centre - x)).collect();
    let spread = crate::sum(&squares);
    if spread > 0.0 { crate::sum(&cubes) / (6.0 * spread * spread.sqrt()) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_ident::SeedPath;

    #[test]
    fn draws_are_uniform_over_the_clusters() {
        let mut stream = SeedPath::root(1).stream("draws");
        let mut seen = [0u32; 7];
        let mut picks = [0; 7];
        for _ in 0..10_000 {
            draw(&mut stream, &mut picks);
            picks.iter().for_each(|p| seen[*p as usize] += 1);
        }
        // 70,000 draws, 10,000 each; 5 standard deviations are 463.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 463), "{seen:?}");
    }

    #[test]
    fn any_statistic_of_whole_clusters_can_be_resampled() {
        let clusters = [vec![1.0, 9.0], vec![4.0], vec![2.0, 2.0, 8.0], vec![3.0]];
        let median = |picks: &[u32]| {
            let mut all: Vec<f64> = picks.iter().flat_map(|p| clusters[*p as usize].iter().copied()).collect();
            all.sort_unstable_by(f64::total_cmp);
            quantile(&all, 0.5).unwrap_or(f64::NAN)
        };
        let mut stream = SeedPath::root(1).stream("median");
        let replicates = Replicates::of_statistic(4, 500, &mut stream, median).unwrap();
        assert_eq!(replicates.estimate(), 3.0);
        assert_eq!(replicates.sorted().len(), 500);
        let interval = replicates.percentile(0.9);
        assert!(interval.low >= 2.0 && interval.high <= 5.0 && interval.contains(3.0), "{interval:?}");
    }

    #[test]
    fn one_sided_replicates_have_no_bca_interval() {
        let replicates = Replicates::new(0.0, vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(replicates.bca(0.95, 0.0), Err(NotEstimable::Degenerate));
        let mut stream = SeedPath::root(1).stream("few");
        assert_eq!(Replicates::of_statistic(1, 9, &mut stream, |_| 0.0).err(), Some(NotEstimable::OneCluster));
        assert_eq!(Replicates::of_statistic(3, 9, &mut stream, |_| f64::NAN).err(), Some(NotEstimable::NotFinite));
    }

    #[test]
    fn acceleration_follows_skewness() {
        assert_eq!(jackknife_acceleration(&[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(jackknife_acceleration(&[2.0, 2.0]), 0.0);
        assert!(jackknife_acceleration(&[10.0, 10.0, 1.0]) > 0.0);
    }
}
