//! Values made from a schema: all that it allows, each variant and each key at least once.

use serde_json::{Map, Value};

/// Deeper than this a value holds only what it must.
const DEEP: usize = 7;

/// Values that the schema allows.
pub(crate) fn of(root: &Value) -> Vec<Value> {
    from(root, root, 0)
}

fn from(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
        return from(root, root.pointer(place.trim_start_matches('#')).unwrap(), depth);
    }
    if let Some(constant) = schema.get("const") {
        return vec![constant.clone()];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.clone();
    }
    for word in ["oneOf", "anyOf"] {
        let Some(parts) = schema.get(word).and_then(Value::as_array) else { continue };
        let besides = schema.get("properties").is_some();
        // Where there is little room, the last: it is the one that does not lead on and on.
        let parts = if depth > DEEP { parts.get(parts.len() - 1..).unwrap() } else { parts };
        let each = parts.iter().map(|part| if besides { beside(schema, part, word) } else { part.clone() });
        return each.flat_map(|part| from(root, &part, depth + 1)).collect();
    }
    match kind(schema) {
        "object" => object(root, schema, depth),
        "array" => list(root, schema, depth),
        "string" => vec![text(schema)],
        "integer" => {
            vec![schema.get("maximum").filter(|most| most.as_u64() == Some(0)).cloned().unwrap_or(1.into())]
        }
        "number" => vec![0.5.into()],
        "boolean" => vec![true.into()],
        "null" => vec![Value::Null],
        _ => vec![Value::String("anything".into())],
    }
}

/// One alternative with what stands beside all of them.
fn beside(schema: &Value, part: &Value, word: &str) -> Value {
    let mut whole = schema.clone();
    whole.as_object_mut().unwrap().remove(word);
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        whole["properties"][key] = value.clone();
    }
    for key in part["required"].as_array().into_iter().flatten() {
        whole["required"].as_array_mut().unwrap().push(key.clone());
    }
    whole
}

fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap()
        }
        Some(Value::String(kind)) => kind,
        _ => "anything",
    }
}

fn object(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut choices: Vec<(String, Vec<Value>)> = Vec::new();
    for (key, schema) in &properties {
        if depth < DEEP || required.contains(&key.as_str()) {
            choices.push((key.clone(), from(root, schema, depth + 1)));
        }
    }
    let first = |keep: &dyn Fn(&str) -> bool| -> Map<String, Value> {
        let kept = choices.iter().filter(|(key, _)| keep(key));
        kept.filter_map(|(key, values)| Some((key.clone(), values.first()?.clone()))).collect()
    };
    let mut all = vec![Value::Object(first(&|key| required.contains(&key)))];
    if properties.len() > required.len() && depth < DEEP {
        all.push(Value::Object(first(&|_| true)));
    }
    for (key, values) in &choices {
        for value in values.iter().skip(1) {
            let mut one = first(&|other| required.contains(&other));
            one.insert(key.clone(), value.clone());
            all.push(Value::Object(one));
        }
    }
    all
}

fn list(root: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    if let Some(places) = schema.get("prefixItems").and_then(Value::as_array) {
        return vec![places.iter().map(|place| from(root, place, depth + 1).remove(0)).collect()];
    }
    let Some(items) = schema.get("items") else { return vec![Value::Array(Vec::new())] };
    let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(1)).unwrap();
    let each = from(root, items, depth + 1);
    let each = if depth < DEEP { each } else { each.into_iter().take(1).collect() };
    each.into_iter().map(|item| Value::Array(vec![item; least.max(1)])).collect()
}

/// A text of the form that is asked for.
fn text(schema: &Value) -> Value {
    let candidates =
        ["a", "a1.0", &"0".repeat(64), &"a".repeat(24), "1"].map(|text| Value::String(text.into()));
    let validator = jsonschema::validator_for(schema).unwrap();
    candidates
        .into_iter()
        .find(|text| validator.is_valid(text))
        .unwrap_or_else(|| panic!("no text for {schema}"))
}
