//! Content, caches, request routing and playback of a content delivery network.
//!
//! Purpose: the domain logic between "a viewer asks for a title" and "a segment is on the screen", as pure state machines.
//! Time and randomness are arguments, so the packet-level simulation and the real client drive the same code.
//!
//! [`catalog`] and [`popularity`] say what there is and what is watched, [`routing`] which edge serves whom, [`cache`] what
//! an edge remembers, [`abr`] which rung is asked for, and [`player`] what the viewer experiences.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod abr;
pub mod cache;
pub mod catalog;
pub mod ladder;
pub mod player;
pub mod popularity;
pub mod routing;
