//! Sizes of packets.

/// Sizes of packets, in bytes. Payload is what carries stream data; the rest is header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireFormat {
    /// Stream bytes of a full packet.
    pub payload: u32,
    /// Bytes of a packet besides its stream bytes, IP header included.
    pub header: u32,
    /// An acknowledgement without data, IP header included.
    pub ack: u32,
    /// A client packet (request, handshake message) besides its content, IP header included.
    pub client_header: u32,
    /// The client's first packet: a SYN, or an Initial padded to 1,200 bytes (RFC 9000 section 14.1).
    pub first_client: u32,
    /// TLS ClientHello of TCP.
    pub hello: u32,
    /// Server messages of a handshake besides the certificate chain.
    pub server_handshake: u32,
    /// Extra stream bytes at the start of each frame (HTTP/2 frame header and TLS record).
    pub frame_overhead: u32,
    /// Every packet counts as a full one, and acknowledgements and handshakes as nothing: only for the tests' oracle.
    pub oracle: bool,
}

impl WireFormat {
    /// TCP with timestamps over IPv4 at an MTU of 1,500 bytes: 20 + 20 + 12 bytes of header, 1,448 of payload.
    #[must_use]
    pub const fn tcp() -> Self {
        Self {
            payload: 1_448,
            header: 52,
            ack: 52,
            client_header: 52,
            first_client: 60,
            hello: 517,
            server_handshake: 250,
            // HTTP/2 frame header 9 (RFC 9113 section 4.1); TLS 1.3 record: 5 header, 1 type, 16 tag (RFC 8446 section 5.2).
            frame_overhead: 31,
            oracle: false,
        }
    }
    /// QUIC over UDP and IPv4 in datagrams of 1,452 bytes (what quinn probes up to at an MTU of 1,500).
    #[must_use]
    pub const fn quic() -> Self {
        Self {
            // 1,452 less short header (1 + 8 id + 2 number), stream frame header (8) and tag (16), RFC 9000 sections 17.3 and 19.8.
            payload: 1_417,
            header: 63,
            ack: 67,
            client_header: 63,
            first_client: 1_228,
            hello: 0,
            server_handshake: 350,
            frame_overhead: 0,
            oracle: false,
        }
    }
    /// The configuration of the no-loss completion table: 1,500 bytes on the wire for 1,448 of payload, nothing else takes time.
    #[must_use]
    pub const fn oracle() -> Self {
        Self {
            payload: 1_448,
            header: 52,
            ack: 0,
            client_header: 0,
            first_client: 0,
            hello: 0,
            server_handshake: 0,
            frame_overhead: 0,
            oracle: true,
        }
    }
}
