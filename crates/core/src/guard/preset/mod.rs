//! Loop rules as other guards have them, kept exactly, to compare with and to
//! move over from.
//!
//! Three rules, told apart by what they look at: the same call anywhere in a
//! run ([`SameCall`]), the same tool in a row ([`NameStreak`]), the same call
//! with the same result in a window ([`CrossBatch`]). They share nothing with
//! [`super::loops`]: neither its keys nor its notion of an equal result.
//!
//! Invariants
//! - Asking changes nothing; recording does.
//! - Calls and outputs are remembered by their whole hash, never by their text,
//!   and every table has a cap.

mod cross_batch;
mod name_streak;
mod same_call;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use cross_batch::Edit;
pub use cross_batch::{CrossBatch, Editors};
pub use name_streak::NameStreak;
pub use same_call::SameCall;

use super::Origin;
use crate::provenance::Digest;

/// A rule by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The same call for the third time in a run; five truncated replies in a
    /// row; a money limit of zero means none.
    AgentLoopV1,
    /// The same tool five times in a row within a turn.
    NameStreak,
    /// The same call with the same result for the third time, or with any
    /// result for the sixth, among the last 32 calls of a turn. A new
    /// successful edit forgets them.
    CrossBatch,
    /// The same, and it knows the editor tools of today's agents.
    CrossBatchEditors,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 4] =
        [Self::AgentLoopV1, Self::NameStreak, Self::CrossBatch, Self::CrossBatchEditors];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentLoopV1 => "agent-loop-v1",
            Self::NameStreak => "name-streak",
            Self::CrossBatch => "cross-batch",
            Self::CrossBatchEditors => "cross-batch-editors",
        }
    }

    /// The preset of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its rule, having seen nothing.
    #[must_use]
    pub fn rule(self) -> Rule {
        match self {
            Self::AgentLoopV1 => Rule::SameCall(SameCall::default()),
            Self::NameStreak => Rule::NameStreak(NameStreak::default()),
            Self::CrossBatch => Rule::CrossBatch(CrossBatch::new(Editors::AsShipped)),
            Self::CrossBatchEditors => Rule::CrossBatch(CrossBatch::new(Editors::Known)),
        }
    }

    /// How many truncated replies in a row end a run. Only one of the sources
    /// has such a rule; the others get ours.
    #[must_use]
    pub fn truncations(self) -> u32 {
        match self {
            Self::AgentLoopV1 => 5,
            Self::NameStreak | Self::CrossBatch | Self::CrossBatchEditors => 3,
        }
    }

    /// What a limit of zero dollars means.
    #[must_use]
    pub fn zero_cost(self) -> ZeroCost {
        match self {
            Self::AgentLoopV1 => ZeroCost::Unlimited,
            Self::NameStreak | Self::CrossBatch | Self::CrossBatchEditors => ZeroCost::Nothing,
        }
    }

    /// What its source does when the rule fires.
    #[must_use]
    pub fn consequence(self) -> Consequence {
        match self {
            Self::NameStreak => Consequence::Stop,
            Self::AgentLoopV1 | Self::CrossBatch | Self::CrossBatchEditors => Consequence::Block,
        }
    }
}

/// What a limit of zero dollars means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCost {
    /// Nothing may be spent.
    Nothing,
    /// There is no limit.
    Unlimited,
}

/// What follows when a rule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// The call is answered in its tool's place.
    Block,
    /// The run ends.
    Stop,
}

/// A rule at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// See [`SameCall`].
    SameCall(SameCall),
    /// See [`NameStreak`].
    NameStreak(NameStreak),
    /// See [`CrossBatch`].
    CrossBatch(CrossBatch),
}

/// Why a rule fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    /// The call was asked for so often in this run, this time included.
    SameCall {
        /// How often.
        times: u32,
    },
    /// The tool was asked for so often in a row, this time included.
    NameStreak {
        /// How often, truly: not cut at the threshold.
        depth: u32,
    },
    /// The call ran so often and always returned the same.
    SameResult {
        /// How often it ran.
        ran: u32,
    },
    /// The call ran so often, whatever it returned.
    AnyResult {
        /// How often it ran.
        ran: u32,
    },
}

impl Cause {
    /// The rule in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SameCall { .. } => "same_call",
            Self::NameStreak { .. } => "name_streak",
            Self::SameResult { .. } => "same_result",
            Self::AnyResult { .. } => "any_result",
        }
    }

    /// What the model is told.
    #[must_use]
    pub fn notice(self, tool: &str) -> String {
        match self {
            Self::SameCall { times } => {
                format!("{tool} was asked for {times} times with these arguments. It was not run again.")
            }
            Self::NameStreak { depth } => {
                format!(
                    "{tool} was asked for {depth} times in a row. It was not run again: do something else."
                )
            }
            Self::SameResult { ran } => format!(
                "{tool} ran {ran} times with these arguments in this turn, returned the same each time, \
                 and nothing was changed in between. It was not run again: change something first."
            ),
            Self::AnyResult { ran } => format!(
                "{tool} ran {ran} times with these arguments in this turn. What it returns differs from \
                 run to run, but asking again is no progress. It was not run again: ask for something else."
            ),
        }
    }
}

/// A call as the rules see it: small, made from texts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Names tool and arguments as the sources compare them: JSON without white
    /// space and with sorted keys, `1` apart from `1.0`; anything else as it is.
    key: Digest,
    /// Names the tool.
    tool: Digest,
    /// Whether it changes the world when it succeeds.
    edit: Edit,
}

impl Asked {
    /// What the rules see of this call.
    #[must_use]
    pub fn of(tool: &str, args: &str) -> Self {
        let parsed = serde_json::from_str::<Value>(args).ok();
        let edit = Edit::of(tool, parsed.as_ref());
        let plain = match parsed {
            // Some builds keep the order in which keys were written.
            Some(mut args) => {
                args.sort_all_objects();
                args.to_string()
            }
            None => args.to_owned(),
        };
        let key = Digest::of_parts(&[tool.as_bytes(), plain.as_bytes()]);
        Self { key, tool: Digest::of(tool.as_bytes()), edit }
    }
}

impl Rule {
    /// Why this call should not be made, if so. Asked before it is made.
    #[must_use]
    pub fn check(&self, call: &Asked) -> Option<Cause> {
        match self {
            Self::SameCall(rule) => rule.check(call),
            Self::NameStreak(rule) => rule.check(call),
            Self::CrossBatch(rule) => rule.check(call),
        }
    }

    /// The call was made and came back; without a word about success it went well.
    pub fn record(&mut self, call: &Asked, output: &str, ok: Option<bool>) {
        match self {
            Self::SameCall(rule) => rule.count(call),
            Self::NameStreak(rule) => rule.count(call),
            Self::CrossBatch(rule) => rule.record(call, output, ok.unwrap_or(true)),
        }
    }

    /// The call was blocked. Rules about asking count it, rules about running do not.
    pub fn blocked(&mut self, call: &Asked) {
        match self {
            Self::SameCall(rule) => rule.count(call),
            Self::NameStreak(rule) => rule.count(call),
            Self::CrossBatch(_) => {}
        }
    }

    /// A user message. A person begins a new turn.
    pub fn user(&mut self, origin: Origin) {
        match (origin, self) {
            (Origin::Harness, _) | (Origin::Person, Self::SameCall(_)) => {}
            (Origin::Person, Self::NameStreak(rule)) => *rule = NameStreak::default(),
            (Origin::Person, Self::CrossBatch(rule)) => rule.clear(),
        }
    }
}
