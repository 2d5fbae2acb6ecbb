//! Combining positive run-level statistics on the log scale.
//!
//! The geometric mean over runs of a run-level quantile, and the ratio of two arms as the mean of the runs' log ratios
//! `ln(b_r / a_r)`: the ratio of b over a then does not depend on which arm is called the baseline, and one slow run
//! does not decide alone.
//!
//! Random streams consumed: none.

use crate::{NotEstimable, mean};

/// Natural logarithms.
///
/// # Errors
/// When a value is not finite, or not positive.
pub fn logs(values: &[f64]) -> Result<Vec<f64>, NotEstimable> {
    if values.iter().any(|x| !x.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    if values.iter().any(|x| *x <= 0.0) {
        return Err(NotEstimable::NotPositive);
    }
    Ok(values.iter().map(|x| libm::log(*x)).collect())
}

/// `ln(b / a)` pair by pair.
///
/// # Errors
/// When the lengths differ, or a value is not finite or not positive.
pub fn log_ratios(a: &[f64], b: &[f64]) -> Result<Vec<f64>, NotEstimable> {
    if a.len() != b.len() {
        return Err(NotEstimable::Unpaired);
    }
    // The difference of logarithms, not the logarithm of the quotient: swapping the arms then only changes the sign.
    Ok(logs(b)?.iter().zip(logs(a)?).map(|(b, a)| b - a).collect())
}

/// The geometric mean.
///
/// # Errors
/// Without values, or when one is not finite or not positive.
pub fn geometric_mean(values: &[f64]) -> Result<f64, NotEstimable> {
    mean(&logs(values)?).map(libm::exp).ok_or(NotEstimable::Empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_change_only_their_sign_when_arms_swap() {
        let (a, b) = ([10.0, 20.0, 7.0], [5.0, 30.0, 7.0]);
        let forth = log_ratios(&a, &b).unwrap();
        let back = log_ratios(&b, &a).unwrap();
        assert!(forth.iter().zip(&back).all(|(x, y)| *x == -*y));
        assert_eq!(forth[2], 0.0);
    }

    #[test]
    fn geometric_mean_and_its_refusals() {
        assert!((geometric_mean(&[1.0, 100.0]).unwrap() - 10.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), Err(NotEstimable::Empty));
        assert_eq!(geometric_mean(&[1.0, 0.0]), Err(NotEstimable::NotPositive));
        assert_eq!(geometric_mean(&[1.0, f64::INFINITY]), Err(NotEstimable::NotFinite));
        assert_eq!(log_ratios(&[1.0], &[1.0, 2.0]), Err(NotEstimable::Unpaired));
    }
}
