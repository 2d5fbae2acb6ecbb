//! What a study file may say about a link, and where each mistake is reported.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use study_link::{
    Bottleneck, LinkParams, Loss, Phase, Queue, QueueLimit, Rate, RateSchedule, RateStep, ResolveError, Verdict, Way,
};
use study_tree::Decode;
use study_units::{BitRate, Bytes, SimDuration, SimTime};
use support::{link, read};

const FLAGSHIP: &str = "{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, \
    jitter: { std_dev: 8 ms, distribution: half_normal, correlation_time: 50 ms, reorder: false }, \
    loss: { gilbert_elliott: { good_to_bad: 3 %, bad_to_good: 30 %, loss_in_bad: 40 %, clock: packet } }, \
    queue: { drop_tail: 1 x BDP } }";

#[track_caller]
fn refused(text: &str, code: &str, under: &str) -> String {
    let outcome = read(text);
    assert!(outcome.link.is_none(), "{text} was accepted");
    let [(found, place, message)] = outcome.problems.as_slice() else { panic!("{text}: {:?}", outcome.problems) };
    assert_eq!((*found, place.as_str()), (code, under), "{text}: {message}");
    message.clone()
}

#[test]
fn the_flagship_link_decodes_with_defaults_worked_out() {
    let flagship = link(FLAGSHIP);
    assert_eq!(flagship.down, flagship.up);
    assert_eq!(flagship.base_rtt(), SimDuration::from_millis(30));
    assert_eq!(flagship.down.one_way, SimDuration::from_millis(15));
    assert_eq!(flagship.bdp_bytes(Way::Down), Some(75_000));
    assert_eq!(flagship.down.queue, Queue::DropTail(QueueLimit::Bytes(Bytes::new(75_000))));
    assert_eq!(flagship.down.overhead, Bytes::new(0));
    assert!((flagship.down.stationary_loss() - 0.036_363_636).abs() < 1e-8);
    // 15 ms + 8 ms * sqrt(2 / pi), twice.
    assert!((flagship.mean_rtt().as_millis_f64() - 42.766).abs() < 0.001);
}

#[test]
fn spellings_of_one_link_are_equal_and_defaults_are_what_is_documented() {
    let plain = link("{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s }");
    for same in [
        "{ symmetric: true, one_way: 15 ms, rate: 20000 kbit/s, jitter: none, loss: none, overhead: 0 B }",
        "{ symmetric: true, rtt: 0.03 s, rate: 20 Mbit/s, queue: { drop_tail: 1 x BDP } }",
        "{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, queue: { drop_tail: 75 kB } }",
        "{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, jitter: { std_dev: 0 ms, distribution: uniform } }",
        "{ rtt: 30 ms, down: { rate: 20 Mbit/s }, up: { rate: 20 Mbit/s } }",
        "{ symmetric: false, down: { one_way: 15 ms, rate: 20 Mbit/s }, up: { one_way: 15 ms, rate: 20 Mbit/s } }",
    ] {
        assert_eq!(link(same), plain, "{same}");
    }
    let ge = "good_to_bad: 3 %, bad_to_good: 30 %";
    assert_eq!(
        link(&format!("{{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: {{ gilbert_elliott: {{ {ge} }} }} }}")),
        link(&format!(
            "{{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: {{ gilbert_elliott: {{ {ge}, \
             loss_in_bad: 100 %, loss_in_good: 0 %, clock: time, slot: 0.6 ms }} }} }}"
        )),
    );
    assert_eq!(
        link("{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: { bernoulli: { rate: 1 % } } }"),
        link("{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: { bernoulli: { rate: 1 %, clock: packet } } }"),
    );
}

#[test]
fn directions_may_differ_and_an_odd_round_trip_is_kept_whole() {
    let dsl =
        link("{ rtt: 31 ns, down: { rate: 20 Mbit/s, overhead: 2 B }, up: { rate: 1 Mbit/s, queue: unlimited } }");
    assert_eq!((dsl.down.one_way.as_nanos(), dsl.up.one_way.as_nanos()), (15, 16));
    assert_eq!(dsl.base_rtt().as_nanos(), 31);
    assert_eq!(dsl.down.overhead, Bytes::new(2));
    assert_eq!(dsl.up.queue, Queue::Unlimited);
}

#[test]
fn schedules_size_the_queue_by_their_mean_rate() {
    let tram = link(
        "{ symmetric: true, rtt: 100 ms, rate: { schedule: [{ for: 1 s, rate: 6 Mbit/s }, { for: 2 s, rate: 0 }] } }",
    );
    assert_eq!(tram.bdp_bytes(Way::Up), Some(25_000));
    assert_eq!(tram.up.queue, Queue::DropTail(QueueLimit::Bytes(Bytes::new(25_000))));
    let Rate::Schedule(schedule) = &tram.down.rate else { panic!() };
    assert!(schedule.repeats());
    assert_eq!(link("{ symmetric: true, rtt: 1 ms, rate: unlimited }").down.queue, Queue::Unlimited);
}

#[test]
fn a_missing_or_doubtful_direction_is_refused_at_its_place() {
    let text = "{ rtt: 1 ms, rate: 1 Mbit/s }";
    refused(text, "link-direction", text);
    refused("{ symmetric: false, rtt: 1 ms, rate: 1 Mbit/s }", "link-direction", "false");
    refused("{ rtt: 1 ms, down: { rate: 1 Mbit/s } }", "link-direction", "down");
    refused("{ rtt: 1 ms, up: { rate: 1 Mbit/s } }", "link-direction", "up");
    let both = "rtt: 1 ms, down: { rate: 1 Mbit/s }, up: { rate: 1 Mbit/s }";
    refused(&format!("{{ symmetric: true, {both} }}"), "link-direction", "true");
    let message = refused(&format!("{{ {both}, overhead: 2 B }}"), "unknown-key", "overhead");
    assert!(message.contains("belongs to one direction"), "{message}");
    refused(&format!("{{ {both}, one_way: 2 ms }}"), "unknown-key", "one_way");
}

#[test]
fn a_delay_that_can_be_read_in_two_ways_is_refused_at_its_place() {
    refused("{ symmetric: true, delay: 30 ms, rate: 1 Mbit/s }", "delay-ambiguous", "delay");
    refused("{ symmetric: true, delay: 30 ms, rtt: 1 ms, rate: 1 Mbit/s }", "delay-ambiguous", "delay");
    refused("{ symmetric: true, rtt: 30 ms, one_way: 15 ms, rate: 1 Mbit/s }", "delay-ambiguous", "one_way");
    let up = "up: { rate: 1 Mbit/s }";
    refused(&format!("{{ rtt: 1 ms, down: {{ one_way: 9 ms, rate: 1 Mbit/s }}, {up} }}"), "delay-ambiguous", "one_way");
    refused(&format!("{{ rtt: 1 ms, down: {{ rtt: 9 ms, rate: 1 Mbit/s }}, {up} }}"), "unknown-key", "rtt");
    refused(
        "{ down: { delay: 9 ms, rate: 1 Mbit/s }, up: { one_way: 1 ms, rate: 1 Mbit/s } }",
        "delay-ambiguous",
        "delay",
    );
    refused("{ down: { one_way: 9 ms, rate: 1 Mbit/s }, up: { rate: 1 Mbit/s } }", "missing-key", "{ rate: 1 Mbit/s }");
    let text = "{ symmetric: true, rate: 1 Mbit/s }";
    refused(text, "missing-key", text);
}

#[test]
fn rates_that_let_nothing_pass_are_refused_at_their_place() {
    let rate = |rate: &str| format!("{{ symmetric: true, rtt: 1 ms, rate: {rate} }}");
    refused(&rate("0"), "out-of-range", "0");
    refused(&rate("0 Mbit/s"), "out-of-range", "0 Mbit/s");
    refused(&rate("-1 Mbit/s"), "bad-quantity", "-1 Mbit/s");
    refused(&rate("20"), "bad-quantity", "20");
    refused(&rate("20 ms"), "bad-quantity", "20 ms");
    refused(&rate("unlimted"), "unknown-value", "unlimted");
    refused(&rate("{ schedule: [] }"), "out-of-range", "[]");
    refused(&rate("{ schedule: [{ for: 1 s, rate: 0 }], repeat: true }"), "out-of-range", "[{ for: 1 s, rate: 0 }]");
    refused(&rate("{ schedule: [{ for: 0 s, rate: 1 Mbit/s }] }"), "out-of-range", "0 s");
    let ends_at_zero = "[{ for: 1 s, rate: 1 kbit/s }, { for: 1 s, rate: 0 }]";
    refused(&rate(&format!("{{ schedule: {ends_at_zero}, repeat: false }}")), "out-of-range", ends_at_zero);
    refused(&rate("{ schedule: [{ rate: 1 Mbit/s }] }"), "missing-key", "{ rate: 1 Mbit/s }");
    refused(&rate("{ schedule: [{ for: 1 s, rate: 1 Mbit/s }], repeet: true }"), "unknown-key", "repeet");
    refused(&rate("{ repeat: true }"), "missing-key", "{ repeat: true }");
    refused(&rate("{ sabre: { file: a.json }, repeat: true }"), "unknown-key", "repeat");
    let text = "{ symmetric: true, rtt: 1 ms }";
    refused(text, "missing-key", text);
}

#[test]
fn losses_without_sense_are_refused_at_their_place() {
    let with = |rate: &str, loss: &str| format!("{{ symmetric: true, rtt: 1 ms, rate: {rate}, loss: {loss} }}");
    let loss = |loss: &str| with("1 Mbit/s", loss);
    refused(&loss("{ bernoulli: { rate: 101 % } }"), "bad-quantity", "101 %");
    refused(&loss("{ bernoulli: { rate: 1 } }"), "bad-quantity", "1");
    refused(&loss("{ bernouli: { rate: 1 % } }"), "unknown-value", "bernouli");
    refused(&loss("bernoulli"), "wrong-type", "bernoulli");
    refused(&loss("{ gilbert_elliott: { good_to_bad: 1 % } }"), "missing-key", "{ good_to_bad: 1 % }");
    let ge = "good_to_bad: 1 %, bad_to_good: 10 %";
    refused(&loss(&format!("{{ gilbert_elliott: {{ {ge}, slot: 0 ms }} }}")), "out-of-range", "0 ms");
    refused(&loss(&format!("{{ gilbert_elliott: {{ {ge}, clock: packet, slot: 1 ms }} }}")), "unknown-key", "slot");
    refused(&loss("{ bernoulli: { rate: 1 %, slot: 1 ms } }"), "unknown-key", "slot");
    refused(&loss(&format!("{{ gilbert_elliott: {{ {ge}, clock: bite }} }}")), "unknown-value", "bite");
    let under = format!("{{ {ge} }}");
    for rate in ["unlimited", "{ schedule: [{ for: 1 s, rate: 1 Mbit/s }] }", "{ sabre: a.json }"] {
        refused(&with(rate, &format!("{{ gilbert_elliott: {under} }}")), "slot-missing", &under);
        let given = format!("{{ gilbert_elliott: {{ {ge}, slot: 1 ms }} }}");
        assert!(read(&with(rate, &given)).link.is_some(), "{rate}");
        let packet = format!("{{ gilbert_elliott: {{ {ge}, clock: packet }} }}");
        assert!(read(&with(rate, &packet)).link.is_some(), "{rate}");
    }
}

#[test]
fn queues_jitters_and_overheads_without_sense_are_refused_at_their_place() {
    let with = |rest: &str| format!("{{ symmetric: true, rtt: 1 ms, rate: 1 Mbit/s, {rest} }}");
    refused(&with("queue: { drop_tail: 100 }"), "bad-quantity", "100");
    refused(&with("queue: { drop_tail: 0 packets }"), "out-of-range", "0 packets");
    refused(&with("queue: { drop_tail: 1 KiB }"), "out-of-range", "1 KiB");
    refused(&with("queue: { drop_tail: 0 x BDP }"), "out-of-range", "0 x BDP");
    refused(&with("queue: { codel: 5 ms }"), "wrong-type", "5 ms");
    refused(&with("overhead: 1 MB"), "out-of-range", "1 MB");
    refused(&with("overhead: 2"), "bad-quantity", "2");
    refused(&with("jitter: 8 ms"), "unknown-value", "8 ms");
    refused(&with("jitter: { std_dev: 8 ms }"), "missing-key", "{ std_dev: 8 ms }");
    refused(&with("jitter: { std_dev: 8 ms, distribution: gaussian }"), "unknown-value", "gaussian");
    let short = "jitter: { std_dev: 8 ms, distribution: uniform, correlation_time: 10 us }";
    refused(&with(short), "out-of-range", "10 us");
    let warned = read("{ symmetric: true, rtt: 1 ms, rate: unlimited, queue: { drop_tail: 9 packets } }");
    assert_eq!(warned.link.unwrap().down.queue, Queue::Unlimited);
    assert_eq!(
        (warned.problems[0].0, warned.problems[0].1.as_str()),
        ("queue-without-rate", "{ drop_tail: 9 packets }")
    );
}

#[test]
fn clocks_phases_and_slots_settle_to_what_is_documented() {
    let loss = |loss: &str| link(&format!("{{ symmetric: true, rtt: 1 ms, rate: 20 Mbit/s, loss: {loss} }}"));
    for (short, long) in [
        ("{ bernoulli: { rate: 1 % } }", "{ bernoulli: { rate: 1 %, clock: packet, phases: joint } }"),
        (
            "{ bernoulli: { rate: 1 %, clock: byte } }",
            "{ bernoulli: { rate: 1 %, clock: byte, slot_bytes: 1500 B, phases: split } }",
        ),
        (
            "{ four_state: { p13: 1 %, p31: 20 % } }",
            "{ four_state: { p13: 1 %, p31: 20 %, p32: 0 %, p23: 100 %, p14: 0 %, clock: packet, phases: joint } }",
        ),
        ("{ schedule: [{ for: 1 s, loss: none }] }", "{ schedule: [{ for: 1000 ms, loss: none }], repeat: true }"),
    ] {
        assert_eq!(loss(short), loss(long), "{short}");
    }
    let codel = "queue: { codel: { target: 5 ms, interval: 100 ms, limit: 1000 packets } }";
    let with = |rest: &str| link(&format!("{{ symmetric: true, rtt: 100 ms, rate: 20 Mbit/s, {rest} }}"));
    assert_eq!(with("queue: codel"), with(codel));
    let Queue::Codel(settled) = with("queue: { codel: { limit: 2 x BDP } }").down.queue else { panic!() };
    assert_eq!(settled.limit, QueueLimit::Bytes(Bytes::new(500_000)));
    // The shaper is the bottleneck: its rate sizes the queue, and a queue forms without a rate of the link.
    let shaped = link(
        "{ symmetric: true, rtt: 100 ms, rate: unlimited, shaper: { rate: 8 Mbit/s, burst: 5 kB }, queue: { drop_tail: 1 x BDP } }",
    );
    assert_eq!(shaped.down.queue, Queue::DropTail(QueueLimit::Bytes(Bytes::new(100_000))));
    assert_eq!(shaped.bdp_bytes(Way::Down), Some(100_000));
}

#[test]
fn new_losses_without_sense_are_refused_at_their_place() {
    let with = |loss: &str| format!("{{ symmetric: true, rtt: 1 ms, rate: 1 Mbit/s, loss: {loss} }}");
    let ge = "good_to_bad: 1 %, bad_to_good: 10 %";
    refused(&with("{ bernoulli: { rate: 1 %, slot_bytes: 1 kB } }"), "unknown-key", "slot_bytes");
    refused(&with("{ bernoulli: { rate: 1 %, clock: byte, slot: 1 ms } }"), "unknown-key", "slot");
    refused(&with("{ bernoulli: { rate: 1 %, clock: byte, slot_bytes: 1 B } }"), "out-of-range", "1 B");
    refused(&with(&format!("{{ gilbert_elliott: {{ {ge}, phases: split }} }}")), "unknown-key", "phases");
    refused(&with(&format!("{{ gilbert_elliott: {{ {ge}, clock: byte, phases: own }} }}")), "unknown-value", "own");
    refused(&with("{ four_state: { p13: 60 %, p31: 20 %, p14: 50 % } }"), "out-of-range", "50 %");
    refused(&with("{ four_state: { p13: 10 %, p31: 70 %, p32: 40 % } }"), "out-of-range", "40 %");
    refused(&with("{ four_state: { p13: 10 % } }"), "missing-key", "{ p13: 10 % }");
    refused(&with("{ capped: { rate: 30 %, most_in_a_row: 0 } }"), "out-of-range", "0");
    refused(&with("{ drops: { packets: [] } }"), "out-of-range", "[]");
    refused(&with("{ drops: { packets: [0, 1] } }"), "out-of-range", "0");
    refused(&with("{ drops: { packets: [3, 15, 15] } }"), "out-of-range", "15");
    refused(&with("{ schedule: [] }"), "out-of-range", "[]");
    refused(&with("{ schedule: [{ for: 0 s, loss: none }] }"), "out-of-range", "0 s");
    refused(&with("{ schedule: [{ for: 1 s }] }"), "missing-key", "{ for: 1 s }");
    let nested = "{ schedule: [{ for: 1 s, loss: none }] }";
    let message =
        refused(&with(&format!("{{ schedule: [{{ for: 1 s, loss: {nested} }}] }}")), "unknown-value", "schedule");
    assert!(message.contains("gilbert_elliott"), "{message}");
    let slotless = "{ symmetric: true, rtt: 1 ms, rate: unlimited, \
        loss: { schedule: [{ for: 1 s, loss: { bernoulli: { rate: 1 %, clock: time } } }] } }";
    refused(slotless, "slot-missing", "{ rate: 1 %, clock: time }");
}

#[test]
fn new_parts_of_a_direction_without_sense_are_refused_at_their_place() {
    let with = |rest: &str| format!("{{ symmetric: true, rtt: 1 ms, rate: 1 Mbit/s, {rest} }}");
    refused(&with("outages: { windows: [] }"), "out-of-range", "{ windows: [] }");
    refused(&with("outages: { windows: [{ from: 1 s, for: 0 s }] }"), "out-of-range", "0 s");
    refused(&with("outages: { period: { on: 1 s, off: 0 s } }"), "out-of-range", "0 s");
    refused(&with("outages: { period: { on: 0 s, off: 1 s } }"), "out-of-range", "{ period: { on: 0 s, off: 1 s } }");
    refused(&with("outages: windows"), "wrong-type", "windows");
    refused(&with("shaper: { rate: 0 Mbit/s, burst: 3 kB }"), "out-of-range", "0 Mbit/s");
    refused(&with("shaper: { rate: 1 Mbit/s, burst: 1 kB }"), "out-of-range", "1 kB");
    refused(&with("shaper: { rate: 1 Mbit/s, burst: 1500 B }, overhead: 4 B"), "out-of-range", "1500 B");
    refused(&with("policer: { rate: 1 Mbit/s }"), "missing-key", "{ rate: 1 Mbit/s }");
    refused(&with("arq: { attempts: 2 }"), "unknown-key", "arq");
    refused(&with("loss_at: transmission"), "unknown-key", "loss_at");
    let lossy = "loss: { bernoulli: { rate: 1 % } }";
    refused(&with(&format!("{lossy}, arq: {{ attempts: 0 }}")), "out-of-range", "0");
    refused(&with(&format!("{lossy}, arq: {{ delay: 0 s }}")), "out-of-range", "0 s");
    refused(&with(&format!("{lossy}, loss_at: exit")), "unknown-value", "exit");
    refused(&with("extra_delay: { schedule: [] }"), "out-of-range", "[]");
    refused(&with("extra_delay: { repeat: true }"), "missing-key", "{ repeat: true }");
    refused(&with("extra_delay: { schedule: [{ for: 1 s, delay: 5 }] }"), "bad-quantity", "5");
    refused(&with("queue: { codel: { target: 0 s } }"), "out-of-range", "0 s");
    refused(&with("queue: { codel: { limit: 0 packets } }"), "out-of-range", "0 packets");
    refused(&with("queue: { fq_codel: { flows: 0 } }"), "out-of-range", "0");
    refused(&with("queue: codell"), "unknown-value", "codell");
    for key in ["shaper", "outages", "extra_delay", "loss_at"] {
        let text = format!("{{ rtt: 1 ms, down: {{ rate: 1 Mbit/s }}, up: {{ rate: 1 Mbit/s }}, {key}: 1 }}");
        refused(&text, "unknown-key", key);
    }
}

#[test]
fn all_mistakes_of_a_link_are_reported_at_once() {
    let codes: Vec<_> = read(
        "{ symmetric: maybe, delay: 3 ms, rate: 0 bit/s, jitter: { std_dev: 8 }, loss: { none: 1 }, queue: big, typo: 1 }",
    )
    .problems
    .iter()
    .map(|p| (p.0, p.1.clone()))
    .collect();
    let expected = [
        ("wrong-type", "maybe"),
        ("delay-ambiguous", "delay"),
        ("out-of-range", "0 bit/s"),
        ("missing-key", "{ std_dev: 8 }"),
        ("bad-quantity", "8"),
        ("unknown-value", "none"),
        ("unknown-value", "big"),
        ("unknown-key", "typo"),
    ];
    assert_eq!(codes, expected.map(|(c, t)| (c, t.to_owned())));
}

fn two_steps(_: &[u8]) -> Result<RateSchedule, String> {
    let step = |mbit| RateStep { duration: SimDuration::from_secs(1), rate: BitRate::from_bits_per_second(mbit) };
    RateSchedule::new(vec![step(8_000_000), step(0)], true).map_err(|e| e.to_string())
}

#[test]
fn a_rate_from_a_file_is_filled_in_with_all_that_depends_on_it() {
    let outcome = read("{ symmetric: true, rtt: 100 ms, rate: { sabre: { file: data/tram.json } } }");
    assert_eq!(outcome.files, ["data/tram.json"], "both directions share one file");
    let waiting = outcome.link.unwrap();
    assert!(!waiting.is_resolved());
    let text = serde_json::to_string(&waiting).unwrap();
    assert_eq!(serde_json::from_str::<LinkParams>(&text).unwrap(), waiting);
    let files: [Arc<[u8]>; 1] = [Arc::from(*b"log")];
    let resolved = waiting.clone().resolve(&files, two_steps).unwrap();
    assert!(resolved.is_resolved());
    assert_eq!(resolved.down.queue, Queue::DropTail(QueueLimit::Bytes(Bytes::new(50_000))));
    assert_eq!(resolved.down.rate.mean(), Some(BitRate::from_bits_per_second(4_000_000)));
    assert_eq!(waiting.clone().resolve(&[], two_steps), Err(ResolveError::Missing { slot: 0 }));
    let bad = waiting.resolve(&files, |_| Err("not JSON".to_owned()));
    assert_eq!(bad, Err(ResolveError::Unreadable { reason: "not JSON".to_owned() }));
}

#[test]
fn canonical_json_reads_back_to_the_same_link() {
    let resolved = read("{ symmetric: true, rtt: 100 ms, rate: { sabre: tram.json } }").link.unwrap();
    let resolved = resolved.resolve(&[Arc::from(*b"log")], two_steps).unwrap();
    let others = [
        FLAGSHIP,
        "{ symmetric: true, rtt: 1 ms, rate: unlimited, loss: { bernoulli: { rate: 1 %, clock: time, slot: 1 ms } } }",
        "{ down: { one_way: 1 ms, rate: 1 Mbit/s, queue: { drop_tail: 7 packets } }, up: { one_way: 2 ms, \
          rate: { schedule: [{ for: 5 s, rate: 2 Mbit/s }, { for: 1 s, rate: 0 }], repeat: true }, overhead: 4 B } }",
        "{ symmetric: true, rtt: 1 ms, rate: 9 Mbit/s, loss: { schedule: [{ for: 1 s, loss: { capped: { rate: 1 %, \
          most_in_a_row: 2 } } }, { for: 1 s, loss: { drops: { packets: [1, 5] } } }] }, loss_at: transmission, \
          outages: { windows: [{ from: 1 s, for: 2 s }] }, arq: { delay: 4 ms }, shaper: { rate: 5 Mbit/s, burst: 9 kB }, \
          policer: { rate: 7 Mbit/s, burst: 20 kB }, extra_delay: { schedule: [{ for: 1 s, delay: 2 ms }], repeat: false }, \
          queue: { codel: { target: 8 ms } }, jitter: { std_dev: 1 ms, distribution: normal } }",
        "{ symmetric: true, rtt: 1 ms, rate: 9 Mbit/s, loss: { four_state: { p13: 1 %, p31: 20 %, clock: byte } }, \
          outages: { period: { on: 10 s, off: 3 s, repeat: 2 } }, queue: { fq_codel: { quantum: 300 B } } }",
    ];
    for link in others.iter().map(|text| link(text)).chain([resolved]) {
        let text = serde_json::to_string(&link).unwrap();
        let again: LinkParams = serde_json::from_str(&text).unwrap();
        assert_eq!(again, link, "{text}");
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }
    // Parameters that came later are not written while they say nothing, so that documents of before keep their keys.
    let flagship = serde_json::to_string(&link(FLAGSHIP)).unwrap();
    for later in
        ["slot_bytes", "phases", "loss_at", "loss_schedule", "outages", "arq", "shaper", "policer", "extra_delay"]
    {
        assert!(!flagship.contains(later), "{flagship}");
    }
    assert_eq!(
        serde_json::to_string(&link("{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s }").down).unwrap(),
        r#"{"one_way":"15 ms","rate":"20 Mbit/s","jitter":null,"loss":"none","queue":{"drop_tail":"75 kB"},"overhead":"0 B"}"#
    );
}

#[test]
fn canonical_json_with_an_impossible_rate_is_refused() {
    let text = serde_json::to_string(&link("{ symmetric: true, rtt: 30 ms, rate: 20 Mbit/s }")).unwrap();
    for rate in [r#""0 bit/s""#, r#"{"schedule":[{"for":"1 s","rate":"0 bit/s"}],"repeat":true}"#, r#""fast""#] {
        let bad = text.replacen(r#""20 Mbit/s""#, rate, 1);
        assert!(serde_json::from_str::<LinkParams>(&bad).is_err(), "{bad}");
    }
}

#[test]
fn every_key_of_a_link_is_in_the_schema() {
    let schema = LinkParams::schema();
    let properties = |at: usize, key: &str| {
        let all = schema["anyOf"][at]["properties"].as_object().unwrap().clone();
        let all = if key.is_empty() { all } else { all[key]["properties"].as_object().unwrap().clone() };
        all.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        properties(0, ""),
        "arq extra_delay jitter loss loss_at one_way outages overhead policer queue rate rtt shaper symmetric"
    );
    assert_eq!(properties(1, ""), "down rtt symmetric up");
    assert_eq!(
        properties(1, "down"),
        "arq extra_delay jitter loss loss_at one_way outages overhead policer queue rate shaper"
    );
    assert!(serde_json::to_string(&schema).unwrap().contains("correlation_time"));
}

/// What becomes of bursts of twelve packets, faster than the link, of two flows.
fn outcome(text: &str) -> Vec<(u64, Verdict)> {
    let link = link(&format!("{{ symmetric: true, {text} }}"));
    let mut bottleneck = Bottleneck::new(&link.down, study_ident::SeedPath::root(4));
    let mut fates = Vec::new();
    for i in 0..6000u64 {
        let now = SimTime::from_nanos(i / 12 * 6_000_000);
        let (flow, phase) = if i % 5 == 0 { (1, Phase::Handshake) } else { (0, Phase::Response) };
        let bytes = if i % 4 == 1 { 1200 } else { 1500 };
        fates.extend(bottleneck.offer(now, flow, bytes, phase, i).map(|verdict| (i, verdict)));
        while bottleneck.next_event() <= now {
            fates.extend(bottleneck.pop(now).map(|d| (d.token, d.verdict)));
        }
    }
    fates.sort_by_key(|(token, _)| *token);
    fates
}

#[test]
fn every_key_of_a_direction_changes_what_happens() {
    let base = "rtt: 30 ms, rate: 20 Mbit/s";
    let ge = "good_to_bad: 3 %, bad_to_good: 30 %, loss_in_bad: 40 %";
    let texts = [
        base.to_owned(),
        "rtt: 31 ms, rate: 20 Mbit/s".to_owned(),
        "rtt: 30 ms, rate: 21 Mbit/s".to_owned(),
        "rtt: 30 ms, rate: unlimited".to_owned(),
        "rtt: 30 ms, rate: { schedule: [{ for: 20 ms, rate: 20 Mbit/s }, { for: 9 ms, rate: 0 }] }".to_owned(),
        "rtt: 30 ms, rate: { schedule: [{ for: 20 ms, rate: 20 Mbit/s }, { for: 9 ms, rate: 9 Mbit/s }], repeat: false }"
            .to_owned(),
        "rtt: 30 ms, rate: { schedule: [{ for: 20 ms, rate: 20 Mbit/s }, { for: 9 ms, rate: 9 Mbit/s }], repeat: true }"
            .to_owned(),
        format!("{base}, overhead: 2 B"),
        format!("{base}, queue: {{ drop_tail: 5 packets }}"),
        format!("{base}, jitter: {{ std_dev: 8 ms, distribution: half_normal }}"),
        format!("{base}, jitter: {{ std_dev: 9 ms, distribution: half_normal }}"),
        format!("{base}, jitter: {{ std_dev: 8 ms, distribution: uniform }}"),
        format!("{base}, jitter: {{ std_dev: 8 ms, distribution: half_normal, correlation_time: 20 ms }}"),
        format!("{base}, jitter: {{ std_dev: 8 ms, distribution: half_normal, reorder: true }}"),
        format!("{base}, loss: {{ bernoulli: {{ rate: 1 % }} }}"),
        format!("{base}, loss: {{ bernoulli: {{ rate: 2 % }} }}"),
        format!("{base}, loss: {{ bernoulli: {{ rate: 2 %, clock: time }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, slot: 5 ms }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, clock: packet }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, loss_in_good: 1 %, clock: packet }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {}, clock: packet }} }}", ge.replace("3 %", "4 %")),
        format!("{base}, loss: {{ gilbert_elliott: {{ {}, clock: packet }} }}", ge.replace("30 %", "40 %")),
        format!("{base}, loss: {{ gilbert_elliott: {{ {}, clock: packet }} }}", ge.replace("40 %", "50 %")),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, clock: byte }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, clock: byte, slot_bytes: 600 B }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, clock: byte, phases: joint }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge}, clock: packet, phases: split }} }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}, loss_at: transmission"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}, arq: {{ }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}, arq: {{ delay: 9 ms }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}, arq: {{ attempts: 1 }}"),
        format!("{base}, loss: {{ gilbert_elliott: {{ {ge} }} }}, arq: {{ retry_loss: 30 % }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 3 %, p31: 30 % }} }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 4 %, p31: 30 % }} }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 3 %, p31: 40 % }} }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 3 %, p31: 30 %, p32: 10 % }} }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 3 %, p31: 30 %, p32: 10 %, p23: 50 % }} }}"),
        format!("{base}, loss: {{ four_state: {{ p13: 3 %, p31: 30 %, p14: 1 % }} }}"),
        format!("{base}, loss: {{ capped: {{ rate: 30 %, most_in_a_row: 3 }} }}"),
        format!("{base}, loss: {{ capped: {{ rate: 30 %, most_in_a_row: 2 }} }}"),
        format!("{base}, loss: {{ capped: {{ rate: 20 %, most_in_a_row: 3 }} }}"),
        format!("{base}, loss: {{ drops: {{ packets: [1, 3] }} }}"),
        format!("{base}, loss: {{ schedule: [{{ for: 1 s, loss: none }}, {{ for: 1 s, loss: {{ bernoulli: {{ rate: 9 % }} }} }}] }}"),
        format!("{base}, loss: {{ schedule: [{{ for: 1 s, loss: none }}, {{ for: 1 s, loss: {{ bernoulli: {{ rate: 9 % }} }} }}], repeat: false }}"),
        format!("{base}, outages: {{ windows: [{{ from: 1 s, for: 500 ms }}] }}"),
        format!("{base}, outages: {{ period: {{ on: 1 s, off: 300 ms }} }}"),
        format!("{base}, outages: {{ period: {{ on: 1 s, off: 300 ms, repeat: 1 }} }}"),
        format!("{base}, shaper: {{ rate: 9 Mbit/s, burst: 3 kB }}"),
        format!("{base}, shaper: {{ rate: 9 Mbit/s, burst: 6 kB }}"),
        format!("{base}, policer: {{ rate: 9 Mbit/s, burst: 3 kB }}"),
        format!("{base}, policer: {{ rate: 3 Mbit/s, burst: 3 kB }}"),
        format!("{base}, extra_delay: {{ schedule: [{{ for: 1 s, delay: 3 ms }}, {{ for: 1 s, delay: 0 }}] }}"),
        format!("{base}, extra_delay: {{ schedule: [{{ for: 1 s, delay: 3 ms }}, {{ for: 1 s, delay: 0 }}], repeat: false }}"),
        format!("{base}, jitter: {{ std_dev: 8 ms, distribution: normal }}"),
        format!("{base}, queue: codel"),
        format!("{base}, queue: {{ codel: {{ target: 6 ms }} }}"),
        format!("{base}, queue: {{ codel: {{ interval: 60 ms }} }}"),
        format!("{base}, queue: {{ codel: {{ limit: 7 packets }} }}"),
        // Two flows, a limit that binds, quanta of other sizes, and so few queues that the flows share one.
        format!("{base}, queue: fq_codel"),
        format!("{base}, queue: {{ fq_codel: {{ target: 6 ms }} }}"),
        format!("{base}, queue: {{ fq_codel: {{ interval: 60 ms }} }}"),
        format!("{base}, queue: {{ fq_codel: {{ limit: 7 }} }}"),
        format!("{base}, queue: {{ fq_codel: {{ quantum: 5 kB }} }}"),
        format!("{base}, queue: {{ fq_codel: {{ limit: 9 }} }}"),
        format!("{base}, queue: {{ fq_codel: {{ limit: 9, flows: 1 }} }}"),
    ];
    let outcomes: Vec<Vec<(u64, Verdict)>> = texts.iter().map(|text| outcome(text)).collect();
    for (i, a) in outcomes.iter().enumerate() {
        for (j, b) in outcomes.iter().enumerate().skip(i + 1) {
            assert!(a != b, "{} and {}", texts[i], texts[j]);
        }
    }
    assert!(matches!(link(FLAGSHIP).down.loss, Loss::GilbertElliott(_)));
    // Two spellings of one thing: all flows in one queue.
    let one_queue = outcome(&format!("{base}, queue: {{ fq_codel: {{ flows: 1 }} }}"));
    assert!(one_queue == outcome(&format!("{base}, queue: codel")));
}
