//! What an output is worth, as far as anybody measured it.

use serde::{Deserialize, Serialize};

use super::Ppm;
use crate::quality::{CheckOutcome, CheckResult};

/// Most single failures of one check that count: more say nothing new.
const FAILURES_MAX: u64 = 64;

/// Four qualities, each from 0 to 1; `None` where nothing measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
/// A check that passed is worth 1, one that could not be made or was not reached 0.
/// How much of a failed one holds nobody knows; with `n` single failures it is worth
/// `1/(1+n)`, so that mending some of them shows, and is worth a gentler next round.
#[must_use]
pub fn measured(results: &[CheckResult], checks: usize) -> Quality {
    let worth = |result: &CheckResult| match &result.outcome {
        CheckOutcome::Passed => Ppm::ONE,
        CheckOutcome::CouldNotRun(_) => Ppm::ZERO,
        CheckOutcome::Failed(failures) => {
            let count = u64::try_from(failures.len()).unwrap_or(FAILURES_MAX).clamp(1, FAILURES_MAX);
            Ppm::share(1, count.saturating_add(1))
        }
    };
    let sum: i64 = results.iter().map(|result| worth(result).0).sum();
    let whole = i64::try_from(checks.max(results.len())).unwrap_or(i64::MAX).max(1);
    Quality { correct: Some(Ppm(sum / whole)), ..Quality::default() }
}
