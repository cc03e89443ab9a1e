//! `ask_model`: a side question to the run's model.
//!
//! What a model is and how it is reached is the caller's business ([`SideModel`]);
//! here stands what is asked and what the answer is worth. Nothing is tried again
//! here: the core counts attempts and pays for them, as it does for steps.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::Cost;
use bowline_core::input::Returned;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::typed;
use crate::output::cap_output;
use crate::{CallContext, Tool, ToolOutput};

/// How long an answer may take.
pub(crate) const ASK_MS: u64 = 300_000;
/// Longest question, in characters.
const QUESTION_MAX: usize = 32_768;
/// Most of an answer that is kept, in bytes.
const ANSWER_MAX: usize = 64 * 1024;

/// What a model is told before a side question.
const STANDING: &str = "You are asked one question on the side, without the conversation it comes from and without \
tools. Answer it briefly, from what it says and what you know; say so if that is not enough.";

/// A question to a model, outside of any conversation.
#[derive(Clone, Copy, Debug)]
pub struct SideQuestion<'a> {
    /// Standing instructions.
    pub standing: &'static str,
    /// The question.
    pub text: &'a str,
    /// The call it is asked by.
    pub ctx: &'a CallContext,
}

/// What came of a side question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideAnswer {
    /// The model answered.
    Answered {
        /// What it said.
        text: String,
        /// It was cut at its bound of tokens.
        cut: bool,
        /// What it used.
        spent: Cost,
    },
    /// The model declined to answer.
    Declined {
        /// What it used.
        spent: Cost,
    },
    /// Nothing happened, and it may work later.
    Trouble {
        /// Why.
        message: String,
        /// How long the provider asks us to wait.
        retry_after_ms: Option<u64>,
    },
    /// Nothing happened, and it will not work later.
    Failed {
        /// Why.
        message: String,
    },
    /// Nobody knows what became of it.
    Lost {
        /// What is known.
        message: String,
    },
}

/// A model that answers side questions.
#[async_trait]
pub trait SideModel: Send + Sync {
    /// Asks once. Dropping the future ends it.
    async fn ask(&self, question: SideQuestion<'_>) -> SideAnswer;
}

/// Whom a run may ask on the side. By default nobody.
#[derive(Clone, Default)]
pub struct Inference(Option<Arc<dyn SideModel>>);

impl Inference {
    /// This model.
    #[must_use]
    pub fn of(model: Arc<dyn SideModel>) -> Self {
        Self(Some(model))
    }
}

impl fmt::Debug for Inference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Inference(a model)" } else { "Inference(nobody)" })
    }
}

/// The tool.
pub(crate) struct AskModel {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    question: String,
}

impl AskModel {
    pub(crate) const DESCRIPTION: &str = "Ask a language model one question on the side. It knows nothing of this \
conversation and has no tools, so put everything it needs into the question. Its answer is short and may be wrong; \
each question costs a step.";

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": {
                    "type": "string", "minLength": 1, "maxLength": QUESTION_MAX,
                    "description": "The question, with everything needed to answer it."
                }
            },
            "required": ["question"],
            "additionalProperties": false
        })
    }

    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }

    fn told(&self, answer: SideAnswer) -> ToolOutput {
        match answer {
            SideAnswer::Answered { text, spent, .. } if text.trim().is_empty() => {
                ToolOutput::error("the model gave no answer").spending(spent)
            }
            SideAnswer::Answered { text, cut, spent } => {
                let cut = if cut { "\n[the answer was cut here]" } else { "" };
                ToolOutput::ok(format!("{}{cut}", cap_output(&text, ANSWER_MAX))).spending(spent)
            }
            SideAnswer::Declined { spent } => {
                ToolOutput::error("the model declined to answer").spending(spent)
            }
            SideAnswer::Trouble { message, retry_after_ms } => {
                ToolOutput::trouble(message, retry_after_ms.map(Duration::from_millis))
            }
            SideAnswer::Failed { message } => ToolOutput::error(message).spending(Cost::default()),
            SideAnswer::Lost { message } => ToolOutput { how: Returned::Unknown, text: message, spent: None },
        }
    }
}

#[async_trait]
impl Tool for AskModel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let question = match typed::<Args>(args) {
            Ok(Args { question }) => question,
            Err(problem) => return ToolOutput::error(problem).spending(Cost::default()),
        };
        let Some(model) = &ctx.inference.0 else {
            return ToolOutput::error("there is no model that this run may ask on the side")
                .spending(Cost::default());
        };
        let asking = model.ask(SideQuestion { standing: STANDING, text: &question, ctx });
        match tokio::time::timeout(ctx.timeout, asking).await {
            Ok(answer) => self.told(answer),
            Err(_) => {
                let text = format!("no answer within {} s", ctx.timeout.as_secs());
                ToolOutput::timed_out(self.spec.repeat, text)
            }
        }
    }
}
