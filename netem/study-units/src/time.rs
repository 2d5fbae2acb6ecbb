//! Instants and durations of simulated time, in integer nanoseconds.

use crate::parse::{largest_unit, scale, split};
use crate::{Quantity, QuantityError, quantity_serde};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant of simulated time: nanoseconds since the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(u64);

/// A span of simulated time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimDuration(u64);

impl SimTime {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0);
    /// Later than every event: the deadline of a timer that is not armed.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds since the start.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Nanoseconds since the start.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds since the start, rounded down.
    #[must_use]
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Seconds since the start.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Time since `earlier`; zero when `earlier` is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> SimDuration {
        SimDuration(self.0.saturating_sub(earlier.0))
    }
}

impl SimDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// From microseconds.
    #[must_use]
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// From milliseconds.
    #[must_use]
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// From seconds.
    #[must_use]
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// From seconds, rounded to the nearest nanosecond; negative and NaN become zero.
    #[must_use]
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }
    /// Nanoseconds.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    #[must_use]
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Milliseconds.
    #[must_use]
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Half of it, rounded down: a one-way delay from a symmetric round trip.
    #[must_use]
    #[inline]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }
}

impl Add<SimDuration> for SimTime {
    type Output = Self;
    #[inline]
    fn add(self, d: SimDuration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl AddAssign<SimDuration> for SimTime {
    #[inline]
    fn add_assign(&mut self, d: SimDuration) {
        *self = *self + d;
    }
}
impl Add for SimDuration {
    type Output = Self;
    #[inline]
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl Sub for SimDuration {
    type Output = Self;
    #[inline]
    fn sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}
impl Mul<u64> for SimDuration {
    type Output = Self;
    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

const UNITS: &[(&str, u64)] = &[
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
const UNIT_NAMES: &[&str] = &["ms", "us", "ns", "s", "min", "h"];

impl Quantity for SimDuration {
    const NAME: &'static str = "duration";
    const EXAMPLES: &'static [&'static str] = &["50 ms", "4 s", "250 us"];
    #[inline]
    fn parse_quantity(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text, Self::NAME)?;
        let range = "at least 0 and less than 292 years";
        if unit.is_empty() {
            return if number == 0.0 {
                Ok(Self::ZERO)
            } else {
                Err(QuantityError::NoUnit { text: text.to_owned(), expected: Self::NAME, units: UNIT_NAMES })
            };
        }
        let unit = if unit == "µs" || unit == "μs" { "us" } else { unit };
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::UnknownUnit { unit: unit.to_owned(), expected: Self::NAME, units: UNIT_NAMES });
        };
        scale(text, number, *factor as f64, range).map(Self)
    }
}

impl fmt::Display for SimDuration {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hours and minutes are read but never written: "120 s" is what the field writes.
        let (n, unit) = largest_unit(self.0, &UNITS[2..]);
        write!(f, "{n} {unit}")
    }
}
quantity_serde!(SimDuration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_spelling_is_exact_and_reads_back() {
        for (text, nanos, canonical) in [
            ("50 ms", 50_000_000, "50 ms"),
            ("50ms", 50_000_000, "50 ms"),
            ("0.05 s", 50_000_000, "50 ms"),
            ("5e1 ms", 50_000_000, "50 ms"),
            ("2 min", 120_000_000_000, "120 s"),
            ("1.5 us", 1_500, "1500 ns"),
            ("0 s", 0, "0 ns"),
            ("0", 0, "0 ns"),
        ] {
            let d = SimDuration::parse_quantity(text).unwrap();
            assert_eq!(d.as_nanos(), nanos, "{text}");
            assert_eq!(d.to_string(), canonical, "{text}");
            assert_eq!(SimDuration::parse_quantity(canonical).unwrap(), d);
        }
    }

    #[test]
    fn wrong_spellings_say_what_is_wrong() {
        for text in ["50", "50 Mbit/s", "-1 ms", "ms", "", "nan ms", "1e40 s"] {
            assert!(SimDuration::parse_quantity(text).is_err(), "{text}");
        }
        let error = SimDuration::parse_quantity("50").unwrap_err();
        assert!(error.help().contains("50 ms"), "{}", error.help());
    }
}
