//! The Hodges-Lehmann shift: the median of all pairwise differences `x - y` (Ann. Math. Stat. 34, 1963).
//!
//! Needs time and memory for `m n` differences; meant for run-level values and samples of a few thousand.
//!
//! Random streams consumed: none.

use crate::NotEstimable;

/// The shift of `x` against `y`, in their unit.
///
/// # Errors
/// When a side is empty or holds a value that is not finite.
pub fn hodges_lehmann(x: &[f64], y: &[f64]) -> Result<f64, NotEstimable> {
    if x.is_empty() || y.is_empty() {
        return Err(NotEstimable::Empty);
    }
    if x.iter().chain(y).any(|v| !v.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let mut differences: Vec<f64> = x.iter().flat_map(|a| y.iter().map(move |b| a - b)).collect();
    let (upper, odd) = (differences.len() / 2, differences.len() % 2 == 1);
    let (below, middle, _) = differences.select_nth_unstable_by(upper, f64::total_cmp);
    let middle = *middle;
    let lower = if odd { middle } else { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
    Ok(0.5 * (lower + middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_median_of_differences() {
        assert_eq!(hodges_lehmann(&[5.0], &[1.0, 2.0]), Ok(3.5));
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 100.0], &[0.0]), Ok(2.0));
        assert_eq!(hodges_lehmann(&[], &[0.0]), Err(NotEstimable::Empty));
        assert_eq!(hodges_lehmann(&[f64::INFINITY], &[0.0]), Err(NotEstimable::NotFinite));
    }
}
