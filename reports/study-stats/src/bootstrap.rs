//! Bootstrap intervals over clusters.
//!
//! Purpose: intervals for statistics of independent clusters (runs). What is resampled is always the cluster; everything
//! inside a cluster goes with it. [`MeanBootstrap`] serves the common case, a mean of one value per run (a log ratio, a
//! difference, a logarithm of a level), and gives all intervals from one pass; [`Replicates`] serves any statistic.
//!
//! Equations, with `m` the mean, `s` the sample standard deviation of the `G` values, stars for a resample of `G` draws
//! with replacement, `q(p)` the type-7 quantile of the resampled distribution and `L` the level:
//! * percentile `[q((1-L)/2), q((1+L)/2)]`; basic `[2m - q((1+L)/2), 2m - q((1-L)/2)]`;
//! * BCa `[q(a1), q(a2)]`, `a_i = Phi(z0 + (z0 + z_i) / (1 - a (z0 + z_i)))`, `z0 = Phi^-1(share below m + half the share
//!   equal to m)`, acceleration `a` from the jackknife (Efron, JASA 82, 1987);
//! * bootstrap-t `[m - t*((1+L)/2) s/sqrt G, m - t*((1-L)/2) s/sqrt G]`, `t* = (m* - m) / (s*/sqrt G)` (Efron and
//!   Tibshirani, An Introduction to the Bootstrap, 1993, chapter 12).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | scipy BCa counts replicates strictly below the estimate | mid-rank: equal ones count half | z0 is not biased on lattices |
//! | bootstrap-t with any number of clusters | Student t below [`MeanBootstrap::FEWEST`] clusters | heavy-tailed t* of tiny samples does not blow up the interval |
//! | resamples without spread dropped | they count as t* = +-infinity; a limit that falls on one means Student t | not anti-conservative |
//!
//! Random streams consumed: the one that is passed; one 64-bit word per two draws, each resample begins with a new word.

mod mean;
mod replicates;

pub use mean::{MeanBootstrap, Studentised};
pub use replicates::{Replicates, jackknife_acceleration};

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it, limits included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
    /// Both limits through an increasing or decreasing function; the result is in order again.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let (x, y) = (f(self.low), f(self.high));
        Self { low: x.min(y), high: x.max(y) }
    }
}

/// Shares of the two tails of a central interval of that level in (0, 1).
fn tails(level: f64) -> (f64, f64) {
    (0.5 * (1.0 - level), 0.5 * (1.0 + level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decreasing_map_swaps_the_limits() {
        let interval = Interval { low: 0.5, high: 0.8 }.map(|x| 1.0 - x);
        assert!((interval.low - 0.2).abs() < 1e-15 && interval.high == 0.5);
        assert!(interval.contains(0.3) && !interval.contains(0.6));
    }
}
