//! Normal and Student t distribution functions and their inverses.
//!
//! `normal_cdf(z) = erfc(-z / sqrt 2) / 2` with `libm`; the others come from `statrs` and are rounded to 12 significant
//! digits (see [`round12`](crate::round12)).
//!
//! Random streams consumed: none.

use crate::round12;
use statrs::function::beta::{beta_reg, inv_beta_reg};
use statrs::function::erf::erfc_inv;
use std::f64::consts::SQRT_2;

/// Share of the standard normal distribution at or below `z`.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The `z` with `normal_cdf(z) = p`; infinite at 0 and 1.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    match p {
        p if p <= 0.0 => f64::NEG_INFINITY,
        p if p >= 1.0 => f64::INFINITY,
        p => round12(-SQRT_2 * erfc_inv(2.0 * p)),
    }
}

/// Share of Student's t distribution with `df` > 0 degrees of freedom at or below `t`.
#[must_use]
pub fn student_t_cdf(t: f64, df: f64) -> f64 {
    if t == 0.0 {
        return 0.5;
    }
    let upper = 0.5 * beta_reg(0.5 * df, 0.5, df / (df + t * t));
    round12(if t > 0.0 { 1.0 - upper } else { upper })
}

/// The `t` with `student_t_cdf(t, df) = p`; infinite at 0 and 1. `df` > 0, not necessarily whole.
#[must_use]
pub fn student_t_quantile(p: f64, df: f64) -> f64 {
    match p {
        p if p <= 0.0 => f64::NEG_INFINITY,
        p if p >= 1.0 => f64::INFINITY,
        0.5 => 0.0,
        p => {
            let tail = p.min(1.0 - p);
            let y = inv_beta_reg(0.5 * df, 0.5, 2.0 * tail);
            let t = (df * (1.0 - y) / y).sqrt();
            round12(if p > 0.5 { t } else { -t })
        }
    }
}
