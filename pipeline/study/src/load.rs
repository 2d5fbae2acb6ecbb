//! From a path on the command line to a checked study, with its problems reported.

use crate::args::StudyArgs;
use crate::exit::{Exit, Failure};
use crate::files::{StudyFolder, read_study};
use crate::render;
use crate::terminal::{Terminal, to_stderr, to_stdout};
use serde_json::json;
use std::path::Path;
use study_engine::{EngineError, FileSource};
use study_spec::{Loaded, Options, Study};
use study_tree::{Diagnostic, Diagnostics, SourceMap, Span};

/// Version of every JSON document that this program prints.
pub const SCHEMA_VERSION: u32 = 1;

/// A study that can be planned.
pub struct Opened {
    /// The study.
    pub study: Study,
    /// The files beside it.
    pub files: StudyFolder,
    /// Whether there were warnings.
    pub warned: bool,
    sources: SourceMap,
}

impl Opened {
    /// What the engine says, with problems that have a place in the study shown there.
    pub fn checked<T>(&self, terminal: &Terminal, outcome: Result<T, EngineError>) -> Result<T, Failure> {
        outcome.map_err(|error| match error {
            EngineError::Files(problems) => {
                let found: Vec<Diagnostic> = problems.iter().map(|p| unreadable(p.span, &p.path, &p.message)).collect();
                let found: Vec<&Diagnostic> = found.iter().collect();
                to_stderr(&render::diagnostics(&self.sources, &found, terminal.stderr));
                Failure::reported(Exit::Usage)
            }
            error => engine_failure(error),
        })
    }
}

/// A file that a study names and that cannot be read.
fn unreadable(span: Span, path: &str, why: &str) -> Diagnostic {
    Diagnostic::error("unreadable-file", span, format!("`{path}` cannot be read: {why}"))
        .help("paths are relative to the study file")
}

fn engine_failure(error: EngineError) -> Failure {
    let help = error.help();
    match error {
        EngineError::Store(error) => error.into(),
        EngineError::UnknownNode { .. }
        | EngineError::SeveralNodes { .. }
        | EngineError::InputsNotCached { .. }
        | EngineError::Files(_) => Failure::usage(error.to_string()).maybe_help(help),
        EngineError::Threads(_) => Failure::environment(error.to_string()).maybe_help(help),
        EngineError::Order { .. } => Failure::new(Exit::Stage, error.to_string()).maybe_help(help),
    }
}

/// How problems are told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Telling {
    /// Errors also as one JSON document on stdout.
    pub json: bool,
    /// Warnings are not shown.
    pub quiet: bool,
}

/// Reads and checks one file.
pub fn load(path: &Path, options: &Options) -> Loaded {
    let name = path.to_string_lossy();
    match read_study(path) {
        Ok(bytes) => study_spec::load(&study_kinds::REGISTRY, &name, &bytes, options),
        Err(problem) => {
            let mut sources = SourceMap::default();
            sources.add(name, "");
            let mut diagnostics = Diagnostics::default();
            diagnostics.push(problem);
            Loaded { sources, diagnostics, study: None }
        }
    }
}

/// Checks one file and the files that it names.
pub fn check(path: &Path, options: &Options) -> Loaded {
    let mut loaded = load(path, options);
    let files = StudyFolder::of(path);
    let requests = loaded.study.iter().flat_map(|study| &study.nodes).flat_map(|node| &node.files);
    let mut missing = Diagnostics::default();
    for request in requests {
        if let Err(error) = files.read(&request.path) {
            missing.push(unreadable(request.span, &request.path, &error.to_string()));
        }
    }
    if missing.has_errors() {
        loaded.diagnostics.append(missing);
        loaded.study = None;
    }
    loaded
}

/// Reads the study of a command; an invalid one is reported and ends the command.
pub fn open(args: &StudyArgs, terminal: &Terminal, telling: Telling) -> Result<Opened, Failure> {
    let options = Options { variant: args.variant.clone(), sets: args.sets.clone(), seed: args.seed };
    let loaded = load(&args.file, &options);
    let found = loaded.diagnostics.sorted();
    let Some(study) = loaded.study else {
        to_stderr(&render::diagnostics(&loaded.sources, &found, terminal.stderr));
        if telling.json {
            let document =
                json!({ "schema_version": SCHEMA_VERSION, "diagnostics": render::as_json(&loaded.sources, &found) });
            to_stdout(format!("{document:#}\n").as_bytes())?;
        }
        return Err(Failure::reported(Exit::Usage));
    };
    if !telling.quiet {
        to_stderr(&render::diagnostics(&loaded.sources, &found, terminal.stderr));
    }
    Ok(Opened { study, files: StudyFolder::of(&args.file), warned: !found.is_empty(), sources: loaded.sources })
}
