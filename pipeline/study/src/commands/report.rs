//! `study report`: the report again, from cached results.

use super::jobs;
use super::run::Session;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::load::{self, Telling};
use crate::publish;
use crate::terminal::Terminal;
use std::path::Path;
use std::process::{Command, Stdio};
use study_engine::{RunOptions, State};
use study_store::Store;

const KIND: &str = "report";

pub fn execute(args: &ReportArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let opened = load::open(&args.study, terminal, Telling { json: false, quiet: args.quiet })?;
    let store_folder = args.store.folder();
    let store = Store::open_existing(&store_folder)?;
    let is_report = |node: &&study_spec::PlannedNode| node.kind.name() == KIND;
    let reports: Vec<String> = opened.study.nodes.iter().filter(is_report).map(|node| node.id.clone()).collect();
    if reports.is_empty() {
        return Err(Failure::usage("this study has no report").help("add a stage of kind `report`"));
    }
    let planned = study_engine::plan(&opened.study, store.as_ref(), &opened.files, &RunOptions::default());
    let plan = opened.checked(terminal, planned)?;
    let missing = plan.iter().filter(|node| node.state != State::Cached && !reports.contains(&node.id)).count();
    if missing > 0 {
        let help = format!("run `study run {}` first", args.study.file.display());
        return Err(
            Failure::usage(format!("{missing} of the results that the report is made of are not cached")).help(help)
        );
    }
    let session = Session {
        opened: &opened,
        store_folder,
        results: publish::folder(&args.out, &opened.study),
        options: RunOptions { jobs: jobs(None), force: reports, ..RunOptions::default() },
        terminal,
        quiet: args.quiet,
        verbose: false,
    };
    let done = session.run()?;
    session.tell(&done, true)?;
    if args.open && done.results.is_some() {
        open(&session.results.join("report.html"))?;
    }
    Ok(done.exit(&session, false))
}

/// Shows a file with the program that the desktop has for it.
fn open(path: &Path) -> Result<(), Failure> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started =
        Command::new(program).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match started {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::environment(format!("cannot open `{}` with `{program}`", path.display()))
            .help("open it in a browser by hand")),
    }
}
