//! Checks that a judge makes: a model that sees task, output and evidence, never how the
//! output came about. What it says is read strictly, counted and turned into a result.
//!
//! An [`Opinion`] is one answer of a judge, read. Some kinds of check are concluded from
//! opinions alone ([`conclude`]): a rubric, claims. For others the opinions are material
//! for something that is executed: edge cases are run, samples are compared.
//!
//! Invariants
//! - An answer that is not exactly what was asked for is no opinion: a missing score is
//!   not a good one.
//! - A check without usable opinions could not run, which is not a pass.
//! - Nothing a judge says reaches the schema or the tests: those are not asked of it.

mod agreement;
mod assertion;
mod cases;
mod claims;
mod rubric;
mod scores;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Ppm;
use crate::gate::Thresholds;
use crate::message::Payload;
use crate::plan::unfenced;
use crate::quality::{CheckHow, CheckOutcome, Failure};

pub use agreement::{Agreement, By, SAMPLES, Sampling, agree, confirm, differ};
pub use assertion::{Assertion, Of, Proof, Target};
pub use cases::{CASES_MAX, EdgeCase, EdgeCases};
pub use claims::{CLAIMS_MAX, Claim, ClaimCounts, ClaimRules, Stance};
pub use rubric::{ASKS_MAX, DIMENSIONS_MAX, Dimension, Rubric, RubricScores, Scored, Spread};
pub use scores::{features, scores};

/// Longest text that is kept of a judge's reasons, in characters.
const WHY_MAX: usize = 500;

/// One answer of a judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    /// A score for every dimension of the rubric.
    Rubric(Vec<Scored>),
    /// What the output claims, held against the evidence.
    Claims(Vec<Claim>),
    /// Inputs that may break the output.
    Cases(Vec<EdgeCase>),
    /// Another answer to the same task.
    Sample(Payload),
    /// Nothing that could be used, twice; in words.
    Unusable(String),
}

impl Opinion {
    /// The other answer, where it is one.
    #[must_use]
    pub fn sample(&self) -> Option<&Payload> {
        match self {
            Self::Sample(text) => Some(text),
            Self::Rubric(_) | Self::Claims(_) | Self::Cases(_) | Self::Unusable(_) => None,
        }
    }
}

/// What a check measured, besides whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Single tests.
    Tests(TestCounts),
    /// Scores of a rubric.
    Rubric(RubricScores),
    /// Claims held against evidence.
    Claims(ClaimCounts),
    /// How many other answers agree.
    Agreement(Agreement),
}

/// Single tests of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestCounts {
    /// Held.
    pub passed: u64,
    /// Did not hold, or could not be run.
    pub failed: u64,
    /// Were left out.
    pub skipped: u64,
}

impl TestCounts {
    /// How many ran.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

/// How often a judge is asked for this check; 0 for checks without one.
#[must_use]
pub fn asks(how: &CheckHow) -> u32 {
    match how {
        CheckHow::Schema(_) | CheckHow::Command { .. } | CheckHow::Tests(_) | CheckHow::Assert(_) => 0,
        CheckHow::Rubric(rubric) => rubric.asks,
        CheckHow::Claims(_) | CheckHow::EdgeCases(_) => 1,
        CheckHow::Consistent(sampling) => sampling.asks(),
    }
}

/// The JSON Schema of a judge's answer; `None` where any text will do.
#[must_use]
pub fn schema(how: &CheckHow) -> Option<Value> {
    match how {
        CheckHow::Rubric(rubric) => Some(rubric.schema()),
        CheckHow::Claims(_) => Some(claims::schema()),
        CheckHow::EdgeCases(rules) => Some(rules.schema()),
        CheckHow::Consistent(_)
        | CheckHow::Schema(_)
        | CheckHow::Command { .. }
        | CheckHow::Tests(_)
        | CheckHow::Assert(_) => None,
    }
}

/// Reads an answer. The error says what is wrong with it, for a second try.
pub fn read(how: &CheckHow, text: &str, whole: &Payload) -> Result<Opinion, String> {
    let text = unfenced(text);
    match how {
        CheckHow::Rubric(rubric) => rubric.read(text).map(Opinion::Rubric),
        CheckHow::Claims(rules) => rules.read(text).map(Opinion::Claims),
        CheckHow::EdgeCases(rules) => rules.read(text).map(Opinion::Cases),
        CheckHow::Consistent(_) if text.trim().is_empty() => Err("the answer is empty".into()),
        CheckHow::Consistent(_) => Ok(Opinion::Sample(whole.clone())),
        CheckHow::Schema(_) | CheckHow::Command { .. } | CheckHow::Tests(_) | CheckHow::Assert(_) => {
            Err("nobody was asked".into())
        }
    }
}

/// What a check came to, with what it measured.
pub type Conclusion = (CheckOutcome, Option<Measure>);

/// What opinions come to; `None` where something has to be executed with them first.
#[must_use]
pub fn conclude(how: &CheckHow, thresholds: &Thresholds, opinions: &[Opinion]) -> Option<Conclusion> {
    let unusable = opinions.iter().find_map(|opinion| match opinion {
        Opinion::Unusable(why) => Some(why),
        Opinion::Rubric(_) | Opinion::Claims(_) | Opinion::Cases(_) | Opinion::Sample(_) => None,
    });
    if let Some(why) = unusable {
        return Some((CheckOutcome::CouldNotRun(format!("the judge gave no usable answer: {why}")), None));
    }
    match how {
        CheckHow::Rubric(rubric) => Some(rubric.conclude(thresholds, opinions)),
        CheckHow::Claims(rules) => Some(rules.conclude(opinions)),
        CheckHow::EdgeCases(_) if cases::of(opinions).is_empty() => {
            Some((CheckOutcome::NotApplicable("the judge found no edge case".into()), None))
        }
        CheckHow::EdgeCases(_)
        | CheckHow::Consistent(_)
        | CheckHow::Schema(_)
        | CheckHow::Command { .. }
        | CheckHow::Tests(_)
        | CheckHow::Assert(_) => None,
    }
}

/// What is wrong, of a check of this name.
fn failure(name: &str, message: String, place: Option<String>) -> Failure {
    Failure::new(name, message).at(place)
}

/// Reads JSON of this shape, or says what is wrong with it.
fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|problem| format!("it is not the JSON that was asked for: {problem}"))
}

/// A share a judge wrote, from 0 to 1.
fn share(value: f64) -> Option<Ppm> {
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and a million")]
    let ppm = || Ppm((value * 1e6).round() as i64);
    (0.0..=1.0).contains(&value).then(ppm)
}

fn short(text: &str) -> String {
    text.chars().take(WHY_MAX).collect()
}
