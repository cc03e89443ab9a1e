//! What is said of handing a committed output on: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::id::Millis;
use crate::provenance::Digest;

/// How handing a committed output on goes. It stands behind the ending, which stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Promoted {
    /// It shall be handed on.
    Begun {
        /// The same for every attempt, now and later, so that whoever takes it can tell.
        key: Digest,
        /// Who wants it; `None`: the run itself, which commits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It is about to be handed on.
    Tried {
        /// Counts from 1, crashes included.
        attempt: u32,
    },
    /// It was not taken; another attempt is made.
    Troubled {
        /// The attempt.
        attempt: u32,
        /// Why not.
        message: String,
        /// When it is tried again.
        retry_at: Millis,
    },
    /// It is over.
    Settled(PromotionOutcome),
}

/// What came of handing an output on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromotionOutcome {
    /// It was taken, once or more than once under one key.
    Taken,
    /// As far as anybody knows it was not, and is not tried again by itself.
    NotTaken(String),
    /// A person undoes the run first.
    Withdrawn,
}
