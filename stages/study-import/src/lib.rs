//! Foreign inputs: movies, network logs, traces and links written for other tools.
//!
//! An importer takes bytes and gives values with units. It never guesses: what has two readings, or none, is an
//! [`ImportError`] that names the entry. One file per format.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod facts;
pub mod netem;
pub mod presets;
pub mod profile;
pub mod sabre;
mod wording;

pub use error::ImportError;
pub use profile::LinkProfile;
