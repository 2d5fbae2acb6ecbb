//! `study kinds`: what a stage can be.

use crate::args::KindsArgs;
use crate::exit::{Exit, Failure};
use crate::load::SCHEMA_VERSION;
use crate::terminal::to_stdout;
use serde_json::{Value, json};
use std::fmt::Write;
use study_stage::Kind;

pub fn execute(args: &KindsArgs) -> Result<Exit, Failure> {
    let registry = &study_kinds::REGISTRY;
    if args.json {
        let kinds: Vec<Value> = registry.kinds.iter().map(|kind| as_json(*kind)).collect();
        let section = |s: &study_stage::Section| json!({ "name": s.name, "named": s.named, "schema": (s.schema)() });
        let sections: Vec<Value> = registry.sections.iter().map(section).collect();
        let document = json!({ "schema_version": SCHEMA_VERSION, "kinds": kinds, "sections": sections });
        to_stdout(format!("{document:#}\n").as_bytes())?;
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    for kind in registry.kinds {
        let _ = writeln!(text, "{}  {}", kind.name(), kind.summary());
        for (word, names) in [("reads", kind.takes()), ("writes", kind.gives())] {
            if !names.is_empty() {
                let names: Vec<&str> = names.iter().map(|name| if *name == "*" { "any frame" } else { name }).collect();
                let _ = writeln!(text, "    {word} {}", names.join(", "));
            }
        }
    }
    to_stdout(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn as_json(kind: &dyn Kind) -> Value {
    json!({
        "name": kind.name(), "summary": kind.summary(), "version": kind.version(), "takes": kind.takes(),
        "requires": kind.requires(), "gives": kind.gives(), "inherits": kind.inherits(),
        "uses_seed": kind.uses_seed(), "sees_study": kind.sees_study(), "parameters": kind.schema(),
    })
}
