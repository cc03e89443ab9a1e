//! What is said of undoing: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::provenance::Digest;
use crate::undo::Undo;

/// How a call is undone should it have to be, written down before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Compensator {
    /// The idempotency key of the undo: the same for every attempt at it.
    pub key: Digest,
    /// What is done.
    pub undo: Undo,
}

/// How the undo of a call went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UndoOutcome {
    /// What the call did is made up for.
    Compensated,
    /// The call had not happened, or was undone already.
    WasAsBefore,
    /// What is needed to undo it is not known.
    CannotBeUndone(String),
    /// It was tried and did not work.
    Failed(String),
}
