//! Transport parameters of a study.

use crate::congestion::SlowStartChoice;
use study_tree::params;
use study_units::{Bytes, SimDuration};

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
