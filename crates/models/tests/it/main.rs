//! The models through their public face.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on shall fail at that line"
)]

mod conformance;
mod expectations;
mod replies;
mod script_files;

use std::sync::Arc;

use bowline_core::event::Purpose;
use bowline_core::id::{RunId, SubtaskId};
use bowline_models::scripted::{Script, Scripted};
use bowline_models::{Answer, Model as _, ModelError, Request, Said, Unwatched};
use serde_json::{Value, json};

/// A model with this one conversation, `main`.
fn main_script(replies: Value) -> Scripted {
    script(json!({"script": 1, "conversations": {"main": replies}}))
}

fn script(value: Value) -> Scripted {
    Scripted::new(Script::from_value(value).expect("a script"))
}

fn request(messages: Vec<Said>) -> Request {
    Request {
        run: RunId::parse("run-1").unwrap(),
        step: 1,
        attempt: 1,
        purpose: Purpose::Act(SubtaskId::parse("main").unwrap()),
        model: "scripted:x".to_owned(),
        messages: messages.into_iter().collect(),
        tools: Arc::from([]),
        schema: None,
        temperature: None,
        failed: Vec::new(),
        likelihood: false,
        output_tokens: 100,
    }
}

fn user(text: &str) -> Said {
    Said::User(text.to_owned())
}

fn reply(text: &str) -> Said {
    Said::Assistant { text: text.to_owned(), calls: Vec::new() }
}

fn result(output: &str, is_error: bool) -> Said {
    Said::ToolResult { call: "call-0-0".to_owned(), output: output.to_owned(), is_error }
}

async fn ask(model: &Scripted, request: Request) -> Result<Answer, ModelError> {
    model.call(request, &Unwatched).await
}
