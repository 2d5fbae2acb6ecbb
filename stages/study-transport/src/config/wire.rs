//! Sizes of packets, and of what TLS and HTTP add to the bytes of a response.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a TLS record over a 16 KiB HTTP/2 frame is cut into 16,384 and 9 bytes | the frame header rides in the record of its frame | 22 bytes less per frame |
//! | header compression gains over a connection's life (RFC 7541, RFC 9204) | `request` and `response_headers` say the size on the wire | none where the sizes are those of a warm table |

use study_tree::choices;
use study_units::Bytes;

choices! {
    /// Which bytes HTTP adds.
    pub enum Framing {
        /// The frames of HTTP/2 responses and their TLS records.
        Responses = "responses",
        /// Also the client's preface and settings, and HTTP/3's frames.
        Full = "full",
    }
}

/// TLS 1.3 record: 5 header, 1 content type, 16 tag (RFC 8446 section 5.2).
pub const RECORD_OVERHEAD: u32 = 22;

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
    /// Plaintext bytes of a full TLS record, 0 when bytes can be read as they arrive. A record never spans frames, and its
    /// bytes can be read when all of it has arrived. Only for one byte stream (TCP).
    pub tls_record: u32,
    /// Bytes of the client's preface and settings, with the first request.
    pub preface: u32,
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
            tls_record: 0,
            preface: 0,
            oracle: false,
        }
    }
    /// HTTP/1.1 over TLS: no frames, a record header for each record of `frame` bytes.
    #[must_use]
    pub const fn http_1() -> Self {
        let mut wire = Self::tcp();
        wire.frame_overhead = RECORD_OVERHEAD;
        wire
    }
    /// QUIC over UDP and IPv4 in datagrams of 1,452 bytes (what quinn probes up to at an MTU of 1,500).
    #[must_use]
    pub const fn quic() -> Self {
        Self::quic_in(Bytes::new(1_452))
    }
    /// QUIC in datagrams of this UDP payload, 1,200 to 65,507 bytes.
    #[must_use]
    pub const fn quic_in(datagram: Bytes) -> Self {
        Self {
            // Less short header (1 + 8 id + 2 number), stream frame header (8) and tag (16), RFC 9000 sections 17.3 and 19.8.
            payload: datagram.get() as u32 - 35,
            header: 63,
            ack: 67,
            client_header: 63,
            first_client: 1_228,
            hello: 0,
            server_handshake: 350,
            frame_overhead: 0,
            tls_record: 0,
            preface: 0,
            oracle: false,
        }
    }
    /// With what HTTP adds under [`Framing::Full`].
    ///
    /// HTTP/2: preface 24, SETTINGS 9 + 3 x 6, WINDOW_UPDATE 13 (RFC 9113 sections 3.4, 6.5, 6.9) and a TLS record. HTTP/3:
    /// three stream types and SETTINGS of 3 x 3 (RFC 9114 sections 6.2 and 7.2.4, RFC 9204 section 4.2); a DATA frame of
    /// 16 KiB has a header of 1 + 4.
    #[must_use]
    pub const fn with_full_framing(mut self, multiplexed: bool, tcp: bool) -> Self {
        match (multiplexed, tcp) {
            (true, true) => self.preface = 24 + 27 + 13 + RECORD_OVERHEAD,
            (true, false) => {
                self.preface = 3 + 2 + 9;
                self.frame_overhead = 5;
            }
            _ => {}
        }
        self
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
            tls_record: 0,
            preface: 0,
            oracle: true,
        }
    }
}
