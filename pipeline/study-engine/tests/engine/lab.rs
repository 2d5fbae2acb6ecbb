//! Made-up kinds, studies built by hand, and a store in a temporary folder.

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use study_engine::{FileSource, NodeReport, RunEvent, RunOptions, RunReport, State, plan, run};
use study_ident::{Digest, SeedPath};
use study_spec::{InputBinding, PlannedNode, Study};
use study_stage::{Determinism, Inputs, Kind, Outputs, StageCx, StageError, StageKind, StudyInfo};
use study_store::Store;
use study_table::{Cell, Column, ColumnType, Field, StrColumn, Table, TableBuilder};
use study_tree::{Cx, FileRequest, Node, Span};

/// What a node does besides computing; not part of its key, so that tests can change it between runs.
#[derive(Debug, Clone)]
pub enum Behaviour {
    Fail,
    Panic,
    /// Works until it is cancelled.
    UntilCancelled,
    /// Waits until the flag is set.
    Gate(Arc<AtomicBool>),
    /// Sets the flag that interrupts the run, and finishes.
    Interrupt(Arc<AtomicBool>),
    ForgetFrame,
    ExtraFrame,
    FileOutside,
    /// Gives something else each time.
    Random,
    /// Gives the same table in another stored form.
    OtherEncoding,
}

/// Called with the id of a node when it begins.
pub type Hook = Box<dyn Fn(&str) + Send>;

/// Shared by all nodes of a study: behaviours by node, and the ids of the nodes that ran, in order.
#[derive(Default)]
pub struct Script {
    pub behaviours: Mutex<BTreeMap<String, Behaviour>>,
    pub log: Mutex<Vec<String>>,
    /// What each node was shown of the seed and the study.
    pub shown: Mutex<BTreeMap<String, (SeedPath, String)>>,
    pub on_start: Mutex<Option<Hook>>,
}

/// Parameters of all made-up kinds.
#[derive(Clone, Serialize)]
pub struct Calc {
    /// Added to each row.
    pub add: i64,
    /// Low bits that are thrown away: a way to give the same although the inputs changed.
    pub shift: u32,
    /// Rows.
    pub rows: i64,
    #[serde(skip)]
    pub script: Arc<Script>,
}

pub struct CalcKind<const VERSION: u32>;
pub struct SeededKind;
pub struct SampledKind;
pub struct ReaderKind;
pub struct ReportKind;

pub static CALC: CalcKind<1> = CalcKind;
pub static CALC_2: CalcKind<2> = CalcKind;
pub static SEEDED: SeededKind = SeededKind;
pub static SAMPLED: SampledKind = SampledKind;
pub static READER: ReaderKind = ReaderKind;
pub static REPORT: ReportKind = ReportKind;

pub fn table(values: &[i64]) -> Table {
    let mut builder = TableBuilder::new(vec![
        Field::new("row", ColumnType::Int, "", "row"),
        Field::new("x", ColumnType::Int, "", "value"),
        Field::new("name", ColumnType::Str, "", "text"),
    ]);
    for (row, value) in values.iter().enumerate() {
        builder.row(&[Cell::Int(row as i64), Cell::Int(*value), Cell::Str(&format!("v{}", value % 5))]);
    }
    builder.finish()
}

/// The table without its first rows, whose texts stay in its dictionaries.
fn without_first(table: &Table, rows: usize) -> Table {
    let columns = table.columns().iter().map(|column| match column {
        Column::Int { values, .. } => Column::Int { values: values[rows..].to_vec(), validity: None },
        Column::Str(text) => Column::Str(StrColumn { values: text.values.clone(), codes: text.codes[rows..].to_vec() }),
        other => other.clone(),
    });
    Table::from_parts(table.schema().clone(), columns.collect()).unwrap()
}

fn compute(p: &Calc, cx: &StageCx<'_>, inputs: &Inputs, extra: i64) -> Result<Outputs, StageError> {
    p.script.log.lock().unwrap().push(cx.node.to_owned());
    p.script.shown.lock().unwrap().insert(cx.node.to_owned(), (cx.seed, cx.study.title.clone()));
    if let Some(hook) = &*p.script.on_start.lock().unwrap() {
        hook(cx.node);
    }
    let behaviour = p.script.behaviours.lock().unwrap().get(cx.node).cloned();
    let mut noise = 0;
    match &behaviour {
        Some(Behaviour::Fail) => return Err(StageError::failed_with_help("it cannot be", "try something else")),
        Some(Behaviour::Panic) => panic!("index 7 out of bounds"),
        Some(Behaviour::UntilCancelled) => loop {
            std::thread::sleep(Duration::from_millis(1));
            cx.check_cancelled()?;
        },
        Some(Behaviour::Gate(flag)) => {
            while !flag.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Some(Behaviour::Interrupt(flag)) => flag.store(true, Ordering::Relaxed),
        Some(Behaviour::Random) => noise = p.script.log.lock().unwrap().len() as i64,
        _ => {}
    }
    let parts = inputs.parts("out");
    // In parallel, on the engine's pool, as real stages do.
    let values: Vec<i64> = (0..p.rows)
        .into_par_iter()
        .map(|row| {
            let read = |part: &study_stage::InputPart| {
                let xs = part.table.ints("x").unwrap();
                xs[row as usize % xs.len()]
            };
            let sum: i64 = parts.iter().map(read).fold(0, i64::wrapping_add);
            sum.wrapping_add(p.add).wrapping_add(row).wrapping_add(extra).wrapping_add(noise) >> p.shift
        })
        .collect();
    (cx.progress)(1, 1);
    let mut outputs = Outputs::default();
    outputs.frames.insert("out".to_owned(), table(&values));
    outputs.counters.insert("rows".to_owned(), p.rows as u64);
    match behaviour {
        Some(Behaviour::OtherEncoding) => {
            // Texts in another order of first use, then without the row that caused it.
            let reversed: Vec<i64> = values.iter().rev().chain(&values).copied().collect();
            let skipped = values.len();
            let mut again = TableBuilder::new(table(&[]).schema().fields.clone());
            let longer = table(&reversed);
            for row in 0..longer.rows() {
                let index = row as i64 - skipped as i64;
                again.row(&[Cell::Int(index), longer.cell(row, 1), longer.cell(row, 2)]);
            }
            outputs.frames.insert("out".to_owned(), without_first(&again.finish(), skipped));
        }
        Some(Behaviour::ForgetFrame) => outputs.frames.clear(),
        Some(Behaviour::ExtraFrame) => drop(outputs.frames.insert("extra".to_owned(), table(&[1]))),
        Some(Behaviour::FileOutside) => drop(outputs.files.insert("../../etc/passwd".to_owned(), vec![1])),
        _ => {}
    }
    Ok(outputs)
}

macro_rules! made_up {
    (impl[$($generic:tt)*] $kind:ty, $name:literal, version $version:expr, { $($consts:tt)* }, $determinism:ident, |$p:ident, $cx:ident, $inputs:ident| $body:expr) => {
        impl<$($generic)*> StageKind for $kind {
            type Params = Calc;
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = "made up";
            const VERSION: u32 = $version;
            const TAKES: &'static [&'static str] = &["out"];
            const GIVES: &'static [&'static str] = &["out"];
            $($consts)*
            fn decode(&self, _: &Node, _: &mut Cx<'_>) -> Option<Calc> {
                None
            }
            fn schema(&self) -> Value {
                json!({})
            }
            fn source_fingerprint(&self) -> &'static str {
                "fingerprint"
            }
            fn determinism(&self, _: &Calc) -> Determinism {
                Determinism::$determinism
            }
            fn run(&self, $p: &Calc, $cx: &StageCx<'_>, $inputs: &Inputs) -> Result<Outputs, StageError> {
                $body
            }
        }
    };
}
made_up!(impl[const V: u32] CalcKind<V>, "calc", version V, {}, Exact, |p, cx, inputs| compute(p, cx, inputs, i64::from(V)));
made_up!(impl[] SeededKind, "seeded", version 1, { const USES_SEED: bool = true; }, Exact, |p, cx, inputs| {
    compute(p, cx, inputs, cx.seed.stream("test").below(1_000_000) as i64)
});
made_up!(impl[] SampledKind, "sampled", version 1, {}, Sampled, |p, cx, inputs| compute(p, cx, inputs, 0));
made_up!(impl[] ReaderKind, "reader", version 1, {}, Exact, |p, cx, inputs| {
    compute(p, cx, inputs, cx.files.iter().map(|f| f.iter().map(|b| i64::from(*b)).sum::<i64>()).sum())
});
made_up!(impl[] ReportKind, "report", version 1, { const SEES_STUDY: bool = true; }, Exact, |p, cx, inputs| {
    let mut outputs = compute(p, cx, inputs, 0)?;
    let sum: i64 = inputs.parts("out").iter().flat_map(|part| part.table.ints("x").unwrap()).sum();
    outputs.files.insert("report.md".to_owned(), format!("# {}\n\n{sum}\n", cx.study.title).into_bytes());
    outputs.files.insert("figures/fig_a.svg".to_owned(), b"<svg/>".to_vec());
    Ok(outputs)
});

/// Files in memory, with a count of reads.
#[derive(Default)]
pub struct Files {
    pub content: Mutex<BTreeMap<String, Vec<u8>>>,
    pub reads: Mutex<Vec<String>>,
    /// What machine this is.
    pub host: Mutex<String>,
    /// Each read gives other bytes, as if somebody edited the file all the time.
    pub restless: AtomicBool,
}

impl FileSource for Files {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut reads = self.reads.lock().unwrap();
        reads.push(path.to_owned());
        if self.restless.load(Ordering::Relaxed) {
            return Ok(vec![reads.len() as u8]);
        }
        self.content.lock().unwrap().get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn host(&self) -> String {
        self.host.lock().unwrap().clone()
    }
}

/// A study under construction.
pub struct Maker {
    pub study: Study,
    pub script: Arc<Script>,
}

impl Maker {
    pub fn new() -> Self {
        let info = StudyInfo {
            name: "made_up".to_owned(),
            title: "A made-up study".to_owned(),
            seed: 1,
            variant: "full".to_owned(),
            nodes: json!({}),
        };
        let study = Study {
            name: info.name.clone(),
            title: info.title.clone(),
            seed: 1,
            variant: info.variant.clone(),
            nodes: Vec::new(),
            info,
        };
        Self { study, script: Arc::default() }
    }
    pub fn calc(&self, add: i64) -> Calc {
        Calc { add, shift: 0, rows: 4, script: Arc::clone(&self.script) }
    }
    /// Adds a node; its stage is its id up to a bracket. Returns its position.
    pub fn add(&mut self, id: &str, kind: &'static dyn Kind, params: Calc, inputs: &[usize]) -> usize {
        let bind = |node: &usize| InputBinding { node: *node, axes: BTreeMap::new() };
        let bindings: Vec<InputBinding> = inputs.iter().map(bind).collect();
        let frames = if bindings.is_empty() { BTreeMap::new() } else { BTreeMap::from([("out".to_owned(), bindings)]) };
        self.study.nodes.push(PlannedNode {
            id: id.to_owned(),
            stage: id.split('[').next().unwrap().to_owned(),
            kind,
            params: Arc::new(params),
            axes: BTreeMap::new(),
            inputs: frames,
            needs: inputs.to_vec(),
            files: Vec::new(),
            span: Span::default(),
        });
        self.study.nodes.len() - 1
    }
    /// The parameters of a node, to be changed.
    pub fn change(&mut self, id: &str, change: impl FnOnce(&mut Calc)) {
        let node = self.study.nodes.iter_mut().find(|node| node.id == id).unwrap();
        let mut params: Calc = (*node.params).as_any().downcast_ref::<Calc>().unwrap().clone();
        change(&mut params);
        node.params = Arc::new(params);
    }
    pub fn reads_file(&mut self, id: &str, path: &str) {
        let node = self.study.nodes.iter_mut().find(|node| node.id == id).unwrap();
        node.files.push(FileRequest { path: path.to_owned(), span: Span { source: 0, start: 10, end: 20 } });
    }
    pub fn behave(&self, id: &str, behaviour: Option<Behaviour>) {
        let mut behaviours = self.script.behaviours.lock().unwrap();
        match behaviour {
            Some(behaviour) => drop(behaviours.insert(id.to_owned(), behaviour)),
            None => drop(behaviours.remove(id)),
        }
    }
    /// Ids of the nodes that ran since the last call, sorted.
    pub fn ran(&self) -> Vec<String> {
        let mut log = std::mem::take(&mut *self.script.log.lock().unwrap());
        log.sort();
        log
    }
}

/// source -> left, right (of two cells) -> join -> report
pub fn diamond() -> Maker {
    let mut m = Maker::new();
    let source = m.add("source", &CALC, m.calc(10), &[]);
    let left = m.add("left", &CALC, m.calc(20), &[source]);
    let a = m.add("right[x=1]", &CALC, m.calc(31), &[source]);
    let b = m.add("right[x=2]", &SEEDED, m.calc(32), &[source]);
    let join = m.add("join", &CALC, m.calc(40), &[left, a, b]);
    m.add("report", &REPORT, m.calc(50), &[join]);
    m
}

/// A fresh folder, in memory where the system has that: thousands of small stores are synced to disk here.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A store in a folder of its own, files, and what happened in the last run.
pub struct Lab {
    pub dir: tempfile::TempDir,
    pub store: Store,
    pub files: Files,
    pub cancel: AtomicBool,
    pub events: Mutex<Vec<String>>,
}

impl Lab {
    pub fn new() -> Self {
        let dir = folder();
        let store = Store::open(&dir.path().join("store")).unwrap();
        Self { dir, store, files: Files::default(), cancel: AtomicBool::new(false), events: Mutex::default() }
    }
    pub fn run_with(&self, study: &Study, options: &RunOptions) -> RunReport {
        self.events.lock().unwrap().clear();
        let note = |event: RunEvent<'_>| {
            let text = match event {
                RunEvent::Started { node, .. } => format!("start {}", study.nodes[node].id),
                RunEvent::Finished { node, report } => format!("{:?} {}", report.state, study.nodes[node].id),
                RunEvent::Differs { node } => format!("differs {}", study.nodes[node].id),
                RunEvent::Waiting { node, .. } => format!("wait {}", study.nodes[node].id),
                _ => return,
            };
            self.events.lock().unwrap().push(text);
        };
        run(study, &self.store, &self.files, options, &self.cancel, &note).unwrap()
    }
    pub fn run(&self, study: &Study) -> RunReport {
        self.run_with(study, &RunOptions { jobs: 2, ..RunOptions::default() })
    }
    pub fn plan(&self, study: &Study) -> Vec<NodeReport> {
        self.plan_with(study, &RunOptions::default())
    }
    pub fn plan_with(&self, study: &Study, options: &RunOptions) -> Vec<NodeReport> {
        plan(study, Some(&self.store), &self.files, options).unwrap()
    }
    pub fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

pub fn options(change: impl FnOnce(&mut RunOptions)) -> RunOptions {
    let mut options = RunOptions { jobs: 2, ..RunOptions::default() };
    change(&mut options);
    options
}

/// States by node id.
pub fn states(nodes: &[NodeReport]) -> BTreeMap<String, State> {
    nodes.iter().map(|node| (node.id.clone(), node.state)).collect()
}

/// Ids of the nodes in a state.
pub fn in_state(nodes: &[NodeReport], state: State) -> BTreeSet<&str> {
    nodes.iter().filter(|node| node.state == state).map(|node| node.id.as_str()).collect()
}

/// Reasons of a node as text.
pub fn reasons_of(nodes: &[NodeReport], id: &str) -> Vec<String> {
    nodes.iter().find(|node| node.id == id).unwrap().reasons.iter().map(ToString::to_string).collect()
}

/// The identity of everything that a study made.
pub fn digests(report: &RunReport) -> BTreeMap<String, Digest> {
    let mut found = BTreeMap::new();
    for (node, outputs) in report.nodes.iter().zip(&report.outputs) {
        for output in outputs.iter().flatten() {
            found.insert(format!("{}.{}", node.id, output.name), output.logical);
        }
    }
    found
}
