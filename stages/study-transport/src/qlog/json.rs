//! Events as records of a JSON text sequence (RFC 7464): pure functions from events to text.

use super::event::{
    Event, Frame, LossTrigger, Metrics, Packet, PacketKind, Parameters, TimerChange, TimerKind, Vantage,
};
use std::fmt::Write;
use study_units::{SimDuration, SimTime};

/// RFC 7464 section 2.2: begins each record.
const SEPARATOR: char = '\u{1e}';
/// Integers beyond are not exact in JavaScript (RFC 7493 section 2.2).
const LARGEST_INTEGER: u64 = (1 << 53) - 1;
/// Both sides have addresses for documentation (RFC 5737).
const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";

/// The name of an own event: the draft has none for losses that are taken back.
pub const RESTORED: &str = "recovery:packets_restored";

/// Writes without failing: a `String` takes everything.
macro_rules! put {
    ($out:expr, $($what:tt)*) => { let _ = write!($out, $($what)*); };
}

/// Milliseconds, exact to the nanosecond.
fn millis(out: &mut String, span: SimDuration) {
    let nanos = span.as_nanos();
    put!(out, "{}", nanos / 1_000_000);
    if !nanos.is_multiple_of(1_000_000) {
        put!(out, ".{}", format!("{:06}", nanos % 1_000_000).trim_end_matches('0'));
    }
}

/// A text in quotes.
fn text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => {
                put!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The connection that a log is of.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Hexadecimal.
    pub id: &'a str,
    pub start: SimTime,
    pub tcp: bool,
    pub multiplexed: bool,
}

/// The first record.
pub fn header(out: &mut String, title: &str, vantage: Vantage, origin: &Origin<'_>) {
    out.push(SEPARATOR);
    out.push_str(r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"#);
    text(out, title);
    out.push_str(r#","trace":{"title":"#);
    text(out, title);
    put!(out, r#","vantage_point":{{"name":"simulated {0}","type":"{0}"}},"common_fields":{{"#, vantage.name());
    let id = origin.id;
    put!(out, r#""ODCID":"{id}","group_id":"{id}","time_format":"relative","reference_time":"#);
    millis(out, origin.start.since(SimTime::ZERO));
    let http = match (origin.tcp, origin.multiplexed) {
        (true, true) => r#""TCP","TLS","HTTP2""#,
        (true, false) => r#""TCP","TLS","HTTP1""#,
        (false, _) => r#""QUIC","HTTP3""#,
    };
    put!(out, r#","protocol_type":[{http}]}}}}}}"#);
    out.push('\n');
}

/// One event, `at` after the connection's start.
pub fn record(out: &mut String, at: SimDuration, vantage: Vantage, event: &Event<'_>) {
    out.push(SEPARATOR);
    out.push_str(r#"{"time":"#);
    millis(out, at);
    put!(out, r#","name":"{}","data":{{"#, name(event));
    data(out, vantage, event);
    out.push_str("}}\n");
}

const fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Started { .. } => "connectivity:connection_started",
        Event::State(_) => "connectivity:connection_state_updated",
        Event::Closed { .. } => "connectivity:connection_closed",
        Event::Parameters(_) => "recovery:parameters_set",
        Event::Sent(_) => "transport:packet_sent",
        Event::Received(_) => "transport:packet_received",
        Event::Settled(_) => "transport:packets_acked",
        Event::Stream { .. } => "transport:stream_state_updated",
        Event::Lost { .. } => "recovery:packet_lost",
        Event::Restored(_) => RESTORED,
        Event::Metrics(_) => "recovery:metrics_updated",
        Event::Congestion { .. } => "recovery:congestion_state_updated",
        Event::Timer { .. } => "recovery:loss_timer_updated",
        Event::Cut { .. } => "generic:info",
    }
}

fn data(out: &mut String, vantage: Vantage, event: &Event<'_>) {
    match event {
        Event::Started { tcp, id } => {
            let (own, other) = if vantage == Vantage::Server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
            let protocol = if *tcp { "TCP" } else { "QUIC" };
            put!(out, r#""ip_version":"v4","src_ip":"{own}","dst_ip":"{other}","protocol":"{protocol}""#);
            if !*tcp {
                put!(out, r#","dst_cid":"{id}""#);
            }
        }
        Event::State(new) => {
            put!(out, r#""new":"{new}""#);
        }
        Event::Parameters(parameters) => parameters_set(out, parameters),
        Event::Sent(packet) | Event::Received(packet) => packet_data(out, packet),
        Event::Lost { kind, number, trigger } => {
            let trigger = match trigger {
                LossTrigger::Reordering => "reordering_threshold",
                LossTrigger::Time => "time_threshold",
                LossTrigger::Timeout => "pto_expired",
            };
            header_of(out, *kind, Some(*number));
            put!(out, r#","trigger":"{trigger}""#);
        }
        Event::Restored(numbers) => numbers_of(out, numbers),
        Event::Settled(numbers) => {
            numbers_of(out, numbers);
            out.push_str(r#","trigger":"content_acknowledged""#);
        }
        Event::Metrics(metrics) => metrics_data(out, metrics),
        Event::Congestion { old, new, persistent } => {
            if let Some(old) = old {
                put!(out, r#""old":"{old}","#);
            }
            put!(out, r#""new":"{new}""#);
            if *persistent {
                out.push_str(r#","trigger":"persistent_congestion""#);
            }
        }
        Event::Timer { kind, change } => timer(out, *kind, *change),
        Event::Stream { stream, new } => {
            put!(out, r#""stream_id":{},"stream_type":"bidirectional","new":"{new}""#, stream_id(*stream));
        }
        Event::Closed { gave_up } => {
            put!(out, r#""owner":"local","trigger":"{}""#, if *gave_up { "idle_timeout" } else { "clean" });
        }
        Event::Cut { cap, missing } => {
            put!(out, r#""message":"cut: the log reached {cap} bytes; {missing} later events are missing""#);
        }
    }
}

/// Request `n` has the number that QUIC gives it (RFC 9000 section 2.1); over TCP as well, for the tools.
const fn stream_id(stream: u32) -> u64 {
    4 * stream as u64
}

fn header_of(out: &mut String, kind: PacketKind, number: Option<u64>) {
    let kind = match kind {
        PacketKind::Initial => "initial",
        PacketKind::Handshake => "handshake",
        PacketKind::ZeroRtt => "0RTT",
        PacketKind::OneRtt => "1RTT",
    };
    put!(out, r#""header":{{"packet_type":"{kind}""#);
    if let Some(number) = number {
        put!(out, r#","packet_number":{number}"#);
    }
    out.push('}');
}

fn packet_data(out: &mut String, packet: &Packet<'_>) {
    header_of(out, packet.kind, packet.number);
    put!(out, r#","raw":{{"length":{}"#, packet.bytes);
    if let Some(payload) = packet.payload {
        put!(out, r#","payload_length":{payload}"#);
    }
    out.push_str(r#"},"frames":["#);
    let mut first = true;
    if !packet.acked.is_empty() {
        first = false;
        ack(out, packet);
    }
    for one in packet.frames {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        frame(out, one);
    }
    out.push(']');
}

fn ack(out: &mut String, packet: &Packet<'_>) {
    out.push_str(r#"{"frame_type":"ack","#);
    if let Some(delay) = packet.ack_delay {
        out.push_str(r#""ack_delay":"#);
        millis(out, delay);
        out.push(',');
    }
    out.push_str(r#""acked_ranges":["#);
    for (i, (from, to)) in packet.acked.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        if from == to {
            put!(out, "{comma}[{from}]");
        } else {
            put!(out, "{comma}[{from},{to}]");
        }
    }
    out.push_str("]}");
}

fn frame(out: &mut String, frame: &Frame) {
    match *frame {
        Frame::Crypto { offset, length } => {
            put!(out, r#"{{"frame_type":"crypto","offset":{offset},"length":{length}}}"#);
        }
        Frame::Stream { stream, offset, length, fin } => {
            let (id, fin) = (stream_id(stream), if fin { r#","fin":true"# } else { "" });
            put!(out, r#"{{"frame_type":"stream","stream_id":{id},"offset":{offset},"length":{length}{fin}}}"#);
        }
        Frame::MaxData { maximum } => {
            put!(out, r#"{{"frame_type":"max_data","maximum":{}}}"#, maximum.min(LARGEST_INTEGER));
        }
        Frame::MaxStreamData { stream, maximum } => {
            let (id, maximum) = (stream_id(stream), maximum.min(LARGEST_INTEGER));
            put!(out, r#"{{"frame_type":"max_stream_data","stream_id":{id},"maximum":{maximum}}}"#);
        }
        Frame::Ping => out.push_str(r#"{"frame_type":"ping"}"#),
    }
}

fn numbers_of(out: &mut String, numbers: &[u64]) {
    out.push_str(r#""packet_numbers":["#);
    for (i, number) in numbers.iter().enumerate() {
        put!(out, "{}{number}", if i > 0 { "," } else { "" });
    }
    out.push(']');
}

fn parameters_set(out: &mut String, p: &Parameters) {
    put!(out, r#""reordering_threshold":{},"#, p.reordering_threshold);
    if let Some(eighths) = p.time_threshold_eighths {
        put!(out, r#""time_threshold":{},"#, eighths as f64 / 8.0);
    }
    put!(out, r#""timer_granularity":1,"max_datagram_size":{},"#, p.packet_payload);
    put!(out, r#""initial_congestion_window":{},"initial_timeout":"#, p.initial_window);
    millis(out, p.initial_timeout);
    put!(out, r#","congestion_control":"{}""#, p.congestion_control);
}

fn metrics_data(out: &mut String, m: &Metrics) {
    let mut comma = "";
    let times = [
        ("min_rtt", m.min_rtt),
        ("smoothed_rtt", m.smoothed_rtt),
        ("latest_rtt", m.latest_rtt),
        ("rtt_variance", m.rtt_variance),
    ];
    for (name, value) in times {
        if let Some(value) = value {
            put!(out, r#"{comma}"{name}":"#);
            millis(out, value);
            comma = ",";
        }
    }
    let counts = [
        ("pto_count", m.pto_count),
        ("congestion_window", m.congestion_window),
        ("bytes_in_flight", m.bytes_in_flight),
        ("ssthresh", m.ssthresh),
        ("packets_in_flight", m.packets_in_flight),
        ("pacing_rate", m.pacing_rate),
    ];
    for (name, value) in counts {
        if let Some(value) = value {
            put!(out, r#"{comma}"{name}":{}"#, value.min(LARGEST_INTEGER));
            comma = ",";
        }
    }
}

fn timer(out: &mut String, kind: TimerKind, change: TimerChange) {
    let kind = match kind {
        TimerKind::Ack => "ack",
        TimerKind::Pto => "pto",
    };
    put!(out, r#""timer_type":"{kind}","event_type":"#);
    match change {
        TimerChange::Set(delta) => {
            out.push_str(r#""set","delta":"#);
            millis(out, delta);
        }
        TimerChange::Expired => out.push_str(r#""expired""#),
        TimerChange::Cancelled => out.push_str(r#""cancelled""#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_exact_to_the_nanosecond() {
        let show = |nanos| {
            let mut out = String::new();
            millis(&mut out, SimDuration::from_nanos(nanos));
            out
        };
        assert_eq!(show(0), "0");
        assert_eq!(show(1), "0.000001");
        assert_eq!(show(1_500_000), "1.5");
        assert_eq!(show(12_345_678_901), "12345.678901");
        assert_eq!(show(3_000_000), "3");
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        text(&mut out, "a \"b\" \\ \n\u{1e} ü");
        assert_eq!(out, "\"a \\\"b\\\" \\\\ \\u000a\\u001e ü\"");
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), "a \"b\" \\ \n\u{1e} ü");
    }
}
