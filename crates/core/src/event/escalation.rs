//! What is tried once repairs came to nothing: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::id::SubtaskId;

/// Something beyond repair is tried; repairs are counted anew from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Escalated {
    /// What.
    pub step: Escalation,
    /// What repairs came to.
    pub why: String,
}

/// What is tried, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Escalation {
    /// A stronger model repairs, and does whatever work comes after.
    BiggerModel {
        /// Which.
        model: String,
        /// Its place on the ladder, from 1.
        rung: u32,
    },
    /// The model breaks the task down otherwise, and all of it is done anew.
    ReDecompose,
    /// What holds is verified without what does not, for a person to agree to.
    Partial {
        /// Parts of the plan that are left out.
        missing: Vec<SubtaskId>,
    },
    /// A person looks at the best output there is.
    Person {
        /// How often by now.
        asked: u32,
    },
}
