//! What the controller of repair says, and what is done about rounds that look
//! alike: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::control::{Judgement, Strategy};

/// The word of the controller after a verification that failed, with all it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Controlled {
    /// Which verification.
    pub round: u32,
    /// The decision and what led to it.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// What is tried against rounds that look alike, in this order, each once a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Remedy {
    /// The next repair goes about it another way.
    SwitchStrategy {
        /// How the last one did.
        from: Strategy,
        /// How the next one does.
        to: Strategy,
    },
    /// The next repair is asked in another order and in other words.
    Perturb {
        /// Counts such repairs of the run, from 1; told to the model, and so part of
        /// the request's hash.
        vary: u32,
    },
    /// The evidence, and what the run has written, are read again first.
    FreshEvidence,
    /// A person must look at it: the run halts, with everything kept.
    Person,
}

/// A remedy against rounds that look alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remedied {
    /// The verification round that looks like an earlier one.
    pub round: u32,
    /// The first round that looked like it: the defect.
    pub defect: u32,
    /// What is tried.
    pub remedy: Remedy,
    /// Why.
    pub why: String,
}
