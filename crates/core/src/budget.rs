//! Bounds of a run, and what it has used of them.
//!
//! Money is integer micro-dollars. A step reserves before it is sent and settles
//! when it is answered; what is in flight therefore counts. Every bound is
//! finite by default, all defaults stand in [`Limits::default`] and
//! [`TreeLimits::default`]. [`UNLIMITED`] is a value somebody has to write.

mod allowance;
mod price;
pub(crate) mod word;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Raise;
use crate::id::ToolName;

pub use allowance::{Allowance, Share};
pub use price::Price;
pub use word::amount;

/// The amount that is never reached. Written `unlimited` in tasks and journals.
pub const UNLIMITED: u64 = u64::MAX;
/// [`UNLIMITED`] where the amount is a count.
pub const UNLIMITED_COUNT: u32 = u32::MAX;

/// Most output tokens of a side question; fewer where a model call may have fewer.
pub const ASIDE_TOKENS: u64 = 1024;

/// From this share of a limit on, in percent, the model is warned.
const WARN_PERCENT: u128 = 80;

/// What a run may use. Zero is zero, not "no limit".
///
/// A field that was added later is left out of journals while it has its
/// default, so what older builds wrote keeps its bytes; those defaults must
/// therefore stay what they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Model calls, retries and the summary included.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub steps: u32,
    /// Tool calls; another attempt at one counts.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub tool_calls: u32,
    /// Tokens: input (cached or not) and output (reasoning or not).
    #[serde(with = "word")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub tokens: u64,
    /// Money in micro-dollars.
    #[serde(with = "word")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub micros: u64,
    /// Working time; waiting for people, pauses and down-time do not count.
    #[serde(with = "word")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub active_ms: u64,
    /// Rounds of repair.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
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
    /// How much of the tokens and of the money may go into critique and repair.
    #[serde(with = "word::count", default = "repair_percent", skip_serializing_if = "is_repair_percent")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub repair_percent: u32,
    /// Working time of critique and repair.
    #[serde(with = "word", default = "repair_ms", skip_serializing_if = "is_repair_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub repair_ms: u64,
    /// Tokens of one model call, what it reads and what it answers; fewer where the model
    /// takes fewer.
    #[serde(with = "word", default = "context_tokens", skip_serializing_if = "is_context_tokens")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub context_tokens: u64,
    /// Calls of single tools, by name; a tool that is not named has no bound of its own.
    #[serde(with = "word::counts", default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<ToolName, crate::schema::Count>"))]
    pub tools: BTreeMap<ToolName, u32>,
    /// What the run and all agents below it may be and use together.
    #[serde(default, skip_serializing_if = "TreeLimits::is_default")]
    pub tree: TreeLimits,
}

fn repair_percent() -> u32 {
    30
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_repair_percent(percent: &u32) -> bool {
    *percent == repair_percent()
}

fn repair_ms() -> u64 {
    15 * 60 * 1000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_repair_ms(ms: &u64) -> bool {
    *ms == repair_ms()
}

fn context_tokens() -> u64 {
    1_000_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_context_tokens(tokens: &u64) -> bool {
    *tokens == context_tokens()
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
            repair_percent: repair_percent(),
            repair_ms: repair_ms(),
            context_tokens: context_tokens(),
            tools: BTreeMap::new(),
            tree: TreeLimits::default(),
        }
    }
}

/// What a run and all agents below it may be and use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TreeLimits {
    /// Levels of agents below the run.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub depth: u32,
    /// Agents below the run that have not ended.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub agents_alive: u32,
    /// Agents below the run, ended ones included.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub agents: u32,
    /// Model calls of the run and of all agents below it.
    #[serde(with = "word::count")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    pub steps: u32,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { depth: 3, agents_alive: 8, agents: 32, steps: 200 }
    }
}

impl TreeLimits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Limits {
    /// Sets limits higher; a lower value changes nothing.
    pub fn raise(&mut self, raised: &[Raise]) {
        for Raise { limit, to } in raised {
            let count = u32::try_from(*to).unwrap_or(UNLIMITED_COUNT);
            let higher = |kept: &mut u32| *kept = (*kept).max(count);
            match limit {
                Limit::Steps => higher(&mut self.steps),
                Limit::ToolCalls => higher(&mut self.tool_calls),
                Limit::Tokens => self.tokens = self.tokens.max(*to),
                Limit::Money => self.micros = self.micros.max(*to),
                Limit::ActiveTime => self.active_ms = self.active_ms.max(*to),
                Limit::Repairs => higher(&mut self.repairs),
                Limit::RepairShare => higher(&mut self.repair_percent),
                Limit::RepairTime => self.repair_ms = self.repair_ms.max(*to),
                Limit::Context => self.context_tokens = self.context_tokens.max(*to),
                Limit::TreeSteps => higher(&mut self.tree.steps),
                Limit::Depth => higher(&mut self.tree.depth),
                Limit::AgentsAlive => higher(&mut self.tree.agents_alive),
                Limit::Agents => higher(&mut self.tree.agents),
                // A tool without a bound would get one by this, which is no raise.
                Limit::Tool(name) => self.tools.get_mut(name).into_iter().for_each(higher),
            }
        }
    }

    /// What may be used of a limit; [`UNLIMITED`] where there is no bound.
    #[must_use]
    pub fn allowed(&self, limit: &Limit) -> u64 {
        match limit {
            Limit::Steps => wide(self.steps),
            Limit::ToolCalls => wide(self.tool_calls),
            Limit::Tokens => self.tokens,
            Limit::Money => self.micros,
            Limit::ActiveTime => self.active_ms,
            Limit::Repairs => wide(self.repairs),
            Limit::RepairShare => wide(self.repair_percent),
            Limit::RepairTime => self.repair_ms,
            Limit::Context => self.context_tokens,
            Limit::TreeSteps => wide(self.tree.steps),
            Limit::Depth => wide(self.tree.depth),
            Limit::AgentsAlive => wide(self.tree.agents_alive),
            Limit::Agents => wide(self.tree.agents),
            Limit::Tool(name) => self.tools.get(name).map_or(UNLIMITED, |most| wide(*most)),
        }
    }
}

/// A count as an amount: what is unlimited stays so.
fn wide(count: u32) -> u64 {
    if count == UNLIMITED_COUNT { UNLIMITED } else { u64::from(count) }
}

/// A bound that can be reached, and raised by `resume --raise`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// [`Limits::repairs`]. Used up, the run fails: it was tried as often as was allowed.
    Repairs,
    /// [`Limits::repair_percent`]
    RepairShare,
    /// [`Limits::repair_ms`]
    RepairTime,
    /// [`Limits::context_tokens`]
    Context,
    /// [`TreeLimits::steps`]
    TreeSteps,
    /// [`TreeLimits::depth`]
    Depth,
    /// [`TreeLimits::agents_alive`]
    AgentsAlive,
    /// [`TreeLimits::agents`]
    Agents,
    /// One of [`Limits::tools`]
    Tool(ToolName),
}

impl Limit {
    /// Every limit but those of single tools, in the order they are checked.
    pub const ALL: [Self; 13] = [
        Self::Steps,
        Self::ToolCalls,
        Self::Tokens,
        Self::Money,
        Self::ActiveTime,
        Self::Repairs,
        Self::RepairShare,
        Self::RepairTime,
        Self::Context,
        Self::TreeSteps,
        Self::Depth,
        Self::AgentsAlive,
        Self::Agents,
    ];
    /// What stands before a tool's name, as in `tools.read_file`.
    pub const TOOL_PREFIX: &'static str = "tools.";

    /// The word used on the command line and in task files.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Steps => "steps".into(),
            Self::ToolCalls => "tool_calls".into(),
            Self::Tokens => "tokens".into(),
            Self::Money => "cost_usd".into(),
            Self::ActiveTime => "active_seconds".into(),
            Self::Repairs => "repairs".into(),
            Self::RepairShare => "repair_percent".into(),
            Self::RepairTime => "repair_seconds".into(),
            Self::Context => "context_tokens".into(),
            Self::TreeSteps => "tree_steps".into(),
            Self::Depth => "depth".into(),
            Self::AgentsAlive => "agents_alive".into(),
            Self::Agents => "agents".into(),
            Self::Tool(name) => format!("{}{name}", Self::TOOL_PREFIX),
        }
    }
}

/// How much of a limit is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Gauge {
    /// Which.
    pub limit: Limit,
    /// The run whose limit it is; `None`: the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<crate::id::RunId>,
    /// What is used, in the limit's own unit.
    pub used: u64,
    /// What may be.
    #[serde(with = "word")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub allowed: u64,
}

impl Gauge {
    /// At least 80 % is used.
    #[must_use]
    pub fn is_near(&self) -> bool {
        let bounded = self.allowed != UNLIMITED && self.allowed > 0;
        bounded && u128::from(self.used) * 100 >= u128::from(self.allowed) * WARN_PERCENT
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> u64 {
        if self.allowed == UNLIMITED { UNLIMITED } else { self.allowed.saturating_sub(self.used) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// An amount of tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
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

/// What a run has used. None of these ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spend {
    /// Model calls started.
    pub steps: u32,
    /// Tool calls: first attempts, and those that trouble led to.
    pub tool_calls: u32,
    /// Tokens and money settled.
    pub settled: Cost,
    /// Working time so far.
    pub active_ms: u64,
    /// Repair rounds started.
    pub repairs: u32,
}
