//! What a script says, once it has been read. How it is read: [`super::read`].

use std::collections::BTreeMap;

use bowline_core::budget::Price;
use bowline_core::control::Ppm;
use bowline_core::message::{Stop, Usage};
use serde_json::Value;

use super::expect::Expect;
use super::read;
use crate::SaidCall;

/// The script version this build reads.
pub(super) const VERSION: u64 = 1;

/// The name of the list that holds the critic's replies.
pub(super) const CRITIQUE: &str = "critique";

/// Replies, by conversation.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) usage: Option<Usage>,
    /// `None`: the script says that it is not free, and not what it costs.
    pub(super) price: Option<Price>,
    /// What it takes in one call, if it says so.
    pub(super) context_tokens: Option<u64>,
    pub(super) conversations: BTreeMap<String, Vec<ScriptedReply>>,
}

impl Script {
    /// Reads a script that is already a value, as simulation builds it.
    pub fn from_value(value: Value) -> Result<Self, BadScript> {
        read::script(&value)
    }
}

/// A value that is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScript {
    /// Another version, or none.
    #[error("`script` must be {VERSION}, the version of the file's form, and is {found}")]
    Version {
        /// What stands there.
        found: String,
    },
    /// A key nobody reads.
    #[error("{place}: unknown key `{key}`{}", suggestion(.nearest.as_deref(), .known))]
    UnknownKey {
        /// Where.
        place: String,
        /// The key.
        key: String,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// The keys there are.
        known: Vec<&'static str>,
    },
    /// A value of the wrong kind.
    #[error("{place}: {problem}")]
    Wrong {
        /// Where.
        place: String,
        /// What was expected, and what stands there.
        problem: String,
    },
}

impl BadScript {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Version { .. } => "begin the file with `script: 1`",
            Self::UnknownKey { .. } => "correct or remove the key",
            Self::Wrong { .. } => "correct the value at that place",
        }
    }
}

fn suggestion(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(nearest) => format!(", did you mean `{nearest}`?"),
        None => format!("; the keys are {}", known.join(", ")),
    }
}

/// One reply.
#[derive(Clone, Debug)]
pub(super) struct ScriptedReply {
    pub(super) expect: Expect,
    pub(super) fails: Vec<Failing>,
    pub(super) stall: Stall,
    pub(super) stream: usize,
    pub(super) stop: Stop,
    pub(super) usage: Option<Usage>,
    pub(super) text: String,
    pub(super) calls: Vec<SaidCall>,
    pub(super) likelihood: Option<Ppm>,
}

impl ScriptedReply {
    /// How this attempt (from 1) fails, if it does.
    pub(super) fn failing(&self, attempt: u32) -> Option<Failing> {
        let index = usize::try_from(attempt.checked_sub(1)?).ok()?;
        self.fails.get(index).copied()
    }
}

/// A scripted failure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failing {
    Transient,
    RateLimited { retry_after_ms: Option<u64> },
    TimedOut,
    Permanent,
}

/// A wait before the answer. Failures come at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stall {
    None,
    For(u64),
    Forever,
}
