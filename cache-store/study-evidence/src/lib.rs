//! Evidence: what a test measured against a reference.
//!
//! A test that compares a model with a published number states it as a claim. The claim judges (the test fails when it
//! does not hold) and, when the variable [`FOLDER`] names a folder, writes itself there as a [`Row`]. `cargo xtask
//! validation` runs the tests in this way and makes `docs/models/validation.md` from what they wrote ([`page`]), so a
//! number in the page is the number that the test judged.
//!
//! ```
//! use study_evidence::{Topic, claim};
//! # fn measured_window() -> f64 { 12.1 }
//! claim!(Topic::Windows, "RFC 9438 table 1", "RFC 9438 section 5.1", "p = 1e-2, 100 ms")
//!     .ours(measured_window(), "packets")
//!     .relative(12.0, 0.15);
//! ```
//!
//! Only tests may import this crate (`cargo xtask layers` sees to it): models have nothing to record. Consumes no random
//! numbers.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod claim;
pub mod page;
mod record;
mod row;

pub use claim::Claim;
pub use record::{Curve, FOLDER, Place, Record, read, record};
pub use row::{Bound, Row, Topic, Verdict};

/// Where this is written: the package, the program of tests and the function around it.
#[macro_export]
macro_rules! place {
    () => {{
        fn here() {}
        $crate::Place::of(env!("CARGO_PKG_NAME"), here)
    }};
}

/// Begins a claim: topic, name of the reference, its source, the condition of the measurement. To be written inside of the
/// test function itself, whose name the row shows.
#[macro_export]
macro_rules! claim {
    ($topic:expr, $reference:expr, $source:expr, $condition:expr $(,)?) => {
        $crate::Claim::new($crate::place!(), $topic, $reference, $source, $condition)
    };
}

/// Records a curve of a figure of the page: id of the figure, name of the curve, pairs of x and y.
#[macro_export]
macro_rules! curve {
    ($figure:expr, $name:expr, $points:expr $(,)?) => {
        $crate::record(&$crate::Record::Curve($crate::Curve {
            place: $crate::place!(),
            figure: ($figure).to_string(),
            name: ($name).to_string(),
            points: $points,
        }))
    };
}
