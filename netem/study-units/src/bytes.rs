//! Amounts of data.

use crate::parse::{largest_unit, scale, split};
use crate::{Quantity, QuantityError, quantity_serde};
use std::fmt;

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// From bytes.
    #[must_use]
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// In bytes.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];
const UNIT_NAMES: &[&str] = &["MiB", "MB", "KiB", "kB", "B", "GiB", "GB", "TiB", "TB"];

impl Quantity for Bytes {
    const NAME: &'static str = "size in bytes";
    const EXAMPLES: &'static [&'static str] = &["64 KiB", "1 GiB", "1500 B"];
    #[inline]
    fn parse_quantity(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text, Self::NAME)?;
        if unit.is_empty() && number != 0.0 {
            return Err(QuantityError::NoUnit { text: text.to_owned(), expected: Self::NAME, units: UNIT_NAMES });
        }
        let unit = if unit.is_empty() { "B" } else { unit };
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::UnknownUnit { unit: unit.to_owned(), expected: Self::NAME, units: UNIT_NAMES });
        };
        scale(text, number, *factor as f64, "at least 0 B and less than 8 EiB").map(Self)
    }
}

impl fmt::Display for Bytes {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, unit) = largest_unit(self.0, UNITS);
        write!(f, "{n} {unit}")
    }
}
quantity_serde!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_1000_and_ki_is_1024() {
        for (text, bytes, canonical) in [
            ("64 KiB", 65_536, "64 KiB"),
            ("1 GiB", 1 << 30, "1 GiB"),
            ("15 kB", 15_000, "15 kB"),
            ("1500 B", 1500, "1500 B"),
            ("0", 0, "0 B"),
        ] {
            let b = Bytes::parse_quantity(text).unwrap();
            assert_eq!(b.get(), bytes, "{text}");
            assert_eq!(b.to_string(), canonical);
            assert_eq!(Bytes::parse_quantity(canonical).unwrap(), b);
        }
        for text in ["64", "64 K", "64 Kbit", "-1 B"] {
            assert!(Bytes::parse_quantity(text).is_err(), "{text}");
        }
    }
}
