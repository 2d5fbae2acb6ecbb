//! The engine with made-up stage kinds: what runs, what does not, and what is said about it.
#![allow(clippy::unwrap_used)]

mod caching;
mod child;
mod failure;
mod integrity;
mod kill;
mod lab;
mod processes;
mod random;
mod reasons;
mod repetitions;
mod selection;
