//! Implementation profiles: in what real stacks differ from the RFCs, as switches of the model.
//!
//! A profile sets switches only. What is a parameter of the study as well (initial window, pacing, slow start, idle restart, windows
//! and buffers) stands in the presets of arms, so that whatever a study says is what is simulated.
//!
//! | switch | rfc | linux-6 | quinn-0.11 |
//! |---|---|---|---|
//! | timers | exact | multiples of 4 ms (HZ=250) | exact |
//! | recovery | until the pipe is below the window (RFC 6675) | proportional rate reduction | RFC 9002 |
//! | false losses | reduction stays | undone (DSACK, Eifel, F-RTO) | reduction stays |
//! | first acknowledgements | every second packet | 16 at once | every second packet |
//! | window | full packets up to it | full packets up to it | full packets below it |
//! | CUBIC | RFC 9438 | RFC 9438 | RFC 8312's closed form, clock from the detection of a loss |
//! | initial window | `initial_window` packets | `initial_window` packets | 12,000 bytes of datagrams (BBR 240,000) |
//! | NewReno | whole packets | whole packets | bytes |
//! | after the handshake | nothing | nothing | a packet of 430 bytes: HANDSHAKE_DONE, connection ids, tokens |
//! | updates of flow control | at half the window | at half the window | at an eighth |
//! | pacing, where on | evenly, bursts of 10 after pauses | evenly | bursts of 10 to 256 packets |
//!
//! Sources: Linux 6 `net/ipv4/tcp_input.c` (`tcp_cwnd_reduction`, `tcp_try_undo_recovery`, `tcp_process_loss`,
//! `tcp_enter_quickack_mode`); quinn-proto 0.11.19 `congestion/cubic.rs`, `connection/pacing.rs`, `connection/mod.rs`.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Linux's CUBIC computes in fixed point, and in jiffies | RFC 9438 in floating point | under a packet of window |
//! | quinn probes for datagrams up to 1,452 B | `datagram` from the start | a few packets more in the first round trips |

use super::ConnectionConfig;
use crate::CongestionControl;
use study_tree::choices;
use study_units::SimDuration;

choices! {
    /// Whose behaviour a connection has where stacks differ from the RFCs.
    pub enum Profile {
        /// The RFCs.
        Rfc = "rfc",
        /// Linux 6, over TCP.
        Linux6 = "linux-6",
        /// quinn 0.11, over QUIC.
        Quinn011 = "quinn-0.11",
    }
}

/// How the sender fills its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderRules {
    /// Bytes of datagrams that the first window holds, whatever `initial_window` says (quinn: 12,000, BBR 240,000).
    pub initial_window_bytes: Option<u32>,
    /// A packet must leave the window with room to spare (quinn), not just fit.
    pub strict_window: bool,
    /// CUBIC of RFC 8312 with quinn's clock, instead of RFC 9438's.
    pub cubic_8312: bool,
    /// Pacing in bursts (quinn) instead of evenly.
    pub burst_pacing: bool,
    /// Bytes of frames without stream data that a server sends in a packet of their own once the handshake is complete (quinn: 430 for
    /// HANDSHAKE_DONE, connection ids and tokens; measured).
    pub control_bytes: u32,
}

impl Profile {
    /// Sets the switches of a stack; nothing where the profile is of the other transport.
    pub(super) fn apply(self, config: &mut ConnectionConfig) {
        let tcp = config.rules.transport_handshake;
        match self {
            Self::Linux6 if tcp => {
                let step = SimDuration::from_millis(4);
                (config.rules.timer_step, config.ack.timer_step) = (step, step);
                (config.rules.prr, config.rules.undo, config.rules.frto) = (true, true, true);
                config.ack.quick = 16;
            }
            Self::Quinn011 if !tcp => {
                config.flow.credit_step = 8;
                let bbr = config.congestion_control == CongestionControl::BbrV1;
                config.sender = SenderRules {
                    initial_window_bytes: Some(if bbr { 240_000 } else { 12_000 }),
                    strict_window: true,
                    cubic_8312: true,
                    burst_pacing: true,
                    control_bytes: 430,
                };
            }
            _ => {}
        }
    }
    /// Whether the profile says anything of this transport.
    #[must_use]
    pub const fn fits(self, tcp: bool) -> bool {
        match self {
            Self::Rfc => true,
            Self::Linux6 => tcp,
            Self::Quinn011 => !tcp,
        }
    }
}
