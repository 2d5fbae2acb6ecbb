//! `study import`: foreign inputs become YAML for a study, on stdout; what is wrong or differs goes to stderr.

use crate::args::{ImportCommand, NetemArgs, PresetArgs, ShapedWay};
use crate::exit::{Exit, Failure};
use crate::load::SCHEMA_VERSION;
use crate::render;
use crate::terminal::{Terminal, to_stderr, to_stdout};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use study_import::netem::{self, Settings, Shaped};
use study_import::{LinkProfile, presets, profile};
use study_tree::{Diagnostics, SourceMap, did_you_mean};

pub fn execute(command: &ImportCommand, terminal: &Terminal) -> Result<Exit, Failure> {
    match command {
        ImportCommand::Netem(args) => netem(args, terminal),
        ImportCommand::Preset(PresetArgs { name: Some(name), json }) => preset(name, *json),
        ImportCommand::Preset(PresetArgs { name: None, json }) => list(*json),
    }
}

fn netem(args: &NetemArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    if let Some(name) = &args.name {
        check_name(name)?;
    }
    let (name, text) = input(&args.input)?;
    let mut sources = SourceMap::default();
    let source = sources.add(name, text.clone());
    let shaped = match args.direction {
        ShapedWay::Down => Shaped::Down,
        ShapedWay::Up => Shaped::Up,
        ShapedWay::Both => Shaped::Both,
    };
    let mut problems = Diagnostics::default();
    let profiles = netem::import(&text, &Settings { shaped, name: args.name.clone(), source }, &mut problems);
    let found = problems.sorted();
    to_stderr(&render::diagnostics(&sources, &found, terminal.stderr));
    if args.json {
        print_json(&profiles, render::as_json(&sources, &found))?;
    } else if !profiles.is_empty() {
        to_stdout(profile::yaml(&profiles).as_bytes())?;
    }
    Ok(match (problems.has_errors(), problems.is_empty()) {
        (true, _) => Exit::Usage,
        (false, false) if args.strict => Exit::Unproven,
        _ => Exit::Ok,
    })
}

/// Name and text of the input: a file, standard input, or the words themselves.
fn input(words: &[String]) -> Result<(String, String), Failure> {
    let [word] = words else { return Ok(("the command line".to_owned(), words.join(" "))) };
    let limit = netem::LONGEST as u64 + 1;
    let mut bytes = Vec::new();
    let (name, read) = if word == "-" {
        ("standard input", std::io::stdin().lock().take(limit).read_to_end(&mut bytes))
    } else if Path::new(word).is_file() {
        (word.as_str(), std::fs::File::open(word).and_then(|file| file.take(limit).read_to_end(&mut bytes)))
    } else if Path::new(word).is_dir() {
        return Err(Failure::usage(format!("`{word}` is a folder")).help("name a script in it"));
    } else if word.contains(char::is_whitespace) || word.is_empty() {
        return Ok(("the command line".to_owned(), word.clone()));
    } else {
        let help = "name a script, `-` for standard input, or give a command line in quotes, e.g. \
                    `\"tc qdisc add dev eth0 root netem delay 50ms\"`";
        return Err(Failure::usage(format!("`{word}` does not exist")).help(help));
    };
    read.map_err(|error| {
        Failure::usage(format!("`{name}` cannot be read: {error}")).help("check the path and its permissions")
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("`{name}` is not text: byte {} is not UTF-8", at + 1))
            .help("give a script of tc commands")
    })?;
    Ok((name.to_owned(), text))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 60 && name.chars().all(safe) && !name.starts_with('-') {
        return Ok(());
    }
    let help = "use up to 60 of the characters a-z A-Z 0-9 _ -, not beginning with -";
    Err(Failure::usage(format!("`{name}` cannot be the name of a link")).help(help))
}

fn preset(name: &str, as_json: bool) -> Result<Exit, Failure> {
    let Some(profiles) = presets::find(name) else {
        let names: Vec<String> = presets::list().into_iter().map(|entry| entry.name).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let help = did_you_mean(&profile::name_of(name), &known)
            .unwrap_or_else(|| "`study import preset` lists them".to_owned());
        return Err(Failure::usage(format!("there is no preset `{name}`")).help(help));
    };
    if as_json {
        print_json(&profiles, json!([]))?;
    } else {
        to_stdout(profile::yaml(&profiles).as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn list(as_json: bool) -> Result<Exit, Failure> {
    let entries = presets::list();
    if as_json {
        let presets: Vec<Value> = entries
            .iter()
            .map(|entry| json!({ "name": entry.name, "source": entry.source, "licence": entry.licence }))
            .collect();
        let document = json!({ "schema_version": SCHEMA_VERSION, "presets": presets });
        to_stdout(format!("{document:#}\n").as_bytes())?;
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    let mut source = "";
    for entry in &entries {
        if entry.source != source {
            source = entry.source;
            let _ = writeln!(text, "{source} ({})", entry.licence);
        }
        let _ = writeln!(text, "    {}", entry.name);
    }
    to_stdout(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn print_json(profiles: &[LinkProfile], diagnostics: Value) -> Result<(), Failure> {
    let links: Vec<Value> = profiles.iter().map(LinkProfile::json).collect();
    let document = json!({
        "schema_version": SCHEMA_VERSION, "links": links, "diagnostics": diagnostics,
        "yaml": if profiles.is_empty() { Value::Null } else { profile::yaml(profiles).into() },
    });
    to_stdout(format!("{document:#}\n").as_bytes())
}
