//! Transport parameters of a study.

use super::flow::Limit;
use super::handshake::TlsVersion;
use super::profile::Profile;
use super::wire::Framing;
use crate::congestion::SlowStartChoice;
use study_tree::params;
use study_units::{Bytes, Probability, SimDuration};

params! {
    /// Transport parameters of a study; they hold for every arm unless the arm says otherwise.
    pub struct TransportParams {
        /// Whose behaviour a connection has where stacks differ from the RFCs: `linux-6` for TCP, `quinn-0.11` for QUIC.
        profile: Profile = Profile::Rfc;
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
        /// Receive window of TCP: `unlimited`, `auto` (Linux's autotuning: from 64 KiB, by what a round trip brought, to 6 MiB) or a size.
        receive_window: Limit = Limit::Unlimited;
        /// Send buffer of TCP: `unlimited`, `auto` (twice the congestion window, up to 4 MiB) or a size, which Linux doubles.
        send_buffer: Limit = Limit::Unlimited;
        /// Unsent bytes that the socket of a TCP server takes from the HTTP layer (`TCP_NOTSENT_LOWAT`; tuned servers 16 KiB); by default all that fits into the send buffer.
        notsent_lowat: Option<Bytes> = None;
        /// Bytes that the HTTP layer hands down ahead of the wire, which the scheduler can no longer reorder; 0: the scheduler decides at the wire.
        http_send_buffer: Bytes = Bytes::new(0), in Bytes::new(0)..=Bytes::new(1 << 30);
        /// Flow-control window of a stream of HTTP/2 or QUIC, unlimited unless given (RFC 9113: 65,535 B; hyper 2 MiB; quinn 1.25 MB).
        stream_window: Option<Bytes> = None, in None..=Some(Bytes::new(1 << 40));
        /// Flow-control window of all streams of a connection together, unlimited unless given (RFC 9113: 65,535 B; hyper 5 MiB; quinn unlimited).
        connection_window: Option<Bytes> = None, in None..=Some(Bytes::new(1 << 40));
        /// Version of TLS over TCP; QUIC always has 1.3.
        tls: TlsVersion = TlsVersion::V1_3;
        /// Largest TLS record over TCP: its bytes can be read when all of it has arrived (rustls and OpenSSL: 16 KiB, tuned 1,400 B); by default bytes can be read as they arrive.
        tls_record: Option<Bytes> = None, in None..=Some(Bytes::new(16_384));
        /// Whether a client that has been here before puts its ClientHello into TCP's SYN (TCP Fast Open, RFC 7413).
        fast_open: bool = false;
        /// Whether a QUIC server asks for a token first (Retry): one round trip more.
        retry: bool = false;
        /// Whether client and server of QUIC begin with different versions (Version Negotiation): one round trip more.
        version_negotiation: bool = false;
        /// Share of sessions with early data whose server does not take it.
        early_data_rejected: Probability = Probability::ZERO;
        /// UDP payload of a full QUIC packet (RFC 9000 section 14.1: at least 1,200 B; quinn begins there and probes up to 1,452 B).
        datagram: Bytes = Bytes::new(1_452), in Bytes::new(1_200)..=Bytes::new(1_472);
        /// What HTTP adds besides the frames of HTTP/2 responses: `full` counts prefaces, settings and HTTP/3's frames too.
        framing: Framing = Framing::Responses;
        /// Most connections to one server under `h1` (browsers: 6).
        h1_connections: u32 = 6, in 1..=64;
        /// A connection is given up when something is under way and nothing has come back for so long (Linux TCP about 15 min; quinn 30 s).
        give_up: SimDuration = SimDuration::from_secs(3_600), in SimDuration::from_secs(1)..=SimDuration::from_secs(86_400);
    }
}
