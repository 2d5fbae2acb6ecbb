//! What a connection is made of: protocol, wire format, acknowledgement policy and recovery rules.

mod flow;
mod handshake;
mod params;
mod profile;
mod rules;
mod wire;

pub use flow::{FlowRules, Limit};
pub use handshake::{HandshakeRules, SessionState, TlsVersion};
pub use params::TransportParams;
pub use profile::{Profile, SenderRules};
pub(crate) use rules::fires;
pub use rules::{AckPolicy, RecoveryRules, TailProbe};
pub use wire::{Framing, RECORD_OVERHEAD, WireFormat};

use crate::CongestionControl;
use study_tree::choices;
use study_units::SimDuration;

/// Headers of IPv4 and UDP.
const IP_AND_UDP: u32 = 28;

choices! {
    /// The protocol stack of an arm.
    pub enum Protocol {
        /// HTTP/2 over TLS 1.3 over TCP.
        H2 = "h2",
        /// HTTP/3 over QUIC.
        H3 = "h3",
        /// HTTP/1.1 over TLS over several TCP connections ([`Pool`](crate::Pool)).
        H1 = "h1",
    }
}

choices! {
    /// In which order the responses of one connection share it.
    pub enum Scheduler {
        /// A frame of each response in turn.
        RoundRobin = "round_robin",
        /// One response after the other, in the order of the requests.
        Sequential = "sequential",
        /// The most urgent first; of equal urgency one after the other in the order of the requests, then those marked
        /// incremental, a frame of each in turn (RFC 9218 section 10).
        Urgency = "urgency",
    }
}

/// What a request says about its response's place among others (RFC 9218 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    /// 0, the most urgent, to 7.
    pub urgency: u8,
    /// A part of the response is of use before the rest is there.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
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
    /// Round trips of the handshake.
    pub handshake: HandshakeRules,
    /// Windows and buffers.
    pub flow: FlowRules,
    /// How the sender fills its window.
    pub sender: SenderRules,
    /// Whether a connection carries many responses at once; HTTP/1.1 has one at a time (see [`Pool`](crate::Pool)).
    pub multiplexed: bool,
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
        let (tcp, multiplexed) = (protocol != Protocol::H3, protocol != Protocol::H1);
        let default_delay = SimDuration::from_millis(if tcp { 40 } else { 25 });
        let mut config = Self {
            wire: wire_format(protocol, params),
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
            handshake: HandshakeRules {
                fast_open: tcp && params.fast_open,
                tls_1_2: tcp && params.tls == TlsVersion::V1_2,
                retry: !tcp && params.retry,
                version_negotiation: !tcp && params.version_negotiation,
            },
            flow: FlowRules::new(tcp, multiplexed, params),
            sender: SenderRules::default(),
            multiplexed,
            params: params.clone(),
        };
        params.profile.apply(&mut config);
        config
    }
    /// The first window in packets.
    #[must_use]
    pub fn initial_window(&self) -> f64 {
        let datagram = self.wire.header + self.wire.payload - IP_AND_UDP;
        match self.sender.initial_window_bytes {
            Some(bytes) => f64::from(bytes) / f64::from(datagram.max(1)),
            None => f64::from(self.params.initial_window),
        }
    }

    /// Whether the client's requests travel with the first flight.
    pub(crate) const fn sends_early(&self) -> bool {
        self.session.sends_early() && !self.handshake.tls_1_2
    }
    /// Exchanges before the ClientHello can be answered: TCP's, Version Negotiation, Retry.
    pub(crate) fn preludes(&self) -> usize {
        let hello_in_syn = self.handshake.fast_open && self.session.has_ticket();
        usize::from(self.rules.transport_handshake && !hello_in_syn)
            + usize::from(self.handshake.retry)
            + usize::from(self.handshake.version_negotiation)
    }
}

fn wire_format(protocol: Protocol, params: &TransportParams) -> WireFormat {
    let mut wire = match protocol {
        Protocol::H1 => WireFormat::http_1(),
        Protocol::H2 => WireFormat::tcp(),
        Protocol::H3 => WireFormat::quic_in(params.datagram),
    };
    if let Some(record) = params.tls_record.filter(|_| protocol != Protocol::H3) {
        wire.tls_record = record.get().clamp(1, params.frame.get()) as u32;
    }
    if params.framing == Framing::Full {
        wire = wire.with_full_framing(protocol != Protocol::H1, protocol != Protocol::H3);
    }
    wire
}
