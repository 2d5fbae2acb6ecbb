//! What a connection is made of: protocol, wire format, acknowledgement policy and recovery rules.

mod params;
mod rules;
mod wire;

pub use params::TransportParams;
pub(crate) use rules::fires;
pub use rules::{AckPolicy, RecoveryRules, TailProbe};
pub use wire::WireFormat;

use crate::CongestionControl;
use study_tree::choices;
use study_units::SimDuration;

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
                quick: 0,
                timer_step: SimDuration::ZERO,
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
                timer_step: SimDuration::ZERO,
                prr: false,
                undo: false,
                frto: false,
                adaptive_reordering: tcp,
            },
            congestion_control,
            scheduler,
            session,
            params: params.clone(),
        }
    }
}
