//! Outages: times in which a direction loses all that is sent into it.
//!
//! Purpose: tunnels, hand-overs, black holes; deterministic, and labelled apart from random loss. A packet is lost when it
//! enters the link within `[from, from + for)`; what is queued or on its way passes. To hold packets instead of losing
//! them, use a rate of 0 in a schedule.
//!
//! Sources: the black-hole scenario of quic-network-simulator (`--on`, `--off`, `--repeat`).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a black hole behind the queue loses what arrives in it | what is sent in it | shifted by the time in the queue |
//!
//! Random streams: none.

use serde::{Deserialize, Serialize};
use serde_json::json;
use study_tree::{Cx, Decode, Diagnostic, MapReader, Node};
use study_units::SimDuration;

/// One outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageWindow {
    /// When it begins, since the start of the simulation.
    pub from: SimDuration,
    /// How long it lasts, at least 1 ns (key `for`).
    #[serde(rename = "for")]
    pub duration: SimDuration,
}

impl Decode for OutageWindow {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let (from, duration) = (map.required("from"), map.required("for"));
        if duration == Some(SimDuration::ZERO) {
            map.out_of_range("for", "1 ns to 292 years");
        }
        if map.finish() { Some(Self { from: from?, duration: duration? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": false, "required": ["from", "for"],
            "properties": { "from": SimDuration::schema(), "for": SimDuration::schema() } })
    }
}

study_tree::params! {
    /// Outages at regular intervals: the link works for `on`, then loses everything for `off`, and so on.
    pub struct OutagePeriod {
        /// How long the link works at a time; it begins with this.
        on: SimDuration;
        /// How long it loses everything at a time, above 0.
        off: SimDuration, in SimDuration::from_nanos(1)..=SimDuration::from_nanos(u64::MAX / 4);
        /// How many outages there are; for ever by default. At least 1.
        repeat: Option<u32> = None;
    }
}

study_tree::variants! {
    /// When a direction loses all that is sent into it.
    pub enum Outages {
        unit {
            /// Never.
            None = "none",
        }
        data {
            /// In the listed windows, which may overlap.
            Windows(Vec<OutageWindow>) = "windows",
            /// At regular intervals.
            Period(OutagePeriod) = "period",
        }
    }
}

impl Outages {
    /// Whether a packet that enters the link at `now` \[ns\] is lost.
    pub(crate) fn holds(&self, now: u64) -> bool {
        match self {
            Self::None => false,
            Self::Windows(windows) => windows.iter().any(|w| {
                let from = w.from.as_nanos();
                now >= from && now - from < w.duration.as_nanos()
            }),
            Self::Period(p) => {
                let (on, off) = (p.on.as_nanos(), p.off.as_nanos());
                let cycle = on.saturating_add(off);
                now % cycle >= on && p.repeat.is_none_or(|times| now / cycle < u64::from(times))
            }
        }
    }
    /// Reports what would lose nothing, or everything; true when all is well.
    pub(crate) fn checked(&self, node: &Node, cx: &mut Cx<'_>) -> bool {
        let problem = match self {
            Self::Windows(windows) if windows.is_empty() => "a list without windows has no outage",
            Self::Period(p) if p.repeat == Some(0) => "an outage that repeats 0 times never comes",
            Self::Period(p) if p.on == SimDuration::ZERO && p.repeat.is_none() => {
                "a link that works for 0 s at a time never works"
            }
            _ => return true,
        };
        cx.push(
            Diagnostic::error("out-of-range", node.span, problem)
                .help("write e.g. `{ windows: [{ from: 10 s, for: 3 s }] }` or `{ period: { on: 10 s, off: 3 s } }`"),
        );
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_periods_hold_from_their_first_instant_to_before_their_last() {
        let s = SimDuration::from_nanos;
        let windows = Outages::Windows(vec![
            OutageWindow { from: s(10), duration: s(5) },
            OutageWindow { from: s(0), duration: s(1) },
        ]);
        let held: Vec<u64> = (0..30).filter(|t| windows.holds(*t)).collect();
        assert_eq!(held, [0, 10, 11, 12, 13, 14]);
        let period = Outages::Period(OutagePeriod { on: s(10), off: s(3), repeat: Some(2) });
        let held: Vec<u64> = (0..60).filter(|t| period.holds(*t)).collect();
        assert_eq!(held, [10, 11, 12, 23, 24, 25]);
        assert!(!Outages::None.holds(3));
    }
}
