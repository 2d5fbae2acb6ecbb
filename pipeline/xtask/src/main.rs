//! Checks and generated files of this repository. It imports nothing of ours: it reads manifests and sources, and runs
//! the `study` binary like a user would.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod command;
mod gallery;
mod generate;
mod golden;
mod layers;
mod reference;
mod sharing;
mod tidy;
mod validation;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  check [--no-tests]         everything that has to hold before a change is handed in
  layers                     which crate may import which
  tidy                       sizes, names and manifests
  generate                   write docs/reference/ again
  validation [--check]       run the reference tests and write docs/models/validation.md from what they measured
  golden [--update] [NAME..] compare the shipped studies' digests with studies/golden/ (their small variant)
  gallery [NAME..]           run the shipped studies whole and copy their reports into reports/gallery/
";

/// A failure is a list of things to mend.
type Outcome = Result<(), Vec<String>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["check"] => check::run(true),
        ["check", "--no-tests"] => check::run(false),
        ["layers"] => layers::check(),
        ["tidy"] => tidy::check(),
        ["generate"] => generate::write(),
        ["golden", "--update", names @ ..] => golden::update(names),
        ["golden", names @ ..] => golden::check(names),
        ["validation"] => validation::write(),
        ["validation", "--check"] => validation::check(),
        ["gallery", names @ ..] => gallery::run(names),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            for problem in problems {
                eprintln!("error: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}
