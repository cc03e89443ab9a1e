//! Verifying: the task's acceptance checks are made on the output.
//!
//! Contract out: [`Event::Verified`]. Schema checks come first; if one fails the
//! output goes straight to repair. Otherwise every check is made, so that a
//! repair sees all failures. A check that could not run is not a pass.

use super::controlling;
use super::decide::{Draft, Refused};
use super::state::{Phase, Run, Verification};
use crate::effect::Effect;
use crate::event::{CONTRACT, Event, Finding};
use crate::message::Payload;
use crate::quality::{CheckHow, CheckOutcome, CheckResult};

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Verifying(verification) = &draft.run.phase else { return false };
    let round = verification.round;
    let Some(finding) = finding(&draft.run, verification) else { return false };
    draft.push(Event::Verified { contract: CONTRACT, round, finding });
    controlling::speak(draft, finding, round);
    true
}

pub(super) fn check_returned(
    draft: &mut Draft,
    (round, index): (u32, usize),
    outcome: &CheckOutcome,
    (log, duration_ms): (&Payload, u64),
) -> Result<(), Refused> {
    let Phase::Verifying(verification) = &draft.run.phase else { return Err(Refused::NotExpected) };
    if verification.round != round || verification.results.len() != index {
        return Err(Refused::NotExpected);
    }
    let check = draft.run.task.checks.get(index).ok_or(Refused::NotExpected)?;
    let result =
        CheckResult { name: check.name.clone(), outcome: outcome.clone(), log: log.clone(), duration_ms };
    draft.push(Event::Checked { round, result });
    Ok(())
}

pub(super) fn due(run: &Run, verification: &Verification, effects: &mut Vec<Effect>) {
    let index = verification.results.len();
    if finding(run, verification).is_some() {
        return;
    }
    if let (Some(check), Some(output)) = (run.task.checks.get(index), &run.output) {
        let (round, how) = (verification.round, check.how.clone());
        effects.push(Effect::RunCheck { round, index, how, output: output.clone() });
    }
}

/// What the verification has come to; `None` while checks are still to be made.
fn finding(run: &Run, verification: &Verification) -> Option<Finding> {
    let results = &verification.results;
    let schema_failed = results.iter().zip(&run.task.checks).any(|(result, check)| {
        let is_schema = match check.how {
            CheckHow::Schema(_) => true,
            CheckHow::Command { .. } => false,
        };
        is_schema && !result.outcome.is_pass()
    });
    if schema_failed {
        return Some(Finding::SchemaFailed);
    }
    if results.len() < run.task.checks.len() {
        return None;
    }
    Some(if results.is_empty() {
        Finding::NothingToCheck
    } else if results.iter().all(|result| result.outcome.is_pass()) {
        Finding::Passed
    } else {
        Finding::ChecksFailed
    })
}
