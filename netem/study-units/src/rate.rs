//! Data rates.

use crate::parse::{largest_unit, scale, split};
use crate::{Quantity, QuantityError, SimDuration, quantity_serde};
use std::fmt;

/// A data rate in bits per second. Zero means that nothing passes, never "unlimited".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl BitRate {
    /// From bits per second.
    #[must_use]
    #[inline]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }
    /// In bits per second.
    #[must_use]
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
    /// Time that `bytes` take on a wire of this rate, rounded up to the nanosecond so that no interval carries more
    /// than rate x interval. A rate of zero takes for ever.
    #[must_use]
    #[inline]
    pub fn serialization(self, bytes: u64) -> SimDuration {
        if self.0 == 0 {
            return SimDuration::from_nanos(u64::MAX);
        }
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        SimDuration::from_nanos(u64::try_from(bits.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }
    /// Bytes that pass in `span`, rounded down: the bandwidth-delay product for a span of one round trip.
    #[must_use]
    #[inline]
    pub fn bytes_in(self, span: SimDuration) -> u64 {
        let bits = u128::from(self.0) * u128::from(span.as_nanos()) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

const UNITS: &[(&str, u64)] = &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
const UNIT_NAMES: &[&str] = &["Mbit/s", "kbit/s", "Gbit/s", "bit/s", "MB/s", "kB/s", "B/s"];

impl Quantity for BitRate {
    const NAME: &'static str = "data rate";
    const EXAMPLES: &'static [&'static str] = &["20 Mbit/s", "768 kbit/s", "1 Gbit/s"];
    #[inline]
    fn parse_quantity(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text, Self::NAME)?;
        if unit.is_empty() && number != 0.0 {
            return Err(QuantityError::NoUnit { text: text.to_owned(), expected: Self::NAME, units: UNIT_NAMES });
        }
        let factor = match unit {
            "" => 1,
            "B/s" => 8,
            "kB/s" => 8_000,
            "MB/s" => 8_000_000,
            _ => match UNITS.iter().find(|(name, _)| *name == unit) {
                Some((_, factor)) => *factor,
                None => {
                    return Err(QuantityError::UnknownUnit {
                        unit: unit.to_owned(),
                        expected: Self::NAME,
                        units: UNIT_NAMES,
                    });
                }
            },
        };
        scale(text, number, factor as f64, "at least 0 bit/s").map(Self)
    }
}

impl fmt::Display for BitRate {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, unit) = largest_unit(self.0, UNITS);
        write!(f, "{n} {unit}")
    }
}
quantity_serde!(BitRate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_on_ten_megabit_takes_1200_microseconds() {
        let rate = BitRate::parse_quantity("10 Mbit/s").unwrap();
        assert_eq!(rate.serialization(1500), SimDuration::from_micros(1200));
        assert_eq!(rate.bytes_in(SimDuration::from_millis(100)), 125_000);
        assert_eq!(BitRate::from_bits_per_second(3).serialization(1).as_nanos(), 2_666_666_667, "rounded up");
    }

    #[test]
    fn bits_and_bytes_are_told_apart() {
        assert_eq!(BitRate::parse_quantity("1 MB/s").unwrap(), BitRate::parse_quantity("8 Mbit/s").unwrap());
        for text in ["20", "20 Mbit", "20 Mb/s", "-3 Mbit/s", "20 ms"] {
            assert!(BitRate::parse_quantity(text).is_err(), "{text}");
        }
    }
}
