//! Shares between 0 and 1.

use crate::parse::split;
use crate::{Quantity, QuantityError, quantity_serde};
use std::fmt;

/// A probability or share in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// From a share; `None` outside [0, 1] and for NaN.
    #[must_use]
    #[inline]
    pub fn new(share: f64) -> Option<Self> {
        // `+ 0.0` turns -0.0 into 0.0, so that equal values have equal bits.
        (0.0..=1.0).contains(&share).then_some(Self(share + 0.0))
    }
    /// As a share in [0, 1].
    #[must_use]
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Quantity for Probability {
    const NAME: &'static str = "probability";
    const EXAMPLES: &'static [&'static str] = &["3.6 %", "0.036"];
    #[inline]
    fn parse_quantity(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text, Self::NAME)?;
        let share = match unit {
            // Shifting the decimal point instead of dividing, so that 3.6 % and 0.036 have the same bits.
            "%" => format!("{number}e-2").parse().unwrap_or(f64::NAN),
            "" if number == 1.0 => {
                return Err(QuantityError::Ambiguous { text: text.trim().to_owned(), instead: "`100 %` or `1 %`" });
            }
            "" => number,
            _ => {
                return Err(QuantityError::UnknownUnit { unit: unit.to_owned(), expected: Self::NAME, units: &["%"] });
            }
        };
        Self::new(share)
            .ok_or_else(|| QuantityError::OutOfRange { text: text.trim().to_owned(), range: "0 % to 100 %" })
    }
}

impl fmt::Display for Probability {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A share rather than a percentage: multiplying by 100 would not always read back to the same bits.
        if self.0 == 1.0 { write!(f, "100 %") } else { write!(f, "{}", self.0) }
    }
}
quantity_serde!(Probability);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_share_agree_bit_for_bit() {
        for (a, b) in
            [("1 %", "0.01"), ("3.6 %", "0.036"), ("1e-2", "0.01"), ("100 %", "100%"), ("0 %", "0"), ("40 %", "0.4")]
        {
            let (x, y) = (Probability::parse_quantity(a).unwrap(), Probability::parse_quantity(b).unwrap());
            assert_eq!(x.get().to_bits(), y.get().to_bits(), "{a} {b}");
            assert_eq!(Probability::parse_quantity(&x.to_string()).unwrap(), x);
        }
        for text in ["1", "101 %", "-1 %", "3.6", "5 ms", "nan"] {
            assert!(Probability::parse_quantity(text).is_err(), "{text}");
        }
    }
}
