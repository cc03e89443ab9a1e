//! What tokens cost, by kind. A price is exact to the micro-dollar and a cost is
//! rounded up, so that a reservation is never short.

use serde::{Deserialize, Serialize};

use crate::message::Usage;

/// What a model costs, in micro-dollars per million tokens.
///
/// There is no price that means "unknown": a model that cannot tell has no
/// `Price`, and a run is not submitted without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// For what it reads.
    pub input: u64,
    /// For what it writes.
    pub output: u64,
    /// For what it reads from a cache; `None`: as `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// For what it thinks; `None`: as `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Price {
    /// Of a model that costs nothing, and says so.
    pub const FREE: Self = Self { input: 0, output: 0, cached: None, reasoning: None };

    /// The most that so many tokens can cost, whatever kind they turn out to be.
    #[must_use]
    pub fn at_most(&self, input: u64, output: u64) -> u64 {
        let dearest = |plain: u64, other: Option<u64>| other.map_or(plain, |other| plain.max(other));
        micros(&[(input, dearest(self.input, self.cached)), (output, dearest(self.output, self.reasoning))])
    }

    /// What a call with this usage costs. Cached tokens are part of the input and
    /// reasoning part of the output, so neither is paid twice.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let reasoning = usage.reasoning.min(usage.output);
        micros(&[
            (usage.input - cached, self.input),
            (cached, self.cached.unwrap_or(self.input)),
            (usage.output - reasoning, self.output),
            (reasoning, self.reasoning.unwrap_or(self.output)),
        ])
    }
}

/// Tokens times price, summed exactly and rounded up once.
fn micros(rows: &[(u64, u64)]) -> u64 {
    let exact = rows
        .iter()
        .fold(0_u128, |sum, (tokens, price)| sum.saturating_add(u128::from(*tokens) * u128::from(*price)));
    u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
