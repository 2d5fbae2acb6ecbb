//! Emulated trials: real stacks over links of real packets, and whether what they show may be compared.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod validity;
