//! Extra delay in steps over time.
//!
//! Purpose: paths that change, such as a satellite constellation that is configured anew every 15 seconds. The step that
//! holds when a packet's last bit has left is added to the base delay, which so stays the smallest delay if a step adds
//! nothing. When the delay falls, packets do not overtake those ahead of them unless the jitter says `reorder: true`.
//!
//! Sources: 15 s intervals of Starlink: arXiv 2310.09242 (abstract).
//!
//! Random streams: none.

use crate::timeline;
use serde::{Deserialize, Serialize};
use serde_json::json;
use study_tree::{Cx, Decode, MapReader, Node};
use study_units::SimDuration;

/// One step of extra delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// How long the step lasts, at least 1 ns (key `for`).
    #[serde(rename = "for")]
    pub duration: SimDuration,
    /// What is added to the base delay during it.
    pub delay: SimDuration,
}

/// Extra delay in steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelaySchedule {
    /// The steps in order, at least one.
    pub schedule: Vec<DelayStep>,
    /// Whether it begins again after the last step; otherwise the last step's delay stays.
    pub repeat: bool,
}

impl DelaySchedule {
    /// Mean of the added delay over one pass (without `repeat`: the last step's).
    #[must_use]
    pub fn mean(&self) -> SimDuration {
        if !self.repeat {
            return self.schedule.last().map_or(SimDuration::ZERO, |s| s.delay);
        }
        let time: f64 = self.schedule.iter().map(|s| s.duration.as_secs_f64()).sum();
        let area: f64 = self.schedule.iter().map(|s| s.duration.as_secs_f64() * s.delay.as_secs_f64()).sum();
        SimDuration::from_secs_f64(area / time)
    }
}

impl Decode for DelayStep {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let (duration, delay) = (map.required("for"), map.required("delay"));
        if map.finish() { Some(Self { duration: duration?, delay: delay? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": false, "required": ["for", "delay"],
            "properties": { "for": SimDuration::schema(), "delay": SimDuration::schema() } })
    }
}

impl Decode for DelaySchedule {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let Some(list) = map.required_node("schedule") else {
            map.ignore(&["repeat"]);
            map.finish();
            return None;
        };
        let schedule = Vec::<DelayStep>::decode(list, map.cx);
        let repeat = map.or("repeat", || true);
        let ok = schedule.as_ref().is_none_or(|s| timeline::checked(list, s.iter().map(|s| s.duration), map.cx));
        if map.finish() && ok { Some(Self { schedule: schedule?, repeat: repeat? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "description": "Delay that is added to the base delay, in steps over time.",
            "additionalProperties": false, "required": ["schedule"], "properties": {
                "schedule": { "type": "array", "minItems": 1, "items": DelayStep::schema() },
                "repeat": { "type": "boolean", "default": true,
                    "description": "Begin again after the last step; otherwise its delay stays." } } })
    }
}
