//! The kernel's counters of a TCP connection.
//!
//! `struct tcp_info` grows at its end from kernel to kernel. It is read as bytes, by the length that the kernel gave, at
//! the offsets of the kernel's `include/uapi/linux/tcp.h`; what this kernel does not have yet is `None`.

use crate::sys;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;

/// The option's bit in `tcpi_options` (`TCPI_OPT_ECN`).
const OPTION_ECN: u8 = 8;

/// Counters of a TCP connection, as the kernel keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpCounters {
    /// Bytes of `tcp_info` that this kernel gave.
    pub info_bytes: u64,
    /// Whether both ends agreed on explicit congestion notification.
    pub ecn: bool,
    /// Retransmission timeout in microseconds.
    pub rto_us: u32,
    /// Sender's segment size in bytes.
    pub snd_mss: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Its variation in microseconds.
    pub rttvar_us: u32,
    /// Slow-start threshold in packets; 2^31 - 1: none yet.
    pub snd_ssthresh: u32,
    /// Congestion window in packets.
    pub snd_cwnd: u32,
    /// Reordering degree in packets.
    pub reordering: u32,
    /// Segments sent again.
    pub total_retrans: u32,
    /// Pacing rate in bytes per second; all bits set: none.
    pub pacing_rate: u64,
    /// Bytes acknowledged by the peer.
    pub bytes_acked: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Segments sent.
    pub segs_out: u32,
    /// Segments received.
    pub segs_in: u32,
    /// Smallest round-trip time in microseconds.
    pub min_rtt_us: u32,
    /// Segments with data sent.
    pub data_segs_out: u32,
    /// Delivery rate in bytes per second.
    pub delivery_rate: u64,
    /// Time with data under way in microseconds.
    pub busy_us: u64,
    /// Time held back by the peer's window in microseconds.
    pub rwnd_limited_us: u64,
    /// Time held back by the send buffer in microseconds.
    pub sndbuf_limited_us: u64,
    /// Packets that the peer reported as marked with congestion; since Linux 4.18.
    pub delivered_ce: Option<u32>,
    /// Bytes sent, again or not; since Linux 4.19.
    pub bytes_sent: Option<u64>,
    /// Bytes sent again; since Linux 4.19.
    pub bytes_retrans: Option<u64>,
    /// Duplicates that the peer reported; since Linux 4.19.
    pub dsack_dups: Option<u32>,
    /// Reordering events; since Linux 4.19.
    pub reord_seen: Option<u32>,
    /// Retransmission timeouts; since Linux 6.7.
    pub total_rto: Option<u16>,
    /// Recoveries after timeouts; since Linux 6.7.
    pub total_rto_recoveries: Option<u16>,
    /// Time in such recoveries in milliseconds; since Linux 6.7.
    pub total_rto_time_ms: Option<u32>,
}

impl TcpCounters {
    /// The counters of a connected socket now.
    ///
    /// # Errors
    /// What the kernel says, e.g. that this is no TCP socket.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        sys::tcp_info(socket).map(|bytes| Self::read(&bytes))
    }

    fn read(info: &[u8]) -> Self {
        fn at<const N: usize>(info: &[u8], offset: usize) -> Option<[u8; N]> {
            info.get(offset..offset + N)?.try_into().ok()
        }
        let short = |offset| at(info, offset).map(u16::from_ne_bytes);
        let word = |offset| at(info, offset).map(u32::from_ne_bytes);
        let long = |offset| at(info, offset).map(u64::from_ne_bytes);
        let (old_word, old_long) = (|o| word(o).unwrap_or_default(), |o| long(o).unwrap_or_default());
        Self {
            info_bytes: info.len() as u64,
            ecn: info.get(5).is_some_and(|options| options & OPTION_ECN != 0),
            rto_us: old_word(8),
            snd_mss: old_word(16),
            rtt_us: old_word(68),
            rttvar_us: old_word(72),
            snd_ssthresh: old_word(76),
            snd_cwnd: old_word(80),
            reordering: old_word(88),
            total_retrans: old_word(100),
            pacing_rate: old_long(104),
            bytes_acked: old_long(120),
            bytes_received: old_long(128),
            segs_out: old_word(136),
            segs_in: old_word(140),
            min_rtt_us: old_word(148),
            data_segs_out: old_word(156),
            delivery_rate: old_long(160),
            busy_us: old_long(168),
            rwnd_limited_us: old_long(176),
            sndbuf_limited_us: old_long(184),
            delivered_ce: word(196),
            bytes_sent: long(200),
            bytes_retrans: long(208),
            dsack_dups: word(216),
            reord_seen: word(220),
            total_rto: short(240),
            total_rto_recoveries: short(242),
            total_rto_time_ms: word(244),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn what_an_older_kernel_does_not_give_is_absent() {
        let read = TcpCounters::read(&[1; 204]);
        assert_eq!((read.total_retrans, read.bytes_sent, read.total_rto), (0x0101_0101, None, None));
        assert!(!read.ecn && TcpCounters::read(&[8; 204]).ecn);
        let newer = TcpCounters::read(&[1; 248]);
        assert_eq!(
            (newer.dsack_dups, newer.total_rto, newer.total_rto_time_ms),
            (Some(0x0101_0101), Some(0x0101), Some(0x0101_0101))
        );
    }

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(&[7; 10_000]).unwrap();
        client.read_exact(&mut [0; 10_000]).unwrap();
        let counted = TcpCounters::of(server.as_fd()).unwrap();
        assert_eq!(counted.bytes_sent, Some(10_000));
        assert!(counted.snd_mss > 500 && counted.snd_cwnd >= 1 && counted.data_segs_out >= 1, "{counted:?}");
    }
}
