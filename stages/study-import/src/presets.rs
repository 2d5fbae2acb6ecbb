//! Link presets of well-known tools, with the reading that each of them needs.
//!
//! Purpose: `latency` is a round trip in one tool, one way in the next and added once in a third; 0 is unlimited, or nothing, or dead; kilo
//! is 1,000 or 1,024. Each set says which, so that a preset means here what it means there.
//!
//! Sources: with each set. The numbers are facts that were read at the source; nothing else was taken from it.
//!
//! | set | reference | here | effect |
//! |---|---|---|---|
//! | all | the source says nothing of the queue | 1 x BDP, at least ten full packets | stated with each preset |
//! | all | the source says nothing of bursts of loss | independent losses | none is known |
//! | devtools | acts on requests, in the browser | acts on packets | connection set-up costs round trips here |
//! | loadero | jitter without a distribution | uniform, plus or minus, order kept | stated with each preset |

mod scenarios;
mod tables;
mod topologies;

use crate::profile::{LinkProfile, name_of};
use study_link::{
    Bernoulli, DirectionParams, JitterDistribution, JitterParams, LinkParams, Loss, LossClock, Queue, QueueLimit, Rate,
};
use study_units::{BitRate, Bytes, Probability, SimDuration};

/// What a tool means by the latency of a preset, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Latency {
    /// Both directions together.
    RoundTrip(f64),
    /// Down and up.
    OneWay(f64, f64),
    /// Added to what the shaped machine sends, taken for the viewer's.
    Sent(f64),
}

/// One preset.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    name: &'static str,
    /// Kilobits (1,000) per second down and up; `None` is unlimited.
    kbit: (Option<u64>, Option<u64>),
    latency: Latency,
    /// Percent down and up.
    loss: (f64, f64),
    /// Milliseconds down and up, plus or minus.
    jitter: (f64, f64),
    note: &'static str,
}

/// The presets of one tool.
struct Set {
    name: &'static str,
    source: &'static str,
    licence: &'static str,
    reading: &'static str,
    rows: &'static [Row],
}

/// A preset as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What to ask for.
    pub name: String,
    /// The tool it comes from.
    pub source: &'static str,
    /// Under which licence the source stands.
    pub licence: &'static str,
}

/// All presets, in the order of their sets.
#[must_use]
pub fn list() -> Vec<Entry> {
    let rows = tables::SETS.iter().flat_map(|set| {
        set.rows.iter().map(|row| Entry { name: full_name(set, row), source: set.source, licence: set.licence })
    });
    let topologies = topologies::NAMES.iter().map(|name| Entry {
        name: (*name).to_owned(),
        source: topologies::SOURCE,
        licence: topologies::LICENCE,
    });
    let scenarios = scenarios::ALL.iter().map(|scenario| Entry {
        name: scenario.name.to_owned(),
        source: scenario.source,
        licence: scenario.licence,
    });
    rows.chain(scenarios).chain(topologies).collect()
}

/// The links of a preset: one, or those of a topology. `None` when there is none of this name; capitals, blanks and signs do not matter.
#[must_use]
pub fn find(name: &str) -> Option<Vec<LinkProfile>> {
    let wanted = name_of(name);
    let mut rows = tables::SETS.iter().flat_map(|set| set.rows.iter().map(move |row| (set, row)));
    rows.find(|(set, row)| full_name(set, row) == wanted)
        .map(|(set, row)| vec![profile(set, row)])
        .or_else(|| scenarios::find(&wanted).map(|profile| vec![profile]))
        .or_else(|| topologies::find(&wanted))
}

fn full_name(set: &Set, row: &Row) -> String {
    name_of(&format!("{} {}", set.name, row.name))
}

fn profile(set: &Set, row: &Row) -> LinkProfile {
    let (down_ms, up_ms) = match row.latency {
        Latency::RoundTrip(rtt) => (0.5 * rtt, 0.5 * rtt),
        Latency::OneWay(down, up) => (down, up),
        Latency::Sent(up) => (0.0, up),
    };
    let rtt = duration(down_ms + up_ms);
    let down = direction(row.kbit.0, down_ms, row.loss.0, row.jitter.0, rtt);
    let up = direction(row.kbit.1, up_ms, row.loss.1, row.jitter.1, rtt);
    let mut deviations = Vec::new();
    if row.kbit != (None, None) {
        deviations.push("the source says nothing of the queue: 1 x BDP here, at least ten full packets".to_owned());
    }
    if row.jitter != (0.0, 0.0) {
        deviations
            .push("the source names no distribution of the jitter: uniform here, plus or minus, in order".to_owned());
    }
    let mut notes = vec![set.reading.to_owned()];
    notes.extend((!row.note.is_empty()).then(|| row.note.to_owned()));
    LinkProfile {
        name: full_name(set, row),
        source: vec![format!("preset `{}` of {} ({})", row.name, set.source, set.licence)],
        link: LinkParams { down, up },
        notes,
        deviations,
    }
}

fn duration(ms: f64) -> SimDuration {
    SimDuration::from_nanos((ms * 1e6).round() as u64)
}

/// One direction: the delay is the mean, so jitter takes its share of it from the base.
fn direction(kbit: Option<u64>, ms: f64, loss_percent: f64, jitter_ms: f64, rtt: SimDuration) -> DirectionParams {
    let rate = kbit.map(|kbit| BitRate::from_bits_per_second(kbit * 1_000));
    let mut params = DirectionParams::plain(duration(ms), rate.map_or(Rate::Unlimited, Rate::Constant));
    if jitter_ms > 0.0 {
        let half_width = jitter_ms.min(ms);
        let jitter = JitterParams {
            std_dev: SimDuration::from_nanos((half_width * 1e3 / 3.0_f64.sqrt()).round() as u64 * 1_000),
            distribution: JitterDistribution::Uniform,
            correlation_time: SimDuration::from_millis(50),
            reorder: false,
        };
        params.one_way = duration(ms - half_width);
        params.jitter = Some(jitter);
    }
    // Shifting the decimal point keeps the bits of what a study file would say.
    let share = format!("{loss_percent}e-2").parse().ok().and_then(Probability::new).unwrap_or_default();
    if share.get() > 0.0 {
        let (clock, slot) = (LossClock::Packet, None);
        params.loss = Loss::Bernoulli(Bernoulli { rate: share, clock, slot, slot_bytes: None, phases: None });
    }
    if let Some(rate) = rate {
        params.queue = Queue::DropTail(QueueLimit::Bytes(Bytes::new(rate.bytes_in(rtt).max(15_000))));
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> LinkParams {
        find(name).unwrap().remove(0).link
    }

    #[test]
    fn names_are_unique_and_found_in_any_spelling() {
        let names: Vec<String> = list().into_iter().map(|entry| entry.name).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
        assert!(names.iter().all(|name| find(name).is_some() && name_of(name) == *name));
        assert!(find("DevTools Slow 4G").is_some() && find("nothing").is_none() && find("").is_none());
    }

    #[test]
    fn latency_is_a_round_trip_where_the_tool_says_so() {
        let cable = one("webpagetest cable");
        assert_eq!(
            (cable.base_rtt(), cable.down.one_way),
            (SimDuration::from_millis(28), SimDuration::from_millis(14))
        );
        assert_eq!(cable.down.mean_rate().map(BitRate::bits_per_second), Some(5_000_000));
        assert_eq!(cable.up.mean_rate().map(BitRate::bits_per_second), Some(1_000_000));
        assert_eq!(one("lighthouse mobileSlow4G").base_rtt(), SimDuration::from_millis(150));
        assert_eq!(one("sitespeed 3g").base_rtt(), SimDuration::from_millis(200));
        // Never the raw 562.5 ms and 1,440 kbit/s.
        let slow = one("devtools slow 4g");
        assert_eq!(
            (slow.base_rtt(), slow.down.mean_rate().map(BitRate::bits_per_second)),
            (SimDuration::from_millis(150), Some(1_600_000))
        );
    }

    #[test]
    fn latency_is_one_way_where_the_tool_says_so() {
        // The same networks as WebPageTest's, told per direction.
        for (atc, wpt) in [
            ("atc edge-average", "webpagetest edge"),
            ("atc 3g-average", "webpagetest 3gslow"),
            ("atc 2g-developingurban", "webpagetest 2g"),
        ] {
            assert_eq!(one(atc).base_rtt(), one(wpt).base_rtt(), "{atc}");
        }
        let edge = one("atc edge-lossy");
        assert_eq!((edge.down.one_way.as_millis_f64(), edge.up.one_way.as_millis_f64()), (400.0, 440.0));
        assert_eq!(edge.up.stationary_loss(), 0.01);
        let sent = one("comcast dsl poor");
        assert_eq!((sent.down.one_way, sent.up.one_way.as_millis_f64()), (SimDuration::ZERO, 70.0));
        assert_eq!(sent.down, DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited));
    }

    #[test]
    fn zero_and_blank_are_unlimited_and_one_is_one() {
        assert_eq!(one("webpagetest native").down.rate, Rate::Unlimited);
        assert_eq!(one("comcast satellite").up.rate, Rate::Unlimited);
        assert_eq!(one("atc noconnectivity").down.mean_rate().map(BitRate::bits_per_second), Some(1_000));
        assert_eq!(one("loadero 100 packetloss").down.stationary_loss(), 1.0);
    }

    #[test]
    fn jitter_keeps_the_mean_delay() {
        let link = one("loadero 4g");
        for (params, half_rtt) in [(&link.down, 22.5), (&link.up, 22.5)] {
            assert!((params.mean_delay().as_millis_f64() - half_rtt).abs() < 5e-3, "{params:?}");
        }
        assert_ne!(link.down.jitter, link.up.jitter);
    }
}
