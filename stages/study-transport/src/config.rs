//! What a connection is made of: protocol, wire format, acknowledgement policy and recovery rules.

use crate::CongestionControl;
use crate::congestion::SlowStartChoice;
use study_tree::{choices, params};
use study_units::{Bytes, SimDuration};

choices! {
    /// The protocol stack of an arm.
    pub enum Protocol {
        /// HTTP/2 over TLS 1.3 over TCP.
        H2 = "h2",
        /// HTTP/3 over QUIC.
        H3 = "h3",
    }
}

choices! {
    /// In which order the responses of one connection share it (RFC 9218 calls the two incremental and not).
    pub enum Scheduler {
        /// A frame of each response in turn.
        RoundRobin = "round_robin",
        /// One response after the other, in the order of the requests.
        Sequential = "sequential",
    }
}

choices! {
    /// What the client remembers of the server (RFC 8446 section 2.2 and 2.3).
    pub enum SessionState {
        /// Nothing: full handshake with the certificate chain.
        Cold = "cold",
        /// A ticket: no certificate chain.
        Resumed = "resumed",
        /// A ticket that allows early data: the request travels with the first flight.
        ZeroRtt = "0rtt",
    }
}

params! {
    /// Transport parameters of a study; they hold for every arm unless the arm says otherwise.
    pub struct TransportParams {
        /// Initial congestion window in packets (RFC 6928, RFC 9002 section 7.2: 10).
        initial_window: u32 = 10, in 1..=1000;
        /// Packets per acknowledgement (RFC 9000 section 13.2.2 and RFC 1122: 2).
        ack_every: u32 = 2, in 1..=100;
        /// Longest delay of an acknowledgement; by default 40 ms for TCP (Linux) and 25 ms for QUIC (RFC 9000 section 18.2).
        max_ack_delay: Option<SimDuration> = None;
        /// Bytes of one response before the next one has its turn under `round_robin` (HTTP/2's default frame is 16 KiB).
        frame: Bytes = Bytes::new(16_384), in Bytes::new(1)..=Bytes::new(1 << 24);
        /// Certificate chain that a full handshake carries.
        certificate_chain: Bytes = Bytes::new(3_000), in Bytes::new(0)..=Bytes::new(65_536);
        /// How slow start ends before the first loss.
        slow_start: SlowStartChoice = SlowStartChoice::Standard;
        /// Whether packets are spread over the round trip at 1.25 windows per round trip (RFC 9002 section 7.7) instead of leaving in bursts.
        pacing: bool = false;
        /// Whether the window falls back to the initial one after an idle time longer than the timeout (RFC 5681 section 4.1).
        idle_restart: bool = true;
        /// Lowest retransmission timeout of TCP (RFC 6298 says 1 s, Linux uses 200 ms).
        rto_floor: SimDuration = SimDuration::from_millis(200), in SimDuration::from_millis(1)..=SimDuration::from_secs(10);
        /// Bytes of a request with its headers.
        request: Bytes = Bytes::new(400), in Bytes::new(0)..=Bytes::new(1_200);
        /// Bytes of a response's headers.
        response_headers: Bytes = Bytes::new(200), in Bytes::new(0)..=Bytes::new(65_536);
        /// Window of the controller `fixed`, in packets.
        fixed_window: u32 = 100, in 1..=1_000_000;
    }
}

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

/// When the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPolicy {
    /// Packets per acknowledgement.
    pub every: u32,
    /// Longest delay.
    pub max_delay: SimDuration,
    /// Acknowledge each packet as long as an earlier one is missing (RFC 5681 section 4.2); else only the packet that
    /// reveals a gap (RFC 9000 section 13.2.1).
    pub immediate_while_hole: bool,
}

/// What is done when the last packets of a flight are lost and no acknowledgement tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailProbe {
    /// Tail loss probe, then retransmission timeout (RFC 8985 section 7, RFC 6298).
    TlpRto,
    /// Probe timeout (RFC 9002 section 6.2).
    Pto,
}

/// How losses are found and repaired. Everything in which the two protocols differ behind the handshake is here, in
/// [`WireFormat`], in [`AckPolicy`], or in `per_stream`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryRules {
    /// QUIC: a packet is lost when one sent three later is acknowledged, or after 9/8 round trips. TCP (RACK): after the
    /// reordering window, which is zero once three later packets are acknowledged or recovery has begun.
    pub rack: bool,
    /// TCP reduces its window once until everything sent before is acknowledged; QUIC once per round trip of losses.
    pub episode_by_sequence: bool,
    /// What repairs a lost tail.
    pub tail: TailProbe,
    /// The receiver reports how long it held an acknowledgement (QUIC), and the sender subtracts it.
    pub subtract_ack_delay: bool,
    /// Data of one stream waits for nothing that belongs to another (QUIC).
    pub per_stream: bool,
    /// A packet that comes before its keys is kept, neither read nor acknowledged (QUIC: 0-RTT before the Initial, Handshake
    /// before ServerHello, application data before the handshake is complete; RFC 9001 sections 4.1 and 5.7).
    pub keys_first: bool,
    /// The handshake needs a round trip of its own before TLS (TCP).
    pub transport_handshake: bool,
    /// A server sends at most three times what it received until the client's address is confirmed (RFC 9000 section 8.1).
    pub amplification_limit: bool,
    /// Time before the first probe when nothing is known of the round trip: SYN 1 s (RFC 6298), Initial 999 ms (RFC 9002 section 6.2.2).
    pub initial_timeout: SimDuration,
    /// Lowest retransmission timeout of TCP.
    pub rto_floor: SimDuration,
}

/// All that a connection needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionConfig {
    /// Packet sizes.
    pub wire: WireFormat,
    /// Acknowledgements.
    pub ack: AckPolicy,
    /// Loss recovery.
    pub rules: RecoveryRules,
    /// Congestion controller.
    pub congestion_control: CongestionControl,
    /// Order of the responses.
    pub scheduler: Scheduler,
    /// Session state.
    pub session: SessionState,
    /// Numbers of the study.
    pub params: TransportParams,
}

impl ConnectionConfig {
    /// The configuration of one protocol under a study's parameters.
    #[must_use]
    pub fn new(
        protocol: Protocol,
        congestion_control: CongestionControl,
        scheduler: Scheduler,
        session: SessionState,
        params: &TransportParams,
    ) -> Self {
        let tcp = protocol == Protocol::H2;
        let default_delay = SimDuration::from_millis(if tcp { 40 } else { 25 });
        Self {
            wire: if tcp { WireFormat::tcp() } else { WireFormat::quic() },
            ack: AckPolicy {
                every: params.ack_every,
                max_delay: params.max_ack_delay.unwrap_or(default_delay),
                immediate_while_hole: tcp,
            },
            rules: RecoveryRules {
                rack: tcp,
                episode_by_sequence: tcp,
                tail: if tcp { TailProbe::TlpRto } else { TailProbe::Pto },
                subtract_ack_delay: !tcp,
                per_stream: !tcp,
                keys_first: !tcp,
                transport_handshake: tcp,
                amplification_limit: !tcp,
                initial_timeout: SimDuration::from_millis(if tcp { 1_000 } else { 999 }),
                rto_floor: params.rto_floor,
            },
            congestion_control,
            scheduler,
            session,
            params: params.clone(),
        }
    }
}
