//! Small words of facts: what a verification came to, and in what programs ran. Part of the
//! on-disk contract.

use serde::{Deserialize, Serialize};

/// In what the programs of a run run while a worker has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// In a cage.
    Caged,
    /// In nothing: they may do what the worker may do.
    Uncaged,
}

/// What a verification came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Every check passed.
    Passed,
    /// There was nothing to check: a person must decide, unless the task says not.
    NothingToCheck,
    /// The output does not fit its schema: straight to repair.
    SchemaFailed,
    /// A check failed or could not run: diagnosis first.
    ChecksFailed,
    /// Everything holds, and still the run is too unsure to bother a person with it.
    NotSure,
}
