//! Quantities with units: every number of the network domain carries its unit in its type.
//!
//! Purpose: one place that parses and prints `"50 ms"`, `"20 Mbit/s"`, `"64 KiB"`, `"3.6 %"`, so that a study file,
//! a canonical parameter document and an error message agree on what a number means. `k` is 1000 and `Ki` is 1024.
//! Time is integer nanoseconds: a simulation adds and compares, and never rounds.

mod bytes;
mod parse;
mod probability;
mod rate;
mod time;

pub use bytes::Bytes;
pub use parse::QuantityError;
pub use probability::Probability;
pub use rate::BitRate;
pub use time::{SimDuration, SimTime};

/// A quantity that a study file can spell, with one canonical spelling.
///
/// `Display` prints the canonical spelling and `parse_quantity` reads it back to the same value.
pub trait Quantity: Sized + std::fmt::Display {
    /// What a person calls it in an error message, e.g. `duration`.
    const NAME: &'static str;
    /// Examples of accepted spellings, shown in `help:` lines and in the schema.
    const EXAMPLES: &'static [&'static str];
    /// Reads a spelling.
    ///
    /// # Errors
    /// A [`QuantityError`] says what is wrong: no number, no unit, a unit of another quantity, a value out of range.
    fn parse_quantity(text: &str) -> Result<Self, QuantityError>;
}

macro_rules! quantity_serde {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                <$type as $crate::Quantity>::parse_quantity(&text).map_err(serde::de::Error::custom)
            }
        }
        impl std::str::FromStr for $type {
            type Err = $crate::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <$type as $crate::Quantity>::parse_quantity(text)
            }
        }
    };
}
pub(crate) use quantity_serde;
