//! What stands in the place of text that a conversation has no room for: what it was, how
//! to know it, and how to have it again where there is a way.

use serde_json::json;

use crate::message::{Call, Payload};
use crate::tool::{Repeat, ToolSpec};

/// Longest name of a call that is quoted.
const NAME_MAX: usize = 32;

/// In the place of what a tool returned.
pub(in crate::run) fn output(spec: Option<&ToolSpec>, call: &str, text: &Payload) -> String {
    let tool = spec.map_or("a tool", |spec| spec.name.as_str());
    let again = match spec.map(|spec| spec.repeat) {
        Some(Repeat::Freely) => "; call it again to read it",
        Some(Repeat::WithSameKey | Repeat::Never) | None => "",
    };
    format!("[left out: {tool}, call {}, {}{again}]", name(call), known_by(text))
}

/// In the place of what the model said.
pub(in crate::run) fn words(text: &Payload) -> String {
    format!("[left out: your words, {}]", known_by(text))
}

/// In the place of a call's arguments, which must be JSON.
pub(in crate::run) fn args(call: &Call) -> String {
    json!({ "left_out": known_by(&call.args) }).to_string()
}

fn known_by(text: &Payload) -> String {
    format!("{} bytes, sha256 {}", text.len(), text.digest().short())
}

/// A provider's name of a call, as far as it is a name.
fn name(call: &str) -> String {
    call.chars().filter(char::is_ascii_graphic).take(NAME_MAX).collect()
}
