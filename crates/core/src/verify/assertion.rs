//! Assertions of a task: plain statements about its output or a file, made by a machine.
//!
//! Only their form is here; whoever can read files looks whether they hold.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Ppm;

/// A statement that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// About what.
    pub target: Target,
    /// What must hold of it.
    pub proof: Proof,
}

/// What an assertion is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The output of the run.
    Output,
    /// A file of the workspace.
    File(String),
}

/// What must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Proof {
    /// The file is there, or is not.
    Exists(bool),
    /// Some part of the text fits this regular expression, or none does.
    Matches {
        /// The expression.
        pattern: String,
        /// Whether it shall.
        wanted: bool,
    },
    /// A place of the JSON has this value.
    Value(Of),
}

/// A place in JSON and what shall be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Of {
    /// A JSON pointer.
    pub at: String,
    /// What shall be there.
    pub is: Value,
    /// How far a number may be off, as a share of 1, in parts per million.
    #[serde(default, skip_serializing_if = "is_exact")]
    pub within: Ppm,
}

fn is_exact(within: &Ppm) -> bool {
    *within == Ppm::ZERO
}
