//! Splitting a spelling into number and unit, and exact conversion to the base unit.

use std::fmt;

/// Why a spelling is not a quantity. `Display` says what is wrong, [`QuantityError::help`] what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuantityError {
    /// There is no number at the start.
    NoNumber {
        /// The text as given.
        text: String,
        /// The quantity that was expected, e.g. `duration`.
        expected: &'static str,
    },
    /// A bare number where a unit decides the value.
    NoUnit {
        /// The text as given.
        text: String,
        /// The quantity that was expected.
        expected: &'static str,
        /// Accepted units.
        units: &'static [&'static str],
    },
    /// A unit that does not belong to this quantity.
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// The quantity that was expected.
        expected: &'static str,
        /// Accepted units.
        units: &'static [&'static str],
    },
    /// The value is outside the range that makes sense.
    OutOfRange {
        /// The text as given.
        text: String,
        /// The accepted range in words.
        range: &'static str,
    },
    /// The number has two readings (`1` as a share or as a percentage).
    Ambiguous {
        /// The text as given.
        text: String,
        /// The two spellings that are unambiguous.
        instead: &'static str,
    },
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { text, expected } => write!(f, "`{text}` is not a {expected}"),
            Self::NoUnit { text, expected, .. } => write!(f, "`{text}` has no unit, so it is not a {expected}"),
            Self::UnknownUnit { unit, expected, .. } => write!(f, "`{unit}` is not a unit of a {expected}"),
            Self::OutOfRange { text, range } => write!(f, "`{text}` is out of range: {range}"),
            Self::Ambiguous { text, .. } => write!(f, "`{text}` can be read in two ways"),
        }
    }
}

impl std::error::Error for QuantityError {}

impl QuantityError {
    /// What to write instead, one line.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoNumber { .. } => "begin with a number, then the unit, e.g. `50 ms`".to_owned(),
            Self::NoUnit { text, units, .. } => {
                format!("write the unit, e.g. `{} {}` (units: {})", text.trim(), units[0], units.join(", "))
            }
            Self::UnknownUnit { units, .. } => format!("accepted units: {}", units.join(", ")),
            Self::OutOfRange { range, .. } => format!("give a value with {range}"),
            Self::Ambiguous { instead, .. } => format!("write {instead}"),
        }
    }
}

/// Splits `"20 Mbit/s"` into `20.0` and `"Mbit/s"`; the number must be finite.
pub(crate) fn split<'a>(text: &'a str, expected: &'static str) -> Result<(f64, &'a str), QuantityError> {
    let trimmed = text.trim();
    let no_number = || QuantityError::NoNumber { text: trimmed.to_owned(), expected };
    let mut end = 0;
    let bytes = trimmed.as_bytes();
    while end < bytes.len() {
        let c = bytes[end];
        let exponent = matches!(c, b'e' | b'E')
            && end > 0
            && bytes.get(end + 1).is_some_and(|n| n.is_ascii_digit() || matches!(n, b'+' | b'-'));
        let sign = matches!(c, b'+' | b'-') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if c.is_ascii_digit() || c == b'.' || exponent || sign {
            end += 1;
        } else {
            break;
        }
    }
    let number: f64 = trimmed[..end].parse().map_err(|_| no_number())?;
    if !number.is_finite() {
        return Err(no_number());
    }
    Ok((number, trimmed[end..].trim()))
}

/// Scales a number of units to an integer number of base units, rounding to the nearest.
pub(crate) fn scale(text: &str, number: f64, factor: f64, range: &'static str) -> Result<u64, QuantityError> {
    let value = number * factor;
    // 2^63 keeps every later sum of two quantities inside u64.
    if !(0.0..9_223_372_036_854_775_808.0).contains(&value) {
        return Err(QuantityError::OutOfRange { text: text.trim().to_owned(), range });
    }
    Ok(value.round() as u64)
}

/// The largest unit of which `value` is a whole multiple, for canonical spellings; `units` from large to small.
pub(crate) fn largest_unit(value: u64, units: &[(&'static str, u64)]) -> (u64, &'static str) {
    for &(name, factor) in units {
        if value != 0 && value.is_multiple_of(factor) {
            return (value / factor, name);
        }
    }
    let (name, factor) = units[units.len() - 1];
    (value / factor, name)
}
