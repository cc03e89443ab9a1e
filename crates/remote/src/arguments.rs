//! Arguments of calls: as servers send them, and as they are sent back.
//!
//! A string that holds JSON is read one level deep, because formats differ in whether
//! arguments are an object or a text. Beyond that only what has one reading is mended:
//! nothing at all, and a fence of code around it. Everything else is handed on as it
//! was written, and whoever examines the call tells the model what is wrong with it.

use serde_json::Value;

use crate::json::{Lone, Raw, string};

/// Deepest nesting of arguments that are sent back.
const NESTING_MAX: usize = 64;
/// How much of arguments that cannot be read is sent back, in characters.
const QUOTED_MAX: usize = 2000;

/// Arguments that came as one piece: an object, or a text that holds one.
pub(crate) fn whole(raw: Raw<'_>) -> String {
    let Some(written) = raw else { return "{}".to_owned() };
    settled(string(raw, Lone::Escaped).unwrap_or_else(|| written.get().to_owned()))
}

/// Arguments that came as a text.
pub(crate) fn settled(text: String) -> String {
    let plain = unfenced(text.trim());
    match plain {
        "" | "null" => "{}".to_owned(),
        plain if plain.len() == text.len() => text,
        plain => plain.to_owned(),
    }
}

fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

/// Arguments as a text that may be sent back: what a model wrote, where it is an object;
/// what nobody could read is quoted in one.
pub(crate) fn outgoing_text(args: &str) -> String {
    match readable(args) {
        Some(_) => args.to_owned(),
        None => quoted(args).to_string(),
    }
}

/// The same as an object.
pub(crate) fn outgoing(args: &str) -> Value {
    readable(args).unwrap_or_else(|| quoted(args))
}

fn readable(args: &str) -> Option<Value> {
    let object = args.trim_start().starts_with('{') && is_shallow(args);
    object.then(|| serde_json::from_str(args).ok()).flatten()
}

fn quoted(args: &str) -> Value {
    let quoted: String = args.chars().take(QUOTED_MAX).collect();
    serde_json::json!({ "unreadable_arguments": quoted })
}

/// Not nested deeper than anybody reads; judged by brackets outside of strings.
fn is_shallow(text: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_MAX {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn one_level_of_text_is_read_and_no_second() {
        assert_eq!(whole(Some(&raw(r#"{"a": 9007199254740993}"#))), r#"{"a": 9007199254740993}"#);
        assert_eq!(whole(Some(&raw(r#""{\"a\": 1}""#))), r#"{"a": 1}"#);
        assert_eq!(whole(Some(&raw(r#""\"{\\\"a\\\": 1}\"""#))), r#""{\"a\": 1}""#);
    }

    #[test]
    fn only_what_has_one_reading_is_mended() {
        for (written, want) in [
            ("", "{}"),
            ("  ", "{}"),
            ("null", "{}"),
            ("```json\n{\"a\": 1}\n```", "{\"a\": 1}"),
            ("{\"a\": 1", "{\"a\": 1"),
            ("{a: 1}", "{a: 1}"),
            ("{} {}", "{} {}"),
        ] {
            assert_eq!(settled(written.to_owned()), want, "{written:?}");
        }
        assert_eq!(whole(None), "{}");
    }

    #[test]
    fn what_is_sent_back_is_always_an_object() {
        assert_eq!(outgoing_text(r#"{"a": [1, "]"]}"#), r#"{"a": [1, "]"]}"#);
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        for args in [deep.as_str(), "[1]", "{\"a\": ", r#"{"a": "\ud800"}"#, "", "{} x"] {
            assert!(outgoing(args).get("unreadable_arguments").is_some(), "{args:.40}");
            assert!(outgoing_text(args).len() < 10_000);
        }
    }
}
