//! Sums, means and variances in a fixed order.
//!
//! Equations: compensated sum (Neumaier, ZAMM 54, 1974); sample variance `sum((x - mean)^2) / (n - 1)` in two passes
//! with the correction for the rounded mean (Chan, Golub, LeVeque, Am. Stat. 37, 1983).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | pairwise summation of numpy | compensated, left to right | same to the last bit or two; independent of chunking |
//!
//! Random streams consumed: none.

/// The sum, with the rounding error carried along. Values must be finite.
#[must_use]
pub fn sum(values: &[f64]) -> f64 {
    let (mut total, mut carry) = (0.0_f64, 0.0_f64);
    for &x in values {
        let next = total + x;
        carry += if total.abs() >= x.abs() { (total - next) + x } else { (x - next) + total };
        total = next;
    }
    total + carry
}

/// The arithmetic mean, `None` without values. Values must be finite.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| sum(values) / values.len() as f64)
}

/// The sample variance (divisor n - 1), `None` with fewer than two values. Values must be finite.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let deviations: Vec<f64> = values.iter().map(|x| x - centre).collect();
    let squares: Vec<f64> = deviations.iter().map(|d| d * d).collect();
    let drift = sum(&deviations);
    Some(((sum(&squares) - drift * drift / n) / (n - 1.0)).max(0.0))
}

/// The sample standard deviation (divisor n - 1), `None` with fewer than two values. Values must be finite.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Whether the values differ by no more than rounding: 1e-12 of the largest magnitude.
pub(crate) fn all_equal(values: &[f64]) -> bool {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &x in values {
        low = low.min(x);
        high = high.max(x);
    }
    high - low <= 1e-12 * low.abs().max(high.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_lose_small_terms() {
        assert_eq!(sum(&[1e16, 1.0, -1e16, 1.0]), 2.0);
        let tenths = vec![0.1; 1_000_000];
        assert_eq!(sum(&tenths), 100_000.0);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn variance_of_far_shifted_values_is_right() {
        let values: Vec<f64> = [4.0, 7.0, 13.0, 16.0].iter().map(|x| x + 1e9).collect();
        assert_eq!(variance(&values), Some(30.0));
        assert_eq!(variance(&[3.0]), None);
        assert_eq!(standard_deviation(&[2.0, 2.0, 2.0]), Some(0.0));
    }

    #[test]
    fn equality_is_judged_relative_to_magnitude() {
        assert!(all_equal(&[0.1 + 0.2, 0.3]));
        assert!(all_equal(&[0.0, 0.0]));
        assert!(!all_equal(&[1e-9, 2e-9]));
    }
}
