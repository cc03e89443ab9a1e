//! What a run may use and has used, as whole numbers.
//!
//! Counters never fall and never wrap: an amount that does not fit is an error
//! and changes nothing. A limit that is left out is the default, which is
//! finite; no limit at all must be written as `unlimited`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::provenance::{Decimal, NotWhole};

/// Tools that may have a limit or a count of their own.
pub const TOOLS_MAX: usize = 64;
/// From this share of a limit on, in hundredths, there is a warning.
pub const WARN_AT: u64 = 80;

/// How much of something may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// Up to this much. Zero is nothing.
    At(u64),
    /// As much as there is. Never the meaning of an omission.
    Unlimited,
}

impl Cap {
    /// Whether so much is over it.
    #[must_use]
    pub fn is_over(self, used: u64) -> bool {
        match self {
            Self::At(most) => used > most,
            Self::Unlimited => false,
        }
    }

    /// Whether so much is at its share of it, in hundredths, or beyond.
    #[must_use]
    pub fn is_at(self, used: u64, share: u64) -> bool {
        match self {
            Self::At(most) => u128::from(used) * 100 >= u128::from(most) * u128::from(share),
            Self::Unlimited => false,
        }
    }
}

impl Serialize for Cap {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(most) => to.serialize_u64(*most),
            Self::Unlimited => to.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for Cap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a limit is a whole number or \"unlimited\"")]
        enum Written {
            Number(u64),
            Word(Word),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Word {
            Unlimited,
        }
        Ok(match Written::deserialize(from)? {
            Written::Number(most) => Self::At(most),
            Written::Word(Word::Unlimited) => Self::Unlimited,
        })
    }
}

/// What a run may use. All defaults stand in [`Limits::default`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model calls, retries included.
    pub steps: Cap,
    /// Tokens of every kind.
    pub tokens: Cap,
    /// Money, in micro-dollars.
    pub micros: Cap,
    /// Tool calls.
    pub tool_calls: Cap,
    /// Calls of single tools, at most [`TOOLS_MAX`] of them.
    pub tools: BTreeMap<String, u64>,
    /// Time at work, in milliseconds; waiting for a person does not count.
    pub active_ms: Cap,
    /// Truncated replies in a row that end the run.
    pub truncations: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: Cap::At(50),
            tokens: Cap::At(1_000_000),
            micros: Cap::At(5_000_000),
            tool_calls: Cap::At(100),
            tools: BTreeMap::new(),
            active_ms: Cap::At(60 * 60 * 1000),
            truncations: 3,
        }
    }
}

/// Tokens of one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// Read by the model.
    pub input: u64,
    /// Written by it.
    pub output: u64,
    /// Read from the provider's cache, where counted apart from `input`.
    pub cached: u64,
    /// Thought, where counted apart from `output`.
    pub reasoning: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(&self) -> Result<u64, BadAmount> {
        [self.output, self.cached, self.reasoning].into_iter().try_fold(self.input, |sum, more| {
            sum.checked_add(more).ok_or(BadAmount::TooLarge { of: "tokens" })
        })
    }
}

/// What a run has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Model calls.
    pub steps: u64,
    /// Tokens of every kind.
    pub tokens: u64,
    /// Money, in micro-dollars.
    pub micros: u64,
    /// Tool calls that were allowed.
    pub tool_calls: u64,
    /// Of these, by tool, for tools that have a limit of their own.
    pub tools: BTreeMap<String, u64>,
    /// Time at work, in milliseconds.
    pub active_ms: u64,
}

impl Spent {
    pub(super) fn add_tokens(&mut self, tokens: &Tokens) -> Result<(), BadAmount> {
        self.tokens = sum(self.tokens, tokens.total()?, "tokens")?;
        Ok(())
    }

    pub(super) fn add_micros(&mut self, micros: u64) -> Result<(), BadAmount> {
        self.micros = sum(self.micros, micros, "money")?;
        Ok(())
    }

    /// The larger of each counter. Single tools count where they have a limit.
    pub(super) fn raise_to(&mut self, other: &Self, limits: &Limits) {
        self.steps = self.steps.max(other.steps);
        self.tokens = self.tokens.max(other.tokens);
        self.micros = self.micros.max(other.micros);
        self.tool_calls = self.tool_calls.max(other.tool_calls);
        self.active_ms = self.active_ms.max(other.active_ms);
        for (tool, times) in &other.tools {
            let kept = self.tools.entry(tool.clone()).or_default();
            *kept = (*kept).max(*times);
        }
        self.tools.retain(|tool, _| limits.tools.contains_key(tool));
    }

    pub(super) fn add_call(&mut self, tool: &str, limits: &Limits) {
        self.tool_calls = self.tool_calls.saturating_add(1);
        if limits.tools.contains_key(tool) {
            let count = self.tools.entry(tool.to_owned()).or_default();
            *count = count.saturating_add(1);
        }
    }
}

fn sum(used: u64, more: u64, of: &'static str) -> Result<u64, BadAmount> {
    used.checked_add(more).ok_or(BadAmount::TooLarge { of })
}

/// An amount that is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadAmount {
    /// No number, or one that is not finite.
    #[error("{text:?} is no amount")]
    NotANumber {
        /// What was written.
        text: String,
    },
    /// Below zero.
    #[error("{text} is below zero")]
    Negative {
        /// What was written.
        text: String,
    },
    /// It does not fit the counter.
    #[error("the sum of {of} does not fit 64 bits")]
    TooLarge {
        /// Of what.
        of: &'static str,
    },
    /// A score outside its range.
    #[error("{what} is {value}, which is not from 0 to 1")]
    NotAShare {
        /// Which score.
        what: &'static str,
        /// What was given.
        value: f64,
    },
}

impl BadAmount {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotANumber { .. } => "write a plain decimal number, as in 0.0042",
            Self::Negative { .. } => "spend only grows: report what was used, not what came back",
            Self::TooLarge { .. } => "report each amount once, in the unit asked for",
            Self::NotAShare { .. } => "give a score from 0 (bad) to 1 (good)",
        }
    }
}

/// Dollars, as written, in micro-dollars: exact to the sixth decimal, rounded up
/// behind it, because a cost that is rounded away is never paid.
pub fn micros(dollars: &str) -> Result<u64, BadAmount> {
    let not_a_number = || BadAmount::NotANumber { text: dollars.chars().take(40).collect() };
    let decimal = Decimal::read(dollars).ok_or_else(not_a_number)?;
    if decimal.negative {
        return Err(BadAmount::Negative { text: dollars.chars().take(40).collect() });
    }
    match decimal.magnitude(6) {
        Ok(micros) => Ok(micros),
        Err(NotWhole::TooLarge) => Err(BadAmount::TooLarge { of: "money" }),
        Err(NotWhole::Fraction) => round_up(dollars).ok_or_else(not_a_number),
    }
}

/// Something is left behind the sixth decimal, so the next micro-dollar it is.
fn round_up(dollars: &str) -> Option<u64> {
    let value: f64 = dollars.parse().ok()?;
    let up = (value * 1e6).ceil().max(1.0);
    // Written out and read back: a cast would saturate without a word.
    (up < 1e18).then(|| format!("{up:.0}").parse().ok()).flatten()
}
