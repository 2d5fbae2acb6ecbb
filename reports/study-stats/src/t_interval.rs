//! Student t intervals: one sample of clusters, and two independent ones (Welch).
//!
//! Equations: `m +- t(G - 1) s / sqrt G`; unpaired `(m_b - m_a) +- t(df) sqrt(v_a + v_b)`, `v = s^2 / G`,
//! `df = (v_a + v_b)^2 / (v_a^2/(G_a - 1) + v_b^2/(G_b - 1))` (Welch, Biometrika 34, 1947).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a sample without spread gives an interval of width 0 | no interval, with the reason | "no difference seen" is not "no difference" |
//!
//! Random streams consumed: none.

use crate::moments::all_equal;
use crate::{Interval, NotEstimable, mean, student_t_quantile, variance};

/// Size, mean and variance of the mean.
fn summarise(values: &[f64]) -> Result<(f64, f64, f64), NotEstimable> {
    if values.iter().any(|x| !x.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let centre = mean(values).ok_or(NotEstimable::Empty)?;
    let spread = variance(values).ok_or(NotEstimable::OneCluster)?;
    Ok((values.len() as f64, centre, spread / values.len() as f64))
}

/// The interval for the mean of one value per cluster; `level` in (0, 1).
///
/// # Errors
/// Without values, with one, with one that is not finite, or when all are equal.
pub fn t_interval(values: &[f64], level: f64) -> Result<Interval, NotEstimable> {
    let (n, centre, v) = summarise(values)?;
    if all_equal(values) {
        return Err(NotEstimable::AllEqual);
    }
    let reach = student_t_quantile(0.5 * (1.0 + level), n - 1.0) * v.sqrt();
    Ok(Interval { low: centre - reach, high: centre + reach })
}

/// The interval for `mean(b) - mean(a)` of two independent sets of clusters; `level` in (0, 1).
///
/// # Errors
/// When a set is empty, has one value or one that is not finite, or neither set varies.
pub fn welch_interval(a: &[f64], b: &[f64], level: f64) -> Result<Interval, NotEstimable> {
    let ((n_a, centre_a, v_a), (n_b, centre_b, v_b)) = (summarise(a)?, summarise(b)?);
    if all_equal(a) && all_equal(b) {
        return Err(NotEstimable::AllEqual);
    }
    let total = v_a + v_b;
    let df = total * total / (v_a * v_a / (n_a - 1.0) + v_b * v_b / (n_b - 1.0));
    let reach = student_t_quantile(0.5 * (1.0 + level), df) * total.sqrt();
    Ok(Interval { low: centre_b - centre_a - reach, high: centre_b - centre_a + reach })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_claimed_without_spread_or_clusters() {
        assert_eq!(t_interval(&[2.0; 9], 0.95), Err(NotEstimable::AllEqual));
        assert_eq!(t_interval(&[2.0], 0.95), Err(NotEstimable::OneCluster));
        assert_eq!(welch_interval(&[1.0, 1.0], &[2.0, 2.0], 0.95), Err(NotEstimable::AllEqual));
        assert_eq!(welch_interval(&[1.0, f64::NAN], &[2.0, 3.0], 0.95), Err(NotEstimable::NotFinite));
    }

    #[test]
    fn equal_spread_and_size_give_welch_twice_the_degrees_of_freedom() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0]);
        let interval = welch_interval(&a, &b, 0.95).unwrap();
        let reach = student_t_quantile(0.975, 6.0) * (2.0 * variance(&a).unwrap() / 4.0).sqrt();
        assert!((interval.low - (10.0 - reach)).abs() < 1e-9 && (interval.high - (10.0 + reach)).abs() < 1e-9);
    }
}
