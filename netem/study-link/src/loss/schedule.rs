//! A loss that changes in steps over time.
//!
//! Purpose: a walk through good and bad coverage. Each step has a process of its own, with its own random stream; the
//! process of a step sees only the packets that come while the step holds, and goes on where it was when the schedule
//! comes back to it. With `clock: time` it depends on absolute time as everywhere.
//!
//! Random streams: `loss` under `step/<i>` of the direction's seed path, i from 0.

use super::Loss;
use crate::timeline;
use serde::{Deserialize, Serialize};
use serde_json::json;
use study_tree::{Cx, Decode, MapReader, Node};
use study_units::SimDuration;

/// One step of a schedule of losses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossStep {
    /// How long the step lasts, at least 1 ns (key `for`).
    #[serde(rename = "for")]
    pub duration: SimDuration,
    /// The process during it.
    pub loss: Loss,
}

/// Loss processes that follow one another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossSchedule {
    /// The steps in order, at least one.
    pub schedule: Vec<LossStep>,
    /// Whether it begins again after the last step; otherwise the last step's process stays.
    pub repeat: bool,
}

impl LossSchedule {
    /// Mean of the steps' long-run losses, weighted by how long they last.
    #[must_use]
    pub fn stationary_loss(&self) -> f64 {
        if !self.repeat {
            return self.schedule.last().map_or(0.0, |step| step.loss.stationary_loss());
        }
        let weigh = |value: fn(&LossStep) -> f64| -> f64 {
            self.schedule.iter().map(|s| s.duration.as_secs_f64() * value(s)).sum()
        };
        weigh(|s| s.loss.stationary_loss()) / weigh(|_| 1.0)
    }
}

impl Decode for LossStep {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let (duration, loss) = (map.required("for"), map.required("loss"));
        if map.finish() { Some(Self { duration: duration?, loss: loss? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": false, "required": ["for", "loss"],
            "properties": { "for": SimDuration::schema(), "loss": Loss::schema() } })
    }
}

impl Decode for LossSchedule {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let list = map.required_node("schedule")?;
        let schedule = Vec::<LossStep>::decode(list, map.cx);
        let repeat = map.or("repeat", || true);
        let ok = schedule.as_ref().is_none_or(|s| timeline::checked(list, s.iter().map(|s| s.duration), map.cx));
        if map.finish() && ok { Some(Self { schedule: schedule?, repeat: repeat? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "description": "Loss processes that follow one another in time.",
            "additionalProperties": false, "required": ["schedule"], "properties": {
                "schedule": { "type": "array", "minItems": 1, "items": LossStep::schema() },
                "repeat": { "type": "boolean", "default": true,
                    "description": "Begin again after the last step; otherwise its process stays." } } })
    }
}
