//! `--set path=value`: one edit of the study, with its own place for messages.

use crate::keys::{TopKeys, suggest};
use crate::overlay::{Step, put};
use crate::yaml;
use study_stage::Registry;
use study_tree::{Diagnostic, Diagnostics, Node, SourceMap, Span, get_path};

/// Applies one `path=value`, as given on the command line.
pub(crate) fn apply(
    registry: &Registry,
    keys: &TopKeys,
    root: &mut Node,
    set: &str,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) {
    let source = sources.add(format!("--set {set}"), set);
    let Some((path, text)) = set.split_once('=') else {
        let span = Span { source, start: 0, end: set.len() as u32 };
        let diagnostic = Diagnostic::error("bad-set", span, format!("`{set}` has no `=`"));
        return diagnostics.push(diagnostic.help("write `path=value`, e.g. `bootstrap.resamples=2000`"));
    };
    if text.trim().is_empty() {
        let span = Span { source, start: 0, end: set.len() as u32 };
        let diagnostic = Diagnostic::error("bad-set", span, format!("`{}` is given no value", path.trim()));
        return diagnostics.push(diagnostic.help("write `path=value`; an empty text is `path=\"\"`"));
    }
    let value = yaml::parse(text, source, path.len() + 1, diagnostics);
    let steps = split(path, source).and_then(|steps| from_root(registry, keys, root, steps));
    match (steps, value) {
        (Ok(steps), Some(value)) => put(root, &steps, value),
        (Err(diagnostic), _) => diagnostics.push(*diagnostic),
        (Ok(_), None) => {} // reported while it was read
    }
}

type Refused = Box<Diagnostic>;

fn refuse<T>(span: Span, message: String, help: String) -> Result<T, Refused> {
    Err(Box::new(Diagnostic::error("bad-set", span, message).help(help)))
}

/// The steps of a path, each with its place.
fn split(path: &str, source: u32) -> Result<Vec<Step>, Refused> {
    let mut steps = Vec::new();
    let mut at = 0;
    for part in path.split('.') {
        let key = part.trim();
        let start = at + part.len() - part.trim_start().len();
        let span = Span { source, start: start as u32, end: (start + key.len()) as u32 };
        if key.is_empty() {
            let help = "begin with the name of a stage or a key of the study, e.g. `bootstrap.resamples=2000`";
            return refuse(span, format!("a part of the path `{path}` is empty"), help.to_owned());
        }
        steps.push((key.to_owned(), span));
        at += part.len() + 1;
    }
    Ok(steps)
}

/// The path from the root of the study.
fn from_root(registry: &Registry, keys: &TopKeys, root: &Node, mut steps: Vec<Step>) -> Result<Vec<Step>, Refused> {
    let (first, span) = steps[0].clone();
    let section = registry.sections.iter().any(|s| s.name == first);
    match first.as_str() {
        "stages" if steps.len() > 1 => in_stage(root, steps),
        "ci" | "stages" => refuse(
            span,
            format!("`{first}` cannot be set"),
            "set the keys themselves; a variant is laid over the study before `--set`".to_owned(),
        ),
        name if section => {
            if steps.len() > 2 {
                let known = names_in(root.get(name));
                check_known(&steps[1], &known, &format!("is not defined in `{name}`"))?;
            }
            Ok(steps)
        }
        name if keys.contains(name) => Ok(steps),
        _ => {
            let mut known = names_in(root.get("stages"));
            let stage = known.contains(&first.as_str());
            known.extend(keys.all().iter().filter(|k| !matches!(**k, "ci" | "stages")));
            if !stage {
                check_known(&steps[0], &known, "is neither a stage nor a key of the study")?;
            }
            steps.insert(0, ("stages".to_owned(), span));
            in_stage(root, steps)
        }
    }
}

/// Checks a path that begins with `stages`, and makes one step of an axis of its matrix, whose key has dots in it.
fn in_stage(root: &Node, mut steps: Vec<Step>) -> Result<Vec<Step>, Refused> {
    check_known(&steps[1], &names_in(root.get("stages")), "is not a stage")?;
    let (name, span) = &steps[1];
    if steps.len() == 2 {
        let message = format!("`{name}` is a stage, not a parameter");
        return refuse(*span, message, format!("name the parameter too: `{name}.PARAMETER=value`"));
    }
    if steps[2].0 == "matrix" && steps.len() > 3 {
        let axis: Vec<Step> = steps.drain(3..).collect();
        let span = Span { end: axis[axis.len() - 1].1.end, ..axis[0].1 };
        let names: Vec<String> = axis.into_iter().map(|(key, _)| key).collect();
        steps.push((names.join("."), span));
    }
    Ok(steps)
}

/// Keys of a mapping, or ids of the items of a list.
fn names_in(node: Option<&Node>) -> Vec<&str> {
    let Some(node) = node else { return Vec::new() };
    let ids = node.items().unwrap_or_default().iter().filter_map(|i| i.get("id")?.text());
    node.entries().unwrap_or_default().iter().map(|e| e.key.as_str()).chain(ids).collect()
}

fn check_known((name, span): &Step, known: &[&str], problem: &str) -> Result<(), Refused> {
    if known.contains(&name.as_str()) {
        return Ok(());
    }
    refuse(*span, format!("`{name}` {problem}"), suggest(name, known, "known are"))
}

/// Reports a `--set` of a parameter that the stage's own matrix varies: no cell would have the value.
pub(crate) fn check_axis(own: &Node, stage: &str, axis: &str, axis_span: Span, diagnostics: &mut Diagnostics) {
    // Source 0 is the study file, every other one an argument.
    let Some(value) = get_path(own, axis).filter(|n| n.span.source != 0) else { return };
    let message = format!("`{axis}` is varied by the matrix of `{stage}`, so this value would never be used");
    diagnostics.push(
        Diagnostic::error("bad-set", value.span, message)
            .related(axis_span, "varied here")
            .help(format!("set the axis: `{stage}.matrix.{axis}=[...]`")),
    );
}
