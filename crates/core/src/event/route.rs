//! Which model a step is sent to, and why it is not the first choice: part of the
//! on-disk contract.

use serde::{Deserialize, Serialize};

use super::StepTrouble;
use crate::id::Millis;

/// A step that goes to another model than the task's own or its critic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// Which, as `kind:argument`.
    pub model: String,
    /// Why.
    pub why: SentFor,
}

/// Why a step is sent to another model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SentFor {
    /// This one was asked for the same answer, and gave none.
    Trouble {
        /// The last that was given up.
        with: String,
    },
    /// This one is left alone for a while.
    Resting {
        /// The one that would have been asked.
        model: String,
        /// Until when it is left alone.
        until: Millis,
    },
    /// The conversation cannot be made to fit this one.
    TooLong {
        /// The one that would have been asked.
        model: String,
    },
    /// Repairs of weaker ones came to nothing.
    Stronger {
        /// Its place on the ladder, from 1.
        rung: u32,
    },
}

/// What becomes of a model of a run that has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Routed {
    /// It is not asked for a while, unless there is no other.
    Rests {
        /// Which.
        model: String,
        /// Attempts in a row that it left unanswered.
        failures: u32,
        /// What kind of trouble the last one met.
        why: StepTrouble,
        /// Until when. Then it is asked again, and that decides.
        until: Millis,
    },
    /// It answered after it was left alone: it is asked like any other.
    Back {
        /// Which.
        model: String,
    },
}
