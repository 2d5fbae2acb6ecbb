//! JSON Schema of a study, for editors.

use crate::keys::{STAGE_KEYS, TopKeys};
use crate::study::DEFAULT_SEED;
use serde_json::{Map, Value, json};
use study_stage::{Kind, Registry, Section};

const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// The schema (2020-12) of study files for the kinds and sections of a build. A stage is told apart by its `kind`; one
/// with `like` may leave out what the other stage gives.
#[must_use]
pub fn schema(registry: &Registry) -> Value {
    let keys = TopKeys::new(registry);
    let mut properties = Map::new();
    properties.insert(
        "study".into(),
        json!({
        "type": "string", "pattern": NAME, "description": "name of the study and of its folder below `results/`" }),
    );
    properties
        .insert("title".into(), json!({ "type": "string", "description": "heading of the report; default: the name" }));
    properties.insert(
        "seed".into(),
        json!({
        "type": "integer", "minimum": 0, "default": DEFAULT_SEED, "description": "root of all random streams" }),
    );
    for key in keys.inherited() {
        properties.insert((*key).into(), inherited_schema(registry, key));
    }
    for section in registry.sections {
        properties.insert(section.name.into(), section_schema(section));
    }
    properties.insert(
        "stages".into(),
        json!({
        "type": "object", "minProperties": 1, "propertyNames": { "pattern": NAME },
        "additionalProperties": { "$ref": "#/$defs/stage" } }),
    );
    properties.insert(
        "ci".into(),
        json!({
        "type": "object",
        "description": "the small variant that tests run: a stage's name or a key of the study, and what differs" }),
    );
    let mut defs = Map::new();
    defs.insert("stage".into(), stage_schema(registry));
    for kind in registry.kinds {
        defs.insert(format!("kind_{}", kind.name()), kind_schema(*kind, true));
        defs.insert(format!("kind_{}_like", kind.name()), kind_schema(*kind, false));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "study",
        "type": "object",
        "properties": properties,
        "required": ["study", "stages"],
        "additionalProperties": false,
        "$defs": defs,
    })
}

/// The schema of a key that stages take over, from the first kind that does.
fn inherited_schema(registry: &Registry, key: &str) -> Value {
    let kind = registry.kinds.iter().find(|k| k.inherits().contains(&key));
    let schema = kind.and_then(|k| k.schema().get("properties").and_then(|p| p.get(key)).cloned());
    let mut schema = schema.unwrap_or_else(|| json!({}));
    if let Some(object) = schema.as_object_mut() {
        let kinds: Vec<&str> =
            registry.kinds.iter().filter(|k| k.inherits().contains(&key)).map(|k| k.name()).collect();
        let description = format!("default of `{key}` in stages of kind {}", kinds.join(" and "));
        object.insert("description".into(), description.into());
    }
    schema
}

fn section_schema(section: &Section) -> Value {
    let definition = (section.schema)();
    if section.named {
        json!({ "type": "object", "propertyNames": { "pattern": NAME }, "additionalProperties": definition })
    } else {
        json!({ "type": "array", "items": definition })
    }
}

fn stage_schema(registry: &Registry) -> Value {
    let names: Vec<&str> = registry.kinds.iter().map(|k| k.name()).collect();
    let branches: Vec<Value> = registry
        .kinds
        .iter()
        .flat_map(|k| {
            let is = json!({ "properties": { "kind": { "const": k.name() } }, "required": ["kind"] });
            let branch = |like: Value, suffix: &str| {
                json!({
            "if": { "allOf": [is, like] },
            "then": { "$ref": format!("#/$defs/kind_{}{suffix}", k.name()) } })
            };
            [branch(json!({ "not": { "required": ["like"] } }), ""), branch(json!({ "required": ["like"] }), "_like")]
        })
        .collect();
    json!({
        "type": "object",
        "properties": { "kind": { "enum": names }, "like": like_schema() },
        "anyOf": [{ "required": ["kind"] }, { "required": ["like"] }],
        "allOf": branches,
    })
}

fn like_schema() -> Value {
    json!({ "type": "string", "description": "copy the keys of this stage, then merge the own ones over them" })
}

/// The schema of a stage of one kind: the kind's own, and the keys that every stage has.
fn kind_schema(kind: &dyn Kind, complete: bool) -> Value {
    let mut schema = kind.schema();
    let Some(object) = schema.as_object_mut() else { return schema };
    object.insert("description".into(), kind.summary().into());
    let required = object.remove("required");
    let required = required.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    if complete {
        let own = required.into_iter().filter(|k| !kind.inherits().iter().any(|i| k == i));
        object.insert("required".into(), [Value::from("kind")].into_iter().chain(own).collect());
    }
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for key in STAGE_KEYS {
            properties.insert(key.into(), stage_key_schema(key, kind));
        }
    }
    schema
}

fn stage_key_schema(key: &str, kind: &dyn Kind) -> Value {
    let stages = json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true });
    match key {
        "kind" => json!({ "const": kind.name() }),
        "needs" => json!({
            "description": format!("stages whose frames this one receives; it reads: {}", kind.takes().join(", ")),
            "anyOf": [stages, { "type": "object", "additionalProperties": { "anyOf": [{ "type": "string" }, stages] } }] }),
        "like" => like_schema(),
        "matrix" => json!({
            "type": ["object", "null"], "additionalProperties": { "type": "array", "minItems": 1 },
            "description": "one node per combination of values; each key is the path of a parameter" }),
        _ => json!({
            "type": "boolean", "default": false,
            "description": "run once for each cell of the matrix stages in `needs`, instead of once for all" }),
    }
}
