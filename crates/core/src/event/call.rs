//! What is said of tool calls and of questions to people: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::budget::Cost;
use crate::id::ActionId;
use crate::message::Payload;

/// The result of an earlier call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// What the model read.
    pub output: Payload,
    /// Whether it was bad news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Why a call was refused before it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No such tool.
    UnknownTool,
    /// The arguments are no JSON or do not fit the schema.
    BadArguments,
    /// The reply was cut: a half call never runs.
    Truncated,
    /// It could not be prepared, so it could not work either.
    Unprepared,
    /// A person said no.
    Denied,
    /// The run was stopped before it could start.
    Cancelled,
    /// No tools were offered: it was the last call, for a summary.
    NotOffered,
    /// The agent has no capability for it.
    NotAllowed,
    /// Its tool failed again and again, and is not called for a while.
    Unavailable,
}

/// What a person is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// May this call be made?
    Action(ActionId),
    /// May this output be committed?
    Output,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Action(action) => action.fmt(f),
            Self::Output => f.write_str("output"),
        }
    }
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// Yes.
    Approved {
        /// Who.
        by: String,
    },
    /// No.
    Denied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Not like this: it goes back to repair with these words. Only for outputs.
    SentBack {
        /// Who.
        by: String,
        /// What shall be changed.
        feedback: String,
    },
    /// Nobody answered in time.
    Expired,
}

/// How a call went, as the tool tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// It did not; the output says why.
    Error,
    /// It was ended by its deadline, and may be repeated.
    TimedOut,
    /// It was ended because the run was.
    Cancelled,
    /// The last attempt did not happen; the tool says that it may work later.
    Unavailable,
}

/// Kinds of passing trouble with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallTrouble {
    /// The attempt did not happen; it may work later.
    Unavailable,
    /// It was ended by its deadline, or its reply was lost; it may be repeated.
    TimedOut,
    /// The process died while it asked a model; it may be repeated.
    Lost,
}

impl CallTrouble {
    /// What an attempt that ended so costs, of what was set aside for the model it asked.
    #[must_use]
    pub fn paid(self, reserved: Cost) -> Cost {
        match self {
            Self::TimedOut | Self::Lost => reserved,
            Self::Unavailable => Cost::default(),
        }
    }
}

/// How a call came to be in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The process died between intent and outcome.
    Crash,
    /// The run was cancelled while it was out.
    Cancelled,
    /// It did not answer in time, or could not tell.
    LostReply,
    /// The run was brought back from a backup: it may have been made elsewhere since.
    Restored,
}

/// Who can end a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The tool's own probe.
    Probe,
    /// A person.
    Person,
}

/// How doubt about a call ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Settlement {
    /// It happened; this is its result.
    Happened {
        /// What the model reads.
        output: Payload,
    },
    /// It did not happen: it is made now, with the same key.
    DidNotHappen,
    /// Nobody will find out, and it is never made again.
    GivenUp {
        /// What the model is told.
        message: String,
    },
}
