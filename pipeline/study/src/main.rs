//! `study`: the command line of reproducible network studies.
//!
//! Parses the command line, renders problems and progress, publishes results, and maps outcomes to exit codes. What a study
//! means is decided in `study-spec` and the stage kinds, what runs in `study-engine`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod commands;
mod document;
mod drawing;
mod exit;
mod files;
mod load;
mod progress;
mod publish;
mod render;
mod signals;
mod terminal;
mod verdict;
mod wording;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process may be a child that enters a user namespace, for which it must have one thread.
    let arguments = match study_shaper::early_main(std::env::args_os()) {
        study_shaper::Early::Exit(code) => return code,
        study_shaper::Early::Continue(arguments) => arguments,
    };
    let cli = args::Cli::parse_from(arguments);
    let terminal = terminal::Terminal::detect(cli.color);
    match commands::execute(&cli, &terminal) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            terminal.failure(&failure);
            failure.exit.into()
        }
    }
}
