//! `study show`: a frame or file that a node made, without other tools.

use super::jobs;
use crate::args::{FrameFormat, ShowArgs};
use crate::exit::{Exit, Failure};
use crate::load::{self, Opened, Telling};
use crate::publish::with_labels;
use crate::terminal::{Terminal, to_stdout};
use crate::wording;
use std::collections::BTreeMap;
use std::fmt::Write;
use study_engine::{RunOptions, State, load_file, load_frame};
use study_spec::Study;
use study_store::{OutputRecord, Store};
use study_table::Table;

pub fn execute(args: &ShowArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if args.format == FrameFormat::Parquet && terminal.stdout.interactive {
        return Err(Failure::usage("a Parquet file is not for terminals").help("send it to a file: `> frame.parquet`"));
    }
    let opened = load::open(&args.study, terminal, Telling { json: false, quiet: true })?;
    let (nodes, output) = split(&opened.study, &args.what)?;
    let store = Store::open_existing(&args.store.folder())?;
    let made = made(&opened, store.as_ref(), terminal, &nodes, args)?;
    let Some(store) = store else { return Ok(Exit::Ok) };
    match output {
        None => to_stdout(listing(&opened.study, &made).as_bytes())?,
        Some(name) => to_stdout(&content(&opened.study, &store, &made, name, args)?)?,
    }
    Ok(Exit::Ok)
}

/// The nodes and the output that `NODE[.FRAME]` names. Ids hold dots themselves, so every dot is tried.
fn split<'w>(study: &Study, what: &'w str) -> Result<(Vec<usize>, Option<&'w str>), Failure> {
    let named = |name: &str| -> Vec<usize> {
        let by = |matches: &dyn Fn(&study_spec::PlannedNode) -> bool| {
            study.nodes.iter().enumerate().filter(|(_, node)| matches(node)).map(|(i, _)| i).collect::<Vec<_>>()
        };
        let one = by(&|node| node.id == name);
        if one.is_empty() { by(&|node| node.stage == name) } else { one }
    };
    let whole = named(what);
    if !whole.is_empty() {
        return Ok((whole, None));
    }
    for (dot, _) in what.match_indices('.') {
        let nodes = named(&what[..dot]);
        if !nodes.is_empty() {
            return Ok((nodes, Some(&what[dot + 1..])));
        }
    }
    let known: Vec<&str> = study.nodes.iter().flat_map(|node| [node.stage.as_str(), node.id.as_str()]).collect();
    let name = what.split('.').next().unwrap_or(what);
    let mut stages: Vec<&str> = study.nodes.iter().map(|node| node.stage.as_str()).collect();
    stages.dedup();
    let help =
        study_tree::did_you_mean(name, &known).unwrap_or_else(|| format!("its stages are {}", stages.join(", ")));
    Err(Failure::usage(format!("`{what}` names no node of this study")).help(help))
}

/// What the nodes made, by position.
type Made = BTreeMap<usize, Vec<OutputRecord>>;

fn made(
    opened: &Opened,
    store: Option<&Store>,
    terminal: &Terminal,
    nodes: &[usize],
    args: &ShowArgs,
) -> Result<Made, Failure> {
    let until = nodes.iter().map(|node| opened.study.nodes[*node].id.clone()).collect();
    let options = RunOptions { jobs: jobs(None), until, ..RunOptions::default() };
    let reports = opened.checked(terminal, study_engine::plan(&opened.study, store, &opened.files, &options))?;
    let mut made = Made::new();
    for node in nodes {
        let report = &reports[*node];
        let key = report.key.filter(|_| report.state == State::Cached);
        let head = match (key, store) {
            (Some(key), Some(store)) => store.record_head(&key)?,
            _ => None,
        };
        let head = head.ok_or_else(|| {
            let help = format!("run `study run {}` first", args.study.file.display());
            Failure::usage(format!("`{}` has no result in the store", report.id)).help(help)
        })?;
        made.insert(*node, head.outputs);
    }
    Ok(made)
}

/// Names, rows and sizes.
fn listing(study: &Study, made: &Made) -> String {
    let mut text = String::new();
    for (node, outputs) in made {
        let _ = writeln!(text, "{}", study.nodes[*node].id);
        for output in outputs {
            let rows = output.rows.map_or_else(String::new, |rows| wording::count(rows as usize, "row"));
            let _ = writeln!(text, "  {:<24} {:>14} {:>12}", output.name, rows, wording::bytes(output.bytes));
        }
    }
    text
}

fn content(study: &Study, store: &Store, made: &Made, name: &str, args: &ShowArgs) -> Result<Vec<u8>, Failure> {
    let found: Vec<(usize, &OutputRecord)> = made
        .iter()
        .flat_map(|(node, outputs)| outputs.iter().map(|output| (*node, output)))
        .filter(|(_, o)| o.name == name)
        .collect();
    let Some((_, first)) = found.first() else { return Err(no_such_output(made, name)) };
    if !first.frame {
        return Ok(load_file(store, first)?);
    }
    let mut tables = Vec::new();
    for (node, output) in &found {
        let table = load_frame(store, output)?;
        // One node's frame is shown as it is; those of several are told apart.
        tables.push(if found.len() > 1 { with_labels(&study.nodes[*node], table) } else { table });
    }
    let table =
        Table::stack(&tables.iter().collect::<Vec<_>>()).map_err(|e| Failure::new(Exit::Stage, e.to_string()))?;
    Ok(match args.format {
        FrameFormat::Table => study_frames::print_table(&table, args.rows).into_bytes(),
        FrameFormat::Csv => study_frames::write_csv(&table),
        FrameFormat::Json => format!("{:#}\n", study_frames::to_json(&table)).into_bytes(),
        FrameFormat::Parquet => study_frames::write_parquet(&table, &BTreeMap::new())
            .map_err(|e| Failure::new(Exit::Stage, e.to_string()))?,
    })
}

fn no_such_output(made: &Made, name: &str) -> Failure {
    let mut known: Vec<&str> = made.values().flatten().map(|output| output.name.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let help = study_tree::did_you_mean(name, &known).unwrap_or_else(|| format!("there are {}", known.join(", ")));
    Failure::usage(format!("there is no `{name}` among its outputs")).help(help)
}
