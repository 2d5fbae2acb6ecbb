//! Foreign inputs: movies, network logs and traces written for other tools.
//!
//! An importer takes bytes and gives values with units. It never guesses: what has two readings, or none, is an
//! [`ImportError`] that names the entry. One file per format.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
pub mod sabre;

pub use error::ImportError;
