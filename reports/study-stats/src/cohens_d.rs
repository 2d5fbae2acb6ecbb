//! Standardised mean differences.
//!
//! Equations: `d = (mean x - mean y) / s`, pooled `s^2 = ((m-1) s_x^2 + (n-1) s_y^2) / (m+n-2)` (Cohen 1988); Hedges'
//! `g = d J`, `J = Gamma(v/2) / (sqrt(v/2) Gamma((v-1)/2))`, `v = m+n-2` (Hedges, J. Educ. Stat. 6, 1981); paired
//! `d = mean(x - y) / sd(x - y)`.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Go simulator: 0 when the pooled variance is 0, even between different means | not estimable | a constant gap is not called no effect |
//!
//! Random streams consumed: none.

use crate::moments::all_equal;
use crate::{NotEstimable, mean, variance};

fn checked(x: &[f64]) -> Result<(f64, f64), NotEstimable> {
    if x.iter().any(|v| !v.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let centre = mean(x).ok_or(NotEstimable::Empty)?;
    Ok((centre, variance(x).ok_or(NotEstimable::OneCluster)?))
}

/// Cohen's d of `x` over `y`; positive when `x` is larger on average.
///
/// # Errors
/// When a side has fewer than two values or one that is not finite, or neither side varies.
pub fn cohens_d(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    let ((mean_x, var_x), (mean_y, var_y)) = (checked(x)?, checked(y)?);
    if all_equal(x) && all_equal(y) {
        return Err(NotEstimable::AllEqual);
    }
    let (m, n) = (x.len() as f64, y.len() as f64);
    let pooled = ((m - 1.0) * var_x + (n - 1.0) * var_y) / (m + n - 2.0);
    Ok((mean_x - mean_y) / pooled.sqrt())
}

/// Hedges' g: Cohen's d without its small-sample bias.
///
/// # Errors
/// As [`cohens_d`].
pub fn hedges_g(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    let half = 0.5 * (x.len() + y.len()) as f64 - 1.0;
    let correction = libm::exp(libm::lgamma(half) - libm::lgamma(half - 0.5)) / half.sqrt();
    Ok(cohens_d(x, y)? * correction)
}

/// The mean of the pairs' differences `x - y` over their standard deviation.
///
/// # Errors
/// When the lengths differ, there are fewer than two pairs, a value is not finite, or all differences are equal.
pub fn cohens_d_paired(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    if x.len() != y.len() {
        return Err(NotEstimable::Unpaired);
    }
    let differences: Vec<f64> = x.iter().zip(y).map(|(a, b)| a - b).collect();
    let (centre, spread) = checked(&differences)?;
    if all_equal(&differences) { Err(NotEstimable::AllEqual) } else { Ok(centre / spread.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_in_units_of_the_pooled_spread() {
        let (x, y) = ([3.0, 4.0, 5.0], [1.0, 2.0, 3.0]);
        assert_eq!(cohens_d(&x, &y), Ok(2.0));
        // J(4) = Gamma(2) / (sqrt 2 Gamma(1.5)) = 0.7978845608.
        assert!((hedges_g(&x, &y).unwrap() - 2.0 * 0.797_884_560_802_865).abs() < 1e-12);
        assert_eq!(cohens_d_paired(&[1.0, 3.0], &[0.0, 0.0]).map(|d| (d * d * 2.0).round()), Ok(4.0));
    }

    #[test]
    fn constant_groups_are_not_called_equal() {
        assert_eq!(cohens_d(&[1.0; 4], &[2.0; 4]), Err(NotEstimable::AllEqual));
        assert_eq!(cohens_d(&[1.0], &[2.0, 3.0]), Err(NotEstimable::OneCluster));
        assert_eq!(cohens_d(&[1.0, f64::INFINITY], &[2.0, 3.0]), Err(NotEstimable::NotFinite));
        assert_eq!(cohens_d_paired(&[1.0, 2.0], &[0.0, 1.0]), Err(NotEstimable::AllEqual));
    }
}
