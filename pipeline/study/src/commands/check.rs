//! `study check`: every problem of every file; touches nothing but the files.

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::load::{SCHEMA_VERSION, check};
use crate::render;
use crate::terminal::{Paint, Terminal, to_stderr, to_stdout};
use crate::wording;
use serde_json::{Value, json};
use study_spec::Options;

pub fn execute(args: &CheckArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let options = Options { variant: args.variant.clone(), sets: args.sets.clone(), seed: None };
    let mut files: Vec<Value> = Vec::new();
    let (mut invalid, mut warned) = (false, false);
    for path in &args.files {
        let loaded = check(path, &options);
        let found = loaded.diagnostics.sorted();
        to_stderr(&render::diagnostics(&loaded.sources, &found, terminal.stderr));
        invalid |= loaded.study.is_none();
        warned |= !found.is_empty();
        let name = path.to_string_lossy();
        if let Some(study) = &loaded.study
            && !args.quiet
            && !args.json
        {
            let ok = terminal.stderr.paint(Paint::Green, "ok");
            to_stderr(&format!("{ok}: {name} ({})\n", wording::count(study.nodes.len(), "node")));
        }
        files.push(json!({
            "file": name, "valid": loaded.study.is_some(), "nodes": loaded.study.as_ref().map(|study| study.nodes.len()),
            "diagnostics": render::as_json(&loaded.sources, &found),
        }));
    }
    if args.json {
        let document = json!({ "schema_version": SCHEMA_VERSION, "files": files });
        to_stdout(format!("{document:#}\n").as_bytes())?;
    }
    Ok(match (invalid, warned && args.strict) {
        (true, _) => Exit::Usage,
        (false, true) => Exit::Unproven,
        (false, false) => Exit::Ok,
    })
}
