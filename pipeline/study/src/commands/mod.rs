//! One module per command.

mod cache;
mod check;
mod doctor;
mod graph;
mod import;
mod kinds;
mod node;
mod plan;
mod report;
mod run;
mod schema;
mod show;
mod why;

use crate::args::{Cli, Command, SelectArgs};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use std::num::NonZero;
use study_engine::RunOptions;

/// Does what was asked.
pub fn execute(cli: &Cli, terminal: &Terminal) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Run(args) if args.dry_run => plan::execute(args, terminal),
        Command::Run(args) => run::execute(args, terminal),
        Command::Plan(args) => plan::execute(args, terminal),
        Command::Why(args) => why::execute(args, terminal),
        Command::Check(args) => check::execute(args, terminal),
        Command::Graph(args) => graph::execute(args, terminal),
        Command::Show(args) => show::execute(args, terminal),
        Command::Report(args) => report::execute(args, terminal),
        Command::Kinds(args) => kinds::execute(args),
        Command::Schema => schema::execute(),
        Command::Import(command) => import::execute(command, terminal),
        Command::Doctor(args) => doctor::execute(args, terminal),
        Command::Node(args) => node::execute(args, terminal),
        Command::Cache(command) => cache::execute(command, terminal),
    }
}

/// Nodes at once: as asked, or one per core.
fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get), usize::from)
}

/// What the engine is told.
fn options(select: &SelectArgs, jobs: usize, fail_fast: bool) -> RunOptions {
    RunOptions {
        jobs,
        force: select.force.clone(),
        from: select.from.clone(),
        only: select.only.clone(),
        until: select.until.clone(),
        fail_fast,
    }
}
