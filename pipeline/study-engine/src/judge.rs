//! The one place that decides whether a node is cached, and why not.

use crate::files::LoadedFiles;
use crate::keys::{KeyMaker, RepetitionKeys, Shares, frame_of, key_of, shares};
use crate::outputs::load_frame;
use crate::reasons::{differences, input_path};
use crate::repetitions::{count, touch};
use crate::{NodeReport, Reason, RepetitionCount, State};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
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
    /// How long it took last time, in seconds; of missing repetitions, how long they will take by those on record.
    pub seconds: Option<f64>,
    /// Of a node that appends them: its repetitions.
    pub repetitions: Option<RepetitionCount>,
}

impl Verdict {
    /// Whether nothing is left to be carried out, although there is no record of the node itself: it is cached, and is put
    /// together of its repetitions when it is needed.
    pub fn only_to_assemble(&self) -> bool {
        self.hit.is_none() && self.reasons.is_empty() && self.repetitions.is_some_and(|r| r.is_complete())
    }
}

/// What each repetition reads of a frame, by the frame's content, the column, and how many repetitions are asked for.
type KnownShares = BTreeMap<(Digest, String, u64), Shares>;

/// Looks at nodes of one study against one store.
pub(crate) struct Judge<'a> {
    pub study: &'a Study,
    pub store: Option<&'a Store>,
    pub files: &'a LoadedFiles,
    pub keys: KeyMaker<'a>,
    /// Reading frames takes long enough to do it once.
    shares: Mutex<KnownShares>,
}

impl<'a> Judge<'a> {
    pub fn new(study: &'a Study, store: Option<&'a Store>, files: &'a LoadedFiles) -> Self {
        Self { study, store, files, keys: KeyMaker::new(study, files.host()), shares: Mutex::default() }
    }

    /// Decides about one node. `outputs` has what the nodes before it made, as far as that is known; `must_run` is a reason
    /// to run whatever is on record.
    pub fn judge(&self, index: usize, outputs: &[Option<Vec<OutputRecord>>], must_run: Option<&Reason>) -> Verdict {
        let node = &self.study.nodes[index];
        if let Some(unknown) = self.unknown_input(node, outputs) {
            let seconds = self.past_seconds(&self.history(node));
            let reasons = vec![Reason::about("input", unknown)];
            return Verdict { key: None, document: None, hit: None, reasons, seconds, repetitions: None };
        }
        let document = self.document(index, outputs);
        let key = key_of(&document);
        let found = match must_run {
            Some(reason) => Err(vec![reason.clone()]),
            None => self.lookup(node, &key),
        };
        match found {
            Ok(head) => {
                let asked = node.kind.series(&*node.params).map(|series| series.repetitions);
                let repetitions = asked.map(|n| RepetitionCount { asked: n, on_record: n, ran: None });
                let seconds = Some(head.seconds);
                Verdict { key: Some(key), document: None, hit: Some(head), reasons: Vec::new(), seconds, repetitions }
            }
            Err(problems) => self.miss(index, outputs, (key, document), problems),
        }
    }

    /// A node without a usable record. `problems` say what is wrong with it, if there is one.
    fn miss(
        &self,
        index: usize,
        outputs: &[Option<Vec<OutputRecord>>],
        (key, document): (Digest, Value),
        problems: Vec<Reason>,
    ) -> Verdict {
        let node = &self.study.nodes[index];
        let history = self.history(node);
        let seconds = self.past_seconds(&history);
        let counted = self.repetition_keys(index, &document, outputs).map(|keys| count(self.store, &keys));
        let repetitions = counted.map(|(count, _)| count);
        let whole = repetitions.is_some_and(|count| count.is_complete());
        let reasons = match (problems.is_empty(), repetitions) {
            // Nothing was lost and nothing is missing: however the node differs from the last one, no work comes of it.
            (true, Some(_)) if whole => Vec::new(),
            (true, _) => with_count(self.changes(node, &history, &key, &document), repetitions),
            (false, _) => with_count(problems, repetitions),
        };
        let seconds = match counted {
            Some((count, seconds)) if count.on_record > 0 => {
                Some(seconds / count.on_record as f64 * (count.asked - count.on_record) as f64)
            }
            _ => seconds,
        };
        Verdict { key: Some(key), document: Some(document), hit: None, reasons, seconds, repetitions }
    }

    /// Who holds this key may carry out the node: its own, or that of its series, which other nodes may share.
    pub fn claim_key(&self, index: usize, outputs: &[Option<Vec<OutputRecord>>]) -> Digest {
        let document = self.document(index, outputs);
        self.repetition_keys(index, &document, outputs).map_or_else(|| key_of(&document), |keys| keys.series())
    }

    /// Notes that the repetitions of a cached node are in use.
    pub fn touch_repetitions(&self, index: usize, outputs: &[Option<Vec<OutputRecord>>]) {
        if let (Some(store), Some(keys)) =
            (self.store, self.repetition_keys(index, &self.document(index, outputs), outputs))
        {
            touch(store, &keys);
        }
    }

    /// The keys of a node's repetitions; nothing when it has none of its own.
    fn repetition_keys(
        &self,
        index: usize,
        document: &Value,
        outputs: &[Option<Vec<OutputRecord>>],
    ) -> Option<RepetitionKeys> {
        let node = &self.study.nodes[index];
        let series = node.kind.series(&*node.params)?;
        Some(RepetitionKeys::new(&series, document, |frame, column, number| {
            let giver = node.inputs.get(frame)?.get(number)?.node;
            let output = frame_of(outputs[giver].as_ref()?, frame)?;
            self.shares(output, column, series.repetitions)
        }))
    }

    /// What each repetition reads of a frame; nothing when the frame cannot be read, which the run finds out by itself.
    fn shares(&self, output: &OutputRecord, column: &str, repetitions: u64) -> Shares {
        let mut known = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (output.logical, column.to_owned(), repetitions);
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        let table = load_frame(self.store?, output).ok()?;
        known.entry(key).or_insert_with(|| shares(&table, column, repetitions)).clone()
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
            repetitions: verdict.repetitions,
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
            repetitions: None,
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

/// How many repetitions there are stands first: it says how much is to be done. A node of which some are on record has run.
fn with_count(mut reasons: Vec<Reason>, repetitions: Option<RepetitionCount>) -> Vec<Reason> {
    if let Some(count) = repetitions {
        reasons.retain(|reason| reason.code != "never-run" || count.on_record == 0);
        reasons.insert(0, Reason::repetitions(&count));
    }
    reasons
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
