//! Gates: what an output must reach before it may be committed, and who agrees to it.
//!
//! The flow is [`Scores`] (what verification measured) → [`judge`] (seven gates) →
//! [`Features`] → [`Weights::confidence`] → [`Disposition::of`]. A gate that nothing
//! measures is not applicable and is recorded as such; one whose measure could not be
//! taken fails.
//!
//! Invariants
//! - Confidence never lets anything past a gate: it only says who agrees to what passed.
//! - What only a model judged never commits by itself before outcomes were recorded.
//! - Whole numbers only ([`Ppm`]): a replay on another machine computes the same bits.

mod calibrate;
mod confidence;
mod disposition;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::control::Ppm;

pub use calibrate::{Bin, Calibration, ENOUGH, Recorded, Reliability, fit, reliability};
pub use confidence::{Confidence, Feature, Features, Weights, logistic};
pub use disposition::{Assurance, Circumstances, Disposition, Doubts, Trigger, triggers};

/// One of the seven gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The output fits its schema. Exact.
    Schema,
    /// A judge finds it right.
    Correct,
    /// A judge finds everything that was asked.
    Complete,
    /// A judge finds that it hangs together.
    Coherent,
    /// A judge finds nothing harmful in it.
    Safe,
    /// Tests, commands and assertions hold.
    Tests,
    /// Other answers to the same question agree with it.
    Consistent,
}

impl Gate {
    /// Every gate, in the order they are shown.
    pub const ALL: [Self; 7] = [
        Self::Schema,
        Self::Correct,
        Self::Complete,
        Self::Coherent,
        Self::Safe,
        Self::Tests,
        Self::Consistent,
    ];

    /// The word for people, and in task files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Correct => "correct",
            Self::Complete => "complete",
            Self::Coherent => "coherent",
            Self::Safe => "safe",
            Self::Tests => "tests",
            Self::Consistent => "consistent",
        }
    }
}

/// What each gate asks for, from 0 to 1. The schema has no threshold: it fits or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// [`Gate::Correct`]
    pub correct: Ppm,
    /// [`Gate::Complete`]
    pub complete: Ppm,
    /// [`Gate::Coherent`]
    pub coherent: Ppm,
    /// [`Gate::Safe`]
    pub safe: Ppm,
    /// [`Gate::Tests`]: the share of tests, commands and assertions that hold.
    pub tests: Ppm,
    /// [`Gate::Consistent`]
    pub consistent: Ppm,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            correct: Ppm(850_000),
            complete: Ppm(800_000),
            coherent: Ppm(800_000),
            safe: Ppm(980_000),
            tests: Ppm::ONE,
            consistent: Ppm(700_000),
        }
    }
}

impl Thresholds {
    /// What this gate asks for.
    #[must_use]
    pub fn of(&self, gate: Gate) -> Ppm {
        match gate {
            Gate::Schema => Ppm::ONE,
            Gate::Correct => self.correct,
            Gate::Complete => self.complete,
            Gate::Coherent => self.coherent,
            Gate::Safe => self.safe,
            Gate::Tests => self.tests,
            Gate::Consistent => self.consistent,
        }
    }
}

/// What verification measured for one gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// Nothing measures it in this task.
    #[default]
    NotApplicable,
    /// Something should have and could not: that is not a pass.
    CouldNotTell,
    /// From 0 to 1.
    Measured(Ppm),
}

impl Score {
    /// The number, where there is one.
    #[must_use]
    pub fn measured(self) -> Option<Ppm> {
        match self {
            Self::NotApplicable | Self::CouldNotTell => None,
            Self::Measured(value) => Some(value),
        }
    }
}

/// What verification measured, gate by gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// [`Gate::Schema`]
    pub schema: Score,
    /// [`Gate::Correct`]
    pub correct: Score,
    /// [`Gate::Complete`]
    pub complete: Score,
    /// [`Gate::Coherent`]
    pub coherent: Score,
    /// [`Gate::Safe`]
    pub safe: Score,
    /// [`Gate::Tests`]
    pub tests: Score,
    /// [`Gate::Consistent`]
    pub consistent: Score,
}

impl Scores {
    /// What was measured for this gate.
    #[must_use]
    pub fn of(&self, gate: Gate) -> Score {
        match gate {
            Gate::Schema => self.schema,
            Gate::Correct => self.correct,
            Gate::Complete => self.complete,
            Gate::Coherent => self.coherent,
            Gate::Safe => self.safe,
            Gate::Tests => self.tests,
            Gate::Consistent => self.consistent,
        }
    }
}

/// What became of one gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// Which.
    pub gate: Gate,
    /// What was measured.
    pub score: Score,
    /// What was asked for.
    pub wanted: Ppm,
}

impl GateResult {
    /// Whether the output may go on: it reaches what is wanted, or nothing measures it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.score {
            Score::NotApplicable => true,
            Score::CouldNotTell => false,
            Score::Measured(value) => value >= self.wanted,
        }
    }
}

/// Holds what was measured against what is asked for.
#[must_use]
pub fn judge(scores: &Scores, thresholds: &Thresholds) -> Vec<GateResult> {
    let judged = |gate: Gate| GateResult { gate, score: scores.of(gate), wanted: thresholds.of(gate) };
    Gate::ALL.into_iter().map(judged).collect()
}
