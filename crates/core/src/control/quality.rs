//! What an output is worth, as far as anybody measured it.

use serde::{Deserialize, Serialize};

use super::Ppm;
use crate::gate::Gate;
use crate::quality::{CheckOutcome, CheckResult};
use crate::verify::{Measure, RubricScores};

/// Most single failures of one check that count: more say nothing new.
const FAILURES_MAX: u64 = 64;

/// Four qualities, each from 0 to 1; `None` where nothing measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Does it hold what the checks ask?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct: Option<Ppm>,
    /// Is everything there?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<Ppm>,
    /// Does it hang together?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coherent: Option<Ppm>,
    /// Does it do no harm?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<Ppm>,
}

impl Quality {
    /// The same value for each.
    #[must_use]
    pub fn all(value: Ppm) -> Self {
        Self { correct: Some(value), complete: Some(value), coherent: Some(value), safe: Some(value) }
    }

    /// What is missing to these setpoints in the worst of the qualities that were
    /// measured: none may be traded for another. `None` where none was measured.
    #[must_use]
    pub fn error(&self, setpoints: &Self) -> Option<Ppm> {
        let pairs = [
            (self.correct, setpoints.correct),
            (self.complete, setpoints.complete),
            (self.coherent, setpoints.coherent),
            (self.safe, setpoints.safe),
        ];
        let missing = pairs.into_iter().filter_map(|(is, wanted)| Some(wanted?.minus(is?).max(Ppm::ZERO)));
        missing.max()
    }

    /// The lowest of the qualities that were measured.
    #[must_use]
    pub fn lowest(&self) -> Option<Ppm> {
        [self.correct, self.complete, self.coherent, self.safe].into_iter().flatten().min()
    }
}

/// The quality that checks speak of, out of so many that the task has.
///
/// A check that passed is worth 1, one that could not be made or was not reached 0. A
/// failed one that counted its tests is worth the share that holds; otherwise nobody
/// knows how much of it does, and with `n` single failures it is worth `1/(1+n)`, so that
/// mending some of them shows, and is worth a gentler next round. What a rubric says of
/// the four qualities counts where it is lower.
#[must_use]
pub fn measured(results: &[CheckResult], checks: usize) -> Quality {
    let worth = |result: &CheckResult| match &result.outcome {
        CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => Ppm::ONE,
        CheckOutcome::CouldNotRun(_) => Ppm::ZERO,
        CheckOutcome::Failed(_) if let Some(share) = share_of_tests(result) => share,
        CheckOutcome::Failed(failures) => {
            let count = u64::try_from(failures.len()).unwrap_or(FAILURES_MAX).clamp(1, FAILURES_MAX);
            Ppm::share(1, count.saturating_add(1))
        }
    };
    let sum: i64 = results.iter().map(|result| worth(result).0).sum();
    let whole = i64::try_from(checks.max(results.len())).unwrap_or(i64::MAX).max(1);
    let mut quality = Quality { correct: Some(Ppm(sum / whole)), ..Quality::default() };
    for scores in results.iter().filter_map(scores_of_a_rubric) {
        let lower = |known: Option<Ppm>, gate: Gate| known.into_iter().chain(scores.of(gate)).min();
        quality = Quality {
            correct: lower(quality.correct, Gate::Correct),
            complete: lower(quality.complete, Gate::Complete),
            coherent: lower(quality.coherent, Gate::Coherent),
            safe: lower(quality.safe, Gate::Safe),
        };
    }
    quality
}

/// The share of single tests that hold, where a failed check counted them.
fn share_of_tests(result: &CheckResult) -> Option<Ppm> {
    match result.measure.as_ref()? {
        Measure::Tests(counts) if counts.failed > 0 => Some(Ppm::share(counts.passed, counts.ran())),
        Measure::Tests(_) | Measure::Rubric(_) | Measure::Claims(_) | Measure::Agreement(_) => None,
    }
}

fn scores_of_a_rubric(result: &CheckResult) -> Option<&RubricScores> {
    match result.measure.as_ref()? {
        Measure::Rubric(scores) => Some(scores),
        Measure::Tests(_) | Measure::Claims(_) | Measure::Agreement(_) => None,
    }
}
