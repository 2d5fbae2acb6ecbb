//! `study node`: one emulated role in a process of its own.

use crate::args::NodeArgs;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::signals::end_flags;
use crate::terminal::{Terminal, to_stderr};
use serde_json::Value;
use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use study_spec::Document;
use study_stacks::node::{self, NodeEnd, NodeError, NodeParams};

pub fn execute(args: &NodeArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if let Some(parent) = args.parent {
        study_shaper::end_with_parent(parent).map_err(|error| Failure::environment(error.to_string()))?;
    }
    let params = params(args, terminal)?;
    let flags = end_flags()?;
    match node::run(&params, &mut line, &flags.end) {
        Ok(_) if flags.interrupted.load(Ordering::Acquire) => Ok(Exit::Interrupted),
        Ok(NodeEnd::Well) => Ok(Exit::Ok),
        Ok(NodeEnd::Stopped) => Ok(Exit::Interrupted),
        Ok(NodeEnd::Failed(count)) => {
            Err(Failure::new(Exit::Stage, format!("{count} transfers failed; each has its line")))
        }
        Err(error) => {
            let exit = if error.is_environment() { Exit::Environment } else { Exit::Stage };
            Err(Failure::new(exit, error.to_string()).maybe_help(error.cure()))
        }
    }
}

/// The settings: the document, then `--set`, then the flags.
fn params(args: &NodeArgs, terminal: &Terminal) -> Result<NodeParams, Failure> {
    let (name, bytes) = document(args)?;
    let mut document = Document::new(&name, &bytes);
    args.sets.iter().for_each(|set| document.set(set));
    for (flag, path, text) in args.flags() {
        document.text(flag, path, text);
    }
    let role = args.role.into();
    let params = document.decode_with(|node, cx| NodeParams::decode(role, node, cx));
    params.ok_or_else(|| {
        to_stderr(&render::diagnostics(&document.sources, &document.diagnostics.sorted(), terminal.stderr));
        Failure::reported(Exit::Usage)
    })
}

fn document(args: &NodeArgs) -> Result<(String, Vec<u8>), Failure> {
    let Some(path) = &args.settings else { return Ok(("settings".to_owned(), Vec::new())) };
    let mut bytes = Vec::new();
    let from_stdin = path.as_os_str() == "-";
    let read = if from_stdin {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    let name = if from_stdin { "stdin".to_owned() } else { path.display().to_string() };
    read.map_err(|error| Failure::usage(format!("cannot read the settings in `{name}`: {error}")))?;
    Ok((name, bytes))
}

/// One line, at once: whoever started the role waits for it.
fn line(value: &Value) -> Result<(), NodeError> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{value}")
        .and_then(|()| stdout.flush())
        .map_err(|error| NodeError::Output { reason: error.to_string() })
}
