//! From what a model wrote to the calls it means.

use bowline_models::SaidCall;
use serde::Deserialize;
use serde_json::Value;

use crate::template::{CALL_BEGINS, CALL_ENDS};

#[derive(Deserialize)]
struct Body {
    name: String,
    arguments: Value,
}

/// The calls of a reply, in order. The grammar has made them; one that cannot be read all
/// the same makes the whole reply unreadable.
pub(crate) fn calls(written: &str, prefix: &str) -> Option<Vec<SaidCall>> {
    let begins = format!("{CALL_BEGINS}\n");
    let ends = format!("\n{CALL_ENDS}");
    let mut calls = Vec::new();
    let mut rest = written;
    while let Some(after) = rest.trim_start_matches('\n').strip_prefix(&begins) {
        // A line break inside a JSON text is written as an escape, so this is the end.
        let (body, next) = after.split_once(&ends)?;
        let body: Body = serde_json::from_str(body).ok()?;
        calls.push(SaidCall {
            id: format!("{prefix}.{}", calls.len()),
            tool: body.name,
            args: body.arguments.to_string(),
        });
        rest = next;
    }
    rest.is_empty().then_some(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_in_order_with_their_arguments() {
        let written = "<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"</tool_call>\"}}\n</tool_call>\n\
                       <tool_call>\n{\"name\": \"b\", \"arguments\": {}}\n</tool_call>";
        let calls = calls(written, "local-3-1").unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].tool, "a");
        assert_eq!(calls[0].args, r#"{"x":"</tool_call>"}"#);
        assert_eq!(calls[1].id, "local-3-1.1");
    }

    #[test]
    fn half_a_call_is_no_call() {
        assert_eq!(calls("<tool_call>\n{\"name\": \"a\", \"argum", "x"), None);
        assert_eq!(calls("<tool_call>\n{\"name\": \"a\"}\n</tool_call>", "x"), None);
        assert_eq!(calls("", "x"), Some(Vec::new()));
    }
}
