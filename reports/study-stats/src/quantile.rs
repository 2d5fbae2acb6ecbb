//! Quantiles.
//!
//! Equations, for sorted `x[0..n]` and share `p`:
//! * type 7 (Hyndman and Fan, Am. Stat. 50, 1996): `h = (n - 1) p`, `x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h])`;
//! * Harrell-Davis (Biometrika 69, 1982): `sum w_i x_i`, `w_i = I(i/n; a, b) - I((i-1)/n; a, b)`, `a = p (n + 1)`,
//!   `b = (1 - p)(n + 1)`, `I` the regularised incomplete beta function.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | numpy: type 7 gives NaN beside an infinity | a quantile that leans on a censored value (+infinity) is +infinity | failures stay visible as "longer than any" |
//! | scipy `hdquantiles` | the same weights, rounded to 12 digits in the end | below 1e-11 |
//!
//! Random streams consumed: none.

use crate::{NotEstimable, round12};
use statrs::function::beta::beta_reg;

/// Type-7 quantile of sorted values; `p` in 0..=1. Censored values stand at the end as +infinity, and a quantile that
/// needs one is +infinity. `None` without values.
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p.clamp(0.0, 1.0);
    // 0.55 of 100 steps is 55.00000000000001 in floating point, and must not lean on the next value.
    let position = if (position - position.round()).abs() < 1e-9 { position.round() } else { position };
    let low = (position as usize).min(last);
    let share = position - low as f64;
    let below = sorted[low];
    // Without the test an exact hit below a censored value would be 0 x infinity.
    if share == 0.0 || low == last {
        return Some(below);
    }
    let above = sorted[low + 1];
    Some(if above.is_infinite() { above } else { below + share * (above - below) })
}

/// Harrell-Davis quantile of sorted finite values; `p` strictly between 0 and 1. Smoother than type 7 in small samples.
///
/// # Errors
/// Without values, or when one is not finite: every value has a weight.
pub fn harrell_davis(sorted: &[f64], p: f64) -> Result<f64, NotEstimable> {
    if sorted.is_empty() {
        return Err(NotEstimable::Empty);
    }
    if !(p > 0.0 && p < 1.0) || sorted.iter().any(|x| !x.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let n = sorted.len() as f64;
    let (a, b) = (p * (n + 1.0), (1.0 - p) * (n + 1.0));
    let mut before = 0.0;
    let terms: Vec<f64> = sorted
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let upto = if i + 1 == sorted.len() { 1.0 } else { beta_reg(a, b, (i + 1) as f64 / n) };
            let weight = upto - before;
            before = upto;
            weight * x
        })
        .collect();
    Ok(round12(crate::sum(&terms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_interpolates_between_order_statistics() {
        let x = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&x, 0.0), Some(1.0));
        assert_eq!(quantile(&x, 0.5), Some(3.0));
        assert!(quantile(&x, 0.95).is_some_and(|q| (q - 7.4).abs() < 1e-12));
        assert_eq!(quantile(&x, 1.0), Some(8.0));
        assert_eq!(quantile(&[5.0], 0.3), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn censored_values_push_quantiles_to_infinity_and_never_to_nan() {
        let x = [1.0, 2.0, 3.0, f64::INFINITY, f64::INFINITY];
        assert_eq!(quantile(&x, 0.5), Some(3.0));
        assert_eq!(quantile(&x, 0.6), Some(f64::INFINITY));
        assert_eq!(quantile(&x, 1.0), Some(f64::INFINITY));
        assert_eq!(quantile(&[f64::INFINITY; 2], 0.5), Some(f64::INFINITY));
        let mut hundred: Vec<f64> = (0..101).map(f64::from).collect();
        hundred[56..].fill(f64::INFINITY);
        assert_eq!(quantile(&hundred, 0.55), Some(55.0));
        assert_eq!(harrell_davis(&x, 0.5), Err(NotEstimable::NotFinite));
    }

    #[test]
    fn harrell_davis_weights_sum_to_one_and_keep_symmetry() {
        assert_eq!(harrell_davis(&[3.0; 7], 0.9), Ok(3.0));
        assert_eq!(harrell_davis(&[-2.0, -1.0, 0.0, 1.0, 2.0], 0.5).map(|x| x.abs() < 1e-12), Ok(true));
    }
}
