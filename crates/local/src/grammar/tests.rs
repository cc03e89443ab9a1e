//! Bounds of schemas.

use serde_json::json;

use super::bound::bound;

#[test]
fn strings_lists_and_numbers_get_an_end() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "short": {"type": "string", "maxLength": 3},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "count": {"type": "integer", "minimum": 0},
        },
        "required": ["name"],
    });
    let bounded = bound(&schema, 400);
    let property = |name: &str| &bounded["properties"][name];
    assert_eq!(property("name")["maxLength"], 100);
    assert_eq!(property("kind"), &schema["properties"]["kind"]);
    assert_eq!(property("short")["maxLength"], 3);
    assert_eq!(property("tags")["maxItems"], 64);
    assert_eq!(property("tags")["items"]["maxLength"], 100);
    assert_eq!(property("count")["minimum"], 0);
    assert_eq!(property("count")["maximum"], 1_000_000_000_000_000_i64);
    assert_eq!(bounded["additionalProperties"], false);
}

#[test]
fn an_object_made_of_parts_is_not_closed_against_its_own_members() {
    let parts = json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {}}}]});
    assert_eq!(bound(&parts, 100), parts);
    let branches = json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]});
    assert_eq!(bound(&branches, 100), branches);
}

#[test]
fn a_lower_bound_above_every_default_stays_alone() {
    let schema = json!({"type": "number", "minimum": 1e18});
    assert_eq!(bound(&schema, 100), schema);
}
