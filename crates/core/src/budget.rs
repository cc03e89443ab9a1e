//! Bounds of a run, and what it has used of them.
//!
//! Money is integer micro-dollars. A step reserves before it is sent and settles
//! when it is answered; what is in flight therefore counts. Every bound is
//! finite by default, all defaults stand in [`Limits::default`].

use serde::{Deserialize, Serialize};

/// What a run may use. Zero is zero, not "no limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model calls, retries included.
    pub steps: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Tokens, input and output.
    pub tokens: u64,
    /// Money in micro-dollars.
    pub micros: u64,
    /// Working time; waiting for people, pauses and down-time do not count.
    pub active_ms: u64,
    /// Rounds of repair.
    pub repairs: u32,
    /// Sub-tasks at once.
    pub parallel: u32,
    /// Truncated replies in a row that end the run.
    pub truncations: u32,
    /// Attempts at one step when the model does not answer.
    pub attempts: u32,
    /// Output tokens asked of one model call.
    pub output_tokens: u64,
    /// How long one model call may take.
    pub model_ms: u64,
    /// How long a request for approval stays open.
    pub approval_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50,
            tool_calls: 100,
            tokens: 1_000_000,
            micros: 5_000_000,
            active_ms: 60 * 60 * 1000,
            repairs: 4,
            parallel: 4,
            truncations: 3,
            attempts: 3,
            output_tokens: 4096,
            model_ms: 300_000,
            approval_ms: 7 * 24 * 60 * 60 * 1000,
        }
    }
}

/// A bound that can be reached, and raised by `resume --raise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::steps`]
    Steps,
    /// [`Limits::tool_calls`]
    ToolCalls,
    /// [`Limits::tokens`]
    Tokens,
    /// [`Limits::micros`]
    Money,
    /// [`Limits::active_ms`]
    ActiveTime,
}

impl Limit {
    /// Every limit, in the order they are checked.
    pub const ALL: [Self; 5] = [Self::Steps, Self::ToolCalls, Self::Tokens, Self::Money, Self::ActiveTime];

    /// The word used on the command line and in task files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ToolCalls => "tool_calls",
            Self::Tokens => "tokens",
            Self::Money => "cost_usd",
            Self::ActiveTime => "active_seconds",
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// An amount of tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Tokens.
    pub tokens: u64,
    /// Micro-dollars.
    #[serde(skip_serializing_if = "is_zero")]
    pub micros: u64,
}

impl Cost {
    /// Sum, saturating: a counter that wraps would be a budget that resets.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micros: self.micros.saturating_add(other.micros),
        }
    }

    /// Difference, not below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            micros: self.micros.saturating_sub(other.micros),
        }
    }
}

/// What a model costs, in micro-dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// For what it reads.
    pub input: u64,
    /// For what it writes.
    pub output: u64,
}

impl Price {
    /// The cost of so many tokens, rounded up: a reservation must not be short.
    #[must_use]
    pub fn of(&self, input: u64, output: u64) -> u64 {
        let per_million = |tokens: u64, price: u64| {
            let micros = (u128::from(tokens) * u128::from(price)).div_ceil(1_000_000);
            u64::try_from(micros).unwrap_or(u64::MAX)
        };
        per_million(input, self.input).saturating_add(per_million(output, self.output))
    }
}

/// What a run has used. None of these ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Model calls started.
    pub steps: u32,
    /// Tool calls started (first attempts).
    pub tool_calls: u32,
    /// Tokens and money settled.
    pub settled: Cost,
    /// Working time so far.
    pub active_ms: u64,
    /// Repair rounds started.
    pub repairs: u32,
}
