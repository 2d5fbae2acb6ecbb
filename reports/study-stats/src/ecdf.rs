//! The empirical distribution function as a curve of few points.
//!
//! `F(x) = (number of values <= x) / n`, at distinct values. Thinned curves keep both ends; three quarters of their points
//! are even in rank and the rest crowd geometrically towards the largest value, where a tail would be cut off otherwise.
//! Censored values (+infinity) are part of `n` but no points: such a curve ends below 1.
//!
//! Random streams consumed: none.

/// A point of an empirical distribution function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// A value of the sample, in its unit.
    pub x: f64,
    /// Share of the sample at or below it, in (0, 1].
    pub cdf: f64,
}

/// The curve of sorted values, with at most `limit` points (at least 2 are allowed).
#[must_use]
pub fn ecdf(sorted: &[f64], limit: usize) -> Vec<CurvePoint> {
    let n = sorted.len() as f64;
    let steps: Vec<CurvePoint> = (0..sorted.len())
        .filter(|&i| sorted[i].is_finite() && sorted.get(i + 1) != Some(&sorted[i]))
        .map(|i| CurvePoint { x: sorted[i], cdf: (i + 1) as f64 / n })
        .collect();
    let limit = limit.max(2);
    if steps.len() <= limit {
        return steps;
    }
    let mut kept: Vec<usize> = wanted_ranks(sorted.len(), limit)
        .into_iter()
        .map(|rank| steps.partition_point(|point| point.cdf * n < rank as f64 - 0.5).min(steps.len() - 1))
        .collect();
    kept.dedup();
    kept.into_iter().map(|i| steps[i]).collect()
}

/// Ascending ranks in 1..=n, `limit` of them at most.
fn wanted_ranks(n: usize, limit: usize) -> Vec<usize> {
    let tail = limit / 4;
    let even = limit - tail;
    let mut ranks: Vec<usize> = (0..even).map(|i| 1 + (n - 1) * i / (even - 1)).collect();
    // Distances from the top shrink from one even step to one value.
    let step = n as f64 / even as f64;
    ranks.extend((1..=tail).map(|i| n - libm::pow(step, 1.0 - i as f64 / tail as f64) as usize));
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_keep_every_distinct_value() {
        let curve = ecdf(&[1.0, 2.0, 2.0, 5.0], 512);
        let points: Vec<(f64, f64)> = curve.iter().map(|p| (p.x, p.cdf)).collect();
        assert_eq!(points, [(1.0, 0.25), (2.0, 0.75), (5.0, 1.0)]);
        assert!(ecdf(&[], 512).is_empty());
    }

    #[test]
    fn thinned_curves_are_short_true_and_reach_into_the_tail() {
        let sorted: Vec<f64> = (1..=100_000).map(f64::from).collect();
        let curve = ecdf(&sorted, 512);
        assert!(curve.len() <= 512 && curve.len() > 400, "{}", curve.len());
        assert!(curve.windows(2).all(|w| w[0].x < w[1].x && w[0].cdf < w[1].cdf));
        assert!(curve.iter().all(|p| p.cdf == p.x / 100_000.0));
        assert_eq!((curve[0].x, curve[curve.len() - 1].x), (1.0, 100_000.0));
        assert!(curve.iter().filter(|p| p.cdf > 0.999).count() >= 50, "the tail is thin");
    }

    #[test]
    fn a_curve_with_censored_values_ends_below_one() {
        let curve = ecdf(&[1.0, 2.0, f64::INFINITY, f64::INFINITY], 512);
        assert_eq!(curve.last(), Some(&CurvePoint { x: 2.0, cdf: 0.5 }));
    }
}
