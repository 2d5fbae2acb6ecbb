//! The mechanisms in which two configurations can differ, one name each, and connections between the two.
//!
//! [`hybrid`] takes some mechanisms from one configuration and the rest from another, so that the difference between
//! two protocols can be attributed mechanism by mechanism under common random numbers (the feature ladder). Every field
//! of a configuration belongs to exactly one mechanism: a field that is added and not put here does not compile.
//!
//! Random streams: none.

use crate::config::{
    AckPolicy, ConnectionConfig, FlowRules, HandshakeRules, RecoveryRules, SenderRules, TransportParams, WireFormat,
};
use study_tree::choices;

choices! {
    /// A mechanism in which two configurations can differ.
    pub enum Feature {
        /// Round trips, keys, certificate chain and first packets of the handshake, and what is remembered of earlier ones.
        Handshake = "handshake",
        /// Data of one stream waits for nothing that belongs to another (QUIC), or for TLS records (TCP).
        Delivery = "delivery",
        /// Sizes of packets, headers and frames.
        Packets = "packets",
        /// When the receiver acknowledges, and whether it says how long it waited.
        Acknowledgements = "acknowledgements",
        /// How losses are found: RACK, or packet and time thresholds.
        LossDetection = "loss_detection",
        /// How often the window is reduced, how recovery is paced, and whether a reduction is taken back.
        Reduction = "reduction",
        /// Tail loss probe and retransmission timeout, or probe timeout.
        Timers = "timers",
        /// Congestion controller.
        CongestionControl = "congestion_control",
        /// Initial window.
        InitialWindow = "initial_window",
        /// How slow start ends before the first loss.
        SlowStart = "slow_start",
        /// Packets spread over the round trip, or bursts.
        Pacing = "pacing",
        /// What happens to the window after a pause.
        IdleRestart = "idle_restart",
        /// Order of the responses, and what is beyond its reach.
        Scheduling = "scheduling",
        /// Receive windows, send buffer, flow control.
        Windows = "windows",
        /// Sizes of requests and response headers.
        Messages = "messages",
    }
}

/// A set of mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeatureSet(u32);

impl FeatureSet {
    /// None.
    pub const NONE: Self = Self(0);
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Feature::ALL.iter().fold(Self::NONE, |set, feature| set.with(*feature))
    }
    /// With one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u32)
    }
    /// Whether it holds a mechanism.
    #[must_use]
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u32) != 0
    }
}

/// The mechanisms in which two configurations differ, in the order of [`Feature`].
#[must_use]
pub fn differences(from: &ConnectionConfig, to: &ConnectionConfig) -> Vec<Feature> {
    let differs = |feature: &Feature| hybrid(from, to, FeatureSet::NONE.with(*feature)) != *from;
    Feature::ALL.iter().copied().filter(differs).collect()
}

/// `from` with the mechanisms in `taken` as they are in `to`.
#[must_use]
pub fn hybrid(from: &ConnectionConfig, to: &ConnectionConfig, taken: FeatureSet) -> ConnectionConfig {
    let of = |feature: Feature| if taken.contains(feature) { to } else { from };
    ConnectionConfig {
        wire: wire(of),
        ack: acknowledgements(of),
        rules: rules(of),
        congestion_control: of(Feature::CongestionControl).congestion_control,
        scheduler: of(Feature::Scheduling).scheduler,
        session: of(Feature::Handshake).session,
        handshake: handshake(of),
        flow: flow(of),
        sender: sender(of),
        multiplexed: of(Feature::Scheduling).multiplexed,
        params: params(of),
    }
}

fn wire<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> WireFormat {
    let (packets, handshake) = (&of(Feature::Packets).wire, &of(Feature::Handshake).wire);
    WireFormat {
        payload: packets.payload,
        header: packets.header,
        ack: packets.ack,
        client_header: packets.client_header,
        frame_overhead: packets.frame_overhead,
        preface: packets.preface,
        oracle: packets.oracle,
        first_client: handshake.first_client,
        hello: handshake.hello,
        server_handshake: handshake.server_handshake,
        tls_record: of(Feature::Delivery).wire.tls_record,
    }
}

fn acknowledgements<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> AckPolicy {
    of(Feature::Acknowledgements).ack
}

fn rules<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> RecoveryRules {
    let (handshake, timers) = (&of(Feature::Handshake).rules, &of(Feature::Timers).rules);
    let (detection, reduction) = (&of(Feature::LossDetection).rules, &of(Feature::Reduction).rules);
    RecoveryRules {
        rack: detection.rack,
        adaptive_reordering: detection.adaptive_reordering,
        episode_by_sequence: reduction.episode_by_sequence,
        prr: reduction.prr,
        undo: reduction.undo,
        tail: timers.tail,
        rto_floor: timers.rto_floor,
        timer_step: timers.timer_step,
        frto: timers.frto,
        subtract_ack_delay: of(Feature::Acknowledgements).rules.subtract_ack_delay,
        per_stream: of(Feature::Delivery).rules.per_stream,
        keys_first: handshake.keys_first,
        transport_handshake: handshake.transport_handshake,
        amplification_limit: handshake.amplification_limit,
        initial_timeout: handshake.initial_timeout,
    }
}

fn handshake<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> HandshakeRules {
    of(Feature::Handshake).handshake
}

fn flow<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> FlowRules {
    let (windows, scheduling) = (&of(Feature::Windows).flow, &of(Feature::Scheduling).flow);
    FlowRules {
        receive_window: windows.receive_window,
        send_buffer: windows.send_buffer,
        stream_window: windows.stream_window,
        connection_window: windows.connection_window,
        credit_step: windows.credit_step,
        notsent_lowat: scheduling.notsent_lowat,
        http_send_buffer: scheduling.http_send_buffer,
    }
}

fn sender<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> SenderRules {
    let control = &of(Feature::CongestionControl).sender;
    SenderRules {
        initial_window_bytes: of(Feature::InitialWindow).sender.initial_window_bytes,
        strict_window: control.strict_window,
        cubic_8312: control.cubic_8312,
        burst_pacing: of(Feature::Pacing).sender.burst_pacing,
        control_bytes: of(Feature::Handshake).sender.control_bytes,
    }
}

fn params<'a>(of: impl Fn(Feature) -> &'a ConnectionConfig) -> TransportParams {
    let (handshake, packets) = (&of(Feature::Handshake).params, &of(Feature::Packets).params);
    let (windows, scheduling) = (&of(Feature::Windows).params, &of(Feature::Scheduling).params);
    let (acks, messages) = (&of(Feature::Acknowledgements).params, &of(Feature::Messages).params);
    TransportParams {
        // Nobody reads it once the switches are set; it goes with the controller so that all mechanisms make the other arm.
        profile: of(Feature::CongestionControl).params.profile,
        initial_window: of(Feature::InitialWindow).params.initial_window,
        ack_every: acks.ack_every,
        max_ack_delay: acks.max_ack_delay,
        frame: scheduling.frame,
        certificate_chain: handshake.certificate_chain,
        slow_start: of(Feature::SlowStart).params.slow_start,
        pacing: of(Feature::Pacing).params.pacing,
        idle_restart: of(Feature::IdleRestart).params.idle_restart,
        rto_floor: of(Feature::Timers).params.rto_floor,
        request: messages.request,
        response_headers: messages.response_headers,
        fixed_window: of(Feature::CongestionControl).params.fixed_window,
        receive_window: windows.receive_window,
        send_buffer: windows.send_buffer,
        notsent_lowat: scheduling.notsent_lowat,
        http_send_buffer: scheduling.http_send_buffer,
        stream_window: windows.stream_window,
        connection_window: windows.connection_window,
        tls: handshake.tls,
        tls_record: of(Feature::Delivery).params.tls_record,
        early_data_rejected: handshake.early_data_rejected,
        fast_open: handshake.fast_open,
        retry: handshake.retry,
        version_negotiation: handshake.version_negotiation,
        datagram: packets.datagram,
        framing: packets.framing,
        h1_connections: scheduling.h1_connections,
        give_up: of(Feature::Timers).params.give_up,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::SlowStartChoice;
    use crate::{CongestionControl, Framing, Limit, Profile, Protocol, Scheduler, SessionState, TailProbe, TlsVersion};
    use study_tree::{Cx, Decode, Node, Sections, Span};
    use study_units::{Bytes, Probability, SimDuration};

    fn config(protocol: Protocol) -> ConnectionConfig {
        let sections = Sections::new();
        let node = Node::map(Vec::new(), Span::default());
        let params = TransportParams::decode(&node, &mut Cx::new(&sections)).unwrap();
        ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, SessionState::Cold, &params)
    }

    #[test]
    fn all_mechanisms_make_the_other_configuration_and_none_leaves_the_first() {
        let (h2, h3) = (config(Protocol::H2), config(Protocol::H3));
        assert_eq!(hybrid(&h2, &h3, FeatureSet::NONE), h2);
        assert_eq!(hybrid(&h2, &h3, FeatureSet::all()), h3);
        let named = differences(&h2, &h3).iter().fold(FeatureSet::NONE, |set, f| set.with(*f));
        assert_eq!(hybrid(&h2, &h3, named), h3);
    }

    #[test]
    fn the_protocols_differ_in_seven_mechanisms_by_default() {
        let names: Vec<&str> =
            differences(&config(Protocol::H2), &config(Protocol::H3)).iter().map(|f| f.name()).collect();
        assert_eq!(
            names,
            ["handshake", "delivery", "packets", "acknowledgements", "loss_detection", "reduction", "timers"]
        );
    }

    type Change = fn(&mut ConnectionConfig);

    /// One change of each field, and the mechanism that it belongs to.
    const FIELDS: &[(Feature, &[Change])] = &[
        (
            Feature::Handshake,
            &[
                |c| c.wire.first_client += 1,
                |c| c.wire.hello += 1,
                |c| c.wire.server_handshake += 1,
                |c| c.rules.keys_first ^= true,
                |c| c.rules.transport_handshake ^= true,
                |c| c.rules.amplification_limit ^= true,
                |c| c.rules.initial_timeout = c.rules.initial_timeout * 2,
                |c| c.session = SessionState::Resumed,
                |c| c.handshake.fast_open ^= true,
                |c| c.handshake.tls_1_2 ^= true,
                |c| c.handshake.retry ^= true,
                |c| c.handshake.version_negotiation ^= true,
                |c| c.sender.control_bytes += 1,
                |c| c.params.certificate_chain = Bytes::new(1),
                |c| c.params.tls = TlsVersion::V1_2,
                |c| c.params.fast_open ^= true,
                |c| c.params.retry ^= true,
                |c| c.params.version_negotiation ^= true,
                |c| c.params.early_data_rejected = Probability::ONE,
            ],
        ),
        (
            Feature::Delivery,
            &[
                |c| c.rules.per_stream ^= true,
                |c| c.wire.tls_record += 1,
                |c| c.params.tls_record = Some(Bytes::new(1)),
            ],
        ),
        (
            Feature::Packets,
            &[
                |c| c.wire.payload += 1,
                |c| c.wire.header += 1,
                |c| c.wire.ack += 1,
                |c| c.wire.client_header += 1,
                |c| c.wire.frame_overhead += 1,
                |c| c.wire.preface += 1,
                |c| c.wire.oracle ^= true,
                |c| c.params.datagram = Bytes::new(1_200),
                |c| c.params.framing = Framing::Full,
            ],
        ),
        (
            Feature::Acknowledgements,
            &[
                |c| c.ack.every += 1,
                |c| c.ack.max_delay = c.ack.max_delay * 2,
                |c| c.ack.immediate_while_hole ^= true,
                |c| c.ack.quick += 1,
                |c| c.ack.timer_step = SimDuration::from_millis(1),
                |c| c.rules.subtract_ack_delay ^= true,
                |c| c.params.ack_every += 1,
                |c| c.params.max_ack_delay = Some(SimDuration::from_millis(1)),
            ],
        ),
        (Feature::LossDetection, &[|c| c.rules.rack ^= true, |c| c.rules.adaptive_reordering ^= true]),
        (
            Feature::Reduction,
            &[|c| c.rules.episode_by_sequence ^= true, |c| c.rules.prr ^= true, |c| c.rules.undo ^= true],
        ),
        (
            Feature::Timers,
            &[
                |c| c.rules.tail = if c.rules.tail == TailProbe::Pto { TailProbe::TlpRto } else { TailProbe::Pto },
                |c| c.rules.rto_floor = c.rules.rto_floor * 2,
                |c| c.rules.timer_step = SimDuration::from_millis(1),
                |c| c.rules.frto ^= true,
                |c| c.params.rto_floor = c.params.rto_floor * 2,
                |c| c.params.give_up = c.params.give_up * 2,
            ],
        ),
        (
            Feature::CongestionControl,
            &[
                |c| c.congestion_control = CongestionControl::NewReno,
                |c| c.sender.strict_window ^= true,
                |c| c.sender.cubic_8312 ^= true,
                |c| c.params.fixed_window += 1,
                |c| c.params.profile = Profile::Linux6,
            ],
        ),
        (Feature::InitialWindow, &[|c| c.params.initial_window += 1, |c| c.sender.initial_window_bytes = Some(1)]),
        (Feature::SlowStart, &[|c| c.params.slow_start = SlowStartChoice::Hystart]),
        (Feature::Pacing, &[|c| c.params.pacing ^= true, |c| c.sender.burst_pacing ^= true]),
        (Feature::IdleRestart, &[|c| c.params.idle_restart ^= true]),
        (
            Feature::Scheduling,
            &[
                |c| c.scheduler = Scheduler::Sequential,
                |c| c.multiplexed ^= true,
                |c| c.flow.notsent_lowat = Some(1),
                |c| c.flow.http_send_buffer += 1,
                |c| c.params.frame = Bytes::new(1),
                |c| c.params.notsent_lowat = Some(Bytes::new(1)),
                |c| c.params.http_send_buffer = Bytes::new(1),
                |c| c.params.h1_connections += 1,
            ],
        ),
        (
            Feature::Windows,
            &[
                |c| c.flow.receive_window = Limit::Auto,
                |c| c.flow.send_buffer = Limit::Auto,
                |c| c.flow.stream_window = Some(1),
                |c| c.flow.connection_window = Some(1),
                |c| c.flow.credit_step += 1,
                |c| c.params.receive_window = Limit::Auto,
                |c| c.params.send_buffer = Limit::Auto,
                |c| c.params.stream_window = Some(Bytes::new(1)),
                |c| c.params.connection_window = Some(Bytes::new(1)),
            ],
        ),
        (Feature::Messages, &[|c| c.params.request = Bytes::new(1), |c| c.params.response_headers = Bytes::new(1)]),
    ];

    #[test]
    fn every_field_belongs_to_its_mechanism_and_to_no_other() {
        assert_eq!(FIELDS.len(), Feature::ALL.len());
        for protocol in [Protocol::H2, Protocol::H3] {
            let from = config(protocol);
            for (feature, changes) in FIELDS {
                for (i, change) in changes.iter().enumerate() {
                    let mut to = from.clone();
                    change(&mut to);
                    assert_ne!(from, to, "{} {i} changes nothing", feature.name());
                    let found: Vec<&str> = differences(&from, &to).iter().map(|f| f.name()).collect();
                    assert_eq!(found, [feature.name()], "field {i}");
                }
            }
        }
    }
}
