//! What differs between two key documents, field by field.

use crate::Reason;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// More differences than this are counted, not listed.
const LISTED: usize = 24;
/// Longer values are cut.
const LONGEST: usize = 160;

/// What differs from `old` to `new`, two key documents of one node. Never empty for documents with different keys.
#[must_use]
pub fn differences(old: &Value, new: &Value) -> Vec<Reason> {
    let empty = Map::new();
    let (old_map, new_map) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let mut found = Vec::new();
    for section in ["kind", "version", "source", "format", "params", "inputs", "files", "seed", "study", "environment"]
    {
        let (old, new) = (old_map.get(section), new_map.get(section));
        if old == new {
            continue;
        }
        match section {
            "inputs" => compare_inputs(old, new, &mut found),
            "source" => found.push(leaf("stage-version", section, shortened(old), shortened(new))),
            _ => compare(code_of(section), section, old, new, &mut found),
        }
    }
    if found.is_empty() && old != new {
        found.push(Reason::about("stage-version", "document"));
    }
    if found.len() > LISTED {
        let more = found.len() - LISTED;
        found.truncate(LISTED);
        found.push(Reason::about(found[LISTED - 1].code, format!("({more} more)")));
    }
    found
}

fn code_of(section: &str) -> &'static str {
    match section {
        "params" | "study" => "param",
        "files" => "input",
        "seed" => "seed",
        "environment" => "environment",
        _ => "stage-version",
    }
}

fn compare(code: &'static str, path: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Reason>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let code = if path == "study" && key == "seed" { "seed" } else { code };
                compare(code, &format!("{path}.{key}"), old.get(key), new.get(key), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                compare(code, &format!("{path}[{i}]"), Some(old), Some(new), found);
            }
        }
        _ if path.starts_with("files") || path == "study.nodes" => {
            found.push(leaf(code, path, shortened(old), shortened(new)));
        }
        _ => found.push(leaf(code, path, old.map(text_of), new.map(text_of))),
    }
}

/// Inputs are matched by frame and node, so that one more cell is one more input and nothing else.
fn compare_inputs(old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Reason>) {
    let (old, new) = (by_name(old), by_name(new));
    let before = found.len();
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name).copied(), new.get(name).copied());
        let digest = |input: Option<&Value>| shortened(input.and_then(|i| i.get("digest")));
        let axes = |input: Option<&Value>| input.and_then(|i| i.get("axes")).cloned();
        if digest(old) != digest(new) {
            found.push(leaf("input", name, digest(old), digest(new)));
        } else if axes(old) != axes(new) {
            compare("input", &format!("{name}.axes"), axes(old).as_ref(), axes(new).as_ref(), found);
        }
    }
    if found.len() == before {
        found.push(Reason::about("input", "inputs (order)"));
    }
}

fn by_name(inputs: Option<&Value>) -> BTreeMap<String, &Value> {
    let text = |input: &Value, key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let items = inputs.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|input| (input_path(&text(input, "frame"), &text(input, "node")), input)).collect()
}

/// How a reason names an input.
pub(crate) fn input_path(frame: &str, node: &str) -> String {
    format!("inputs.{frame}[{node}]")
}

fn leaf(code: &'static str, path: &str, old: Option<String>, new: Option<String>) -> Reason {
    Reason { code, field: Some(path.to_owned()), old, new }
}

fn text_of(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() > LONGEST { text.chars().take(LONGEST).chain(['…']).collect() } else { text }
}

/// A digest, as people compare them.
fn shortened(value: Option<&Value>) -> Option<String> {
    value.filter(|v| !v.is_null()).map(|v| text_of(v).chars().take(12).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "format": 1, "kind": "simulate", "version": 3, "source": "ab".repeat(32), "seed": 1,
            "params": { "player": { "prefetch": 3, "abr": "bba" }, "arms": ["h2", "h3"] },
            "inputs": [
                { "frame": "titles", "node": "catalog", "axes": {}, "digest": "11".repeat(32) },
                { "frame": "clients", "node": "routing", "axes": { "x": "1" }, "digest": "22".repeat(32) },
            ],
            "files": ["33".repeat(32)],
            "study": { "name": "s", "title": "t", "seed": 1, "variant": "full", "nodes": "44".repeat(32) },
        })
    }

    fn after(change: impl Fn(&mut Value)) -> Vec<String> {
        let mut new = document();
        change(&mut new);
        differences(&document(), &new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_field_has_its_code_its_path_and_both_values() {
        assert_eq!(differences(&document(), &document()), []);
        assert_eq!(after(|d| d["params"]["player"]["prefetch"] = json!(1)), ["param params.player.prefetch: 3 -> 1"]);
        assert_eq!(after(|d| d["params"]["arms"][1] = json!("h1")), ["param params.arms[1]: h3 -> h1"]);
        assert_eq!(after(|d| d["params"]["arms"] = json!(["h2"])), [r#"param params.arms: ["h2","h3"] -> ["h2"]"#]);
        assert_eq!(after(|d| d["params"]["new"] = json!(true)), ["param params.new: added true"]);
        assert_eq!(after(|d| d["version"] = json!(4)), ["stage-version version: 3 -> 4"]);
        assert_eq!(after(|d| d["source"] = json!("cd")), ["stage-version source: abababababab -> cd"]);
        assert_eq!(after(|d| d["seed"] = json!(2)), ["seed seed: 1 -> 2"]);
        assert_eq!(after(|d| d["study"]["seed"] = json!(2)), ["seed study.seed: 1 -> 2"]);
        assert_eq!(after(|d| d["study"]["title"] = json!("u")), ["param study.title: t -> u"]);
        assert_eq!(after(|d| d["files"][0] = json!("ff")), ["input files[0]: 333333333333 -> ff"]);
        assert_eq!(
            after(|d| d["inputs"][0]["digest"] = json!("99")),
            ["input inputs.titles[catalog]: 111111111111 -> 99"]
        );
        assert_eq!(
            after(|d| d["inputs"][1]["axes"]["x"] = json!("2")),
            ["input inputs.clients[routing].axes.x: 1 -> 2"]
        );
        assert_eq!(
            after(|d| {
                d["inputs"].as_array_mut().unwrap().remove(0);
            }),
            ["input inputs.titles[catalog]: removed 111111111111"]
        );
        assert_eq!(after(|d| d["inputs"].as_array_mut().unwrap().reverse()), ["input inputs (order)"]);
    }

    #[test]
    fn many_differences_are_counted_not_listed() {
        let of = |n: usize, shift: usize| json!({ "params": (0..n).map(|i| (format!("p{i:03}"), i + shift)).collect::<BTreeMap<_, _>>() });
        let found = differences(&of(100, 0), &of(100, 1));
        assert_eq!(found.len(), LISTED + 1);
        assert_eq!(found[LISTED].to_string(), format!("param ({} more)", 100 - LISTED));
    }
}
