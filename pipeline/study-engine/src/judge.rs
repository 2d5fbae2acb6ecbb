//! The one place that decides whether a node is cached, and why not.

use crate::files::LoadedFiles;
use crate::keys::{KeyMaker, frame_of, key_of};
use crate::reasons::{differences, input_path};
use crate::{NodeReport, Reason, State};
use serde_json::Value;
use std::collections::BTreeMap;
use study_ident::Digest;
use study_spec::{PlannedNode, Study};
use study_store::{ObjectState, OutputRecord, RecordHead, Store, StoreError};

/// What is known about a node before it runs.
pub(crate) struct Verdict {
    /// Its key; nothing while an input is still to be made.
    pub key: Option<Digest>,
    /// Its key document, unless it is cached.
    pub document: Option<Value>,
    /// Its result, if that is on record and whole.
    pub hit: Option<RecordHead>,
    /// Why it is not cached.
    pub reasons: Vec<Reason>,
    /// How long it took last time, in seconds.
    pub seconds: Option<f64>,
}

/// Looks at nodes of one study against one store.
pub(crate) struct Judge<'a> {
    pub study: &'a Study,
    pub store: Option<&'a Store>,
    pub files: &'a LoadedFiles,
    pub keys: KeyMaker<'a>,
}

impl<'a> Judge<'a> {
    pub fn new(study: &'a Study, store: Option<&'a Store>, files: &'a LoadedFiles) -> Self {
        Self { study, store, files, keys: KeyMaker::new(study, files.host()) }
    }

    /// Decides about one node. `outputs` has what the nodes before it made, as far as that is known; `must_run` is a reason
    /// to run whatever is on record.
    pub fn judge(&self, index: usize, outputs: &[Option<Vec<OutputRecord>>], must_run: Option<&Reason>) -> Verdict {
        let node = &self.study.nodes[index];
        if let Some(unknown) = self.unknown_input(node, outputs) {
            let seconds = self.past_seconds(&self.history(node));
            let reasons = vec![Reason::about("input", unknown)];
            return Verdict { key: None, document: None, hit: None, reasons, seconds };
        }
        let document = self.document(index, outputs);
        let key = key_of(&document);
        let found = match must_run {
            Some(reason) => Err(vec![reason.clone()]),
            None => self.lookup(node, &key),
        };
        match found {
            Ok(head) => {
                let seconds = Some(head.seconds);
                Verdict { key: Some(key), document: None, hit: Some(head), reasons: Vec::new(), seconds }
            }
            Err(mut reasons) => {
                let history = self.history(node);
                if reasons.is_empty() {
                    reasons = self.changes(node, &history, &key, &document);
                }
                let seconds = self.past_seconds(&history);
                Verdict { key: Some(key), document: Some(document), hit: None, reasons, seconds }
            }
        }
    }

    /// The key document; the digests of inputs that are not known are null.
    pub fn document(&self, index: usize, outputs: &[Option<Vec<OutputRecord>>]) -> Value {
        self.keys.document(&self.study.nodes[index], self.files.of(index), |frame, binding| {
            Some(frame_of(outputs[binding.node].as_ref()?, frame)?.logical)
        })
    }

    /// A report that says what the verdict says.
    pub fn report(&self, index: usize, state: State, verdict: Verdict) -> NodeReport {
        let counters = verdict.hit.map(|head| head.counters).unwrap_or_default();
        NodeReport {
            key: verdict.key,
            reasons: verdict.reasons,
            certain: verdict.key.is_some(),
            seconds: verdict.seconds,
            counters,
            ..self.blank_report(index, state)
        }
    }

    /// A report about a node that was not looked at.
    pub fn blank_report(&self, index: usize, state: State) -> NodeReport {
        let node = &self.study.nodes[index];
        NodeReport {
            id: node.id.clone(),
            kind: node.kind.name(),
            key: None,
            state,
            reasons: Vec::new(),
            certain: true,
            determinism: node.kind.determinism(&*node.params),
            seconds: None,
            error: None,
            blocked_by: None,
            counters: BTreeMap::new(),
        }
    }

    /// The last keys of a node, newest first.
    pub fn history(&self, node: &PlannedNode) -> Vec<Digest> {
        self.store.map(|store| store.history(&self.study.name, &node.id)).unwrap_or_default()
    }

    /// The key documents of those keys whose records are still there.
    pub fn documents(&self, history: &[Digest]) -> impl Iterator<Item = Value> {
        history.iter().filter_map(|key| Some(self.store?.record(key).ok()??.key_document))
    }

    fn unknown_input(&self, node: &PlannedNode, outputs: &[Option<Vec<OutputRecord>>]) -> Option<String> {
        for (frame, bindings) in &node.inputs {
            for binding in bindings {
                let known = outputs[binding.node].as_ref().and_then(|made| frame_of(made, frame));
                if known.is_none() {
                    return Some(input_path(frame, &self.study.nodes[binding.node].id));
                }
            }
        }
        None
    }

    /// The record of a key, if everything it names is there; else what is wrong with it, or nothing if there is none.
    fn lookup(&self, node: &PlannedNode, key: &Digest) -> Result<RecordHead, Vec<Reason>> {
        let Some(store) = self.store else { return Err(Vec::new()) };
        let head = match store.record_head(key) {
            Ok(Some(head)) => head,
            Ok(None) => return Err(Vec::new()),
            Err(StoreError::Corrupt { .. }) => return Err(vec![Reason::about("corrupt", "record")]),
            // What cannot be read is as good as absent; if the store is broken, writing to it will say so.
            Err(_) => return Err(vec![Reason::about("missing-blob", "record")]),
        };
        let mut problems = Vec::new();
        for output in &head.outputs {
            let code = match store.object_state(&output.object, output.bytes) {
                ObjectState::Present => continue,
                ObjectState::Missing => "missing-blob",
                ObjectState::Corrupt => "corrupt",
            };
            problems.push(Reason::about(code, format!("outputs.{}", output.name)));
        }
        for frame in node.kind.gives() {
            if frame_of(&head.outputs, frame).is_none() {
                problems.push(Reason::about("missing-blob", format!("outputs.{frame}")));
            }
        }
        if problems.is_empty() { Ok(head) } else { Err(problems) }
    }

    /// What changed since the last time.
    fn changes(&self, node: &PlannedNode, history: &[Digest], key: &Digest, document: &Value) -> Vec<Reason> {
        if history.first() == Some(key) {
            return vec![Reason::about("missing-blob", "record")];
        }
        match self.documents(history).next() {
            None => vec![Reason::plain("never-run")],
            Some(past) => with_paths(node, differences(&past, document)),
        }
    }

    fn past_seconds(&self, history: &[Digest]) -> Option<f64> {
        history.iter().find_map(|key| Some(self.store?.record_head(key).ok()??.seconds))
    }
}

/// Paths of files are not in a key document, but they are what the reader knows.
pub(crate) fn with_paths(node: &PlannedNode, mut reasons: Vec<Reason>) -> Vec<Reason> {
    for reason in &mut reasons {
        let field = reason.field.as_deref();
        let slot = field.and_then(|f| f.strip_prefix("files[")?.strip_suffix(']')?.parse::<usize>().ok());
        if let Some(request) = slot.and_then(|slot| node.files.get(slot)) {
            reason.field = Some(format!("files.{}", request.path));
        }
    }
    reasons
}
