//! Key documents: everything that a result depends on, and nothing else.
//!
//! Not in it, and so without influence on what runs: paths, names of links, comments, the order of keys, the number of
//! threads, user, folder, time; and the host, unless the result is measured on it.
//!
//! A node whose repetitions append has one more key for each of them: its document without their number, with the index, and
//! of frames that repetitions share out among them only the rows of this one.

use crate::files::LoadedFile;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use study_ident::{Digest, canonical_digest};
use study_spec::{InputBinding, PlannedNode, Study};
use study_stage::{Determinism, Series, StudyInfo};
use study_store::OutputRecord;
use study_table::Table;

/// Raised when the form of the document changes; nothing is cached then.
const FORMAT: u32 = 1;

/// Whether this build keys on the versions of stages alone. Any other build adds a fingerprint of their source, so that
/// whoever works on a stage never sees a stale result.
const RELEASE: bool = matches!(option_env!("STUDY_RELEASE"), Some(value) if !matches!(value.as_bytes(), b"" | b"0"));

/// The key of a document.
pub(crate) fn key_of(document: &Value) -> Digest {
    canonical_digest("action-key", document)
}

/// What the key documents of one study have in common.
pub(crate) struct KeyMaker<'a> {
    study: &'a Study,
    /// For kinds that see the study: made once, because it covers the parameters of all nodes.
    info: Option<Value>,
    /// For kinds that measure.
    host: Option<&'a str>,
}

impl<'a> KeyMaker<'a> {
    pub fn new(study: &'a Study, host: Option<&'a str>) -> Self {
        let sees = study.nodes.iter().any(|node| node.kind.sees_study());
        Self { study, info: sees.then(|| info_document(&study.info)), host }
    }

    /// The document of a node, given the identity of each input's content (`None`: still to be made).
    pub fn document(
        &self,
        node: &PlannedNode,
        files: &[LoadedFile],
        digest_of: impl Fn(&str, &InputBinding) -> Option<Digest>,
    ) -> Value {
        let mut document = Map::new();
        document.insert("format".to_owned(), FORMAT.into());
        document.insert("kind".to_owned(), node.kind.name().into());
        document.insert("version".to_owned(), node.kind.version().into());
        if !RELEASE {
            document.insert("source".to_owned(), node.kind.source_fingerprint().into());
        }
        document.insert("params".to_owned(), node.params.canonical());
        document.insert("inputs".to_owned(), self.inputs(node, digest_of));
        let files: Vec<Value> = files.iter().map(|file| file.digest.to_string().into()).collect();
        document.insert("files".to_owned(), files.into());
        if node.kind.uses_seed() {
            document.insert("seed".to_owned(), self.study.seed.into());
        }
        if let (Determinism::Sampled, Some(host)) = (node.kind.determinism(&*node.params), self.host) {
            document.insert("environment".to_owned(), json!({ "host": host }));
        }
        if let (true, Some(info)) = (node.kind.sees_study(), &self.info) {
            document.insert("study".to_owned(), info.clone());
        }
        Value::Object(document)
    }

    fn inputs(&self, node: &PlannedNode, digest_of: impl Fn(&str, &InputBinding) -> Option<Digest>) -> Value {
        let mut inputs = Vec::new();
        for (frame, bindings) in &node.inputs {
            for binding in bindings {
                let mut input = Map::new();
                input.insert("frame".to_owned(), frame.as_str().into());
                input.insert("node".to_owned(), self.study.nodes[binding.node].id.as_str().into());
                let axes = binding.axes.iter().map(|(axis, value)| (axis.clone(), value.clone().into()));
                input.insert("axes".to_owned(), Value::Object(axes.collect()));
                input.insert("digest".to_owned(), digest_of(frame, binding).map(|d| d.to_string()).into());
                inputs.push(Value::Object(input));
            }
        }
        inputs.into()
    }
}

fn info_document(info: &StudyInfo) -> Value {
    json!({
        "name": info.name,
        "title": info.title,
        "seed": info.seed,
        "variant": info.variant,
        "nodes": canonical_digest("study-nodes", &info.nodes).to_string(),
    })
}

/// The identity of each repetition's rows of a frame; nothing where that is not known.
pub(crate) type Shares = Option<BTreeMap<u64, Digest>>;

/// The rows of each repetition, by the column that holds its index. Rows of repetitions that are not asked for do not count.
pub(crate) fn shares(table: &Table, column: &str, repetitions: u64) -> Shares {
    let indices = table.ints(column).ok()?;
    let of = |index: u64| (index, table.filter(|row| u64::try_from(indices[row]) == Ok(index)).digest());
    Some((0..repetitions).map(of).collect())
}

/// The keys of the repetitions of one node.
pub(crate) struct RepetitionKeys {
    /// How many are asked for.
    pub repetitions: u64,
    /// What all of them have in common; the digests of shared-out inputs are null.
    common: Value,
    /// By position in the document's inputs: each repetition's share.
    shares: Vec<(usize, Shares)>,
}

impl RepetitionKeys {
    /// From the document of the node. `shares_of` is given a frame, the column, and the number of the frame's input.
    pub fn new(series: &Series, document: &Value, mut shares_of: impl FnMut(&str, &str, usize) -> Shares) -> Self {
        let mut common = document.clone();
        common["params"] = series.params.clone();
        let mut found = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (position, input) in common["inputs"].as_array_mut().into_iter().flatten().enumerate() {
            let frame = input["frame"].as_str().unwrap_or_default().to_owned();
            let number = seen.entry(frame.clone()).or_default();
            if let Some((_, column)) = series.by_repetition.iter().find(|(name, _)| *name == frame) {
                input["digest"] = Value::Null;
                found.push((position, shares_of(&frame, column, *number)));
            }
            *number += 1;
        }
        Self { repetitions: series.repetitions, common, shares: found }
    }

    /// The same for all nodes that share repetitions: who holds it may carry them out.
    pub fn series(&self) -> Digest {
        canonical_digest("series-key", &self.common)
    }

    /// The key of a repetition with its document; nothing where a share is not known.
    pub fn of(&self, index: u64) -> Option<(Digest, Value)> {
        let mut document = self.common.clone();
        document["repetition"] = index.into();
        for (position, shares) in &self.shares {
            document["inputs"][*position]["digest"] = shares.as_ref()?.get(&index)?.to_string().into();
        }
        Some((canonical_digest("repetition-key", &document), document))
    }
}

/// The frame of that name among what a node made.
pub(crate) fn frame_of<'a>(outputs: &'a [OutputRecord], frame: &str) -> Option<&'a OutputRecord> {
    outputs.iter().find(|output| output.frame && output.name == frame)
}
