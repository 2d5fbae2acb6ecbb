//! Acknowledgement policy and recovery rules: in what the two protocols differ behind the handshake.

use study_units::{SimDuration, SimTime};

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
    /// The first packets of a connection are each acknowledged at once (Linux: 16, `tcp_enter_quickack_mode`; RFC and quinn: 0).
    pub quick: u32,
    /// The delay ends at a multiple of this (Linux at HZ=250: 4 ms; zero: exactly).
    pub timer_step: SimDuration,
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
/// [`WireFormat`](super::WireFormat), in [`AckPolicy`], or in `per_stream`.
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
    /// Timers fire at multiples of this (Linux at HZ=250: 4 ms; RFC and quinn: exact, which is zero here).
    pub timer_step: SimDuration,
    /// Recovery is paced by proportional rate reduction (RFC 9937; Linux: yes; RFC 6675 and RFC 9002: no). TCP only.
    pub prr: bool,
    /// The window returns when all losses of an episode were false (Linux: yes; RFC 9002 and quinn: no).
    pub undo: bool,
    /// A timeout is undone when a packet sent before it is acknowledged first (RFC 5682; Linux: yes). TCP only.
    pub frto: bool,
    /// Reordering that caused a false loss is tolerated from then on (RFC 8985: yes; RFC 9002 and quinn: no).
    pub adaptive_reordering: bool,
}

impl RecoveryRules {
    /// When a timer for `deadline` fires.
    #[must_use]
    pub fn timer(&self, deadline: SimTime) -> SimTime {
        fires(deadline, self.timer_step)
    }
}

/// The first multiple of `step` from `deadline` on; the deadline itself when the step is zero.
#[must_use]
pub fn fires(deadline: SimTime, step: SimDuration) -> SimTime {
    if step == SimDuration::ZERO || deadline == SimTime::NEVER {
        return deadline;
    }
    let step = step.as_nanos();
    SimTime::from_nanos(deadline.as_nanos().div_ceil(step).saturating_mul(step))
}
