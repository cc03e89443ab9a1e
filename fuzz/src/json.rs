//! Readers of JSON: the canonical form, and tasks.

use bowline_core::provenance::{args_digest, canonical, canonical_value};
use bowline_core::task;
use serde_json::Value;

/// The canonical form of a text is its own, has its digest, and says the same to another reader.
pub fn canonical_form(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _digest = args_digest(&text);
    let Ok(form) = canonical(&text) else { return };
    assert_eq!(canonical(&form).as_deref(), Ok(form.as_str()), "{text:?}");
    assert_eq!(args_digest(&form), args_digest(&text), "{text:?}");
    let shape = |text: &str| serde_json::from_str(text).ok().map(|value| canonical_value(&shape(value)));
    assert_eq!(shape(&text), shape(&form), "{text:?} became {form:?}");
}

/// A value without its numbers: the canonical form rounds none, other readers do.
fn shape(value: Value) -> Value {
    match value {
        Value::Number(_) => Value::Null,
        Value::Array(items) => items.into_iter().map(shape).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, shape(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// A task is read whole or refused with reasons; limits are read or refused.
pub fn task(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _raise = task::parse_raise(&text);
    let _plain = task::plain(&text, "model");
    let Ok(raw) = serde_json::from_str::<Value>(&text) else { return };
    match task::parse(&raw) {
        Ok(task) => assert_eq!(task::parse(&raw).as_ref(), Ok(&task)),
        Err(bad) => assert!(!bad.to_string().is_empty()),
    }
}
