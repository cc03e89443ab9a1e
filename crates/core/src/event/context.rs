//! What is left out of a conversation so that it fits its model, and what cannot be made
//! to fit: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use super::Exhausted;
use crate::budget::Limit;
use crate::id::SubtaskId;
use crate::provenance::Digest;

/// Parts of a conversation that its model reads no more from here on. All of them are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Elided {
    /// Whose conversation.
    pub subtask: SubtaskId,
    /// The model it is made to fit.
    pub model: String,
    /// Tokens the next request would have had, as they are estimated.
    pub before: u64,
    /// Tokens without the parts.
    pub after: u64,
    /// Tokens a request may have.
    pub room: u64,
    /// What is left out, in the order it was chosen.
    pub parts: Vec<LeftOut>,
}

/// A part that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its message, counted from 0.
    pub at: u32,
    /// Which part of the message.
    pub what: MessagePart,
    /// Its length.
    pub bytes: u64,
    /// Hash of the text, which the journal or the store has.
    pub sha256: Digest,
    /// What the model reads in its place.
    pub instead: String,
}

/// A part of a message that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessagePart {
    /// What a tool returned.
    Output,
    /// What the model said.
    Words,
    /// The arguments of a call, by its place in the reply.
    Args(u16),
}

/// A conversation that does not fit its model, whatever is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ContextFull {
    /// Whose conversation.
    pub subtask: SubtaskId,
    /// The model it was to go to.
    pub model: String,
    /// Tokens that its opening, its last exchange and the shortened rest have at least, as
    /// they are estimated.
    pub wanted: u64,
    /// The part of them that is the opening: the task, its material, the tools.
    pub opening: u64,
    /// The part of them that is the last exchange.
    pub last: u64,
    /// Tokens a request may have.
    pub room: u64,
    /// Tokens kept for the answer.
    pub answer: u64,
    /// Who set the bound.
    pub by: ContextBound,
}

/// Who says how long a conversation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextBound {
    /// The task.
    Task,
    /// The model.
    Model,
    /// Nobody: the model does not say what it takes.
    Nobody,
}

impl ContextFull {
    /// The same as a limit that would have to be raised, where one would do.
    #[must_use]
    pub fn exhausted(&self) -> Option<Exhausted> {
        match self.by {
            ContextBound::Task => Some(Exhausted {
                limit: Limit::Context,
                wanted: self.wanted.saturating_add(self.answer),
                allowed: self.room.saturating_add(self.answer),
                of: None,
            }),
            ContextBound::Model | ContextBound::Nobody => None,
        }
    }
}
