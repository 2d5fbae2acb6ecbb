//! Evidence of a block that went well: 20 Mbit/s, 50 ms, 1 % loss, HTTP/2 and HTTP/3 with CUBIC.

use serde_json::json;
use std::collections::BTreeMap;
use study_link::{DirectionParams, LinkParams, Loss, Queue, QueueLimit, Rate};
use study_shaper::{
    Backend, Calibration, Counters as NodeCounters, DirectionRecord, Histogram, LinkRecord, LossBits, Losses, Quality,
    RealisedLoss, RoundTrips, Signal, SignalKind, Summary, ThreadUse, Timing, sysctl,
};
use study_stacks::counters::{QuicCounters, TcpCounters};
use study_stacks::readback::{End, Evidence as Source, Verdict};
use study_stacks::{Counters, HandshakeKind, HandshakeReport, Readback, StackChoice, StackSettings};
use study_transport::CongestionControl;
use study_trial::validity::{
    Accepted, Asked, Compare, Dialed, Evidence, Hop, Host, Node, Order, Role, Thread, Transfers,
};
use study_units::{BitRate, Bytes, SimDuration};

/// Rate times round trip, bytes.
pub const BDP: u64 = 125_000;
/// The certificate chain, bytes.
pub const CHAIN: u64 = 3_000;

/// Both arms.
pub fn block() -> Vec<Evidence> {
    vec![evidence(StackChoice::H2Hyper, 0), evidence(StackChoice::H3Quinn, 1)]
}

/// One arm.
pub fn evidence(stack: StackChoice, position: u32) -> Evidence {
    let settings = StackSettings::equal(stack, CongestionControl::Cubic, Bytes::new(BDP));
    Evidence {
        arm: stack.name().to_owned(),
        asked: Asked { compare: Compare::Equal, chain_bytes: CHAIN, mtu: 1_500, sysctls: sysctl::defaults() },
        order: Order { position, arms: 2, drawn: true, warm_ups: 1 },
        host: Host {
            backend: Backend::UsernsTun,
            kernel: "6.18.0".to_owned(),
            processors: 2,
            blocks_at_once: 1,
            clock: "CLOCK_MONOTONIC".to_owned(),
            driver: "study-stacks 0.1.0".to_owned(),
            implementation: stack.name().to_owned(),
            fresh: true,
            offload: false,
            clean_share: Some(0.95),
        },
        nodes: vec![node("client"), node("origin")],
        hops: vec![hop(&settings)],
        threads: vec![thread("viewer", Role::Client), thread("origin", Role::Server), thread("relay", Role::Relay)],
        timing: timing(),
        transfers: Transfers { asked: 50, recorded: 50, failed: 0, timed_out: 0 },
    }
}

fn node(name: &str) -> Node {
    let mut sysctls: BTreeMap<String, String> = sysctl::defaults().into_iter().collect();
    let host = [
        ("net.ipv4.tcp_slow_start_after_idle", "0"),
        ("net.ipv4.tcp_ecn", "2"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.core.default_qdisc", "pfifo_fast"),
    ];
    sysctls.extend(host.map(|(name, value)| (name.to_owned(), value.to_owned())));
    // What the calibration used is in both: only what came after counts.
    let used =
        NodeCounters { protocols: BTreeMap::from([("Udp/RcvbufErrors".to_owned(), 3)]), interfaces: BTreeMap::new() };
    Node { name: name.to_owned(), sysctls, before: used.clone(), after: used }
}

fn thread(name: &str, role: Role) -> Thread {
    Thread {
        name: name.to_owned(),
        role,
        used: ThreadUse { wall_ms: 1_000.0, cpu_ms: 300.0, wait_ms: 1.0, turns: 100 },
    }
}

/// A signal that is clean.
pub fn signal(kind: SignalKind, warn_above: f64, taint_above: f64) -> Signal {
    let subject = "client-origin".to_owned();
    Signal { kind, subject, measured: 0.1 * warn_above, warn_above, taint_above, quality: Quality::Clean }
}

fn timing() -> Timing {
    let signals = vec![
        signal(SignalKind::LatenessP99, 1.0, 2.0),
        signal(SignalKind::LatenessMax, 10.0, 12.5),
        signal(SignalKind::RunQueueWait, 0.02, 0.05),
        signal(SignalKind::Canary, 1.0, 3.0),
        signal(SignalKind::RelayCpu, 0.6, 0.85),
        signal(SignalKind::ForeignLosses, 0.0, 0.0),
        signal(SignalKind::UdpBufferErrors, 0.0, 0.001),
        signal(SignalKind::Steal, 0.01, 0.03),
    ];
    Timing { quality: Quality::Clean, signals, canary: Summary::default() }
}

/// Bits of a packet-clock realisation: `length` packets of which those in `lost` were lost.
pub fn bits(length: u64, lost: &[u64]) -> LossBits {
    let mut words = vec![0_u64; length.div_ceil(64) as usize];
    lost.iter().for_each(|i| words[(i / 64) as usize] |= 1 << (i % 64));
    serde_json::from_value(json!({ "length": length, "words": words })).unwrap()
}

fn direction(length: u64) -> DirectionRecord {
    let loss_bits = bits(length, &[31, 61, 230]);
    DirectionRecord {
        packets: length,
        bytes: 1_400 * length,
        delivered: length - 5,
        delivered_bytes: 1_400 * (length - 5),
        losses: Losses { random: 3, queue: 2, policer: 0, outage: 0 },
        realised: RealisedLoss { per_packet: 3.0 / length as f64, per_byte: 3.0 / length as f64, per_ms: 0.003 },
        loss_digest: loss_bits.digest(length),
        loss_bits,
        in_flight: 0,
        lateness: Summary::default(),
        lateness_histogram: Histogram::default(),
        largest_frame: 1_500,
        oversized: 0,
        reordered: 0,
        write_errors: 0,
        last_write_errno: 0,
        ignored: 0,
    }
}

/// A direction of the link.
pub fn way() -> DirectionParams {
    let rate = Rate::Constant(BitRate::from_bits_per_second(20_000_000));
    DirectionParams {
        loss: serde_json::from_value::<Loss>(
            json!({ "bernoulli": { "rate": "1 %", "clock": "packet", "slot": null } }),
        )
        .unwrap(),
        queue: Queue::DropTail(QueueLimit::Bytes(Bytes::new(BDP))),
        ..DirectionParams::plain(SimDuration::from_millis(25), rate)
    }
}

fn hop(settings: &StackSettings) -> Hop {
    // Arms send different numbers of packets: their realisations agree as far as both go.
    let length = if settings.stack == StackChoice::H2Hyper { 700 } else { 650 };
    Hop {
        link: "client-origin".to_owned(),
        near: "client".to_owned(),
        far: "origin".to_owned(),
        params: LinkParams { down: way(), up: way() },
        seed: "00112233445566aa".to_owned(),
        mtu: 1_500,
        record: LinkRecord {
            link: "client-origin".to_owned(),
            backend: Backend::UsernsTun,
            down: direction(length),
            up: direction(length / 2),
            span_ms: 1_000.0,
            near_interface_drops: 0,
            far_interface_drops: 0,
            socket_drops: 0,
            socket_buffer: 0,
            relay: ThreadUse::default(),
            broken: false,
        },
        calibration: Some(calibration()),
        client: settings.clone(),
        server: settings.clone(),
        dialed: vec![dialed(settings.stack)],
        accepted: vec![accepted(settings.stack)],
    }
}

fn calibration() -> Calibration {
    let rtt = Summary { count: 20, mean_ms: 50.2, p50_ms: 50.15, p99_ms: 51.0, p999_ms: 51.0, max_ms: 51.0 };
    let trips = RoundTrips { sent: 20, answered: 20, rtt, min_ms: 50.1, added_ms: Some(0.1) };
    Calibration {
        link: "client-origin".to_owned(),
        expected_rtt_ms: 50.07,
        steady: true,
        from_near: trips,
        from_far: trips,
        rate_down: None,
        rate_up: None,
        losses: [(40, 0), (40, 0)],
    }
}

/// A row whose value is the one asked for.
pub fn row(end: End, setting: &'static str, value: impl ToString, unit: &'static str) -> Readback {
    let value = value.to_string();
    Readback {
        end,
        setting: setting.into(),
        asked: value.clone(),
        got: value,
        unit: unit.into(),
        evidence: Source::Kernel,
        verdict: Verdict::Same,
    }
}

fn rows(end: End, stack: StackChoice) -> Vec<Readback> {
    let mut rows = vec![row(end, "congestion_control", "cubic", "")];
    match stack {
        StackChoice::H2Hyper => rows.extend([
            row(end, "initial_window", 10, "packets"),
            row(end, "tcp_mss", 1_448, "B"),
            row(end, "slow_start_threshold", "none", ""),
            row(end, "tcp_rmem", sysctl::TCP_BUFFER_BYTES, "B"),
            row(end, "tcp_wmem", sysctl::TCP_BUFFER_BYTES, "B"),
            Readback { asked: "default".to_owned(), ..row(end, "notsent_lowat", u32::MAX, "B") },
            row(end, "pacing", "kernel", ""),
        ]),
        StackChoice::H3Quinn => rows.extend([
            row(end, "initial_window", 14_520, "B"),
            row(end, "datagram", 1_452, "B"),
            row(end, "udp_receive_buffer", 1 << 20, "B"),
            row(end, "udp_gro", "false", ""),
            row(end, "send_window", 4 * BDP, "B"),
        ]),
    }
    if end == End::Client {
        rows.extend(["stream_window", "connection_window"].map(|name| row(end, name, 4 * BDP, "B")));
        rows.extend([row(End::Client, "session", "cold", ""), row(End::Server, "max_streams", 200, "")]);
    }
    rows
}

fn counters(stack: StackChoice) -> Counters {
    match stack {
        StackChoice::H2Hyper => {
            Counters::Tcp(TcpCounters { snd_mss: 1_448, delivered_ce: Some(0), ..TcpCounters::default() })
        }
        StackChoice::H3Quinn => Counters::Quic(QuicCounters {
            current_mtu: 1_452,
            udp_sent: 640,
            udp_sent_calls: 640,
            ..QuicCounters::default()
        }),
    }
}

fn dialed(stack: StackChoice) -> Dialed {
    let handshake = HandshakeReport { kind: Some(HandshakeKind::Full), early_data: None, chain_bytes: Some(CHAIN) };
    Dialed { started_ns: 1_000, handshake, readbacks: rows(End::Client, stack), counters: Some(counters(stack)) }
}

fn accepted(stack: StackChoice) -> Accepted {
    Accepted {
        peer: "10.0.0.1:40000".parse().unwrap(),
        accepted_ns: 25_000_000,
        closed_ns: Some(900_000_000),
        handshake: HandshakeReport::default(),
        readbacks: rows(End::Server, stack),
        counters: Some(counters(stack)),
    }
}
