//! Requests for tests of the formats; how they go over the wire is in `tests/it`.

use std::sync::Arc;

use bowline_core::event::Purpose;
use bowline_core::id::{RunId, SubtaskId, ToolName};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_models::{Request, Said};
use serde_json::json;

use super::*;

/// A request of one line, in step 3.
pub(crate) fn request() -> Request {
    Request {
        run: RunId::parse("run-1").unwrap(),
        step: 3,
        attempt: 1,
        purpose: Purpose::Act(SubtaskId::parse("main").unwrap()),
        model: "openai:m".to_owned(),
        messages: [Said::User("go".to_owned())].into_iter().collect(),
        tools: Arc::from([]),
        schema: None,
        output_tokens: 100,
        temperature: None,
        failed: Vec::new(),
        likelihood: false,
    }
}

/// A tool that takes a path.
pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::parse(name).unwrap(),
        description: "Reads.".to_owned(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        touch: Touch::Read,
        repeat: Repeat::Freely,
        consent: Consent::NotNeeded,
        probes: false,
        timeout_ms: 1000,
        effect: None,
        needs: None,
        given: false,
        undo: None,
        invocation: Invocation::default(),
    }
}

#[test]
fn an_error_in_place_of_a_piece_is_an_error_in_every_format() {
    for (format, data) in [
        (Format::Openai, r#"{"error":{"message":"x","type":"server_error"}}"#),
        (Format::OpenaiResponses, r#"{"type":"error","code":"server_error","message":"x"}"#),
        (Format::Anthropic, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#),
        (Format::Gemini, r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#),
        (Format::Ollama, r#"{"error":"x"}"#),
    ] {
        let frame = Frame { event: String::new(), data: data.to_owned() };
        let read = event(format, &frame, &mut Gathered::default());
        assert!(matches!(read, Err(Problem::Complaint(_))), "{format:?}: {read:?}");
    }
}

#[test]
fn what_is_no_json_is_unreadable_in_every_format() {
    for format in Format::ALL {
        for text in ["", "<html>", "{", "[]", "{} {}", "nonsense"] {
            let read = whole(format, text, &mut Gathered::default());
            assert!(matches!(read, Err(Problem::Unreadable(_))), "{format:?} {text:?}: {read:?}");
        }
    }
}
