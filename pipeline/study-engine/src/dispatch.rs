//! The dispatcher: owns the state of a run, decides what starts, and tells what happened, in one order.
//!
//! A node goes `Waiting` (for nodes it needs) -> judged -> cached, or queued -> claimed -> running -> executed or failed.
//! While another process has the claim it stands in `elsewhere` and is tried again every few milliseconds. When a node finds
//! one of its inputs corrupt or missing, the giver of that input is queued again, bypassing its record, and the node
//! is parked until the giver has finished.

use crate::executor::{Outcome, Work};
use crate::graph::Dag;
use crate::judge::{Judge, Verdict};
use crate::keys::frame_of;
use crate::select::Selection;
use crate::tables::Tables;
use crate::{NodeError, NodeReport, Reason, RunEvent, RunReport, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use study_ident::Digest;
use study_spec::PlannedNode;
use study_store::{Attempt, Claim, OutputRecord, Store, StoreError};

/// How often a claim that another process holds is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(10);
/// A giver whose objects are lost again after this many rebuilds is given up: the disk is broken.
const REBUILDS: u32 = 2;

/// What threads of the pool tell the dispatcher.
pub(crate) enum Message {
    Progress { node: usize, done: u64, total: u64 },
    Ended { node: usize, outcome: Outcome },
}

/// Positions of the nodes that `node` reads from, each once.
pub(crate) fn givers_of(node: &PlannedNode) -> BTreeSet<usize> {
    node.inputs.values().flatten().map(|binding| binding.node).collect()
}

pub(crate) struct Dispatcher<'a> {
    judge: &'a Judge<'a>,
    dag: &'a Dag,
    selection: &'a Selection,
    store: &'a Store,
    tables: &'a Tables,
    cancel: &'a AtomicBool,
    events: &'a (dyn Fn(RunEvent<'_>) + Sync),
    jobs: usize,
    pub fail_fast: bool,
    /// Per node: how many of the nodes it needs have not finished.
    waiting: Vec<usize>,
    /// Needs have finished; to be judged.
    ready: BTreeSet<usize>,
    /// Not cached; to be started.
    queue: BTreeSet<usize>,
    /// Claimed by another process; whether that has been said.
    elsewhere: BTreeSet<usize>,
    /// Wait for a giver to be rebuilt.
    parked: BTreeMap<usize, Vec<usize>>,
    /// Givers whose record is bypassed, and why.
    rebuild: BTreeMap<usize, Reason>,
    rebuilds: BTreeMap<usize, u32>,
    running: BTreeMap<usize, NodeReport>,
    reports: Vec<Option<NodeReport>>,
    outputs: Vec<Option<Vec<OutputRecord>>>,
    stopped: bool,
    interrupted: bool,
    store_error: Option<StoreError>,
}

impl<'a> Dispatcher<'a> {
    #[allow(clippy::too_many_arguments, reason = "called once; a struct would only repeat the list")]
    pub fn new(
        judge: &'a Judge<'a>,
        dag: &'a Dag,
        selection: &'a Selection,
        store: &'a Store,
        tables: &'a Tables,
        cancel: &'a AtomicBool,
        events: &'a (dyn Fn(RunEvent<'_>) + Sync),
        jobs: usize,
    ) -> Self {
        let n = judge.study.nodes.len();
        let waiting: Vec<usize> = dag.needs.iter().map(Vec::len).collect();
        Self {
            judge,
            dag,
            selection,
            store,
            tables,
            cancel,
            events,
            jobs,
            fail_fast: false,
            ready: (0..n).filter(|i| waiting[*i] == 0).collect(),
            waiting,
            queue: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            parked: BTreeMap::new(),
            rebuild: BTreeMap::new(),
            rebuilds: BTreeMap::new(),
            running: BTreeMap::new(),
            reports: vec![None; n],
            outputs: vec![None; n],
            stopped: false,
            interrupted: false,
            store_error: None,
        }
    }

    /// Judges what can be judged without running anything; whether nothing is left to do.
    pub fn settle(&mut self) -> bool {
        self.judge_ready();
        self.queue.is_empty() || self.halted()
    }

    /// Runs until nothing is left to do. `start` puts work on the pool.
    pub fn drive(&mut self, messages: &Receiver<Message>, start: &mut dyn FnMut(Work)) {
        loop {
            self.judge_ready();
            self.start_queued(start);
            let halted = self.halted();
            // Starting may have found results of other processes, so that more can be judged.
            if !halted && !self.ready.is_empty() {
                continue;
            }
            // Whatever is queued now waits for a thread, so something runs.
            if self.running.is_empty() && (halted || self.elsewhere.is_empty()) {
                return;
            }
            let message = if halted || self.elsewhere.is_empty() {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                messages.recv_timeout(RETRY_EVERY)
            };
            match message {
                Ok(Message::Progress { node, done, total }) => (self.events)(RunEvent::Progress { node, done, total }),
                Ok(Message::Ended { node, outcome }) => self.ended(node, outcome),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The report of the whole run. Nodes that were not reached are skipped.
    pub fn finish(mut self) -> RunReport {
        self.interrupted |= self.cancel.load(Ordering::Relaxed) && self.reports.iter().any(Option::is_none);
        for i in 0..self.reports.len() {
            if self.reports[i].is_none() {
                let report = self.judge.blank_report(i, State::Skipped);
                (self.events)(RunEvent::Finished { node: i, report: &report });
                self.reports[i] = Some(report);
            }
            if !self.selection.selected[i] {
                self.outputs[i] = None;
            }
        }
        let nodes: Vec<NodeReport> = self.reports.into_iter().flatten().collect();
        let keys: Vec<(&str, Digest)> = nodes
            .iter()
            .filter(|node| matches!(node.state, State::Cached | State::Executed))
            .filter_map(|node| Some((node.id.as_str(), node.key?)))
            .collect();
        // Only for explanations; a store that cannot be written to is still good for reading.
        let _ = self.store.remember_run(&self.judge.study.name, &keys);
        RunReport { nodes, outputs: self.outputs, interrupted: self.interrupted, store_error: self.store_error }
    }

    fn halted(&self) -> bool {
        self.stopped || self.cancel.load(Ordering::Relaxed)
    }

    fn judge_ready(&mut self) {
        while let Some(node) = self.ready.pop_first() {
            if self.halted() {
                self.ready.insert(node);
                return;
            }
            // Blocked while it was parked.
            if self.reports[node].is_some() {
                continue;
            }
            if !self.selection.consulted[node] {
                self.release(node);
                continue;
            }
            let verdict = self.verdict(node);
            match verdict.hit {
                Some(_) => self.cached(node, verdict),
                // Not asked for and without a result: what needs it is not asked for either, or needs no frame of it.
                None if !self.selection.selected[node] => self.release(node),
                None if verdict.key.is_none() => self.without_input(node),
                None => {
                    self.queue.insert(node);
                }
            }
        }
    }

    fn verdict(&self, node: usize) -> Verdict {
        let forced = Reason::plain("forced");
        let must_run = self.rebuild.get(&node);
        let must_run = must_run.or((self.selection.forced[node] && self.selection.selected[node]).then_some(&forced));
        self.judge.judge(node, &self.outputs, must_run)
    }

    /// Starts queued nodes while there are threads for them; those that wait for another process are tried first.
    fn start_queued(&mut self, start: &mut dyn FnMut(Work)) {
        for node in self.elsewhere.clone() {
            if self.running.len() >= self.jobs || self.halted() {
                return;
            }
            self.try_start(node, start);
        }
        while self.running.len() < self.jobs && !self.halted() {
            let Some(node) = self.queue.pop_first() else { return };
            self.try_start(node, start);
        }
    }

    fn try_start(&mut self, node: usize, start: &mut dyn FnMut(Work)) {
        match self.store.try_claim(&self.judge.claim_key(node, &self.outputs)) {
            Ok(Attempt::Held(claim)) => {
                self.elsewhere.remove(&node);
                self.claimed(node, claim, start);
            }
            Ok(Attempt::Busy { holder }) => {
                if self.elsewhere.insert(node) {
                    (self.events)(RunEvent::Waiting { node, holder: &holder });
                }
            }
            Err(error) => {
                self.elsewhere.remove(&node);
                let report = self.judge.blank_report(node, State::Failed);
                self.store_failed(node, report, error);
            }
        }
    }

    /// Looks again, because whoever had the claim before may have made the record; then starts the node.
    fn claimed(&mut self, node: usize, claim: Claim, start: &mut dyn FnMut(Work)) {
        let mut verdict = self.verdict(node);
        if verdict.hit.is_some() {
            drop(claim);
            self.cached(node, verdict);
            return;
        }
        let (Some(key), Some(document)) = (verdict.key, verdict.document.take()) else { return };
        let Some(inputs) = self.input_records(node) else { return };
        let files = self.judge.files.of(node).to_vec();
        let report = self.judge.report(node, State::Execute, verdict);
        (self.events)(RunEvent::Started { node, reasons: &report.reasons });
        self.running.insert(node, report);
        start(Work { node, key, document, inputs, files, claim });
    }

    fn input_records(&self, node: usize) -> Option<BTreeMap<String, Vec<OutputRecord>>> {
        let frames = &self.judge.study.nodes[node].inputs;
        let record = |frame: &str, giver: usize| frame_of(self.outputs[giver].as_ref()?, frame).cloned();
        frames
            .iter()
            .map(|(frame, bindings)| {
                let records: Option<Vec<_>> = bindings.iter().map(|b| record(frame, b.node)).collect();
                Some((frame.clone(), records?))
            })
            .collect()
    }

    fn ended(&mut self, node: usize, outcome: Outcome) {
        let Some(report) = self.running.remove(&node) else { return };
        match outcome {
            Outcome::Recorded { outputs, seconds, counters, repetitions, differs } => {
                if differs {
                    (self.events)(RunEvent::Differs { node });
                }
                self.rebuild.remove(&node);
                self.outputs[node] = Some(outputs);
                // Put together of what was on record, for no other reason than that it was not put together yet.
                let assembled = report.reasons.is_empty() && repetitions.is_some_and(|count| count.ran == Some(0));
                let state = if assembled { State::Cached } else { State::Executed };
                self.finished(node, NodeReport { state, seconds: Some(seconds), counters, repetitions, ..report });
            }
            Outcome::Cancelled => {
                self.interrupted = true;
                let report = NodeReport { state: State::Skipped, ..report };
                (self.events)(RunEvent::Finished { node, report: &report });
                self.reports[node] = Some(report);
                self.stopped = true;
            }
            Outcome::Failed(error) => self.failed(node, report, error),
            Outcome::StoreFailed(error) => self.store_failed(node, report, error),
            Outcome::InputLost { giver, reason } => self.input_lost(node, report, giver, reason),
        }
    }

    fn cached(&mut self, node: usize, mut verdict: Verdict) {
        if let (Some(key), Some(head)) = (&verdict.key, &mut verdict.hit) {
            if self.store.touch(key, head) {
                self.judge.touch_repetitions(node, &self.outputs);
            }
            self.outputs[node] = Some(std::mem::take(&mut head.outputs));
        }
        if self.selection.selected[node] {
            let report = self.judge.report(node, State::Cached, verdict);
            self.finished(node, report);
        } else {
            // Looked at for the sake of what reads it.
            self.release(node);
        }
    }

    fn finished(&mut self, node: usize, report: NodeReport) {
        (self.events)(RunEvent::Finished { node, report: &report });
        self.reports[node] = Some(report);
        self.release(node);
        let parked = self.parked.remove(&node).unwrap_or_default();
        self.ready.extend(parked);
    }

    /// Lets those go on that wait for `node`, the first time that it is over.
    fn release(&mut self, node: usize) {
        if self.rebuilds.contains_key(&node) {
            return;
        }
        for dependant in self.dag.dependants(node) {
            self.waiting[dependant] -= 1;
            if self.waiting[dependant] == 0 && self.reports[dependant].is_none() {
                self.ready.insert(dependant);
            }
        }
        self.drop_inputs(node);
    }

    /// `node` reads nothing more.
    fn drop_inputs(&self, node: usize) {
        for giver in givers_of(&self.judge.study.nodes[node]) {
            self.tables.consumer_done(giver);
        }
    }

    fn failed(&mut self, node: usize, report: NodeReport, error: NodeError) {
        let report = NodeReport { state: State::Failed, error: Some(error), ..report };
        (self.events)(RunEvent::Finished { node, report: &report });
        self.reports[node] = Some(report);
        self.outputs[node] = None;
        self.rebuild.remove(&node);
        self.drop_inputs(node);
        self.stopped |= self.fail_fast;
        self.block_below(node);
    }

    fn store_failed(&mut self, node: usize, report: NodeReport, error: StoreError) {
        self.stopped |= error.stops_writing();
        self.failed(node, report, NodeError::from(&error));
        self.store_error.get_or_insert(error);
    }

    /// Everything below a failed node that has no result yet is blocked; all else goes on.
    fn block_below(&mut self, failed: usize) {
        let mut below = vec![false; self.reports.len()];
        self.dag.mark_below(failed, &mut below);
        for node in (failed + 1..below.len()).filter(|node| below[*node]) {
            let free = self.reports[node].is_none() && !self.running.contains_key(&node);
            if !free || !self.selection.selected[node] {
                continue;
            }
            self.ready.remove(&node);
            self.queue.remove(&node);
            self.elsewhere.remove(&node);
            self.blocked(node, failed);
        }
    }

    fn blocked(&mut self, node: usize, failed: usize) {
        let blocked_by = Some(self.judge.study.nodes[failed].id.clone());
        let report = NodeReport { blocked_by, ..self.judge.blank_report(node, State::Blocked) };
        (self.events)(RunEvent::Finished { node, report: &report });
        self.reports[node] = Some(report);
        self.drop_inputs(node);
    }

    /// All it needs is over, but something that it reads is not there: a giver failed on being made anew while the node was
    /// under way, or a giver that is not asked for has been removed from the store since.
    fn without_input(&mut self, node: usize) {
        let givers = givers_of(&self.judge.study.nodes[node]);
        let gone: Vec<usize> = givers.into_iter().filter(|giver| self.outputs[*giver].is_none()).collect();
        match gone.iter().find(|giver| self.reports[**giver].is_some()) {
            Some(failed) => self.blocked(node, *failed),
            None => {
                let report = self.judge.blank_report(node, State::Failed);
                self.failed(node, report, NodeError::with_help("what it reads is not cached any more", "run it again"));
            }
        }
    }

    /// Runs the giver of a lost input again, and the node after it.
    fn input_lost(&mut self, node: usize, report: NodeReport, giver: usize, reason: Reason) {
        let giver_id = &self.judge.study.nodes[giver].id;
        let what = if reason.code == "corrupt" { "corrupt" } else { "missing" };
        if !self.selection.selected[giver] {
            let message = format!("what `{giver_id}` made is {what} in the store");
            self.failed(node, report, NodeError::with_help(message, "run without `--only`, which makes it anew"));
            return;
        }
        if self.outputs[giver].is_none() {
            // Made anew meanwhile, in vain.
            self.ready.insert(node);
            return;
        }
        if !self.rebuild.contains_key(&giver) {
            let rebuilds = self.rebuilds.entry(giver).or_default();
            *rebuilds += 1;
            if *rebuilds > REBUILDS {
                let message = format!("what `{giver_id}` made is {what} in the store, again and again");
                self.failed(node, report, NodeError::with_help(message, "check the disk of the store"));
                return;
            }
            self.rebuild.insert(giver, reason);
            self.reports[giver] = None;
            self.ready.insert(giver);
        }
        self.parked.entry(giver).or_default().push(node);
    }
}
