//! `cargo xtask check`: all checks, one after the other; the first failure does not hide the others.

use crate::{Outcome, command, generate, golden, layers, sharing, tidy, validation};
use std::time::Instant;

/// Lints beside those of `[workspace.lints]`: they need no line in the manifest, and cost nothing while editing.
const CLIPPY: &[&str] = &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
const MORE_LINTS: &[&str] = &["-D", "clippy::too_many_lines", "-D", "clippy::iter_over_hash_type"];

/// A check by name.
type Step = (&'static str, fn() -> Outcome);

/// Runs them.
pub fn run(with_tests: bool) -> Outcome {
    let tests: Step = ("tests", || command::run("cargo", &["test", "--quiet", "--workspace"]));
    let mut steps: Vec<Step> = vec![
        ("formatting", || command::run("cargo", &["fmt", "--all", "--check"])),
        ("layers", layers::check),
        ("tidiness", tidy::check),
        ("shared builds", sharing::check),
        ("clippy", || command::run("cargo", &[CLIPPY, MORE_LINTS].concat())),
        ("generated files", generate::check),
        ("page of validation", validation::check),
        ("golden digests", || golden::check(&[])),
    ];
    if with_tests {
        steps.insert(5, tests);
    }
    let mut failed = Vec::new();
    for (name, step) in steps {
        let began = Instant::now();
        let outcome = step();
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => eprintln!("ok      {name} ({seconds:.1} s)"),
            Err(problems) => {
                eprintln!("FAILED  {name} ({seconds:.1} s)");
                failed.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed) }
}
