//! How a call that happened is undone, as its tool declares it: a goal ("the ticket is
//! gone"), reached by a program, by another tool, or by the tool's own code.
//!
//! A declaration names values of the call it undoes: `{args/id}` is a value of the
//! arguments, `{result/id}` one of the result (RFC 6901 pointers), `{result}` the whole
//! result, `{key}` the idempotency key the call had, `{run}` and `{action}` its names.
//! A text that is nothing but one of them becomes that value; within a longer text it
//! becomes words. `{{` is a brace. What a call does not have is an error, never a guess.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::{ActionId, RunId};
use crate::plan::Test;
use crate::provenance::Digest;

/// How long an undo may take where nobody says otherwise.
pub const TIMEOUT_MS: u64 = 30_000;
/// Attempts at one undo that meets passing trouble.
pub const ATTEMPTS: u32 = 3;

/// How a call is undone. Whoever declares it says that doing it twice is as good as once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// By what.
    pub how: How,
    /// What it gets; `None`: `{"args": …, "result": …}` for a program, for the tool itself
    /// with the `key` of the call beside them, nothing for another tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// After this long an attempt is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// By what a call is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum How {
    /// A program: reads what it gets as JSON, exits 0 when the call is undone.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// A program that tells whether it is undone already: exit 0 if so, 1 if not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<Vec<String>>,
    },
    /// Another tool of the run.
    Tool {
        /// Its name.
        name: String,
        /// What tells whether it is undone already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<Box<Look>>,
    },
    /// The tool's own code.
    Own,
}

/// A look at the world through a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// The tool.
    pub tool: String,
    /// What it gets.
    pub args: Value,
    /// What its output must pass for the call to count as undone.
    pub test: Test,
}

/// A call as it was made: what an undo can draw from.
#[derive(Clone, Debug)]
pub struct Made<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The action.
    pub action: ActionId,
    /// The idempotency key of the call.
    pub key: Digest,
    /// Its arguments.
    pub args: &'a Value,
    /// What came of it; `None` where nobody knows.
    pub result: Option<&'a str>,
}

/// A value that the call does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    /// The result is not known, or does not hold it.
    #[error("{{{name}}} is not known of the call")]
    NotKnown {
        /// What stands between the braces.
        name: String,
    },
    /// No such value.
    #[error(
        "{{{name}}} names nothing: write {{args}}, {{result}}, {{key}}, {{run}} or {{action}}, with a pointer after the first two as in {{args/id}}"
    )]
    NoSuchName {
        /// What stands between the braces.
        name: String,
    },
    /// A brace without its other half.
    #[error("a brace is not closed; write {{{{ for a brace")]
    Open,
}

impl Undo {
    /// After this long an attempt is ended.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms.unwrap_or(TIMEOUT_MS)
    }

    /// The tools it needs.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let named = match &self.how {
            How::Tool { name, probe } => [Some(name), probe.as_ref().map(|look| &look.tool)],
            How::Command { .. } | How::Own => [None, None],
        };
        named.into_iter().flatten().map(String::as_str)
    }

    /// Whether every value it names is one that a call can have.
    pub fn check(&self) -> Result<(), Unfilled> {
        self.args.iter().try_for_each(check)?;
        match &self.how {
            How::Command { argv, probe } => {
                argv.iter().chain(probe.iter().flatten()).try_for_each(|word| check_text(word))
            }
            How::Tool { probe, .. } => probe.iter().try_for_each(|look| check(&look.args)),
            How::Own => Ok(()),
        }
    }

    /// What the undo of this call gets.
    pub fn args_for(&self, made: &Made<'_>) -> Result<Value, Unfilled> {
        match (&self.args, &self.how) {
            (Some(template), _) => fill(template, made),
            (None, How::Command { .. }) => {
                Ok(json!({ "args": made.args, "result": made.result.map(result_value) }))
            }
            (None, How::Own) => {
                let result = made.result.map(result_value);
                Ok(json!({ "args": made.args, "result": result, "key": made.key.to_string() }))
            }
            (None, How::Tool { .. }) => Ok(json!({})),
        }
    }
}

/// The words of a command, with the values of the call. The program itself is as written.
pub fn fill_words(argv: &[String], made: &Made<'_>) -> Result<Vec<String>, Unfilled> {
    let words = argv.iter().enumerate();
    words.map(|(at, word)| if at == 0 { Ok(word.clone()) } else { fill_text(word, made) }).collect()
}

/// A template with the values of the call.
pub fn fill(template: &Value, made: &Made<'_>) -> Result<Value, Unfilled> {
    Ok(match template {
        Value::String(text) => match whole(text) {
            Some(name) => value_of(name, made)?,
            None => Value::String(fill_text(text, made)?),
        },
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill(item, made)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let filled = map.iter().map(|(key, value)| Ok((key.clone(), fill(value, made)?)));
            Value::Object(filled.collect::<Result<Map<_, _>, Unfilled>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    })
}

/// The name, where a text is nothing but one value.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some(name)
}

fn fill_text(text: &str, made: &Made<'_>) -> Result<String, Unfilled> {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece? {
            Piece::Words(words) => filled.push_str(words),
            Piece::Name(name) => match value_of(name, made)? {
                Value::String(text) => filled.push_str(&text),
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => {
                    filled.push_str(&other.to_string());
                }
            },
        }
    }
    Ok(filled)
}

fn value_of(name: &str, made: &Made<'_>) -> Result<Value, Unfilled> {
    let not_known = || Unfilled::NotKnown { name: name.to_owned() };
    match named(name).ok_or_else(|| Unfilled::NoSuchName { name: name.to_owned() })? {
        Name::Args(pointer) => made.args.pointer(pointer).cloned().ok_or_else(not_known),
        Name::Result("") => made.result.map(|text| text.trim_end().into()).ok_or_else(not_known),
        Name::Result(pointer) => {
            let result = made.result.map(result_value).ok_or_else(not_known)?;
            result.pointer(pointer).cloned().ok_or_else(not_known)
        }
        Name::Key => Ok(made.key.to_string().into()),
        Name::Run => Ok(made.run.to_string().into()),
        Name::Action => Ok(made.action.to_string().into()),
    }
}

/// A result as JSON where it is some, as a text otherwise.
fn result_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.trim_end().to_owned()))
}

/// A value of a call.
enum Name<'a> {
    Args(&'a str),
    Result(&'a str),
    Key,
    Run,
    Action,
}

fn named(name: &str) -> Option<Name<'_>> {
    let pointer = |rest: &str| rest.is_empty() || rest.starts_with('/');
    if let Some(rest) = name.strip_prefix("args").filter(|rest| pointer(rest)) {
        return Some(Name::Args(rest));
    }
    if let Some(rest) = name.strip_prefix("result").filter(|rest| pointer(rest)) {
        return Some(Name::Result(rest));
    }
    match name {
        "key" => Some(Name::Key),
        "run" => Some(Name::Run),
        "action" => Some(Name::Action),
        _ => None,
    }
}

fn check(template: &Value) -> Result<(), Unfilled> {
    match template {
        Value::String(text) => check_text(text),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(map) => map.values().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn check_text(text: &str) -> Result<(), Unfilled> {
    pieces(text).try_for_each(|piece| match piece? {
        Piece::Name(name) if named(name).is_none() => Err(Unfilled::NoSuchName { name: name.to_owned() }),
        Piece::Name(_) | Piece::Words(_) => Ok(()),
    })
}

enum Piece<'a> {
    Words(&'a str),
    Name(&'a str),
}

/// A text as words and names, in order.
fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, Unfilled>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix("{{") {
            rest = after;
            return Some(Ok(Piece::Words("{")));
        }
        if let Some(after) = rest.strip_prefix("}}") {
            rest = after;
            return Some(Ok(Piece::Words("}")));
        }
        if let Some(after) = rest.strip_prefix('{') {
            let Some((name, after)) = after.split_once('}') else {
                rest = "";
                return Some(Err(Unfilled::Open));
            };
            rest = after;
            return Some(Ok(Piece::Name(name)));
        }
        let end = rest.char_indices().skip(1).find(|(_, c)| matches!(c, '{' | '}'));
        let (words, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(Ok(Piece::Words(words)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: Value, result: Option<&str>) -> Result<Value, String> {
        let (run, args) = (RunId::parse("r1").unwrap(), json!({ "name": "b", "n": 2, "a": [1, 2] }));
        let action = ActionId { step: 3, index: 0 };
        let made = Made { run: &run, action, key: Digest::ZERO, args: &args, result };
        fill(&template, &made).map_err(|bad| bad.to_string())
    }

    #[test]
    fn values_of_the_call_keep_their_kind_alone_and_become_words_among_words() {
        let template = json!({ "a": "{args/a}", "b": ["{args/n}", "x{args/n}y{args/name}"], "c": 7, "d": "{{{args/name}}}" });
        let expected = json!({ "a": [1, 2], "b": [2, "x2yb"], "c": 7, "d": "{b}" });
        assert_eq!(filled(template, None), Ok(expected));
        assert_eq!(filled(json!("{run}/{action}"), None), Ok(json!("r1/a3.0")));
        assert_eq!(filled(json!("{key}"), None), Ok(json!(Digest::ZERO.to_string())));
    }

    #[test]
    fn a_result_is_looked_into_where_it_is_json() {
        assert_eq!(filled(json!("{result/id}"), Some("{\"id\": 7}\n")), Ok(json!(7)));
        assert_eq!(filled(json!("{result}"), Some("t-7\n")), Ok(json!("t-7")));
        assert_eq!(filled(json!("#{result}!"), Some("7\n")), Ok(json!("#7!")));
    }

    #[test]
    fn what_the_call_does_not_have_is_never_guessed() {
        for (template, result) in
            [("{result/id}", None), ("{result}", None), ("{result/id}", Some("text")), ("{args/other}", None)]
        {
            let told = filled(json!(template), result).unwrap_err();
            assert!(told.contains("is not known"), "{template}: {told}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_found_before_anything_is_done() {
        let undo = |args: Value| Undo { how: How::Own, args: Some(args), timeout_ms: None };
        for bad in ["{arg/id}", "{argsid}", "{}", "x{", "{args/id"] {
            assert!(undo(json!({ "deep": [bad] })).check().is_err(), "{bad}");
        }
        let command = |word: &str| How::Command { argv: vec!["p".into(), word.into()], probe: None };
        assert!(Undo { how: command("{nothing}"), args: None, timeout_ms: None }.check().is_err());
        assert!(Undo { how: command("--id={args/id}"), args: None, timeout_ms: None }.check().is_ok());
        assert!(undo(json!("{{args}} and {args}")).check().is_ok());
    }

    #[test]
    fn a_program_without_arguments_of_its_own_gets_call_and_result() {
        let undo =
            Undo { how: How::Command { argv: vec!["p".into()], probe: None }, args: None, timeout_ms: None };
        let (run, args) = (RunId::parse("r1").unwrap(), json!({ "n": 1 }));
        let made = Made {
            run: &run,
            action: ActionId { step: 1, index: 0 },
            key: Digest::ZERO,
            args: &args,
            result: Some("{\"id\":7}"),
        };
        assert_eq!(undo.args_for(&made), Ok(json!({ "args": { "n": 1 }, "result": { "id": 7 } })));
        let unknown = Made { result: None, ..made };
        assert_eq!(undo.args_for(&unknown), Ok(json!({ "args": { "n": 1 }, "result": null })));
    }
}
