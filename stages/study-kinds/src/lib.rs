//! The stage kinds: one module each, one row each in [`registry.rs`](../src/registry.rs).
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod aggregate;
pub mod bootstrap;
pub mod catalog;
pub mod explain;
pub mod report;
pub mod routing;
pub mod simulate;

/// Fingerprints of the source behind each kind.
pub mod fingerprint {
    include!(concat!(env!("OUT_DIR"), "/fingerprint.rs"));
}

use study_stage::{Registry, Section};

macro_rules! stage_kinds {
    ($($module:ident :: $kind:ident => $name:ident [$($dependency:literal),* $(,)?];)*) => {
        /// Everything that a study can use.
        pub static REGISTRY: Registry = Registry { kinds: &[$(&$module::$kind),*], sections: SECTIONS };
    };
}
include!("registry.rs");

/// The named definitions at the top of a study.
static SECTIONS: &[Section] = &[
    Section { name: "links", named: true, check: routing::check_link, schema: routing::link_schema },
    Section { name: "arms", named: true, check: simulate::check_arm, schema: simulate::arm_schema },
    Section { name: "claims", named: false, check: report::check_claim, schema: report::claim_schema },
];
