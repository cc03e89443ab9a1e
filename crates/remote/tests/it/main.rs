//! Models on servers through their public face, against servers without sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on shall fail at that line"
)]

mod cassettes;
mod certificates;
mod conformance;
mod likelihood;
mod opening;
mod trouble;
mod usage;

use std::sync::{Arc, Mutex};

use bowline_core::event::Purpose;
use bowline_core::id::{RunId, SubtaskId, ToolName};
use bowline_core::task::{self, ModelChoice};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_models::{Request, Said, SaidCall, Watcher};
use bowline_remote::double::{Play, Server};
use bowline_remote::{Key, Keys, Remote, Remotes};
use bowline_tools::BadSecret;
use serde_json::{Value, json};

/// The value of every key.
pub(crate) const KEY: &str = "test-key-0123";

/// Every variable holds the same key.
pub(crate) struct OneKey;

impl Keys for OneKey {
    fn key(&self, variable: &str) -> Result<Key, BadSecret> {
        Ok(Key::new(variable, KEY))
    }
}

/// A server behind every address, with a certificate for the providers.
pub(crate) fn server(plays: Vec<Play>) -> Arc<Server> {
    Server::with_tls(plays, certificates::server())
}

/// A model as a table of a task describes it, on this server.
pub(crate) fn model(table: &Value, server: &Arc<Server>) -> Remote {
    opener(server).model(&choice(table)).unwrap()
}

pub(crate) fn opener(server: &Arc<Server>) -> Remotes {
    Remotes::default().with_keys(Arc::new(OneKey)).over(server.network(certificates::trust()))
}

pub(crate) fn choice(table: &Value) -> ModelChoice {
    let raw = json!({"goal": "g", "model": "it", "models": {"it": table}});
    task::parse(&raw).unwrap().models["it"].clone()
}

/// A request in the short form of the cassettes.
pub(crate) fn request(raw: &Value) -> Request {
    let messages = raw["messages"].as_array().unwrap().iter().map(said);
    let tools = raw["tools"].as_array().into_iter().flatten().map(|name| tool(name.as_str().unwrap()));
    Request {
        run: RunId::parse("run-1").unwrap(),
        step: 3,
        attempt: 1,
        purpose: Purpose::Act(SubtaskId::parse("main").unwrap()),
        model: "it".to_owned(),
        messages: messages.collect(),
        tools: tools.collect(),
        schema: raw.get("schema").cloned(),
        output_tokens: raw["output_tokens"].as_u64().unwrap_or(64),
        temperature: raw["temperature_ppm"].as_i64().map(bowline_core::control::Ppm),
        failed: Vec::new(),
        likelihood: raw["likelihood"].as_bool().unwrap_or(false),
    }
}

/// A request of one line.
pub(crate) fn hello() -> Request {
    request(&json!({"messages": [{"user": "Say hello"}], "tools": ["read_file"]}))
}

fn said(raw: &Value) -> Said {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    if let Some(words) = raw.get("system") {
        return Said::System(text(words));
    }
    if let Some(words) = raw.get("user") {
        return Said::User(text(words));
    }
    if let Some(result) = raw.get("result") {
        let is_error = result["error"].as_bool().unwrap();
        return Said::ToolResult { call: text(&result["call"]), output: text(&result["output"]), is_error };
    }
    let call = |call: &Value| SaidCall {
        id: text(&call["id"]),
        tool: text(&call["tool"]),
        args: text(&call["args"]),
    };
    let calls = raw["assistant"]["calls"].as_array().unwrap().iter().map(call).collect();
    Said::Assistant { text: text(&raw["assistant"]["text"]), calls }
}

fn tool(name: &str) -> ToolSpec {
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

/// Writes down what it is shown.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) fn pieces(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Watcher for Heard {
    fn text(&self, piece: &str) {
        self.0.lock().unwrap().push(piece.to_owned());
    }
}
