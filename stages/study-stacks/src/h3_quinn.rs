//! The stack `h3-quinn`: h3 over quinn.
//!
//! quinn says which controller a connection runs and with which initial window. It does not say which kind of handshake
//! there was, nor which windows it announced: both are seen by standing between quinn and its TLS session
//! ([`watch`]), where handshake messages and transport parameters pass.

mod client;
mod config;
mod server;
mod watch;

pub(crate) use client::Dialer;
pub(crate) use config::bind;
pub(crate) use server::serve;

/// ALPN protocol.
const ALPN: &[u8] = b"h3";
