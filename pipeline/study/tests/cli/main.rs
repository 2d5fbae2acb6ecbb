//! The binary as its users meet it. One test program, because each one that links the frame stack is hundreds of megabytes.
#![allow(clippy::unwrap_used)]

mod commands;
mod determinism;
mod doctor;
mod emulated;
mod explain;
mod import;
mod input;
mod interruption;
mod keys;
mod links;
mod node;
mod output;
mod publishing;
mod rerun;
mod sandbox;
mod shipped;
mod user;
