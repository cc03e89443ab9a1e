//! Who agrees to an output that passed its gates.

use serde::{Deserialize, Serialize};

use super::{Confidence, Gate, GateResult, Thresholds};
use crate::control::Ppm;

/// How sure a run must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Doubts {
    /// From here on nobody is asked.
    pub auto: Ppm,
    /// Below this a person is not even asked: it counts as not good enough.
    pub review: Ppm,
}

impl Default for Doubts {
    fn default() -> Self {
        Self { auto: Ppm(950_000), review: Ppm(700_000) }
    }
}

/// What becomes of an output that passed its gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It is committed.
    Commit,
    /// A person decides.
    Person,
    /// It goes to repair, as if a check had failed.
    Reject,
}

impl Disposition {
    /// By how sure the run is. Where nothing is known a person decides.
    #[must_use]
    pub fn of(confidence: Option<&Confidence>, doubts: Doubts) -> Self {
        match confidence.map(|confidence| confidence.value) {
            None => Self::Person,
            Some(value) if value >= doubts.auto => Self::Commit,
            Some(value) if value >= doubts.review => Self::Person,
            Some(_) => Self::Reject,
        }
    }

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Person => "a person decides",
            Self::Reject => "not good enough",
        }
    }
}

/// What a verification makes one sure of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Assurance {
    /// What became of every gate.
    pub gates: Vec<GateResult>,
    /// How sure the run is; `None` where a gate is shut or nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// What that means.
    pub disposition: Disposition,
    /// Why a person is asked, where the task leaves that to the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
}

/// Why a person is asked about an output. Each is found mechanically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The run is not sure enough.
    Unsure,
    /// Something was done that cannot be undone, and nobody was asked about it.
    Irreversible,
    /// The task wants a person.
    Demanded,
    /// Nothing of its class was committed among the last runs.
    Novel,
    /// Optional parts were left out to fit the budget.
    Unfinished,
    /// The judge finds it less safe than is asked for by default: the task has lowered
    /// the gate, not what people want to see.
    Unsafe,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 6] =
        [Self::Unsure, Self::Irreversible, Self::Demanded, Self::Novel, Self::Unfinished, Self::Unsafe];

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unsure => "the run is not sure enough of it",
            Self::Irreversible => "something was done that cannot be undone, and nobody was asked",
            Self::Demanded => "the task wants a person to agree",
            Self::Novel => "nothing of its class was committed lately",
            Self::Unfinished => "optional parts were left out to fit the budget",
            Self::Unsafe => "the judge finds it less safe than the default gate asks",
        }
    }
}

/// What can pull a trigger, besides gates and confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// [`Trigger::Irreversible`]
    pub irreversible: bool,
    /// [`Trigger::Demanded`]
    pub demanded: bool,
    /// [`Trigger::Novel`]
    pub novel: bool,
    /// [`Trigger::Unfinished`]
    pub unfinished: bool,
}

/// Every trigger that is pulled by an output that passed its gates.
#[must_use]
pub fn triggers(disposition: Disposition, gates: &[GateResult], around: Circumstances) -> Vec<Trigger> {
    let is_unsure = match disposition {
        Disposition::Commit => false,
        Disposition::Person | Disposition::Reject => true,
    };
    let usual = Thresholds::default().safe;
    let is_low = |result: &GateResult| result.score.measured().is_some_and(|value| value < usual);
    let is_unsafe = gates.iter().any(|result| result.gate == Gate::Safe && is_low(result));
    let pulled = |trigger: &Trigger| match trigger {
        Trigger::Unsure => is_unsure,
        Trigger::Irreversible => around.irreversible,
        Trigger::Demanded => around.demanded,
        Trigger::Novel => around.novel,
        Trigger::Unfinished => around.unfinished,
        Trigger::Unsafe => is_unsafe,
    };
    Trigger::ALL.into_iter().filter(pulled).collect()
}
