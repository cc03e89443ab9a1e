//! Which schemas a server can be held to.

use serde_json::{Value, json};

/// Keywords that strict structured output knows.
const KNOWN: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "anyOf",
    "$defs",
];

/// How a schema is asked for by the formats of OpenAI; `None` where it is none they take.
pub(super) fn named(schema: &Value) -> Option<Value> {
    // Only objects may be asked for; anything else is told in words, and checked afterwards.
    is_object(schema).then(|| json!({"name": "answer", "schema": schema, "strict": is_strict(schema)}))
}

/// Whether the answer is an object.
pub(super) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Whether a server may promise to keep it: every member named, required and no other.
fn is_strict(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else { return false };
    if !map.keys().all(|key| KNOWN.contains(&key.as_str())) {
        return false;
    }
    let below = |key: &str| map.get(key).and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let closed = !is_object(schema) || is_closed(schema);
    let choices = map.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    closed
        && below("properties").chain(below("$defs")).chain(choices).all(is_strict)
        && map.get("items").is_none_or(is_strict)
}

fn is_closed(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name.as_str())))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_schema_that_can_be_kept_is_asked_for_strictly() {
        let closed = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(named(&closed).unwrap()["strict"], true);
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(named(&open).unwrap()["strict"], false);
        let odd = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "string", "pattern": "x"}}});
        assert_eq!(named(&odd).unwrap()["strict"], false);
        assert_eq!(named(&json!({"type": "array"})), None);
    }
}
