//! The stack `h2-hyper`: hyper and h2 over rustls over the kernel's TCP.
//!
//! The congestion control is set on the listening socket, so that every connection is born with it (set after `accept` it
//! would start from other cached values), and on the client's socket before it connects. What each socket has is read from
//! the accepted and the connected socket itself. The windows of HTTP/2 are read from the first bytes of each direction.

mod client;
mod early;
mod server;
mod socket;
mod tap;

pub(crate) use client::Dialer;
pub(crate) use server::serve;
pub(crate) use socket::bind;

use std::error::Error;

/// ALPN protocol.
const ALPN: &[u8] = b"h2";

/// An error with all its causes: hyper's own texts say little.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
