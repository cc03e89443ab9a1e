//! `note`: the model writes down a thought. The note stands in its conversation,
//! and so in the journal; nothing else is kept and nothing is touched.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::typed;
use crate::{CallContext, Tool, ToolOutput};

/// Longest note, in characters.
const NOTE_MAX: usize = 8192;

/// The tool.
pub(crate) struct Note {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    text: String,
}

impl Note {
    pub(crate) const DESCRIPTION: &str = "Write down a thought: a plan, an assumption, what was learnt and what is \
still open. It changes nothing; it stays in the conversation where you can read it again.";

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": NOTE_MAX, "description": "The note."}
            },
            "required": ["text"],
            "additionalProperties": false
        })
    }

    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, _ctx: &CallContext) -> ToolOutput {
        match typed::<Args>(args) {
            Ok(Args { text }) => ToolOutput::ok(format!("noted, {} characters", text.chars().count())),
            Err(problem) => ToolOutput::error(problem),
        }
    }
}
