//! Logs read again: framing, the draft's required fields, and that they say what the connection did.

use crate::support::{TestPath, params};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use study_transport::qlog::{Recording, Trace, Vantage};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, ConnectionStats, Fate, Path, Pool,
    Profile, Protocol, Scheduler, SessionState, StreamReport, TlsVersion,
};
use study_units::{SimDuration, SimTime};

const HOUR: SimTime = SimTime::from_nanos(3_600_000_000_000);

fn recording(cap: u64) -> Recording {
    Recording { title: "run 0, viewer \"3\"".to_owned(), id: [0xab, 0, 1, 2, 3, 4, 5, 0xff], cap }
}

fn config(protocol: Protocol, congestion_control: CongestionControl, session: SessionState) -> ConnectionConfig {
    ConnectionConfig::new(protocol, congestion_control, Scheduler::RoundRobin, session, &params())
}

/// What came of a transfer.
struct Run {
    reports: Vec<StreamReport>,
    stats: ConnectionStats,
    traces: Vec<Trace>,
}

/// Fetches objects of these sizes, the second half asked for when the first is there.
fn drive<P: Path>(mut connection: Connection<P>, sizes: &[u64]) -> Run {
    let half = sizes.len().div_ceil(2);
    let mut streams: Vec<_> = (0..half).map(|_| connection.request()).collect();
    let mut done = 0;
    while done < sizes.len() {
        match connection.advance(HOUR) {
            Some(AppEvent::RequestArrived(stream)) => {
                connection.respond(stream, sizes[stream.0 as usize], Availability::Full);
            }
            Some(AppEvent::Completed(_)) => {
                done += 1;
                if done == half {
                    streams.extend((half..sizes.len()).map(|_| connection.request()));
                }
            }
            None => panic!("not complete in an hour"),
        }
    }
    // Late acknowledgements and probes.
    while connection.advance(connection.now() + SimDuration::from_secs(5)).is_some() {}
    let reports = streams.iter().map(|s| connection.report(*s).unwrap()).collect();
    let traces = connection.take_traces();
    assert!(connection.take_traces().is_empty());
    Run { reports, stats: connection.stats().clone(), traces }
}

/// Loses a packet in `one_in`, by a rule that has no period the protocols know; never the first three.
fn loses(one_in: u64) -> impl FnMut(u64) -> bool {
    move |index| index > 2 && index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 < (1 << 24) / one_in
}

const SIZES: &[u64] = &[300_000, 40_000, 900_000, 1];

fn lossy(config: &ConnectionConfig, cap: u64) -> Run {
    let path = TestPath::new("20 Mbit/s", "40 ms", loses(30));
    let start = SimTime::from_nanos(7_000_000_001);
    drive(Connection::open_recorded(config.clone(), path, start, &recording(cap), 0), SIZES)
}

/// A link that stands still for a second every two, so that timeouts are false.
struct Stalling {
    free_at: SimTime,
}

impl Path for Stalling {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        let from = self.free_at.max(now).as_nanos();
        let (period, phase) = (from / 2_000_000_000, from % 2_000_000_000);
        let stands = (300_000_000..1_300_000_000).contains(&phase);
        let from = if stands { period * 2_000_000_000 + 1_300_000_000 } else { from };
        self.free_at = SimTime::from_nanos(from + u64::from(ip_bytes) * 400);
        Fate::Arrives(self.free_at + SimDuration::from_millis(20))
    }
    fn send_up(&mut self, now: SimTime, _: u32) -> Fate {
        Fate::Arrives(now + SimDuration::from_millis(20))
    }
}

/// The records of a log: RFC 7464 framing around JSON objects.
fn records(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut parts = text.split('\u{1e}');
    assert_eq!(parts.next(), Some(""), "a log begins with a separator");
    parts
        .map(|record| {
            let json = record.strip_suffix('\n').unwrap_or_else(|| panic!("no line feed: {record:?}"));
            assert!(!json.contains('\n'), "one line per record");
            serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"))
        })
        .collect()
}

fn of(traces: &[Trace], vantage: Vantage) -> Vec<Value> {
    records(&traces.iter().find(|t| t.vantage == vantage).unwrap().bytes)
}

/// Kinds of values that the draft asks for.
fn is_uint(value: &Value) -> bool {
    value.as_u64().is_some_and(|n| n < 1 << 53)
}
fn is_time(value: &Value) -> bool {
    value.as_f64().is_some_and(|ms| ms >= 0.0)
}
fn is_one_of(value: &Value, names: &[&str]) -> bool {
    value.as_str().is_some_and(|text| names.contains(&text))
}

/// The header record: QlogFileSeq and TraceSeq of draft-ietf-quic-qlog-main-schema-03, and what qvis asks of it.
fn check_header(header: &Value, vantage: Vantage, protocols: &[&str]) {
    assert_eq!(header["qlog_version"], "0.3");
    assert_eq!(header["qlog_format"], "JSON-SEQ");
    assert!(header["title"].is_string());
    assert_eq!(header["trace"]["vantage_point"]["type"], vantage.name());
    let common = &header["trace"]["common_fields"];
    assert_eq!(common["time_format"], "relative");
    assert!(is_time(&common["reference_time"]));
    let id = common["ODCID"].as_str().unwrap();
    assert!(id.len() == 16 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{id}");
    assert_eq!(common["group_id"], id);
    assert_eq!(common["protocol_type"], Value::from(protocols.to_vec()));
}

fn check_packet_header(header: &Value) {
    assert!(is_one_of(&header["packet_type"], &["initial", "handshake", "0RTT", "1RTT"]), "{header}");
    assert!(header.get("packet_number").is_none_or(is_uint), "{header}");
}

fn check_frame(frame: &Value) {
    let has = |fields: &[&str]| fields.iter().all(|field| is_uint(&frame[*field]));
    let fits = match frame["frame_type"].as_str().unwrap() {
        "crypto" => has(&["offset", "length"]),
        // `fin` may only be there when it is true.
        "stream" => has(&["stream_id", "offset", "length"]) && frame.get("fin").is_none_or(|fin| *fin == true),
        "max_data" => has(&["maximum"]),
        "max_stream_data" => has(&["stream_id", "maximum"]),
        "ack" => {
            let ranges = frame["acked_ranges"].as_array().unwrap();
            let range = |range: &Value| {
                let ends = range.as_array().unwrap();
                matches!(ends.len(), 1 | 2) && ends.iter().all(is_uint)
            };
            !ranges.is_empty() && ranges.iter().all(range) && frame.get("ack_delay").is_none_or(is_time)
        }
        "ping" => true,
        other => panic!("frame `{other}` is not in the draft"),
    };
    assert!(fits, "{frame}");
}

/// One event: required fields and value types of draft-ietf-quic-qlog-quic-events-03. Returns its name.
fn check_event(event: &Value) -> &str {
    assert!(is_time(&event["time"]), "{event}");
    let (name, data) = (event["name"].as_str().unwrap(), &event["data"]);
    assert!(data.is_object(), "{event}");
    let is_text = |field: &str| data[field].is_string();
    let numbers = || data["packet_numbers"].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_uint));
    let fits = match name {
        "connectivity:connection_started" => is_text("src_ip") && is_text("dst_ip"),
        "connectivity:connection_state_updated" => is_one_of(&data["new"], &["attempted", "handshake_complete"]),
        "connectivity:connection_closed" => is_one_of(&data["trigger"], &["clean", "idle_timeout"]),
        "recovery:parameters_set" => is_uint(&data["timer_granularity"]),
        "recovery:metrics_updated" => {
            let fields = data.as_object().unwrap();
            let known = |(field, value): (&String, &Value)| match field.as_str() {
                "min_rtt" | "smoothed_rtt" | "latest_rtt" | "rtt_variance" => is_time(value),
                "pto_count" | "congestion_window" | "bytes_in_flight" | "ssthresh" | "packets_in_flight"
                | "pacing_rate" => is_uint(value),
                _ => false,
            };
            !fields.is_empty() && fields.iter().all(known)
        }
        "recovery:congestion_state_updated" => is_text("new"),
        "recovery:loss_timer_updated" => {
            let kind = is_one_of(&data["timer_type"], &["ack", "pto"]);
            let set = data["event_type"] == "set";
            kind && is_one_of(&data["event_type"], &["set", "expired", "cancelled"]) && set == is_time(&data["delta"])
        }
        "recovery:packet_lost" => {
            check_packet_header(&data["header"]);
            let triggers = ["reordering_threshold", "time_threshold", "pto_expired"];
            is_uint(&data["header"]["packet_number"]) && is_one_of(&data["trigger"], &triggers)
        }
        "recovery:packets_restored" | "transport:packets_acked" => numbers(),
        "transport:packet_sent" | "transport:packet_received" => {
            check_packet_header(&data["header"]);
            data["frames"].as_array().unwrap().iter().for_each(check_frame);
            is_uint(&data["raw"]["length"])
        }
        "transport:stream_state_updated" => {
            let states = ["open", "half_closed_remote", "closed"];
            is_uint(&data["stream_id"]) && is_one_of(&data["new"], &states)
        }
        "generic:info" => is_text("message"),
        other => panic!("event `{other}` is neither in the draft nor our own"),
    };
    assert!(fits, "{event}");
    name
}

fn names(log: &[Value]) -> BTreeMap<&str, usize> {
    let mut names = BTreeMap::new();
    log[1..].iter().for_each(|event| *names.entry(check_event(event)).or_default() += 1);
    names
}

fn acked(event: &Value) -> Vec<u64> {
    let frames = event["data"]["frames"].as_array().unwrap();
    let ranges = frames.iter().filter(|f| f["frame_type"] == "ack").flat_map(|f| f["acked_ranges"].as_array().unwrap());
    ranges
        .flat_map(|range| {
            let end = |i: usize| range.get(i).map(|n| n.as_u64().unwrap());
            end(0).unwrap()..=end(1).unwrap_or(end(0).unwrap())
        })
        .collect()
}

fn number(event: &Value) -> Option<u64> {
    event["data"]["header"]["packet_number"].as_u64()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    InFlight(u64),
    Gone(u64),
}

/// Follows the sender's log: what is in flight by the packets alone must be what the sender says, at every point.
fn replay(log: &[Value]) -> (u64, u64) {
    let mut packets: BTreeMap<u64, State> = BTreeMap::new();
    let (mut said, mut said_packets, mut losses, mut checked) = (0, 0, 0, 0);
    let leave = |packets: &mut BTreeMap<u64, State>, number: u64| {
        let state = packets.get_mut(&number).unwrap_or_else(|| panic!("packet {number} was never sent"));
        let was = *state;
        if let State::InFlight(size) = was {
            *state = State::Gone(size);
        }
        matches!(was, State::InFlight(_))
    };
    for event in &log[1..] {
        let data = &event["data"];
        match event["name"].as_str().unwrap() {
            "transport:packet_sent" => {
                let Some(number) = number(event) else { continue };
                let size = data["raw"]["payload_length"].as_u64().unwrap();
                assert!(packets.insert(number, State::InFlight(size)).is_none(), "packet {number} was sent twice");
            }
            "transport:packet_received" => {
                for n in acked(event) {
                    leave(&mut packets, n);
                }
            }
            "recovery:packet_lost" => {
                losses += 1;
                assert!(leave(&mut packets, number(event).unwrap()), "lost, but not in flight: {event}");
            }
            "transport:packets_acked" => {
                let numbers = data["packet_numbers"].as_array().unwrap();
                assert!(numbers.iter().all(|n| leave(&mut packets, n.as_u64().unwrap())), "{event}");
            }
            "recovery:packets_restored" => {
                for n in data["packet_numbers"].as_array().unwrap() {
                    losses -= 1;
                    let state = packets.get_mut(&n.as_u64().unwrap()).unwrap();
                    let State::Gone(size) = *state else { panic!("{n} was not lost") };
                    *state = State::InFlight(size);
                }
            }
            "recovery:metrics_updated" => {
                said = data["bytes_in_flight"].as_u64().unwrap_or(said);
                said_packets = data["packets_in_flight"].as_u64().unwrap_or(said_packets);
                let sizes =
                    || packets.values().filter_map(|s| if let State::InFlight(n) = s { Some(*n) } else { None });
                assert_eq!((sizes().sum::<u64>(), sizes().count() as u64), (said, said_packets), "{event}");
                checked += 1;
            }
            _ => {}
        }
    }
    (losses, checked)
}

/// Everything that must hold of the two logs of a finished connection.
fn check(run: &Run, protocols: &[&str]) {
    assert_eq!(run.traces.len(), 2);
    assert!(run.traces.iter().all(|t| !t.cut));
    let (server, client) = (of(&run.traces, Vantage::Server), of(&run.traces, Vantage::Client));
    check_header(&server[0], Vantage::Server, protocols);
    check_header(&client[0], Vantage::Client, protocols);
    for log in [&server, &client] {
        let times: Vec<f64> = log[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "time goes back");
        assert_eq!(log[1]["name"], "connectivity:connection_started");
        assert_eq!(log.last().unwrap()["name"], "connectivity:connection_closed");
    }
    let (at_server, at_client) = (names(&server), names(&client));
    let (losses, checked) = replay(&server);
    // A short transfer has few.
    let enough = if run.stats.packets_sent > 200 { 50 } else { 30 };
    assert!(checked > enough, "{checked} metrics of {} packets", run.stats.packets_sent);
    assert_eq!(losses, run.stats.packets_lost);
    let sent = |log: &[Value]| {
        let numbered = log.iter().filter(|e| e["name"] == "transport:packet_sent").filter_map(number);
        numbered.collect::<Vec<_>>()
    };
    assert_eq!(sent(&server), (0..run.stats.packets_sent).collect::<Vec<_>>());
    assert_eq!(sent(&client), (0..run.stats.client_packets).collect::<Vec<_>>());
    for (from, to) in [(&server, &client), (&client, &server)] {
        let sent: BTreeSet<u64> = sent(from).into_iter().collect();
        let arrived = to.iter().filter(|e| e["name"] == "transport:packet_received").filter_map(number);
        assert!(arrived.clone().count() > 20);
        assert!(arrived.clone().all(|n| sent.contains(&n)), "what arrives was sent");
        assert_eq!(arrived.clone().collect::<BTreeSet<_>>().len(), arrived.count(), "and arrives once");
    }
    let streams = run.reports.len();
    assert_eq!(at_server["transport:stream_state_updated"], streams);
    assert_eq!(at_client["transport:stream_state_updated"], 2 * streams);
    check_streams(&server, &client, run);
}

/// The bytes of each response in the packets that arrived cover it, its end is marked, and its last byte is where the report says.
fn check_streams(server: &[Value], client: &[Value], run: &Run) {
    for (index, report) in run.reports.iter().enumerate() {
        let id = 4 * index as u64;
        let of_stream = |log: &[Value], name: &str| {
            let packets = log.iter().filter(|e| e["name"] == name);
            let frames = packets.flat_map(|e| e["data"]["frames"].as_array().unwrap());
            let frames = frames.filter(|f| f["frame_type"] == "stream" && f["stream_id"] == id);
            frames
                .map(|f| (f["offset"].as_u64().unwrap(), f["length"].as_u64().unwrap(), f["fin"] == true))
                .collect::<BTreeSet<_>>()
        };
        let (sent, arrived) =
            (of_stream(server, "transport:packet_sent"), of_stream(client, "transport:packet_received"));
        assert_eq!(sent, arrived, "every byte that was sent arrives in the end");
        let mut end = 0;
        for (offset, length, fin) in &arrived {
            assert_eq!(*offset, end);
            end += length;
            assert_eq!(*fin, Some((*offset, *length, *fin)) == arrived.last().copied());
        }
        assert!(end >= report.bytes);
        let closed = client.iter().find(|e| {
            e["name"] == "transport:stream_state_updated"
                && e["data"]["stream_id"] == id
                && e["data"]["new"] == "closed"
        });
        let reference = client[0]["trace"]["common_fields"]["reference_time"].as_f64().unwrap();
        let at = closed.unwrap()["time"].as_f64().unwrap() + reference;
        let completed = report.completed.as_nanos() as f64 / 1e6;
        assert!((at - completed).abs() < 1e-5, "{at} and {completed}");
    }
}

const QUIC: &[&str] = &["QUIC", "HTTP3"];
const TCP: &[&str] = &["TCP", "TLS", "HTTP2"];

fn protocols(protocol: Protocol) -> &'static [&'static str] {
    if protocol == Protocol::H3 { QUIC } else { TCP }
}

#[test]
fn a_log_tells_what_the_connection_did() {
    for protocol in [Protocol::H2, Protocol::H3] {
        for control in [CongestionControl::NewReno, CongestionControl::Cubic, CongestionControl::BbrV1] {
            for session in [SessionState::Cold, SessionState::Resumed, SessionState::ZeroRtt] {
                let run = lossy(&config(protocol, control, session), u64::MAX);
                assert!(run.stats.packets_lost > 10);
                check(&run, protocols(protocol));
            }
        }
    }
}

#[test]
fn profiles_of_real_stacks_and_limited_windows_are_logged_as_well() {
    for (protocol, profile) in [(Protocol::H2, Profile::Linux6), (Protocol::H3, Profile::Quinn011)] {
        let mut p = params();
        p.profile = profile;
        p.stream_window = Some("64 KiB".parse().unwrap());
        p.tls = TlsVersion::V1_2;
        let config =
            ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::Sequential, SessionState::Cold, &p);
        let run = lossy(&config, u64::MAX);
        check(&run, protocols(protocol));
        let client = of(&run.traces, Vantage::Client);
        let text = client.iter().map(Value::to_string).collect::<String>();
        assert!(text.contains("max_stream_data"), "{protocol:?}");
    }
}

#[test]
fn false_timeouts_and_settled_duplicates_keep_the_books_in_order() {
    let mut seen = BTreeMap::new();
    for (protocol, profile) in
        [(Protocol::H2, Profile::Linux6), (Protocol::H2, Profile::Rfc), (Protocol::H3, Profile::Rfc)]
    {
        let mut p = params();
        p.profile = profile;
        let config =
            ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::Sequential, SessionState::Cold, &p);
        // A long transfer, and one whose only flight is held up.
        for (start, sizes) in [(0, &[3_000_000, 9_000_000][..]), (200, &[40_000, 40_000])] {
            let (path, start) = (Stalling { free_at: SimTime::ZERO }, SimTime::from_nanos(start * 1_000_000));
            let recording = recording(u64::MAX);
            let run = drive(Connection::open_recorded(config.clone(), path, start, &recording, 0), sizes);
            check(&run, protocols(protocol));
            for (name, count) in names(&of(&run.traces, Vantage::Server)) {
                *seen.entry(name.to_owned()).or_insert(0) += count;
            }
        }
    }
    for name in
        ["recovery:packets_restored", "transport:packets_acked", "recovery:packet_lost", "recovery:loss_timer_updated"]
    {
        assert!(seen.contains_key(name), "the paths of this test are not what they were: no `{name}` in {seen:?}");
    }
}

#[test]
fn recording_changes_nothing_and_repeats_itself() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let config = config(protocol, CongestionControl::Cubic, SessionState::Cold);
        let (once, again) = (lossy(&config, u64::MAX), lossy(&config, u64::MAX));
        assert_eq!(once.traces, again.traces, "same input, same bytes");
        let path = TestPath::new("20 Mbit/s", "40 ms", loses(30));
        let plain = drive(Connection::open(config, path, SimTime::from_nanos(7_000_000_001)), SIZES);
        assert!(plain.traces.is_empty());
        assert_eq!(plain.reports, once.reports);
        assert_eq!(format!("{:?}", plain.stats), format!("{:?}", once.stats));
    }
}

#[test]
fn a_full_log_ends_with_an_event_that_says_so() {
    let config = config(Protocol::H3, CongestionControl::Cubic, SessionState::Cold);
    let whole = lossy(&config, u64::MAX);
    for cap in [2_000_u64, 10_000, 100_000] {
        let cut = lossy(&config, cap);
        assert_eq!(format!("{:?}", cut.stats), format!("{:?}", whole.stats));
        for (cut, whole) in cut.traces.iter().zip(&whole.traces) {
            assert!(cut.cut && cut.bytes.len() as u64 <= cap, "{} of {cap}", cut.bytes.len());
            assert!(cut.bytes.len() as u64 + 1_000 > cap, "the room is used: {} of {cap}", cut.bytes.len());
            let (log, all) = (records(&cut.bytes), records(&whole.bytes));
            names(&log);
            let (last, kept) = log.split_last().unwrap();
            assert_eq!(kept, &all[..kept.len()], "what is kept is the beginning");
            assert_eq!(last["name"], "generic:info");
            assert_eq!(last["time"], all[kept.len()]["time"], "from the first event that is missing");
            let missing =
                format!("cut: the log reached {cap} bytes; {} later events are missing", all.len() - kept.len());
            assert_eq!(last["data"]["message"], missing);
        }
    }
}

#[test]
fn each_connection_of_http_1_has_logs_of_its_own() {
    let config = config(Protocol::H1, CongestionControl::Cubic, SessionState::Cold);
    let path = TestPath::new("20 Mbit/s", "40 ms", |_| false);
    let mut pool = Pool::open_recorded(config, path, SimTime::ZERO, recording(u64::MAX));
    for _ in 0..3 {
        pool.request();
    }
    let mut left = 3;
    while left > 0 {
        match pool.advance(HOUR).unwrap() {
            AppEvent::RequestArrived(stream) => pool.respond(stream, 50_000, Availability::Full),
            AppEvent::Completed(_) => left -= 1,
        }
    }
    let traces = pool.take_traces();
    assert_eq!(traces.len(), 2 * pool.connections());
    assert!(pool.connections() > 1);
    let mut ids = BTreeSet::new();
    for trace in &traces {
        let log = records(&trace.bytes);
        names(&log);
        check_header(&log[0], trace.vantage, &["TCP", "TLS", "HTTP1"]);
        ids.insert(log[0]["trace"]["common_fields"]["ODCID"].to_string());
    }
    assert_eq!(ids.len(), pool.connections(), "{ids:?}");
}

/// Small logs as they are: a change of the format or of the model shows as a difference to read.
#[test]
fn small_logs_are_as_in_testdata() {
    for (protocol, stored) in [
        (
            Protocol::H2,
            [include_str!("../../testdata/qlog_h2_server.sqlog"), include_str!("../../testdata/qlog_h2_client.sqlog")],
        ),
        (
            Protocol::H3,
            [include_str!("../../testdata/qlog_h3_server.sqlog"), include_str!("../../testdata/qlog_h3_client.sqlog")],
        ),
    ] {
        let config = config(protocol, CongestionControl::NewReno, SessionState::Resumed);
        let path = TestPath::new("10 Mbit/s", "50 ms", |index| index == 6);
        let run = drive(Connection::open_recorded(config, path, SimTime::ZERO, &recording(u64::MAX), 0), &[12_000]);
        for (trace, stored) in run.traces.iter().zip(stored) {
            let name = format!("qlog_{}_{}.sqlog", protocol.name(), trace.vantage.name());
            let text = std::str::from_utf8(&trace.bytes).unwrap();
            assert!(text == stored, "testdata/{name} is not what is written now:\n{text}");
        }
    }
}
