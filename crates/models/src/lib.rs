//! Models, behind one trait.
//!
//! A [`Model`] gets a whole conversation and gives one finished [`Answer`] or one
//! [`ModelError`]. Which model a task means is written as `kind:argument` and
//! opened by [`open`].
//!
//! Invariants
//! - A model never retries by itself: the core counts attempts and pays for them.
//! - Dropping the future of a call ends the call; nothing goes on behind it.
//! - Streamed text is for eyes; only the finished answer counts.

pub mod conformance;
mod open;
pub mod scripted;

use std::sync::Arc;

use async_trait::async_trait;
use bowline_core::append_list::AppendList;
use bowline_core::budget::Price;
use bowline_core::control::Ppm;
use bowline_core::event::{Purpose, StepTrouble};
use bowline_core::id::RunId;
use bowline_core::message::{Claim, Stop, Usage};
use bowline_core::tool::ToolSpec;

pub use open::{KINDS, OpenModelError, open};

/// Everything a model is told for one call.
#[derive(Clone, Debug)]
pub struct Request {
    /// The run that asks.
    pub run: RunId,
    /// Which of its steps this is.
    pub step: u32,
    /// How many times in a row this has been tried, from 1.
    pub attempt: u32,
    /// What the answer is for.
    pub purpose: Purpose,
    /// The model, as the task names it.
    pub model: String,
    /// The whole conversation.
    pub messages: AppendList<Said>,
    /// The tools it may ask for.
    pub tools: Arc<[ToolSpec]>,
    /// The JSON Schema the answer must fit, for structured answers.
    pub schema: Option<serde_json::Value>,
    /// Most output tokens.
    pub output_tokens: u64,
    /// How freely it chooses its words; `None`: as it likes best.
    pub temperature: Option<Ppm>,
    /// Answers to this very request that failed. A model that can gives none of them again;
    /// others make nothing of it.
    pub failed: Vec<String>,
    /// Whether the answer may become an output, and it is of use to know how likely the
    /// model finds its words. A model that cannot tell answers all the same.
    pub likelihood: bool,
}

/// One entry of a conversation, with its texts at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Standing instructions.
    System(String),
    /// Somebody speaks to the model.
    User(String),
    /// The model spoke.
    Assistant {
        /// What it said.
        text: String,
        /// What it asked for.
        calls: Vec<SaidCall>,
    },
    /// The one answer to one call.
    ToolResult {
        /// The call it answers.
        call: String,
        /// What the model gets to read.
        output: String,
        /// Whether it is bad news.
        is_error: bool,
    },
}

impl Said {
    /// How many bytes of text it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::System(text) | Self::User(text) => text.len(),
            Self::Assistant { text, calls } => text.len() + calls.iter().map(SaidCall::bytes).sum::<usize>(),
            Self::ToolResult { call, output, .. } => call.len() + output.len(),
        }
    }
}

/// A call as a model asked for it. Untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidCall {
    /// The model's name for this call.
    pub id: String,
    /// The tool it named, which may not exist.
    pub tool: String,
    /// The arguments, verbatim; meant to be JSON.
    pub args: String,
}

impl SaidCall {
    fn bytes(&self) -> usize {
        self.id.len() + self.tool.len() + self.args.len()
    }
}

/// A finished reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Why the model stopped.
    pub stop: Stop,
    /// Tokens used.
    pub usage: Usage,
    /// What it cost, in micro-dollars.
    pub micros: u64,
    /// What it said.
    pub text: String,
    /// What it asked for.
    pub calls: Vec<SaidCall>,
    /// How likely the model found its words: the geometric mean of the probabilities of
    /// the tokens of its text, from 0 to 1. `None` where it does not tell, or was not asked.
    pub likelihood: Option<Ppm>,
    /// What the server says it used, where that is not what `usage` says.
    pub claim: Option<Claim>,
}

/// A model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of trouble, which decides whether it is tried again.
    pub kind: StepTrouble,
    /// In words.
    pub message: String,
    /// How long the provider asked us to wait.
    pub retry_after_ms: Option<u64>,
}

impl ModelError {
    /// What to do where a person sees it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            StepTrouble::Transient | StepTrouble::RateLimited | StepTrouble::TimedOut | StepTrouble::Lost => {
                "wait a little and resume the run"
            }
            StepTrouble::Permanent => {
                "mend what the message names (model, key, quota, script), then resume the run"
            }
        }
    }
}

/// Something that answers conversations.
#[async_trait]
pub trait Model: Send + Sync {
    /// Makes one call. Dropping the future cancels it. `watch` gets the text as
    /// it streams, as far as the model streams at all.
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError>;

    /// What its tokens cost. [`Price::FREE`] for a model that costs nothing and
    /// says so; `None` when nobody knows, which no run is started with.
    fn price(&self) -> Option<Price>;

    /// Tokens it takes in one call: what it reads and what it answers. `None` when it does
    /// not say; a run then takes [`CONTEXT_DEFAULT`](bowline_core::run::CONTEXT_DEFAULT) for granted.
    fn context_tokens(&self) -> Option<u64> {
        None
    }

    /// Whether what it is told leaves the machine. A model that does not say counts as
    /// one that lets it.
    fn is_remote(&self) -> bool {
        true
    }

    /// What it is reached with and nobody may read, by name: hidden wherever it would be
    /// stored or shown.
    fn secrets(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Sees text while it streams.
pub trait Watcher: Send + Sync {
    /// The next piece.
    fn text(&self, piece: &str);
}

/// A watcher that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn text(&self, _piece: &str) {}
}
