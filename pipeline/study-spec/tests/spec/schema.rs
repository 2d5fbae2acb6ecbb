//! The schema that editors use.

use crate::registry::REGISTRY;
use serde_json::json;

#[test]
fn the_schema_names_every_key_kind_and_section() {
    let schema = study_spec::schema(&REGISTRY);
    let keys: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["arms", "ci", "claims", "links", "runs", "seed", "stages", "study", "title"]);
    assert_eq!(schema["additionalProperties"], json!(false));
    let bootstrap = &schema["$defs"]["kind_bootstrap"];
    assert_eq!(bootstrap["properties"]["kind"], json!({ "const": "bootstrap" }));
    assert_eq!(bootstrap["properties"]["resamples"]["default"], json!(10_000));
    assert_eq!(bootstrap["required"], json!(["kind"]));
    assert_eq!(bootstrap["additionalProperties"], json!(false));
    assert_eq!(
        schema["$defs"]["kind_simulate"]["required"],
        json!(["kind", "mode", "arms"]),
        "`runs` comes from the top"
    );
    assert!(schema["$defs"]["kind_simulate_like"].get("required").is_none());
    assert_eq!(schema["properties"]["links"]["additionalProperties"]["required"], json!(["rtt", "rate"]));
    assert_eq!(schema["properties"]["claims"]["type"], json!("array"));
    for branch in schema["$defs"]["stage"]["allOf"].as_array().unwrap() {
        let target = branch["then"]["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
        assert!(schema["$defs"].get(target).is_some(), "{target}");
    }
}
