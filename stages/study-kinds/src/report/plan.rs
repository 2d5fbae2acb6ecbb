//! What the study's configuration says about its nodes.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use study_report::section::{Check, Status};
use study_stage::StudyInfo;

/// Who decides which segment is asked for, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decisions {
    /// The player, in every arm by itself.
    ClosedLoop,
    /// All arms follow the schedule of this one.
    Replay(String),
    /// Every segment at this rung.
    FixedRung(u64),
    /// The node does not say; nothing is concluded from it.
    Unknown,
}

impl Decisions {
    /// Whether segment times of its arms may be compared.
    pub(super) const fn equal_in_all_arms(&self) -> bool {
        matches!(self, Self::Replay(_) | Self::FixedRung(_))
    }
    /// In a table.
    pub(super) fn text(&self) -> String {
        match self {
            Self::ClosedLoop => "closed loop".to_owned(),
            Self::Replay(arm) => format!("replay of {arm}"),
            Self::FixedRung(rung) => format!("fixed rung {rung}"),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// The study's nodes, as [`StudyInfo`] describes them.
pub(super) struct Plan<'a> {
    study: &'a StudyInfo,
}

/// Failed checks by node.
pub(super) type Doubtful = BTreeMap<String, BTreeSet<String>>;

impl<'a> Plan<'a> {
    pub(super) const fn new(study: &'a StudyInfo) -> Self {
        Self { study }
    }
    /// Nodes by id, with their description.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.study.nodes.as_object().into_iter().flatten().map(|(id, node)| (id.as_str(), node))
    }
    /// Parameters of a node; null when it is not there.
    pub(super) fn params(&self, node: &str) -> &'a Value {
        self.study.nodes.get(node).and_then(|n| n.get("params")).unwrap_or(&Value::Null)
    }
    /// Who decides at a node.
    pub(super) fn decisions(&self, node: &str) -> Decisions {
        let decisions = self.params(node).pointer("/player/decisions").unwrap_or(&Value::Null);
        if decisions == "closed_loop" {
            return Decisions::ClosedLoop;
        }
        if let Some(arm) = decisions.get("replay").and_then(Value::as_str) {
            return Decisions::Replay(arm.to_owned());
        }
        decisions.get("fixed_rung").and_then(Value::as_u64).map_or(Decisions::Unknown, Decisions::FixedRung)
    }
    /// `modeled`, `emulated`, or nothing.
    pub(super) fn mode(&self, node: &str) -> &'a str {
        match self.params(node).get("mode") {
            Some(Value::String(name)) => name,
            // A mode with parameters.
            Some(Value::Object(map)) => map.keys().next().map_or("", String::as_str),
            _ => "",
        }
    }
    /// Nodes whose arms must not be compared, with the checks that say so. What is compared as deployed may be unequal.
    pub(super) fn doubtful(&self, validity: &[Check]) -> Doubtful {
        let mut doubtful = Doubtful::new();
        for check in validity.iter().filter(|check| check.status == Status::Fail) {
            if self.params(&check.node).get("compare").and_then(Value::as_str) != Some("as_deployed") {
                doubtful.entry(check.node.clone()).or_default().insert(check.check.clone());
            }
        }
        doubtful
    }
}

/// The stage that a node belongs to.
pub(super) fn stage_of(node: &str) -> &str {
    node.split_once('[').map_or(node, |(stage, _)| stage)
}
