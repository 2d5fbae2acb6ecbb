//! The exact configuration, and the command that makes the report again.

use super::plan::{Plan, stage_of};
use serde_json::Value;
use std::fmt::Write;
use study_stage::StudyInfo;

/// The command.
pub(super) fn command(study: &StudyInfo) -> String {
    let variant = if study.variant == "full" { String::new() } else { format!(" --variant {}", study.variant) };
    format!("study run studies/{}.yaml --seed {}{variant}", study.name, study.seed)
}

/// One text per stage: the parameters of its first node, and how its other cells differ.
pub(super) fn texts(plan: &Plan<'_>) -> Vec<(String, String)> {
    let mut stages: Vec<(&str, Vec<(&str, &Value)>)> = Vec::new();
    for (id, node) in plan.nodes() {
        match stages.iter_mut().find(|(stage, _)| *stage == stage_of(id)) {
            Some((_, nodes)) => nodes.push((id, node)),
            None => stages.push((stage_of(id), vec![(id, node)])),
        }
    }
    stages.into_iter().map(|(stage, nodes)| (stage.to_owned(), text(&nodes))).collect()
}

fn text(nodes: &[(&str, &Value)]) -> String {
    let mut out = String::new();
    let Some(((id, first), others)) = nodes.split_first() else { return out };
    if !others.is_empty() {
        writeln!(out, "# {id}").expect(INFALLIBLE);
    }
    yaml(&mut out, first, 0);
    for (id, node) in others {
        writeln!(out, "# {id}: the same but for").expect(INFALLIBLE);
        let mut differences = Vec::new();
        differ("", first, node, &mut differences);
        differences.iter().for_each(|(path, value)| writeln!(out, "#   {path}: {value}").expect(INFALLIBLE));
    }
    out
}

const INFALLIBLE: &str = "writing to a text cannot fail";

/// Leaves of `b` that are not those of `a`, by path.
fn differ(path: &str, a: &Value, b: &Value, out: &mut Vec<(String, String)>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            for key in keys {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differ(&below, x.get(key).unwrap_or(&Value::Null), y.get(key).unwrap_or(&Value::Null), out);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (i, (x, y)) in x.iter().zip(y).enumerate() {
                differ(&format!("{path}[{i}]"), x, y, out);
            }
        }
        _ if a != b => out.push((path.to_owned(), scalar(b))),
        _ => {}
    }
}

/// JSON as YAML blocks: every value that is not a collection stands on a line of its own.
fn yaml(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, item) in map {
                entry(out, &format!("{indent}{}:", plain(key)), item, depth);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| entry(out, &format!("{indent}-"), item, depth)),
        _ => writeln!(out, "{indent}{}", scalar(value)).expect(INFALLIBLE),
    }
}

fn entry(out: &mut String, head: &str, value: &Value, depth: usize) {
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        writeln!(out, "{head}").expect(INFALLIBLE);
        yaml(out, value, depth + 1);
    } else {
        writeln!(out, "{head} {}", scalar(value)).expect(INFALLIBLE);
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        other => other.to_string(),
    }
}

/// A text without quotes where no reader of YAML could take it for something else.
fn plain(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '/' | '%' | '-');
    let safe = text.starts_with(|c: char| c.is_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(word)
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    // `20 Mbit/s`: a number with a unit is a text as well.
    let quantity = text.split_once(' ').is_some_and(|(number, unit)| {
        number.parse::<f64>().is_ok()
            && unit.starts_with(|c: char| c.is_alphabetic() || c == '%')
            && unit.chars().all(word)
    });
    if safe || quantity { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn configuration_is_yaml_that_keeps_types_apart() {
        let mut out = String::new();
        let value = json!({
            "arms": [{ "name": "h2" }, { "name": "h3" }],
            "empty": {}, "none": null, "rate": "20 Mbit/s", "text": "3", "truth": "true", "number": 3, "share": "0.036"
        });
        yaml(&mut out, &value, 0);
        assert_eq!(
            out,
            "arms:\n  -\n    name: h2\n  -\n    name: h3\nempty: {}\nnone: null\nnumber: 3\nrate: 20 Mbit/s\n\
             share: \"0.036\"\ntext: \"3\"\ntruth: \"true\"\n"
        );
    }

    #[test]
    fn cells_are_told_by_their_differences() {
        let nodes = [
            ("t[p=1]", &json!({ "params": { "player": { "prefetch": 1 }, "runs": 40 } })),
            ("t[p=3]", &json!({ "params": { "player": { "prefetch": 3 }, "runs": 40 } })),
        ];
        assert_eq!(
            text(&nodes),
            "# t[p=1]\nparams:\n  player:\n    prefetch: 1\n  runs: 40\n# t[p=3]: the same but for\n#   params.player.prefetch: 3\n"
        );
    }
}
