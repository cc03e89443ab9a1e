//! Arguments as a model sends them: JSON text, read strictly.
//!
//! Strictly means: one reading only. An object with a key twice has no single
//! meaning (what a person approves and what runs could differ), so it is refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Longest text of arguments, in bytes.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 256 * 1024;

/// Deepest nesting of arguments and outputs.
pub(crate) const NESTING_MAX: usize = 64;

/// Reads JSON of bounded depth without duplicate keys. The error says where.
pub(crate) fn parse_strict(text: &str) -> Result<Value, String> {
    let mut from = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut from).map_err(|error| error.to_string())?;
    from.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Reads the arguments of a call: a JSON object.
pub(crate) fn parse_arguments(text: &str) -> Result<Value, String> {
    if text.len() > ARGUMENTS_BYTES_MAX {
        return Err(format!("they have {} bytes; the most is {ARGUMENTS_BYTES_MAX}", text.len()));
    }
    match parse_strict(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("they must be a JSON object, as in {\"name\": \"value\"}".to_owned()),
        Err(problem) => Err(format!("they are not valid JSON: {problem}")),
    }
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= NESTING_MAX {
            return Err(E::custom(format!("nested deeper than {NESTING_MAX} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            let value = entries.next_value_seed(inner)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_json_is_read_as_serde_reads_it() {
        let text = r#"{"a": [1, -2, 2.5, true, null, "x\n"], "b": {}}"#;
        assert_eq!(parse_strict(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn what_has_two_readings_or_no_end_is_refused() {
        for (text, problem) in [
            (r#"{"a": 1, "a": 2}"#, "the key \"a\" stands twice"),
            (r#"{"a": {"b": 1, "b": 1}}"#, "the key \"b\" stands twice"),
            ("{} {}", "trailing characters"),
            ("{\"a\":", "EOF"),
            ("", "EOF"),
        ] {
            let error = parse_strict(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn nesting_is_bounded_on_both_sides_of_the_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_strict(&nested(NESTING_MAX)).is_ok());
        assert!(parse_strict(&nested(NESTING_MAX + 1)).unwrap_err().contains("deeper than 64"));
        assert!(parse_strict(&nested(100_000)).is_err());
    }

    #[test]
    fn arguments_are_an_object_of_bounded_length() {
        assert_eq!(parse_arguments("{\"a\": 1}"), Ok(json!({"a": 1})));
        assert!(parse_arguments("[1]").unwrap_err().contains("must be a JSON object"));
        let long = |len: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(len - 8));
        assert!(parse_arguments(&long(ARGUMENTS_BYTES_MAX)).is_ok());
        assert!(parse_arguments(&long(ARGUMENTS_BYTES_MAX + 1)).unwrap_err().contains("the most is 262144"));
    }
}
