//! Reports and figures from tables and typed summaries.
//!
//! Nothing here knows a stage, a file or a clock: typed summaries ([`effect`]) come in; sentences ([`answer`]),
//! figures ([`figure`]), a document ([`document`]) and its renderings ([`markdown`], [`html`]) go out, with equal bytes
//! for equal input on every machine.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod answer;
pub mod document;
pub mod effect;
pub mod figure;
pub mod html;
pub mod markdown;
pub mod metric;
pub mod number;
pub mod section;
