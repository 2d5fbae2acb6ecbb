//! `study run`: plan, execute, publish, answer.

use super::{jobs, options};
use crate::args::RunArgs;
use crate::document;
use crate::exit::{Exit, Failure};
use crate::load::{self, Opened, Telling};
use crate::progress::Progress;
use crate::publish::{self, Published, Source};
use crate::signals;
use crate::terminal::{Paint, Terminal, to_stderr, to_stdout};
use crate::verdict::Verdict;
use crate::wording;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use study_engine::{NodeReport, RunOptions, RunReport, State};
use study_store::{OutputRecord, Store};

pub fn execute(args: &RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let began = Instant::now();
    let opened = load::open(&args.study, terminal, Telling { json: args.json, quiet: args.quiet })?;
    let jobs = jobs(args.jobs);
    let session = Session {
        opened: &opened,
        store_folder: args.store.folder(),
        results: publish::folder(&args.out, &opened.study),
        options: options(&args.select, jobs, args.fail_fast),
        terminal,
        quiet: args.quiet,
        verbose: args.verbose,
    };
    let done = session.run()?;
    if args.json {
        let document = done.document(&session, began.elapsed().as_secs_f64());
        to_stdout(format!("{document:#}\n").as_bytes())?;
    }
    session.tell(&done, !args.json)?;
    Ok(done.exit(&session, args.strict))
}

/// One run of a study, from planning to publishing.
pub struct Session<'a> {
    pub opened: &'a Opened,
    pub store_folder: PathBuf,
    pub results: PathBuf,
    pub options: RunOptions,
    pub terminal: &'a Terminal,
    pub quiet: bool,
    pub verbose: bool,
}

/// A cached object was corrupt when it was read for publishing. Reading all of them sets the corrupt ones aside, so that
/// one more run makes them anew.
fn set_aside_corrupt(store: &Store, report: &RunReport) {
    for output in report.outputs.iter().flatten().flatten() {
        // What is wrong shows again when the next run reads it.
        let _ = store.get_object(&output.object);
    }
}

/// How it ended.
pub struct Done {
    pub report: RunReport,
    /// Present when every node of the study has a result.
    pub results: Option<Results>,
}

/// What a whole study gave.
pub struct Results {
    published: Published,
    verdict: Verdict,
    answer: Option<Vec<u8>>,
}

impl Session<'_> {
    /// Plans, executes and publishes. Nothing is written before the plan stands.
    pub fn run(&self) -> Result<Done, Failure> {
        let existing = Store::open_existing(&self.store_folder)?;
        let planned = study_engine::plan(&self.opened.study, existing.as_ref(), &self.opened.files, &self.options);
        let plan = self.opened.checked(self.terminal, planned)?;
        let store = Store::open(&self.store_folder)?;
        let cancel = signals::cancel_flag()?;
        let report = self.engine(&store, &plan, &cancel)?;
        match self.finish(&store, &report, &cancel) {
            Err(failure) if failure.exit == Exit::Corrupt => {
                self.terminal.note(&format!("{}; making it anew", failure.message));
                set_aside_corrupt(&store, &report);
                let report = self.engine(&store, &plan, &cancel)?;
                let results = self.finish(&store, &report, &cancel)?;
                Ok(Done { report, results })
            }
            results => Ok(Done { report, results: results? }),
        }
    }

    fn engine(&self, store: &Store, plan: &[NodeReport], cancel: &AtomicBool) -> Result<RunReport, Failure> {
        let progress = Progress::new(plan, self.options.jobs, *self.terminal, self.quiet, self.verbose);
        let show = |event: study_engine::RunEvent<'_>| progress.event(&event);
        let report = study_engine::run(&self.opened.study, store, &self.opened.files, &self.options, cancel, &show);
        progress.end();
        self.opened.checked(self.terminal, report)
    }

    /// Publishes and judges, if every node has a result.
    fn finish(&self, store: &Store, report: &RunReport, cancel: &AtomicBool) -> Result<Option<Results>, Failure> {
        let study = &self.opened.study;
        let Some((nodes, outputs)) = self.complete(store, report)? else { return Ok(None) };
        let source = Source { study, store, outputs: &outputs };
        let description = format!("{:#}\n", document::description(study, &nodes, &outputs));
        let published = publish::publish(&self.results, &source, description.into_bytes(), self.options.jobs, cancel)?;
        let verdict = Verdict::read(&source)?;
        let answer = outputs.iter().flatten().flatten().find(|output| !output.frame && output.name == "answer.txt");
        let answer = answer.map(|output| store.get_object(&output.object)).transpose()?;
        Ok(Some(Results { published, verdict, answer }))
    }

    /// All nodes with their outputs; nothing unless all have a result. A run of some nodes only may leave a study complete.
    fn complete(&self, store: &Store, report: &RunReport) -> Result<Option<Complete>, Failure> {
        if report.interrupted || report.nodes.iter().any(|node| matches!(node.state, State::Failed | State::Blocked)) {
            return Ok(None);
        }
        if report.outputs.iter().all(Option::is_some) {
            return Ok(Some((report.nodes.clone(), report.outputs.clone())));
        }
        let whole = RunOptions { jobs: self.options.jobs, ..RunOptions::default() };
        let planned = study_engine::plan(&self.opened.study, Some(store), &self.opened.files, &whole);
        let nodes = self.opened.checked(self.terminal, planned)?;
        let mut outputs = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let Some(key) = node.key.filter(|_| node.state == State::Cached) else { return Ok(None) };
            outputs.push(store.record_head(&key)?.map(|head| head.outputs));
        }
        Ok(outputs.iter().all(Option::is_some).then_some((nodes, outputs)))
    }

    /// Answer to stdout, everything else to stderr; the counts come last.
    pub fn tell(&self, done: &Done, answer: bool) -> Result<(), Failure> {
        for node in &done.report.nodes {
            if let Some(error) = &node.error {
                let exit = if error.environment { Exit::Environment } else { Exit::Stage };
                let failure = Failure::new(exit, format!("`{}`: {}", node.id, error.message));
                self.terminal.failure(&failure.maybe_help(error.help.clone()));
            }
        }
        if self.quiet {
            return Ok(());
        }
        let mut text = String::new();
        match &done.results {
            Some(results) => {
                if let Some(bytes) = results.answer.as_ref().filter(|_| answer) {
                    to_stdout(bytes)?;
                }
                text.push_str(&self.told_results(results));
            }
            None if done.report.interrupted => {
                text.push_str("interrupted: what was finished is kept, and the next run goes on from there\n");
            }
            None => {
                text.push_str("not published: some nodes have no result yet; `study show` looks at single frames\n")
            }
        }
        text.push_str(&done.counts());
        text.push('\n');
        to_stderr(&text);
        Ok(())
    }

    fn told_results(&self, results: &Results) -> String {
        let stream = self.terminal.stderr;
        let mut text = String::new();
        for line in results.verdict.lines() {
            text.push_str(&format!("{} {line}\n", stream.paint(Paint::Yellow, "note:")));
        }
        for (path, kept) in &results.published.set_aside {
            text.push_str(&format!("note: `{path}` was changed by hand; it is kept as `{kept}`\n"));
        }
        let written = results.published.written;
        let news =
            if written == 0 { "unchanged".to_owned() } else { format!("{} written", wording::count(written, "file")) };
        text.push_str(&format!("results: {} ({news})\n", self.results.display()));
        text
    }
}

type Complete = (Vec<NodeReport>, Vec<Option<Vec<OutputRecord>>>);

impl Done {
    fn counts(&self) -> String {
        let count = |state| self.report.count(state);
        format!(
            "executed: {}, cached: {}, failed: {}",
            count(State::Executed),
            count(State::Cached),
            count(State::Failed)
        )
    }

    /// The document of `--json`.
    fn document(&self, session: &Session<'_>, elapsed: f64) -> Value {
        let mut document = document::head(&session.opened.study);
        let node = |(report, outputs): (&NodeReport, &Option<Vec<OutputRecord>>)| {
            let mut value = document::node(report);
            value["outputs"] = document::outputs(outputs.as_deref().unwrap_or_default());
            value
        };
        let nodes: Vec<Value> = self.report.nodes.iter().zip(&self.report.outputs).map(node).collect();
        let results_dir = self.results.as_ref().map(|_| shown(&session.results));
        let (claims, validity) = self.results.as_ref().map(|results| results.verdict.as_json()).unwrap_or_default();
        let fields = [
            ("nodes", json!(nodes)),
            ("executed", json!(self.report.count(State::Executed))),
            ("cached", json!(self.report.count(State::Cached))),
            ("failed", json!(self.report.count(State::Failed))),
            ("interrupted", json!(self.report.interrupted)),
            ("results_dir", json!(results_dir)),
            ("claims", claims),
            ("validity", validity),
            ("elapsed_s", json!(elapsed)),
        ];
        document.extend(fields.map(|(key, value)| (key.to_owned(), value)));
        Value::Object(document)
    }

    /// The exit code.
    pub fn exit(&self, session: &Session<'_>, strict: bool) -> Exit {
        if self.report.interrupted {
            return Exit::Interrupted;
        }
        if let Some(error) = &self.report.store_error {
            return if matches!(error, study_store::StoreError::Corrupt { .. }) {
                Exit::Corrupt
            } else {
                Exit::Environment
            };
        }
        if self.report.count(State::Failed) > 0 {
            // A stage that is wrong outweighs a machine that lacks something.
            let lacking = self.report.nodes.iter().filter_map(|node| node.error.as_ref()).all(|e| e.environment);
            return if lacking { Exit::Environment } else { Exit::Stage };
        }
        let verdict = self.results.as_ref().map_or(Exit::Ok, |r| r.verdict.exit(&session.opened.study.variant, strict));
        if verdict == Exit::Ok && strict && session.opened.warned { Exit::Unproven } else { verdict }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
