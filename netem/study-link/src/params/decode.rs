//! From a node of the study file to a link.

use super::{DirectionParams, LinkParams};
use crate::FULL_PACKET_BYTES;
use crate::arq::Arq;
use crate::bucket::{self, TokenBucket};
use crate::delay::DelaySchedule;
use crate::jitter;
use crate::loss::{Loss, LossAt, LossClock, LossSchedule};
use crate::outage::Outages;
use crate::queue::{Queue, QueueLimit};
use crate::rate::Rate;
use serde_json::{Value, json};
use study_tree::{Cx, Decode, Diagnostic, MapReader, Node, Span};
use study_units::{Bytes, SimDuration};

/// Keys of one direction, the delay apart.
const DIRECTION_KEYS: &[&str] =
    &["rate", "jitter", "loss", "queue", "overhead", "loss_at", "outages", "arq", "shaper", "policer", "extra_delay"];
const MOST_OVERHEAD_BYTES: u64 = 65_535;

impl Decode for LinkParams {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut link = if node.get("down").is_some() || node.get("up").is_some() {
            decode_two(node, cx)?
        } else {
            decode_symmetric(node, cx)?
        };
        link.settle();
        Some(link)
    }
    fn schema() -> Value {
        let mut both = direction_properties();
        both["symmetric"] = json!({ "const": true, "description": "Both directions have the parameters given here." });
        both["rtt"] = duration_schema("Base (smallest) round trip; each direction gets half.");
        json!({ "description": "Both directions of a link.", "anyOf": [
            { "type": "object", "additionalProperties": false, "required": ["symmetric", "rate"], "properties": both },
            { "type": "object", "additionalProperties": false, "required": ["down", "up"], "properties": {
                "symmetric": { "const": false },
                "rtt": duration_schema("Base (smallest) round trip; each direction gets half."),
                "down": direction_schema("Towards the viewer."),
                "up": direction_schema("From the viewer.") } }
        ] })
    }
}

fn duration_schema(description: &str) -> Value {
    let mut schema = SimDuration::schema();
    schema["description"] = description.into();
    schema
}

fn direction_properties() -> Value {
    let mut queue = Queue::schema();
    queue["default"] = json!({ "drop_tail": "1 x BDP" });
    let described = |mut schema: Value, description: &str| {
        schema["description"] = description.into();
        schema
    };
    let mut loss_at = LossAt::schema();
    loss_at["default"] = json!("entry");
    loss_at["description"] = json!("Where random loss strikes: before the queue, or after the transmission.");
    let mut outages = Outages::schema();
    outages["default"] = json!("none");
    json!({
        "one_way": duration_schema("Base (smallest) delay of one direction."),
        "rate": Rate::schema(), "jitter": jitter::schema(),
        "loss": { "default": "none", "anyOf": [Loss::schema(), LossSchedule::schema()] }, "queue": queue,
        "loss_at": loss_at,
        "outages": described(outages, "When all that is sent is lost."),
        "arq": described(Arq::schema(), "Link-layer repair: a random loss becomes a delay."),
        "shaper": described(TokenBucket::schema(), "Token bucket that makes packets wait in the queue."),
        "policer": described(TokenBucket::schema(), "Token bucket that drops packets at the entry."),
        "extra_delay": described(DelaySchedule::schema(), "Delay on top of the base delay, in steps over time."),
        "overhead": { "type": ["string", "number"], "default": "0 B",
            "description": "Bytes that the link layer adds to each packet." }
    })
}

fn direction_schema(description: &str) -> Value {
    json!({ "type": "object", "description": description, "additionalProperties": false, "required": ["rate"],
        "properties": direction_properties() })
}

/// Where a key of a mapping stands.
fn key_span(node: &Node, key: &str) -> Option<Span> {
    node.entries()?.iter().find(|e| e.key == key).map(|e| e.key_span)
}

fn decode_symmetric(node: &Node, cx: &mut Cx<'_>) -> Option<LinkParams> {
    let mut map = MapReader::new(node, cx)?;
    let mut ok = says_symmetric(node, &mut map);
    let delays = match read_delay(node, &mut map) {
        Some(Delay::RoundTrip(rtt)) => Some(halves(rtt)),
        Some(Delay::OneWay(one_way)) => Some((one_way, one_way)),
        None => None,
    };
    let rest = read_direction(node, &mut map);
    ok &= map.finish();
    let ((down, up), rest) = (delays?, rest?);
    ok.then(|| LinkParams {
        down: DirectionParams { one_way: down, ..rest.clone() },
        up: DirectionParams { one_way: up, ..rest },
    })
}

fn says_symmetric(node: &Node, map: &mut MapReader<'_, '_, '_>) -> bool {
    let (span, message) = match map.node("symmetric") {
        None => (node.span, "the link does not say whether both directions are equal"),
        Some(value) => match bool::decode(value, map.cx) {
            Some(false) => (value.span, "a link that is not symmetric needs both directions"),
            said => return said.is_some(),
        },
    };
    map.cx.push(
        Diagnostic::error("link-direction", span, message)
            .help("write `symmetric: true`, or `down: { ... }` and `up: { ... }`"),
    );
    false
}

fn decode_two(node: &Node, cx: &mut Cx<'_>) -> Option<LinkParams> {
    let mut map = MapReader::new(node, cx)?;
    let mut ok = refuse_bare_delay(node, &mut map);
    if let Some(value) = map.node("symmetric") {
        let said = bool::decode(value, map.cx);
        if said == Some(true) {
            map.cx.push(
                Diagnostic::error("link-direction", value.span, "`symmetric: true` stands beside `down` or `up`")
                    .help("leave out `symmetric`, or write the parameters once, without `down` and `up`"),
            );
        }
        ok &= said == Some(false);
    }
    ok &= refuse_misplaced(node, &mut map);
    let rtt_given = map.node("rtt").is_some();
    let rtt = map.optional::<SimDuration>("rtt");
    let shared = rtt_given.then(|| (rtt.map(halves), key_span(node, "rtt").unwrap_or(node.span)));
    let mut side = |key: &'static str, other: &str, pick: fn((SimDuration, SimDuration)) -> SimDuration| {
        let Some(value) = map.node(key) else {
            let span = key_span(node, other).unwrap_or(node.span);
            map.cx.push(
                Diagnostic::error("link-direction", span, format!("`{other}` is given but `{key}` is missing"))
                    .help(format!("add `{key}: {{ ... }}`; for two equal directions write `symmetric: true` instead")),
            );
            return None;
        };
        decode_side(value, shared.map(|(delays, span)| (delays.map(pick), span)), map.cx)
    };
    let (down, up) = (side("down", "up", |d| d.0), side("up", "down", |d| d.1));
    ok &= map.finish();
    let (down, up) = (down?, up?);
    ok.then_some(LinkParams { down, up })
}

/// Keys of a direction that stand beside `down` and `up`.
fn refuse_misplaced(node: &Node, map: &mut MapReader<'_, '_, '_>) -> bool {
    let mut ok = true;
    for key in DIRECTION_KEYS.iter().chain(&["one_way"]) {
        if let Some(span) = key_span(node, key) {
            ok = false;
            map.ignore(&[key]);
            map.cx.push(
                Diagnostic::error("unknown-key", span, format!("`{key}` belongs to one direction"))
                    .help("write it inside `down` and `up`"),
            );
        }
    }
    ok
}

/// One of `down` and `up`. `shared` is half of a round trip that is given beside them, and where.
fn decode_side(node: &Node, shared: Option<(Option<SimDuration>, Span)>, cx: &mut Cx<'_>) -> Option<DirectionParams> {
    let mut map = MapReader::new(node, cx)?;
    let mut ok = true;
    if let Some(span) = key_span(node, "rtt") {
        ok = false;
        map.ignore(&["rtt"]);
        map.cx.push(
            Diagnostic::error("unknown-key", span, "`rtt` spans both directions")
                .help("write `rtt` beside `down` and `up`, or `one_way` here"),
        );
    }
    ok &= refuse_bare_delay(node, &mut map);
    let given = map.node("one_way").is_some();
    let delay = match shared {
        Some((half, span)) => {
            if given {
                ok = false;
                two_delays(key_span(node, "one_way").unwrap_or(node.span), span, map.cx);
            }
            half
        }
        None if given => map.required("one_way"),
        None => {
            if ok {
                missing_delay(
                    node,
                    "`one_way` is missing",
                    "add `one_way: ...` here, or `rtt: ...` beside `down` and `up`",
                    map.cx,
                );
            }
            None
        }
    };
    let rest = read_direction(node, &mut map);
    ok &= map.finish();
    let (delay, rest) = (delay?, rest?);
    ok.then_some(DirectionParams { one_way: delay, ..rest })
}

enum Delay {
    RoundTrip(SimDuration),
    OneWay(SimDuration),
}

/// Half of a round trip for each direction; an odd nanosecond goes up.
fn halves(rtt: SimDuration) -> (SimDuration, SimDuration) {
    (rtt.half(), rtt - rtt.half())
}

/// Exactly one of `rtt` and `one_way`.
fn read_delay(node: &Node, map: &mut MapReader<'_, '_, '_>) -> Option<Delay> {
    let no_bare_delay = refuse_bare_delay(node, map);
    let rtt = map.node("rtt").and_then(|n| SimDuration::decode(n, map.cx));
    let one_way = map.node("one_way").and_then(|n| SimDuration::decode(n, map.cx));
    match (key_span(node, "rtt"), key_span(node, "one_way")) {
        (Some(first), Some(second)) => two_delays(second, first, map.cx),
        (Some(_), None) if no_bare_delay => return rtt.map(Delay::RoundTrip),
        (None, Some(_)) if no_bare_delay => return one_way.map(Delay::OneWay),
        (None, None) if no_bare_delay => {
            missing_delay(
                node,
                "`rtt` is missing",
                "add `rtt: ...` for the round trip, or `one_way: ...` for each direction",
                map.cx,
            );
        }
        _ => {}
    }
    None
}

fn two_delays(span: Span, other: Span, cx: &mut Cx<'_>) {
    cx.push(
        Diagnostic::error("delay-ambiguous", span, "both `rtt` and `one_way` are given")
            .help("keep one: `rtt` is both directions together, `one_way` is each of them")
            .related(other, "the other delay"),
    );
}

fn missing_delay(node: &Node, message: &str, help: &str, cx: &mut Cx<'_>) {
    cx.push(Diagnostic::error("missing-key", node.span, message).help(help));
}

/// A bare `delay` has two readings.
fn refuse_bare_delay(node: &Node, map: &mut MapReader<'_, '_, '_>) -> bool {
    let Some(span) = key_span(node, "delay") else { return true };
    map.ignore(&["delay"]);
    map.cx.push(
        Diagnostic::error("delay-ambiguous", span, "`delay` may mean the round trip or one direction")
            .help("write `rtt: ...` (both directions together) or `one_way: ...` (each of them)"),
    );
    false
}

fn read_direction(node: &Node, map: &mut MapReader<'_, '_, '_>) -> Option<DirectionParams> {
    let rate = map.required::<Rate>("rate");
    let jitter = map.node("jitter").map_or(Some(None), |n| jitter::decode(n, map.cx));
    let loss = read_loss(map);
    let queue = map.or("queue", || Queue::DropTail(QueueLimit::Bdp(1.0)));
    let overhead = map.or("overhead", || Bytes::new(0));
    if overhead.is_some_and(|o| o.get() > MOST_OVERHEAD_BYTES) {
        map.out_of_range("overhead", "0 B to 65535 B");
    }
    let rare = read_rare(overhead.map_or(0, Bytes::get), map);
    let (rate, (loss, loss_schedule)) = (rate?, loss?);
    let settled = settle_losses(loss, loss_schedule, &rate, node, map.cx);
    let (queue, rare) = (queue?, rare?);
    let (loss, loss_schedule) = settled?;
    let unlimited = matches!(rate, Rate::Unlimited) && rare.shaper.is_none();
    if let (true, Some(value)) = (unlimited && queue != Queue::Unlimited, map.node("queue")) {
        map.cx.push(
            Diagnostic::warning("queue-without-rate", value.span, "no queue forms where the rate is unlimited")
                .help("leave `queue` out, or give a `rate`"),
        );
    }
    let nothing_lost = loss == Loss::None && loss_schedule.is_none();
    for (key, useless) in [("arq", nothing_lost && rare.arq.is_some()), ("loss_at", nothing_lost)] {
        if let (true, Some(span)) = (useless, key_span(node, key)) {
            let message = format!("`{key}` acts on random losses, and there are none");
            map.cx.push(Diagnostic::error("unknown-key", span, message).help("leave it out, or give a `loss`"));
            return None;
        }
    }
    Some(DirectionParams { rate, jitter: jitter?, loss, loss_schedule, queue, overhead: overhead?, ..rare })
}

/// A process, or processes in steps over time.
fn read_loss(map: &mut MapReader<'_, '_, '_>) -> Option<(Loss, Option<LossSchedule>)> {
    match map.node("loss") {
        Some(node) if node.get("schedule").is_some() => {
            LossSchedule::decode(node, map.cx).map(|schedule| (Loss::None, Some(schedule)))
        }
        _ => map.or("loss", || Loss::None).map(|loss| (loss, None)),
    }
}

/// What few links have; the other fields are those of [`DirectionParams::plain`].
fn read_rare(overhead: u64, map: &mut MapReader<'_, '_, '_>) -> Option<DirectionParams> {
    let loss_at = map.or("loss_at", || LossAt::Entry);
    let outages = map.or("outages", || Outages::None);
    let arq = map.optional::<Arq>("arq");
    let shaper = map.optional::<TokenBucket>("shaper");
    let policer = map.optional::<TokenBucket>("policer");
    let extra_delay = map.optional::<DelaySchedule>("extra_delay");
    let mut ok = true;
    if let (Some(node), Some(outages)) = (map.node("outages"), &outages) {
        ok &= outages.checked(node, map.cx);
    }
    for (key, bucket) in [("shaper", &shaper), ("policer", &policer)] {
        if let (Some(node), Some(bucket)) = (map.node(key), bucket) {
            ok &= bucket::checked(bucket, overhead, node, map.cx);
        }
    }
    let given = |key, decoded: bool, map: &mut MapReader<'_, '_, '_>| map.node(key).is_none() || decoded;
    ok &= given("arq", arq.is_some(), map);
    ok &= given("shaper", shaper.is_some(), map);
    ok &= given("policer", policer.is_some(), map);
    ok &= given("extra_delay", extra_delay.is_some(), map);
    let plain = DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited);
    ok.then_some(DirectionParams { loss_at: loss_at?, outages: outages?, arq, shaper, policer, extra_delay, ..plain })
}

type Losses = (Loss, Option<LossSchedule>);

/// Settles the clock of the process, or of each step's.
fn settle_losses(
    loss: Loss,
    schedule: Option<LossSchedule>,
    rate: &Rate,
    node: &Node,
    cx: &mut Cx<'_>,
) -> Option<Losses> {
    let place = node.get("loss").unwrap_or(node);
    let Some(mut schedule) = schedule else {
        return settle_clock(loss, rate, place, cx).map(|loss| (loss, None));
    };
    let steps = place.get("schedule").and_then(Node::items).unwrap_or_default();
    let mut ok = true;
    for (i, step) in schedule.schedule.iter_mut().enumerate() {
        let place = steps.get(i).and_then(|step| step.get("loss")).unwrap_or(place);
        match settle_clock(step.loss.clone(), rate, place, cx) {
            Some(loss) => step.loss = loss,
            None => ok = false,
        }
    }
    ok.then_some((Loss::None, Some(schedule)))
}

/// A packet of 1,500 B at 1.2 Gbit/s; shorter slots mean more steps of the chain than packets.
const SHORTEST_SLOT: SimDuration = SimDuration::from_micros(10);
/// Shorter slots mean many steps of the chain per packet.
const SHORTEST_SLOT_BYTES: u64 = 40;

/// Gives a process the slot and the phases that its clock implies; refuses keys where they have no meaning. `place` is the
/// value of `loss`.
fn settle_clock(mut loss: Loss, rate: &Rate, place: &Node, cx: &mut Cx<'_>) -> Option<Loss> {
    let model = place.get(loss.name()).unwrap_or(place);
    if !loss.checked(model, cx) {
        return None;
    }
    let Some(clock) = loss.clock() else { return Some(loss) };
    let foreign: &[(&str, &str)] = match clock {
        LossClock::Packet => &[("slot", "time"), ("slot_bytes", "byte")],
        LossClock::Byte => &[("slot", "time")],
        LossClock::Time => &[("slot_bytes", "byte"), ("phases", "byte")],
    };
    for (key, other) in foreign {
        if let Some(span) = key_span(model, key) {
            let message = format!("`{key}` has no meaning with `clock: {}`", clock.name());
            let help = format!("leave `{key}` out, or write `clock: {other}`");
            cx.push(Diagnostic::error("unknown-key", span, message).help(help));
            return None;
        }
    }
    let too_short = match (loss.slot(), loss.slot_bytes()) {
        (Some(slot), _) if slot < SHORTEST_SLOT => Some(("slot", slot.to_string(), "10 us, e.g. `0.6 ms`")),
        (_, Some(bytes)) if bytes.get() < SHORTEST_SLOT_BYTES => {
            Some(("slot_bytes", bytes.to_string(), "40 B, e.g. `1500 B`"))
        }
        _ => None,
    };
    if let Some((key, found, least)) = too_short {
        let span = model.get(key).map_or(model.span, |n| n.span);
        cx.push(
            Diagnostic::error("out-of-range", span, format!("a slot of `{found}` is too short to simulate"))
                .help(format!("give at least {least}")),
        );
        return None;
    }
    let full_packet = match rate {
        Rate::Constant(rate) => Some(rate.serialization(FULL_PACKET_BYTES)),
        _ => None,
    };
    loss.settle_clock(full_packet);
    if clock == LossClock::Time && loss.slot().is_none() {
        cx.push(
            Diagnostic::error(
                "slot-missing",
                model.span,
                "`clock: time` needs a `slot` where the rate is not constant",
            )
            .help("add `slot: ...`, the time of one step of the chain, or write `clock: packet`"),
        );
        return None;
    }
    Some(loss)
}
