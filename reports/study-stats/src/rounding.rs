//! Rounding to 12 significant digits.
//!
//! Purpose: `statrs` uses the platform's `exp`, `ln` and `powf`, whose last bits differ between systems. Twelve digits are
//! what an acceptance test compares, and the same everywhere.

/// The nearest number with 12 significant decimal digits; infinities stay.
///
/// ```
/// assert_eq!(study_stats::round12(0.123_456_789_012_345_6), 0.123456789012);
/// ```
#[must_use]
pub fn round12(x: f64) -> f64 {
    // Through decimal text: multiplying by a power of ten would round twice. `+ 0.0` leaves no negative zero.
    if x.is_finite() { format!("{x:.11e}").parse().unwrap_or(x) + 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::round12;

    #[test]
    fn last_bits_vanish_and_magnitude_does_not_matter() {
        let noisy = 2.262_157_162_854_099_f64;
        assert_eq!(round12(noisy).to_bits(), round12(f64::from_bits(noisy.to_bits() + 3)).to_bits());
        assert_eq!(round12(1.234_567_890_123_4e-200), 1.234_567_890_12e-200);
        assert_eq!(round12(-9.999_999_999_999_9e300), -1e301);
        assert_eq!(round12(f64::INFINITY), f64::INFINITY);
        assert_eq!(round12(-0.0).to_bits(), 0.0_f64.to_bits());
    }
}
