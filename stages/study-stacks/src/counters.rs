//! What connections and hosts count.

pub mod host;
mod tcp;

pub use tcp::TcpCounters;

use serde::{Deserialize, Serialize};

/// Counters of one end of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counters {
    /// The kernel's, from `TCP_INFO`.
    Tcp(TcpCounters),
    /// quinn's.
    Quic(QuicCounters),
}

impl Counters {
    /// Packets sent with data or without.
    #[must_use]
    pub const fn packets_sent(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.segs_out as u64,
            Self::Quic(quic) => quic.sent_packets,
        }
    }
    /// Packets sent again (TCP) or declared lost (QUIC): the nearest that the two have in common; spurious ones included.
    #[must_use]
    pub const fn packets_lost(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.total_retrans as u64,
            Self::Quic(quic) => quic.lost_packets,
        }
    }
    /// Bytes of those packets; `None` where the kernel does not count them (before 4.19).
    #[must_use]
    pub const fn bytes_lost(&self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.bytes_retrans,
            Self::Quic(quic) => Some(quic.lost_bytes),
        }
    }
    /// Smoothed round-trip time in microseconds.
    #[must_use]
    pub const fn rtt_us(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.rtt_us as u64,
            Self::Quic(quic) => quic.rtt_us,
        }
    }
}

/// Counters of a QUIC connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuicCounters {
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u64,
    /// Smallest round-trip time in microseconds.
    pub min_rtt_us: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Reductions of the window.
    pub congestion_events: u64,
    /// Packets declared lost, spurious ones included.
    pub lost_packets: u64,
    /// Bytes of them.
    pub lost_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Probes for larger packets that were sent; they are extra packets.
    pub sent_mtu_probes: u64,
    /// Probes for larger packets that were lost.
    pub lost_mtu_probes: u64,
    /// Times that the packet size fell back.
    pub black_holes: u64,
    /// UDP payload of a full packet in bytes.
    pub current_mtu: u16,
    /// UDP datagrams sent.
    pub udp_sent: u64,
    /// UDP payload sent in bytes.
    pub udp_sent_bytes: u64,
    /// System calls that sent them; fewer than datagrams when segmentation is offloaded.
    pub udp_sent_calls: u64,
    /// UDP datagrams received.
    pub udp_received: u64,
    /// UDP payload received in bytes.
    pub udp_received_bytes: u64,
}

impl From<quinn::ConnectionStats> for QuicCounters {
    fn from(stats: quinn::ConnectionStats) -> Self {
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (path, sent, received) = (stats.path, stats.udp_tx, stats.udp_rx);
        Self {
            rtt_us: micros(path.rtt),
            min_rtt_us: micros(path.min_rtt),
            cwnd: path.cwnd,
            congestion_events: path.congestion_events,
            lost_packets: path.lost_packets,
            lost_bytes: path.lost_bytes,
            sent_packets: path.sent_packets,
            sent_mtu_probes: path.sent_plpmtud_probes,
            lost_mtu_probes: path.lost_plpmtud_probes,
            black_holes: path.black_holes_detected,
            current_mtu: path.current_mtu,
            udp_sent: sent.datagrams,
            udp_sent_bytes: sent.bytes,
            udp_sent_calls: sent.ios,
            udp_received: received.datagrams,
            udp_received_bytes: received.bytes,
        }
    }
}
