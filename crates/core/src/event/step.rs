//! What a model call is for, what is remembered of it, and why it has no answer.

use serde::{Deserialize, Serialize};

use crate::budget::Cost;
use crate::guard::Sketch;
use crate::id::SubtaskId;

/// What the guard remembers of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// How it opens, as a guard remembers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Box<str>>,
    /// Its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Sketch>,
    /// For comparing whole answers; only of replies that ask for nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
}

/// What a model call is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The tool loop of a sub-task or repair.
    Act(SubtaskId),
    /// Diagnosis of a failed verification round.
    Critique(u32),
    /// A plan, or what shall stand in the place of a sub-task that failed. Counts
    /// from 1.
    Plan(u32),
    /// A judgement within a verification.
    Judge(Judgement),
}

/// One answer that a verification needs of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Which verification.
    pub round: u32,
    /// Index in the task's checks.
    pub index: u32,
    /// Which of the answers the check needs, from 1.
    pub ask: u32,
}

/// Why a step has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepFailure {
    /// What kind of trouble.
    pub kind: StepTrouble,
    /// In words.
    pub message: String,
}

/// Kinds of trouble with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepTrouble {
    /// May pass: overload, reset, server error.
    Transient,
    /// Asked to slow down.
    RateLimited,
    /// No answer in time, or one that was begun and cannot be used: it may have been billed.
    TimedOut,
    /// Will not pass by itself: key, quota, unknown model, bad request.
    Permanent,
    /// The process died while it was in flight.
    Lost,
}

impl StepTrouble {
    /// What a step that ended so costs, of what was set aside for it: nobody
    /// knows what one without a whole answer used, so it is paid in full.
    #[must_use]
    pub fn paid(self, reserved: Cost) -> Cost {
        match self {
            Self::Lost | Self::TimedOut => reserved,
            Self::Transient | Self::RateLimited | Self::Permanent => Cost::default(),
        }
    }
}
