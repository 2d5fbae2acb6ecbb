//! `study why`: what a node's key is made of, and what differs from the nearest earlier entry.

use crate::args::WhyArgs;
use crate::document;
use crate::exit::{Exit, Failure};
use crate::load::{self, Telling};
use crate::terminal::{Terminal, to_stdout};
use crate::wording;
use serde_json::Value;
use std::fmt::Write;
use study_store::Store;

pub fn execute(args: &WhyArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let opened = load::open(&args.study, terminal, Telling { json: args.json, quiet: false })?;
    let store = Store::open_existing(&args.store.folder())?;
    let why = opened.checked(terminal, study_engine::why(&opened.study, store.as_ref(), &opened.files, &args.node))?;
    if args.json {
        let mut document = document::head(&opened.study);
        document.insert("why".to_owned(), serde_json::to_value(&why).expect("an explanation is plain data"));
        to_stdout(format!("{:#}\n", Value::Object(document)).as_bytes())?;
        return Ok(Exit::Ok);
    }
    let node = &why.node;
    let state = terminal.stdout.paint(wording::state_paint(node.state), wording::state(node.state));
    let key = node.key.map_or_else(|| "not known before its inputs are made".to_owned(), |key| key.to_string());
    let mut text = format!("{}: {state}\nkey: {key}\n", node.id);
    if let (Some(count), true) = (&node.repetitions, node.reasons.is_empty()) {
        let _ = writeln!(text, "{}", wording::repetitions(count));
    }
    for reason in &node.reasons {
        let _ = writeln!(text, "reason: {}", wording::reason(reason));
    }
    let _ = write!(text, "\nkey document:\n{:#}\n\n", why.document);
    if why.nearest.is_none() {
        text.push_str("there is no other earlier entry to compare with\n");
    } else {
        text.push_str("against the nearest earlier entry:\n");
        for difference in &why.differences {
            let _ = writeln!(text, "  {}", wording::reason(difference));
        }
    }
    to_stdout(text.as_bytes())?;
    Ok(Exit::Ok)
}
