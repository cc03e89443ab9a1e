//! JSON Schemas: compiled without ever fetching anything, errors in plain words.
//!
//! Never: a value is checked before it is clear that the check ends soon, or one that is too
//! costly to check is taken for one that fits.

mod cost;

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use cost::Cost;

/// Most errors reported of one value.
const ERRORS_MAX: usize = 20;

/// Longest quotation of a wrong value, in bytes of the message.
const MESSAGE_MAX: usize = 400;

/// Said of a value whose check would not end soon.
const TOO_COSTLY: &str = "the value is too costly to check by this schema, so it is refused; make it smaller, or less \
                          deeply nested";

/// Whether arguments can be checked by this schema, and if not, why.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    Schema::compile(schema).map(drop)
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    cost: Cost,
}

/// One place where a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// JSON pointer; empty for the whole value.
    pub(crate) pointer: String,
    /// What was expected.
    pub(crate) message: String,
}

impl Schema {
    /// Compiles a schema; references may only point into the schema itself.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let cost = Cost::of(schema)?;
        // Patterns run on text a model wrote: the linear engine cannot be made to hang by it.
        let options =
            jsonschema::options().offline().with_pattern_options(jsonschema::PatternOptions::regex());
        let validator = options.build(schema).map_err(|error| explain(schema, &error))?;
        Ok(Self { validator, cost })
    }

    /// Every place that does not fit, at most a page full, sorted by place. A value that
    /// would take too long to check is one that does not fit.
    pub(crate) fn misfits(&self, value: &Value) -> Vec<Misfit> {
        if self.cost.allows(value).is_err() {
            return vec![Misfit { pointer: String::new(), message: TOO_COSTLY.to_owned() }];
        }
        let misfit = |error: ValidationError<'_>| Misfit {
            pointer: error.instance_path().as_str().to_owned(),
            message: worded(&error),
        };
        let mut misfits: Vec<_> = self.validator.iter_errors(value).take(ERRORS_MAX).map(misfit).collect();
        misfits.sort_by(|a, b| a.pointer.cmp(&b.pointer));
        misfits
    }
}

fn explain(schema: &Value, error: &ValidationError<'_>) -> String {
    match remote_reference(schema) {
        Some(reference) => {
            format!("the reference {reference:?} leads outside the schema; nothing is ever fetched")
        }
        None if error.instance_path().as_str().is_empty() => worded(error),
        None => format!("at {}: {}", error.instance_path().as_str(), worded(error)),
    }
}

fn remote_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str).filter(|reference| !reference.starts_with('#'));
            own.or_else(|| map.values().find_map(remote_reference))
        }
        Value::Array(items) => items.iter().find_map(remote_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn worded(error: &ValidationError<'_>) -> String {
    let full = error.to_string();
    if full.len() <= MESSAGE_MAX { full } else { error.masked_with("the value").to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_does_not_fit_is_told_where_and_why() {
        let schema =
            Schema::compile(&json!({"properties": {"a": {"items": {"type": "integer"}}}, "required": ["b"]}))
                .unwrap();
        let misfits = schema.misfits(&json!({"a": [1, "x"]}));
        let rows: Vec<_> = misfits.iter().map(|misfit| (&*misfit.pointer, &*misfit.message)).collect();
        assert_eq!(
            rows,
            [("", "\"b\" is a required property"), ("/a/1", "\"x\" is not of type \"integer\"")]
        );
        assert!(schema.misfits(&json!({"b": 1})).is_empty());
    }

    #[test]
    fn a_schema_that_would_have_to_be_fetched_is_refused() {
        for reference in ["https://example.com/x.json", "file:///etc/passwd", "other.json"] {
            let error = Schema::compile(&json!({"properties": {"a": {"$ref": reference}}})).unwrap_err();
            assert!(error.contains(reference) && error.contains("nothing is ever fetched"), "{error}");
        }
        assert!(Schema::compile(&json!({"$ref": "#/$defs/x", "$defs": {"x": {}}})).is_ok());
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_the_place() {
        let error = Schema::compile(&json!({"properties": {"a": {"type": "nonsense"}}})).unwrap_err();
        assert!(error.starts_with("at /properties/a/type: "), "{error}");
    }

    #[test]
    fn a_huge_wrong_value_is_not_quoted() {
        let schema = Schema::compile(&json!({"type": "integer"})).unwrap();
        let message = &schema.misfits(&json!("x".repeat(10_000)))[0].message;
        assert_eq!(message, "the value is not of type \"integer\"");
    }
}
