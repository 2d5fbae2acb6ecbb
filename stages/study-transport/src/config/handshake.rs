//! Handshakes: round trips before the first request, and what is remembered of earlier ones.

use study_tree::choices;

choices! {
    /// What the client remembers of the server (RFC 8446 section 2.2 and 2.3).
    pub enum SessionState {
        /// Nothing: full handshake with the certificate chain.
        Cold = "cold",
        /// A ticket: no certificate chain.
        Resumed = "resumed",
        /// A ticket that allows early data: the request travels with the first flight.
        ZeroRtt = "0rtt",
        /// The same, but the server does not take early data: it is thrown away and sent again after the handshake
        /// (RFC 8446 section 4.2.10, RFC 9001 section 4.6.2).
        ZeroRttRejected = "0rtt_rejected",
    }
}

impl SessionState {
    /// Whether the client sends its requests with the first flight.
    #[must_use]
    pub const fn sends_early(self) -> bool {
        matches!(self, Self::ZeroRtt | Self::ZeroRttRejected)
    }
    /// Whether the client has been here before.
    #[must_use]
    pub const fn has_ticket(self) -> bool {
        !matches!(self, Self::Cold)
    }
}

choices! {
    /// Version of TLS over TCP.
    pub enum TlsVersion {
        /// RFC 5246: two round trips for a full handshake, one for a resumed one; no early data.
        V1_2 = "1.2",
        /// RFC 8446: one round trip, none with early data.
        V1_3 = "1.3",
    }
}

/// Round trips of a handshake besides TLS 1.3's one (and TCP's, which [`RecoveryRules`](super::RecoveryRules) says).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandshakeRules {
    /// TCP Fast Open (RFC 7413): whoever has been here before puts the ClientHello into the SYN.
    pub fast_open: bool,
    /// TLS 1.2: a full handshake has a second exchange, and there is no early data.
    pub tls_1_2: bool,
    /// QUIC exchanges before the handshake proper: Retry (RFC 9000 section 8.1.2).
    pub retry: bool,
    /// Version Negotiation (RFC 9000 section 6).
    pub version_negotiation: bool,
}
