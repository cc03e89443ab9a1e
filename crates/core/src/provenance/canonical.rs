//! Canonical JSON: one text for every way to write the same value.
//!
//! The form is RFC 8785 (keys sorted by UTF-16 code units, shortest numbers,
//! fewest escapes, no white space), with one promise more: an integer keeps all
//! its digits, so two account numbers never become one because a double cannot
//! tell them apart. It is computed from the *text*, because a parser that turned
//! numbers into doubles first would have lost them already.
//!
//! Invariants
//! - The result is canonical: applying [`canonical`] again changes nothing.
//! - Nothing recurses deeper than [`NESTING_MAX`], whatever the text says.
//! - Nothing ambiguous is accepted: no doubled keys, no half surrogate pairs.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::reader::{self, Node, by_utf16, plain_prefix};
use super::{Digest, number};

/// Deepest nesting of arrays and objects that is read.
pub const NESTING_MAX: usize = 128;

/// Why a text has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flaw} at byte {at}")]
pub struct NotJson {
    /// Offset in bytes.
    pub at: usize,
    /// What is wrong there.
    pub flaw: Flaw,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The text stops in the middle.
    #[error("the text ends too early")]
    Ended,
    /// Something else should stand here.
    #[error("{0} expected")]
    Expected(&'static str),
    /// A number that breaks the grammar, such as `01` or `1.`.
    #[error("malformed number")]
    Number,
    /// A raw control character inside a string.
    #[error("unescaped control character")]
    Control,
    /// An escape that JSON does not know.
    #[error("unknown escape")]
    Escape,
    /// Half of a surrogate pair.
    #[error("lone surrogate")]
    LoneSurrogate,
    /// One object, one key, two values: nobody can say which counts.
    #[error("the key {key:?} appears twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// Over [`NESTING_MAX`].
    #[error("nesting over {NESTING_MAX} levels")]
    TooDeep,
    /// The value is over and the text is not.
    #[error("text after the end of the value")]
    Trailing,
}

impl NotJson {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.flaw {
            Flaw::Ended => "send the whole value; it was cut off",
            Flaw::Expected(_) | Flaw::Number | Flaw::Control | Flaw::Escape => {
                "send valid JSON, as a JSON library writes it"
            }
            Flaw::LoneSurrogate => {
                "write characters beyond U+FFFF as a whole surrogate pair, or as themselves"
            }
            Flaw::Twice { .. } => "keep one of the two",
            Flaw::TooDeep => "flatten the value",
            Flaw::Trailing => "send one JSON value and nothing after it",
        }
    }
}

/// The canonical form of a JSON text.
pub fn canonical(text: &str) -> Result<String, NotJson> {
    let node = reader::read(text)?;
    let mut out = String::with_capacity(text.len());
    write_node(&mut out, &node);
    Ok(out)
}

/// The canonical form of a value that is in memory already.
#[must_use]
pub fn canonical_value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Names the arguments of a call: equal for every way to write the same JSON.
///
/// Arguments that are no JSON are named by their bytes, and never share a name
/// with arguments that are.
#[must_use]
pub fn args_digest(text: &str) -> Digest {
    match canonical(text) {
        Ok(canonical) => Digest::of_parts(&[b"json", canonical.as_bytes()]),
        Err(_) => Digest::of_parts(&[b"text", text.as_bytes()]),
    }
}

fn write_node(out: &mut String, node: &Node<'_>) {
    match node {
        Node::Scalar(token) => out.push_str(token),
        Node::Array(items) => {
            write_list(out, ['[', ']'], items, write_node);
        }
        Node::Object(members) => write_list(out, ['{', '}'], members, |out, member| {
            write_string(out, &member.key);
            out.push(':');
            write_node(out, &member.value);
        }),
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_list(out, ['[', ']'], items, write_value),
        Value::Object(map) => {
            // Sorted here: the map's own order depends on how serde_json was built.
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|(a, _), (b, _)| by_utf16(a, b));
            write_list(out, ['{', '}'], &members, |out, (key, value)| {
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            });
        }
    }
}

fn write_list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    mut write: impl FnMut(&mut String, &T),
) {
    out.push(open);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

fn write_number(out: &mut String, number: &serde_json::Number) {
    if let Some(integer) = number.as_u64() {
        // Writing to a `String` cannot fail.
        _ = write!(out, "{integer}");
        return;
    }
    let text = number.to_string();
    out.push_str(&number::canonical(&text).unwrap_or(Cow::Borrowed(&text)));
}

/// Appends a string in quotes, with as few escapes as there can be.
pub(super) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, after) = rest.split_at_checked(plain_prefix(rest)).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = after.chars();
        let Some(special) = chars.next() else { break };
        write_escape(out, special);
        rest = chars.as_str();
    }
    out.push('"');
}

fn write_escape(out: &mut String, special: char) {
    match special {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        other => _ = write!(out, "\\u{:04x}", u32::from(other)),
    }
}
