//! An output that is a JSON object, taken apart into its leaves.

use serde_json::Value;

/// Most leaves of one output that are looked at.
const LEAVES_MAX: usize = 2000;

/// The object, if the output is one.
pub(super) fn read(output: &str) -> Option<Value> {
    serde_json::from_str(output.trim()).ok().filter(Value::is_object)
}

/// The name of every leaf and its value as text. Things inside a list go by the name inside.
pub(super) fn leaves(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((name, value)) = open.pop() {
        if found.len() >= LEAVES_MAX {
            break;
        }
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(key, value)| (key.clone(), value))),
            Value::Array(items) => open.extend(items.iter().map(|item| (name.clone(), item))),
            Value::String(text) => found.push((name, text.clone())),
            Value::Number(number) => found.push((name, number.to_string())),
            Value::Bool(_) | Value::Null => {}
        }
    }
    found.sort();
    found
}

/// `payable_within_days` and `payableWithinDays` as words.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| word.len() > 1);
    words
}
