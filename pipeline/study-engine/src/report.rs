//! What is said about nodes.

use crate::NodeError;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use study_ident::Digest;
use study_stage::Determinism;
use study_store::{OutputRecord, StoreError};

/// The state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its result is on record.
    Cached,
    /// It would run (plan).
    Execute,
    /// It ran (run).
    Executed,
    /// It ran and gave no result.
    Failed,
    /// Something that it needs failed.
    Blocked,
    /// Not asked for, or not reached before the run ended.
    Skipped,
}

/// Why a node is not cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// `never-run`, `param`, `input`, `stage-version`, `environment`, `seed`, `missing-blob`, `corrupt` or `forced`;
    /// beside one of these `repetitions`, with how many are on record and how many are asked for.
    pub code: &'static str,
    /// What it is about: a path in the key document (`params.player.prefetch`), or `record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

impl Reason {
    /// The code that says how many repetitions are on record (`old`) of those asked for (`new`).
    pub const REPETITIONS: &'static str = "repetitions";

    pub(crate) fn repetitions(count: &RepetitionCount) -> Self {
        let text = |n: u64| Some(n.to_string());
        Self { old: text(count.on_record), new: text(count.asked), ..Self::plain(Self::REPETITIONS) }
    }
    pub(crate) const fn plain(code: &'static str) -> Self {
        Self { code, field: None, old: None, new: None }
    }
    pub(crate) fn about(code: &'static str, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::plain(code) }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)?;
        if let Some(field) = &self.field {
            write!(f, " {field}")?;
        }
        match (&self.old, &self.new) {
            (Some(old), Some(new)) if self.code == Self::REPETITIONS => write!(f, ": {old} of {new} on record"),
            (Some(old), Some(new)) => write!(f, ": {old} -> {new}"),
            (None, Some(new)) => write!(f, ": added {new}"),
            (Some(old), None) => write!(f, ": removed {old}"),
            (None, None) => Ok(()),
        }
    }
}

/// How many repetitions of a node there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RepetitionCount {
    /// Asked for.
    pub asked: u64,
    /// Of these on record, before it ran.
    pub on_record: u64,
    /// Carried out in this run; nothing when it did not run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<u64>,
}

impl RepetitionCount {
    /// Whether none is missing.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.on_record >= self.asked
    }
}

/// One node of a plan or a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its key; nothing while the content of its inputs is not known.
    pub key: Option<Digest>,
    /// Its state.
    pub state: State,
    /// Why it runs; empty when it is cached, or not considered.
    pub reasons: Vec<Reason>,
    /// `false` when an input is still to be made, so that the node may turn out to be cached.
    pub certain: bool,
    /// Whether the same key always gives the same bytes.
    #[serde(serialize_with = "determinism")]
    pub determinism: Determinism,
    /// Wall time in seconds: measured when it ran, else that of the last time, if known. Of repetitions, that of all in its result,
    /// and in a plan that of the missing ones.
    pub seconds: Option<f64>,
    /// Why it gave no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<NodeError>,
    /// Id of the failed node that stands in its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// Repetitions of a node that appends them; nothing for other nodes, and while its key is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<RepetitionCount>,
    /// Counters of the work, from when it ran.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

fn determinism<S: Serializer>(value: &Determinism, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match value {
        Determinism::Exact => "exact",
        Determinism::Sampled => "sampled",
    })
}

/// How a run ended.
#[derive(Debug)]
pub struct RunReport {
    /// All nodes, in the order of the plan.
    pub nodes: Vec<NodeReport>,
    /// What each node made, in the same order; nothing for nodes without a result and for those not asked for.
    pub outputs: Vec<Option<Vec<OutputRecord>>>,
    /// Whether it was interrupted: what had finished is on record, and the next run goes on from there.
    pub interrupted: bool,
    /// Set when the store could not be written to (full, read-only), which ends a run; the node at hand has failed.
    pub store_error: Option<StoreError>,
}

impl RunReport {
    /// Nodes in a state.
    #[must_use]
    pub fn count(&self, state: State) -> usize {
        self.nodes.iter().filter(|n| n.state == state).count()
    }
}

/// What happens during a run, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A node begins to run.
    Started {
        /// Its position in the plan.
        node: usize,
        /// Why it runs.
        reasons: &'a [Reason],
    },
    /// A stage says how far it is.
    Progress {
        /// Position of the node in the plan.
        node: usize,
        /// Units of work done.
        done: u64,
        /// Units of work in all.
        total: u64,
    },
    /// Another process computes what this node needs; it is waited for.
    Waiting {
        /// Position of the node in the plan.
        node: usize,
        /// Who computes it.
        holder: &'a str,
    },
    /// A node has its final state. (One whose objects turn out corrupt later runs, and finishes, again.)
    Finished {
        /// Its position in the plan.
        node: usize,
        /// Its state.
        report: &'a NodeReport,
    },
    /// A node was run again under a key that was on record, and gave something else: it is not deterministic.
    Differs {
        /// Position of the node in the plan.
        node: usize,
    },
}

/// Everything about the key of one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The node as a plan sees it.
    pub node: NodeReport,
    /// Everything its result depends on; the digest of an input that is still to be made is null.
    pub document: Value,
    /// The most similar document among the last ones of this node that differ from it.
    pub nearest: Option<Value>,
    /// What differs from that.
    pub differences: Vec<Reason>,
    /// Why it is not cached; empty when it is.
    pub reasons: Vec<Reason>,
}
