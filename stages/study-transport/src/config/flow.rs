//! Windows and buffers: what limits the bytes between sender and reader besides congestion control.
//!
//! | stack | receive window | send buffer | HTTP windows (stream / connection) |
//! |---|---|---|---|
//! | Linux 6 | `auto` up to `tcp_rmem[2]` (6 MiB) | `auto` up to `tcp_wmem[2]` (4 MiB) | - |
//! | hyper 1 (client) | - | - | 2 MiB / 5 MiB |
//! | RFC 9113 section 6.9.2 | - | - | 65,535 B / 65,535 B |
//! | quinn 0.11 | - | - | 1.25 MB / unlimited |

use super::TransportParams;
use serde::{Deserialize, Serialize};
use std::fmt;
use study_tree::serde_json::{Value, json};
use study_tree::{Cx, Decode, Diagnostic, Node};
use study_units::{Bytes, Quantity};

/// A limit of bytes: none, one that the stack adapts, or a fixed one. Written `unlimited`, `auto` or as a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Limit {
    /// Never in the way.
    #[default]
    Unlimited,
    /// As the stack tunes it.
    Auto,
    /// Fixed, in bytes, at least 1.
    Size(Bytes),
}

impl Limit {
    /// A fixed limit of `bytes` (at least 1).
    #[must_use]
    pub const fn of(bytes: u64) -> Self {
        Self::Size(Bytes::new(bytes))
    }
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "unlimited" => Some(Self::Unlimited),
            "auto" => Some(Self::Auto),
            size => Bytes::parse_quantity(size).ok().filter(|bytes| bytes.get() > 0).map(Self::Size),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Auto => f.write_str("auto"),
            Self::Size(bytes) => bytes.fmt(f),
        }
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> Self {
        limit.to_string()
    }
}

impl TryFrom<String> for Limit {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a limit of bytes"))
    }
}

impl Decode for Limit {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let parsed = node.text().and_then(Self::parse);
        if parsed.is_none() {
            let message = format!("{} is not a limit of bytes", node.describe());
            cx.push(
                Diagnostic::error("bad-quantity", node.span, message)
                    .help("write `unlimited`, `auto` or a size above zero such as `64 KiB`"),
            );
        }
        parsed
    }
    fn schema() -> Value {
        json!({ "type": "string", "description": "a limit of bytes", "examples": ["unlimited", "auto", "64 KiB"] })
    }
}

/// Windows and buffers of one connection. What a protocol does not have is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRules {
    /// TCP's receive window: bytes that the sender may have beyond the last one received in order.
    pub receive_window: Limit,
    /// TCP's send buffer: bytes written by the application and not yet acknowledged. A size is what is asked for with
    /// `SO_SNDBUF`; Linux doubles it (socket(7)).
    pub send_buffer: Limit,
    /// `TCP_NOTSENT_LOWAT`: bytes in the socket that may wait to be sent for the first time.
    pub notsent_lowat: Option<u64>,
    /// Bytes that the HTTP layer hands down ahead of the wire, beyond the scheduler's reach.
    pub http_send_buffer: u64,
    /// Bytes of one stream that may be under way to its reader (RFC 9113 section 5.2, RFC 9000 section 4).
    pub stream_window: Option<u64>,
    /// Bytes of all streams together.
    pub connection_window: Option<u64>,
    /// The reader raises a limit when one part in so many of the window is read, at least 1. hyper: 2; quinn 0.11: 8.
    pub credit_step: u64,
}

impl Default for FlowRules {
    fn default() -> Self {
        Self {
            receive_window: Limit::Unlimited,
            send_buffer: Limit::Unlimited,
            notsent_lowat: None,
            http_send_buffer: 0,
            stream_window: None,
            connection_window: None,
            credit_step: 2,
        }
    }
}

impl FlowRules {
    /// What a protocol has of the study's limits: TCP its windows and buffers, HTTP/2 and QUIC theirs.
    #[must_use]
    pub fn new(tcp: bool, multiplexed: bool, params: &TransportParams) -> Self {
        let size = |bytes: Option<Bytes>| bytes.map(Bytes::get);
        Self {
            receive_window: if tcp { params.receive_window } else { Limit::Unlimited },
            send_buffer: if tcp { params.send_buffer } else { Limit::Unlimited },
            notsent_lowat: size(params.notsent_lowat).filter(|_| tcp),
            http_send_buffer: params.http_send_buffer.get(),
            // A window of nothing would never open.
            stream_window: size(params.stream_window).filter(|_| multiplexed).map(|bytes| bytes.max(1)),
            connection_window: size(params.connection_window).filter(|_| multiplexed).map(|bytes| bytes.max(1)),
            credit_step: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for (text, limit) in [("unlimited", Limit::Unlimited), ("auto", Limit::Auto), ("64 KiB", Limit::of(65_536))] {
            assert_eq!(Limit::parse(text), Some(limit));
            assert_eq!(Limit::parse(&limit.to_string()), Some(limit));
        }
        for text in ["", "0 B", "64", "none", "-1 KiB"] {
            assert_eq!(Limit::parse(text), None, "{text}");
        }
    }
}
