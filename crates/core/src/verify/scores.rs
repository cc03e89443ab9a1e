//! From the results of checks to what the gates and the confidence are made of.

use super::Measure;
use crate::control::Ppm;
use crate::gate::{Features, Gate, Score, Scores};
use crate::quality::{Check, CheckHow, CheckOutcome, CheckResult};

/// Which gate a check belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Schema,
    Tests,
    Rubric,
    Claims,
    Consistent,
}

fn part(how: &CheckHow) -> Part {
    match how {
        CheckHow::Schema(_) => Part::Schema,
        CheckHow::Command { .. } | CheckHow::Tests(_) | CheckHow::Assert(_) | CheckHow::EdgeCases(_) => {
            Part::Tests
        }
        CheckHow::Rubric(_) => Part::Rubric,
        CheckHow::Claims(_) => Part::Claims,
        CheckHow::Consistent(_) => Part::Consistent,
    }
}

/// How many of the things that were executed hold.
#[derive(Clone, Copy, Default)]
struct Tally {
    held: u64,
    made: u64,
    /// Something should have been made and was not.
    unknown: bool,
}

impl Tally {
    fn add(&mut self, result: Option<&CheckResult>) {
        let Some(result) = result else {
            self.unknown = true;
            return;
        };
        let single = match result.measure {
            Some(Measure::Tests(counts)) => Some((counts.passed, counts.ran())),
            Some(Measure::Rubric(_) | Measure::Claims(_) | Measure::Agreement(_)) | None => None,
        };
        match &result.outcome {
            CheckOutcome::NotApplicable(_) => {}
            CheckOutcome::CouldNotRun(_) => self.unknown = true,
            CheckOutcome::Passed => {
                let (held, made) = single.filter(|(_, made)| *made > 0).unwrap_or((1, 1));
                self.held = self.held.saturating_add(held);
                self.made = self.made.saturating_add(made);
            }
            CheckOutcome::Failed(_) => {
                // A run of tests that failed counts as one failure at least.
                let (held, made) = single.unwrap_or((0, 1));
                let made = made.max(held.saturating_add(1));
                self.held = self.held.saturating_add(held);
                self.made = self.made.saturating_add(made);
            }
        }
    }

    fn score(self) -> Score {
        match self {
            Self { unknown: true, .. } => Score::CouldNotTell,
            Self { made: 0, .. } => Score::NotApplicable,
            Self { held, made, .. } => Score::Measured(Ppm::share(held, made)),
        }
    }
}

fn tally(checks: &[Check], results: &[CheckResult], of: &[Part]) -> Tally {
    let mut tally = Tally::default();
    for (place, check) in checks.iter().enumerate() {
        if of.contains(&part(&check.how)) {
            tally.add(results.get(place));
        }
    }
    tally
}

/// What the results say, gate by gate. A check that was not reached could not tell.
#[must_use]
pub fn scores(checks: &[Check], results: &[CheckResult]) -> Scores {
    let judged = |gate: Gate| judged(checks, results, gate);
    Scores {
        schema: tally(checks, results, &[Part::Schema]).score(),
        correct: judged(Gate::Correct),
        complete: judged(Gate::Complete),
        coherent: judged(Gate::Coherent),
        safe: judged(Gate::Safe),
        tests: tally(checks, results, &[Part::Tests]).score(),
        consistent: consistent(checks, results),
    }
}

fn judged(checks: &[Check], results: &[CheckResult], gate: Gate) -> Score {
    let scored = |(place, check): (usize, &Check)| match &check.how {
        CheckHow::Rubric(rubric) => {
            let has_it = rubric.dimensions.iter().any(|dimension| dimension.name == gate.word());
            has_it.then(|| match results.get(place).and_then(|result| result.measure.as_ref()) {
                Some(Measure::Rubric(found)) => found.of(gate).map_or(Score::CouldNotTell, Score::Measured),
                Some(Measure::Tests(_) | Measure::Claims(_) | Measure::Agreement(_)) | None => {
                    Score::CouldNotTell
                }
            })
        }
        CheckHow::Schema(_)
        | CheckHow::Command { .. }
        | CheckHow::Tests(_)
        | CheckHow::Assert(_)
        | CheckHow::Claims(_)
        | CheckHow::EdgeCases(_)
        | CheckHow::Consistent(_) => None,
    };
    checks.iter().enumerate().find_map(scored).unwrap_or_default()
}

fn consistent(checks: &[Check], results: &[CheckResult]) -> Score {
    let Some(place) = checks.iter().position(|check| part(&check.how) == Part::Consistent) else {
        return Score::NotApplicable;
    };
    match results.get(place).and_then(|result| result.measure.as_ref()) {
        Some(Measure::Agreement(found)) => Score::Measured(found.score),
        Some(Measure::Tests(_) | Measure::Rubric(_) | Measure::Claims(_)) | None => Score::CouldNotTell,
    }
}

/// What is known of an output whose verification came to these results.
#[must_use]
pub fn features(checks: &[Check], results: &[CheckResult], repairs: u32) -> Features {
    let executed = tally(checks, results, &[Part::Schema, Part::Tests]);
    let mut features = Features { verified: executed.score().measured(), repairs, ..Features::default() };
    let (mut passed, mut ran) = (0_u64, 0_u64);
    for measure in results.iter().filter_map(|result| result.measure.as_ref()) {
        match measure {
            Measure::Tests(counts) => {
                passed = passed.saturating_add(counts.passed);
                ran = ran.saturating_add(counts.ran());
            }
            Measure::Rubric(found) => features.judged = Some(found.aggregate),
            Measure::Claims(counts) => {
                features.grounded = Some(Ppm::share(counts.supported, counts.claims));
            }
            Measure::Agreement(found) => features.consistent = Some(found.score),
        }
    }
    features.tested = (ran > 0).then(|| Ppm::share(passed, ran));
    features
}
