//! The embedded model from outside: tiny models made by the tests, or a scripted network
//! behind a real vocabulary, template and grammar.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on shall fail at that line, and one that is skipped says so"
)]

mod answers;
mod conformance;
mod real;
mod tiny;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_core::event::Purpose;
use bowline_core::id::{RunId, ToolName};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_local::{Loaded, LocalModel, Memory, Network, Settings};
use bowline_models::{Request, Said};
use serde_json::{Value, json};

use tiny::Tiny;

/// A clock that goes on by a millisecond at every look.
fn settings() -> Settings {
    let looks = AtomicU64::new(0);
    let mut settings =
        Settings::new(Arc::new(move || Duration::from_millis(looks.fetch_add(1, Ordering::Relaxed))));
    settings.threads = 1;
    settings
}

fn loaded(tiny: Tiny) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    tiny.write(&path);
    Loaded::read(&path, 1).unwrap()
}

fn model(tiny: Tiny, settings: Settings) -> LocalModel {
    LocalModel::start(loaded(tiny), settings).unwrap()
}

fn request(words: &str) -> Request {
    Request {
        run: RunId::parse("run-1").unwrap(),
        step: 1,
        attempt: 1,
        purpose: Purpose::Plan(1),
        model: "local:tiny".to_owned(),
        messages: [Said::User(words.to_owned())].into_iter().collect(),
        tools: Arc::from([]),
        schema: None,
        output_tokens: 60,
        temperature: None,
        failed: Vec::new(),
        likelihood: false,
    }
}

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::parse(name).unwrap(),
        description: "For tests.".to_owned(),
        schema,
        touch: Touch::Read,
        repeat: Repeat::Freely,
        consent: Consent::NotNeeded,
        probes: false,
        timeout_ms: 1_000,
        effect: None,
        needs: None,
        given: false,
        undo: None,
        invocation: Invocation::default(),
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string", "maxLength": 8}}, "required": ["path"]});
    let sum = json!({"type": "object", "properties": {"of": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}}, "required": ["of"]});
    Arc::from([tool("read", path), tool("sum", sum)])
}

/// A network that wants to say a text, then to end; it says it again to every prompt.
struct Parrot {
    text: Vec<u32>,
    end: u32,
    vocabulary: usize,
    wait: Duration,
}

impl Parrot {
    fn loaded(text: &str, wait: Duration) -> Loaded {
        let tiny = loaded(Tiny::default());
        let vocabulary = &tiny.vocabulary;
        let parrot = Self {
            text: vocabulary.encode(text),
            end: vocabulary.ends()[0],
            vocabulary: vocabulary.len(),
            wait,
        };
        Loaded { network: Arc::new(parrot), ..tiny }
    }
}

impl Network for Parrot {
    fn context(&self) -> usize {
        4_096
    }

    fn remember(&self) -> Memory {
        Memory::new(0, 0)
    }

    fn feed(&self, memory: &mut Memory, tokens: &[u32]) -> Result<Vec<f32>, bowline_local::EngineBroken> {
        std::thread::sleep(self.wait);
        memory.grow(tokens);
        // What it has said is the longest end of the memory that begins its text.
        let all = memory.tokens();
        let said = (0..=self.text.len()).rev().find(|len| all.ends_with(&self.text[..*len])).unwrap_or(0);
        let next = self.text.get(said).copied().unwrap_or(self.end);
        Ok((0..self.vocabulary).map(|id| if id == next as usize { 9.0 } else { 0.0 }).collect())
    }
}
