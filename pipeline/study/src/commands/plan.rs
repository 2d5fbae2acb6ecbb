//! `study plan`: what `study run` would do, why, and about how long it takes. Changes nothing.

use super::{jobs, options};
use crate::args::RunArgs;
use crate::document;
use crate::exit::{Exit, Failure};
use crate::load::{self, Telling};
use crate::terminal::{Stream, Terminal, to_stdout};
use crate::wording;
use serde_json::{Value, json};
use std::fmt::Write;
use study_engine::{NodeReport, State};
use study_store::Store;

pub fn execute(args: &RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let opened = load::open(&args.study, terminal, Telling { json: args.json, quiet: args.quiet })?;
    let store = Store::open_existing(&args.store.folder())?;
    let options = options(&args.select, jobs(args.jobs), args.fail_fast);
    let nodes = opened.checked(terminal, study_engine::plan(&opened.study, store.as_ref(), &opened.files, &options))?;
    if args.json {
        let mut document = document::head(&opened.study);
        document.insert("nodes".to_owned(), nodes.iter().map(document::node).collect());
        document.insert("execute".to_owned(), json!(document::count(&nodes, State::Execute)));
        document.insert("cached".to_owned(), json!(document::count(&nodes, State::Cached)));
        to_stdout(format!("{:#}\n", Value::Object(document)).as_bytes())?;
    } else {
        to_stdout(table(&opened.study.name, &nodes, terminal.stdout, args.verbose).as_bytes())?;
    }
    Ok(if opened.warned && args.strict { Exit::Unproven } else { Exit::Ok })
}

/// The plan for people.
fn table(study: &str, nodes: &[NodeReport], stream: Stream, verbose: bool) -> String {
    let due: Vec<&NodeReport> = nodes.iter().filter(|node| node.state == State::Execute).collect();
    let unknown = due.iter().filter(|node| node.seconds.is_none()).count();
    let known: f64 = due.iter().filter_map(|node| node.seconds).sum();
    let cost = match (due.len(), unknown) {
        (0, _) => String::new(),
        (_, 0) => format!(", about {} of work", wording::seconds(known)),
        (all, n) if all == n => ", cost unknown (never run)".to_owned(),
        (_, n) => {
            format!(", about {} of work and {} of unknown cost", wording::seconds(known), wording::count(n, "node"))
        }
    };
    let mut text = format!(
        "{study}: {}, {} to execute, {} cached{cost}\n\n",
        wording::count(nodes.len(), "node"),
        due.len(),
        document::count(nodes, State::Cached)
    );
    let width = nodes.iter().map(|node| node.id.chars().count()).max().unwrap_or(0);
    for node in nodes {
        let state = stream.paint(wording::state_paint(node.state), &format!("{:<8}", wording::state(node.state)));
        let cost = match (node.state, node.seconds) {
            (State::Execute, Some(seconds)) => wording::seconds(seconds),
            (State::Execute, None) => "?".to_owned(),
            _ => String::new(),
        };
        let mut why = match (&node.repetitions, node.state) {
            (Some(count), State::Cached) => wording::repetitions(count),
            _ => wording::reasons(&node.reasons),
        };
        if node.state == State::Execute && !node.certain {
            why.push_str(" (unless its inputs turn out as they were)");
        }
        let line = format!("{state}  {:<width$}  {cost:>10}  {why}", node.id);
        let _ = writeln!(text, "{}", line.trim_end());
        if verbose && let Some(key) = node.key {
            let _ = writeln!(text, "          {:<width$}  key {key}", "");
        }
    }
    text
}
