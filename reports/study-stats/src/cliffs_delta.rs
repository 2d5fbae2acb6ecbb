//! Cliff's delta and the probability of superiority.
//!
//! `delta = P(x > y) - P(x < y)` over all pairs (Cliff, Psych. Bull. 114, 1993), `= 2 U / (m n) - 1`; probability of
//! superiority `P(x > y) + P(x = y) / 2 = (delta + 1) / 2`. Censored values (+infinity) are larger than all others and
//! equal to each other.
//!
//! Random streams consumed: none.

use crate::NotEstimable;

/// Pairs with `x > y` plus half of those with `x = y`, doubled to stay whole; and the number of pairs.
pub(crate) fn doubled_wins(x: &[f64], y: &[f64]) -> Result<(u64, u64), NotEstimable> {
    if x.is_empty() || y.is_empty() {
        return Err(NotEstimable::Empty);
    }
    if x.iter().chain(y).any(|v| v.is_nan()) {
        return Err(NotEstimable::NotFinite);
    }
    let mut sorted = y.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let wins = |v: &f64| sorted.partition_point(|w| w < v) + sorted.partition_point(|w| w <= v);
    Ok((x.iter().map(|v| wins(v) as u64).sum(), x.len() as u64 * y.len() as u64))
}

/// Cliff's delta of `x` over `y`, in -1..=1; positive when `x` tends to be larger.
///
/// # Errors
/// When a side is empty or holds NaN.
pub fn cliffs_delta(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    let (wins, pairs) = doubled_wins(x, y)?;
    Ok((wins as f64 - pairs as f64) / pairs as f64)
}

/// The probability that a value of `x` is larger than one of `y`, ties half, in 0..=1.
///
/// # Errors
/// As [`cliffs_delta`].
pub fn probability_of_superiority(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    let (wins, pairs) = doubled_wins(x, y)?;
    Ok(0.5 * wins as f64 / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_balance_of_pairs() {
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Ok(1.0));
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[1.0, 2.0]), Ok(0.0));
        assert_eq!(cliffs_delta(&[1.0, f64::INFINITY], &[2.0, f64::INFINITY]), Ok(-0.25));
        assert_eq!(probability_of_superiority(&[1.0, f64::INFINITY], &[2.0, f64::INFINITY]), Ok(0.375));
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        assert_eq!(cliffs_delta(&[], &[1.0]), Err(NotEstimable::Empty));
        assert_eq!(cliffs_delta(&[f64::NAN], &[1.0]), Err(NotEstimable::NotFinite));
    }
}
