//! What is said of plans that change while they are carried out, of what is read for
//! them and what comes out: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use super::{FailReason, HaltReason, StopReason};
use crate::guard::loops::Finding;
use crate::id::SubtaskId;
use crate::message::Payload;
use crate::provenance::Digest;

/// Why a sub-task came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SubtaskFailure {
    /// Its model says that it cannot be done this way.
    GaveUp {
        /// What it said.
        message: String,
    },
    /// The model would not do it.
    ModelRefused {
        /// What it said.
        message: String,
    },
    /// Too many cut replies in a row.
    Truncated {
        /// How many.
        in_a_row: u32,
    },
    /// The guard found its agent going in circles.
    Looping(Box<Finding>),
}

impl SubtaskFailure {
    /// What it means for a run that has no other way on.
    #[must_use]
    pub fn stop(self) -> StopReason {
        match self {
            Self::GaveUp { message } | Self::ModelRefused { message } => {
                StopReason::Fail(FailReason::ModelRefused { message })
            }
            Self::Truncated { in_a_row } => StopReason::Fail(FailReason::Truncated { in_a_row }),
            Self::Looping(why) => StopReason::Halt(HaltReason::Looping(why)),
        }
    }
}

/// How a run goes on after a sub-task failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WayOn {
    /// A choice around it tries its next branch.
    FallsBack {
        /// Which.
        choice: SubtaskId,
        /// The branch that is given up, counted from 0.
        from: u32,
        /// The branch that is tried now.
        to: u32,
    },
    /// The model is asked for other sub-tasks in its place.
    PlansAnew,
}

/// A file that was read as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Path below the workspace.
    pub path: String,
    /// What it said.
    pub content: Payload,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
}

/// What one of the last sub-tasks delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SubtaskOutput {
    /// Which.
    pub subtask: SubtaskId,
    /// What.
    pub output: Payload,
}
