//! Ends for everything in a schema that has none.

use serde_json::{Map, Number, Value, json};

/// Deepest schema that is looked into; below, nothing is added.
const DEPTH_MAX: usize = 64;
/// Most items of a list that says nothing about it.
const ITEMS_MAX: u64 = 64;
/// The shortest string any string may grow to.
const CHARS_MIN: usize = 48;
/// Largest magnitude of a number that has no bound; all such integers are exact doubles.
const NUMBER_MAX: i64 = 1_000_000_000_000_000;

/// The same schema with an end to its strings, lists and numbers. `chars` is shared out
/// among the strings.
pub(super) fn bound(schema: &Value, chars: usize) -> Value {
    let strings = count_strings(schema, 0).max(1);
    let rules = Rules {
        chars: (chars / strings).max(CHARS_MIN),
        // Parts of an `allOf` see each other's members: closing one would shut out the rest.
        closes_objects: !mentions(schema, "allOf", 0),
    };
    rules.bound(schema, 0)
}

/// About how many tokens the required members of a schema take when all their values are
/// as short as can be.
pub(crate) fn least_tokens(schema: &Value) -> usize {
    least(schema, 0)
}

fn least(schema: &Value, depth: usize) -> usize {
    if depth > DEPTH_MAX {
        return 0;
    }
    match schema {
        Value::Object(map) => {
            let required = map.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            let own: usize = names.map(|name| name.len() / 3 + 5).sum();
            own + map.values().map(|value| least(value, depth + 1)).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(|value| least(value, depth + 1)).sum(),
        _ => 0,
    }
}

struct Rules {
    chars: usize,
    closes_objects: bool,
}

impl Rules {
    fn bound(&self, schema: &Value, depth: usize) -> Value {
        let Value::Object(map) = schema else { return schema.clone() };
        if depth > DEPTH_MAX {
            return schema.clone();
        }
        let mut bounded = Map::new();
        // Branches beside members of their own would be closed against those members.
        let keeps_branches = map.contains_key("properties");
        for (key, value) in map {
            let is_branch = matches!(key.as_str(), "anyOf" | "oneOf");
            let value =
                if is_branch && keeps_branches { value.clone() } else { self.member(key, value, depth + 1) };
            bounded.insert(key.clone(), value);
        }
        if has_type(map, "string") {
            self.bound_string(&mut bounded);
        }
        if has_type(map, "array") && !bounded.contains_key("maxItems") {
            let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            bounded.insert("maxItems".to_owned(), ITEMS_MAX.max(least).into());
        }
        if has_type(map, "integer") || has_type(map, "number") {
            bound_number(&mut bounded);
        }
        if self.closes_objects && map.contains_key("properties") && is_alone(map) {
            bounded.entry("additionalProperties").or_insert(json!(false));
        }
        Value::Object(bounded)
    }

    fn member(&self, key: &str, value: &Value, depth: usize) -> Value {
        match (key, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                let each = schemas.iter().map(|(name, schema)| (name.clone(), self.bound(schema, depth)));
                Value::Object(each.collect())
            }
            ("items" | "additionalProperties", schema) => self.bound(schema, depth),
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                Value::Array(schemas.iter().map(|schema| self.bound(schema, depth)).collect())
            }
            _ => value.clone(),
        }
    }

    fn bound_string(&self, schema: &mut Map<String, Value>) {
        let has_end = ["maxLength", "enum", "const", "pattern", "format"];
        if has_end.iter().any(|key| schema.contains_key(*key)) {
            return;
        }
        let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
        schema.insert("maxLength".to_owned(), (self.chars as u64).max(least).into());
    }
}

fn bound_number(schema: &mut Map<String, Value>) {
    if schema.contains_key("enum") || schema.contains_key("const") {
        return;
    }
    let limit = |keys: [&str; 2]| keys.iter().find_map(|key| schema.get(*key)).and_then(Value::as_f64);
    let least = limit(["minimum", "exclusiveMinimum"]);
    let most = limit(["maximum", "exclusiveMaximum"]);
    let edge = NUMBER_MAX as f64;
    if least.is_none() && most.is_none_or(|most| most > -edge) {
        schema.insert("minimum".to_owned(), Number::from(-NUMBER_MAX).into());
    }
    if most.is_none() && least.is_none_or(|least| least < edge) {
        schema.insert("maximum".to_owned(), Number::from(NUMBER_MAX).into());
    }
}

fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

/// Whether nothing beside `properties` says what members there are.
fn is_alone(schema: &Map<String, Value>) -> bool {
    let others = ["anyOf", "oneOf", "if", "$ref", "patternProperties", "unevaluatedProperties"];
    others.iter().all(|key| !schema.contains_key(*key))
}

fn count_strings(schema: &Value, depth: usize) -> usize {
    if depth > DEPTH_MAX {
        return 0;
    }
    match schema {
        Value::Object(map) => {
            let own = usize::from(has_type(map, "string"));
            own + map.values().map(|value| count_strings(value, depth + 1)).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(|value| count_strings(value, depth + 1)).sum(),
        _ => 0,
    }
}

fn mentions(schema: &Value, key: &str, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return true;
    }
    match schema {
        Value::Object(map) => {
            map.contains_key(key) || map.values().any(|value| mentions(value, key, depth + 1))
        }
        Value::Array(list) => list.iter().any(|value| mentions(value, key, depth + 1)),
        _ => false,
    }
}
