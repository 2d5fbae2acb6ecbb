//! Time of the engine itself, with stages that do nothing: planning and no-op runs of 10,000 nodes and more.
//!
//! `cargo bench -p study-engine`, or with numbers of nodes: `cargo bench -p study-engine -- 10000 20000`. CPU time is that of
//! the whole process (Linux; elsewhere the column is empty).
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use study_engine::{FileSource, RunOptions, State, plan, run};
use study_spec::{InputBinding, PlannedNode, Study};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind, StudyInfo};
use study_store::Store;
use study_table::{Cell, ColumnType, Field, TableBuilder};
use study_tree::{Cx, Node, Span};

/// As many parameters as a real stage has.
#[derive(serde::Serialize)]
struct Params {
    cell: usize,
    player: BTreeMap<&'static str, u32>,
    arms: Vec<BTreeMap<&'static str, &'static str>>,
}

struct OneRow;
static ONE_ROW: OneRow = OneRow;

impl StageKind for OneRow {
    type Params = Params;
    const NAME: &'static str = "one_row";
    const SUMMARY: &'static str = "gives one row";
    const VERSION: u32 = 1;
    const TAKES: &'static [&'static str] = &["row"];
    const GIVES: &'static [&'static str] = &["row"];
    fn decode(&self, _: &Node, _: &mut Cx<'_>) -> Option<Params> {
        None
    }
    fn schema(&self) -> Value {
        json!({})
    }
    fn source_fingerprint(&self) -> &'static str {
        "0000000000000000000000000000000000000000000000000000000000000000"
    }
    fn run(&self, params: &Params, _: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let mut builder = TableBuilder::new(vec![Field::new("x", ColumnType::Int, "", "")]);
        builder.row(&[Cell::Int((params.cell + inputs.parts("row").len()) as i64)]);
        let mut outputs = Outputs::default();
        outputs.frames.insert("row".to_owned(), builder.finish());
        Ok(outputs)
    }
}

struct NoFiles;
impl FileSource for NoFiles {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// One source, `n` cells that read it, one node that reads all cells.
fn study(n: usize) -> Study {
    let node = |id: String, cell: usize, givers: Vec<usize>| {
        let bind = |node: &usize| InputBinding {
            node: *node,
            axes: BTreeMap::from([("cell".to_owned(), Some(node.to_string()))]),
        };
        PlannedNode {
            stage: id.split('[').next().unwrap_or_default().to_owned(),
            id,
            kind: &ONE_ROW,
            params: Arc::new(Params {
                cell,
                player: BTreeMap::from([("prefetch", 3), ("buffer_ms", 30_000), ("startup_ms", 2_000)]),
                arms: vec![
                    BTreeMap::from([("protocol", "h2"), ("congestion_control", "cubic")]),
                    BTreeMap::from([("protocol", "h3"), ("congestion_control", "cubic")]),
                ],
            }),
            axes: BTreeMap::new(),
            inputs: BTreeMap::from([("row".to_owned(), givers.iter().map(bind).collect())]),
            needs: givers,
            files: Vec::new(),
            span: Span::default(),
        }
    };
    let mut nodes = vec![node("source".to_owned(), 0, Vec::new())];
    nodes.extend((1..=n).map(|i| node(format!("cell[i={i}]"), i, vec![0])));
    nodes.push(node("all".to_owned(), n + 1, (1..=n).collect()));
    let info =
        StudyInfo { name: "bench".into(), title: "bench".into(), seed: 1, variant: "full".into(), nodes: json!({}) };
    Study { name: "bench".into(), title: "bench".into(), seed: 1, variant: "full".into(), nodes, info }
}

/// CPU seconds of this process so far (in hundredths), as far as the system says.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn timed<T>(what: &str, n: usize, work: impl FnOnce() -> T) -> T {
    let (begun, before) = (Instant::now(), cpu_seconds());
    let result = work();
    let (wall, after) = (begun.elapsed().as_secs_f64(), cpu_seconds());
    let cpu = before.zip(after).map_or(String::new(), |(a, b)| format!("{:.2} CPU-s", b - a));
    println!("{what:<30} {n:>7} nodes {wall:>8.3} s {:>8.1} us/node {cpu:>14}", wall * 1e6 / n as f64);
    result
}

fn main() {
    let mut sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000];
    }
    for n in sizes {
        // In memory, unless a folder is named: then what syncing to its disk takes is in the cold run.
        let folder = std::env::var_os("STUDY_BENCH_DIR").unwrap_or_else(|| "/dev/shm".into());
        let dir = tempfile::tempdir_in(folder).or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let study = study(n);
        let (options, cancel) = (RunOptions { jobs: 2, ..RunOptions::default() }, AtomicBool::new(false));
        let executed = |state: State| run(&study, &store, &NoFiles, &options, &cancel, &|_| ()).unwrap().count(state);
        timed("plan on an empty store", n, || plan(&study, Some(&store), &NoFiles, &options).unwrap());
        assert_eq!(timed("cold run, two threads", n, || executed(State::Executed)), n + 2);
        for _ in 0..2 {
            assert_eq!(timed("no-op run", n, || executed(State::Cached)), n + 2);
        }
        timed("no-op plan", n, || plan(&study, Some(&store), &NoFiles, &options).unwrap());
    }
}
