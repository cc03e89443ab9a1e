//! A model whose replies are written down beforehand: the double for tests,
//! examples and simulation.
//!
//! A reply is chosen by the conversation it is asked to continue: the sub-task
//! (or `critique`, or `plan-1`) names the list, the number of replies already in the request
//! is the index. So a new process gives the same reply to the same request, and
//! a request the script does not expect is a permanent error that says what was
//! expected and what came.
//!
//! Invariants
//! - No state between calls, no clock but tokio's, no randomness.
//! - A reply is never made up: not in the script means an error.

mod expect;
mod read;
mod script;

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::Price;
use bowline_core::event::{Judgement, Purpose, StepTrouble};
use bowline_core::message::Usage;

use crate::{Answer, Model, ModelError, OpenModelError, Request, Said, SaidCall, Watcher};
use script::{Failing, ScriptedReply, Stall};

pub use script::{BadScript, Script};

/// The longest script file, in bytes.
pub const SCRIPT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A model that follows a [`Script`].
#[derive(Clone, Debug)]
pub struct Scripted {
    script: Script,
}

impl Scripted {
    /// A model that follows this script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script }
    }

    /// Reads a script file: JSON if its name ends in `.json`, YAML otherwise.
    pub fn open(path: &Path) -> Result<Self, OpenModelError> {
        let text = read_capped(path)?;
        let value = if path.extension().is_some_and(|extension| extension == "json") {
            parse_json(path, &text)?
        } else {
            parse_yaml(path, &text)?
        };
        let script = Script::from_value(value)
            .map_err(|problem| OpenModelError::Script { path: path.to_owned(), problem })?;
        Ok(Self { script })
    }
}

#[async_trait]
impl Model for Scripted {
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let (place, reply) = self.choose(&request)?;
        reply.expect.check(&request).map_err(|mismatch| permanent(format!("{place} {mismatch}")))?;
        if let Some(failing) = reply.failing(request.attempt) {
            return Err(failing.error(&place, request.attempt));
        }
        match reply.stall {
            Stall::None => {}
            Stall::For(wait_ms) => tokio::time::sleep(Duration::from_millis(wait_ms)).await,
            Stall::Forever => std::future::pending().await,
        }
        for piece in pieces(&reply.text, reply.stream) {
            watch.text(piece);
            tokio::task::yield_now().await;
        }
        Ok(self.answer(&request, reply))
    }

    fn price(&self) -> Option<Price> {
        self.script.price
    }

    fn context_tokens(&self) -> Option<u64> {
        self.script.context_tokens
    }

    fn is_remote(&self) -> bool {
        false
    }
}

impl Scripted {
    fn choose(&self, request: &Request) -> Result<(String, &ScriptedReply), ModelError> {
        let (key, index) = address(request)?;
        let place = format!("{key}[{index}]");
        let Some(replies) = self.script.conversations.get(key.as_ref()) else {
            let known: Vec<_> = self.script.conversations.keys().map(String::as_str).collect();
            return Err(permanent(format!(
                "{place}: the script has no conversation {key:?}, only {}",
                if known.is_empty() { "none at all".to_owned() } else { known.join(", ") }
            )));
        };
        match replies.get(index) {
            Some(reply) => Ok((place, reply)),
            None => Err(permanent(format!(
                "{place}: the script has {} replies for {key:?} and was asked for number {}; {}",
                replies.len(),
                index + 1,
                expect::describe_last(request)
            ))),
        }
    }

    fn answer(&self, request: &Request, reply: &ScriptedReply) -> Answer {
        let usage = reply.usage.or(self.script.usage).unwrap_or_else(|| counted(request, reply));
        Answer {
            stop: reply.stop,
            usage,
            micros: self.script.price.map_or(0, |price| price.of(&usage)),
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            likelihood: reply.likelihood.filter(|_| request.likelihood),
            claim: None,
        }
    }
}

impl Failing {
    fn error(self, place: &str, attempt: u32) -> ModelError {
        let (kind, word, retry_after_ms) = match self {
            Self::Transient => (StepTrouble::Transient, "transient trouble", None),
            Self::RateLimited { retry_after_ms } => {
                (StepTrouble::RateLimited, "a rate limit", retry_after_ms)
            }
            Self::TimedOut => (StepTrouble::TimedOut, "a time-out", None),
            Self::Permanent => (StepTrouble::Permanent, "permanent trouble", None),
        };
        ModelError {
            kind,
            message: format!("{place}: the script has {word} at attempt {attempt}"),
            retry_after_ms,
        }
    }
}

fn permanent(message: String) -> ModelError {
    ModelError { kind: StepTrouble::Permanent, message: format!("script: {message}"), retry_after_ms: None }
}

/// Which list of replies, and which of them.
fn address(request: &Request) -> Result<(Cow<'_, str>, usize), ModelError> {
    let replied = || request.messages.iter().filter(|said| matches!(said, Said::Assistant { .. })).count();
    match &request.purpose {
        Purpose::Act(subtask) if subtask.as_str() == script::CRITIQUE => Err(permanent(format!(
            "a sub-task called {:?} cannot be scripted: that list holds the critic's replies",
            script::CRITIQUE
        ))),
        Purpose::Act(subtask) => Ok((Cow::Borrowed(subtask.as_str()), replied())),
        Purpose::Plan(round) => Ok((Cow::Owned(format!("plan-{round}")), replied())),
        Purpose::Judge(Judgement { round, index, ask }) => {
            Ok((Cow::Owned(format!("judge-{round}-{}-{ask}", index + 1)), replied()))
        }
        Purpose::Critique(round) => {
            match round.checked_sub(1).and_then(|index| usize::try_from(index).ok()) {
                Some(index) => Ok((Cow::Borrowed(script::CRITIQUE), index)),
                None => Err(permanent("rounds of critique count from 1 and this is round 0".to_owned())),
            }
        }
    }
}

/// Four characters are about one token.
fn counted(request: &Request, reply: &ScriptedReply) -> Usage {
    let said: usize = request.messages.iter().map(chars_of).sum();
    let answered = reply.text.chars().count() + chars_of_calls(&reply.calls);
    Usage { input: tokens(said), output: tokens(answered), ..Usage::default() }
}

fn tokens(chars: usize) -> u64 {
    u64::try_from(chars.div_ceil(4)).unwrap_or(u64::MAX).max(1)
}

fn chars_of(said: &Said) -> usize {
    match said {
        Said::System(text) | Said::User(text) => text.chars().count(),
        Said::Assistant { text, calls } => text.chars().count() + chars_of_calls(calls),
        Said::ToolResult { output, .. } => output.chars().count(),
    }
}

fn chars_of_calls(calls: &[SaidCall]) -> usize {
    calls.iter().map(|call| call.tool.chars().count() + call.args.chars().count()).sum()
}

/// Cuts a text into that many pieces of about the same length (fewer if it is short).
fn pieces(text: &str, count: usize) -> Vec<&str> {
    let per_piece = text.chars().count().div_ceil(count.max(1)).max(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cut = rest.char_indices().nth(per_piece).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(cut);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn read_capped(path: &Path) -> Result<String, OpenModelError> {
    let unreadable = |source| OpenModelError::Unreadable { path: path.to_owned(), source };
    // Opening a pipe would wait for somebody to write to it.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(std::io::Error::other("it is no regular file")));
    }
    let file = File::open(path).map_err(unreadable)?;
    let len = file.metadata().map_err(unreadable)?.len();
    if len > SCRIPT_BYTES_MAX {
        return Err(OpenModelError::TooLarge { path: path.to_owned(), len, max: SCRIPT_BYTES_MAX });
    }
    let mut text = String::new();
    file.take(SCRIPT_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn parse_json(path: &Path, text: &str) -> Result<serde_json::Value, OpenModelError> {
    serde_json::from_str(text).map_err(|error| OpenModelError::Syntax {
        path: path.to_owned(),
        line: error.line() as u64,
        column: error.column() as u64,
        message: error.to_string(),
    })
}

fn parse_yaml(path: &Path, text: &str) -> Result<serde_json::Value, OpenModelError> {
    // Strict booleans: a reply that says `no` says the word.
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
        OpenModelError::Syntax { path: path.to_owned(), line, column, message: error.to_string() }
    })
}
