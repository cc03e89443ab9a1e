//! Verifying: the task's acceptance checks are made on the output, cheapest first.
//!
//! Contract out: [`Event::Verified`]. If a schema check fails the output goes straight
//! to repair. Otherwise every check that is executed is made, so that a repair sees all
//! failures; a judge is asked only where those leave the gates open. A check that could
//! not run is not a pass.

use super::decide::{Draft, Refused};
use super::state::{Phase, Run, Verification};
use super::{controlling, escalating, judging};
use crate::effect::Effect;
use crate::event::{CONTRACT, Event, Finding};
use crate::gate::{self, Assurance, Circumstances, Disposition, Features, GateResult, Weights};
use crate::message::Payload;
use crate::quality::{CheckOutcome, CheckResult, Level};
use crate::task::Review;
use crate::verify::{self, Measure, Opinion};

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Verifying(verification) = &draft.run.phase else { return false };
    let round = verification.round;
    let Some(finding) = finding(&draft.run, verification) else {
        return leave_out(draft) || judging::proceed(draft);
    };
    let (finding, assurance) = assured(&draft.run, verification, finding);
    let assurance = Some(Box::new(assurance));
    draft.push(Event::Verified { contract: CONTRACT, round, finding, assurance });
    controlling::speak(draft, finding, round);
    true
}

/// Notes that the next check is about a part the output is without.
fn leave_out(draft: &mut Draft) -> bool {
    let Phase::Verifying(verification) = &draft.run.phase else { return false };
    let next = draft.run.task.checks.get(verification.results.len());
    let Some(check) = next.filter(|check| escalating::is_left_out(&draft.run, check)) else { return false };
    let part = check.part.as_ref().map(ToString::to_string).unwrap_or_default();
    let result = CheckResult {
        name: check.name.clone(),
        outcome: CheckOutcome::NotApplicable(format!("its part, {part}, is left out")),
        log: Payload::inline(""),
        duration_ms: 0,
        measure: None,
    };
    draft.push(Event::Checked { round: verification.round, result });
    true
}

pub(super) fn check_returned(
    draft: &mut Draft,
    (round, index): (u32, usize),
    (outcome, measure): (&CheckOutcome, Option<&Measure>),
    (log, duration_ms): (&Payload, u64),
) -> Result<(), Refused> {
    let Phase::Verifying(verification) = &draft.run.phase else { return Err(Refused::NotExpected) };
    let expected = verification.round == round
        && verification.results.len() == index
        && judging::is_ready(&draft.run, verification);
    let check = draft.run.task.checks.get(index).filter(|_| expected).ok_or(Refused::NotExpected)?;
    let result = CheckResult {
        name: check.name.clone(),
        outcome: outcome.clone(),
        log: log.clone(),
        duration_ms,
        measure: measure.cloned(),
    };
    draft.push(Event::Checked { round, result });
    Ok(())
}

pub(super) fn due(run: &Run, verification: &Verification, effects: &mut Vec<Effect>) {
    let index = verification.results.len();
    if finding(run, verification).is_some() || !judging::is_ready(run, verification) {
        return;
    }
    let next = run.task.checks.get(index).filter(|check| !escalating::is_left_out(run, check));
    if let (Some(check), Some(output)) = (next, &run.output) {
        let (round, how) = (verification.round, check.how.clone());
        let opinions = match how.agree() {
            0 => verification.opinions.clone(),
            _ => run.mending.held.iter().cloned().map(Opinion::Sample).collect(),
        };
        effects.push(Effect::RunCheck { round, index, how, output: output.clone(), opinions });
    }
}

/// What the verification has come to; `None` while checks are still to be made.
fn finding(run: &Run, verification: &Verification) -> Option<Finding> {
    let (results, checks) = (&verification.results, &run.task.checks);
    let made = || results.iter().zip(checks);
    if made().any(|(result, check)| check.how.level() == Level::Schema && result.outcome.is_bad()) {
        return Some(Finding::SchemaFailed);
    }
    let next = checks.get(results.len());
    if next.is_some_and(|check| !check.how.is_judged()) {
        return None;
    }
    // A judge is asked, and believed, where everything that was executed leaves the gates open.
    let executed = checks.iter().take_while(|check| !check.how.is_judged()).count();
    let before = (checks.get(..executed).unwrap_or_default(), results.get(..executed).unwrap_or_default());
    let is_shut = |result: &GateResult| !result.is_open();
    let gates = gate::judge(&verify::scores(before.0, before.1), &run.task.standards.thresholds);
    if gates.iter().any(is_shut) {
        return Some(Finding::ChecksFailed);
    }
    // One judgement against it is enough: the next ones would be asked about it anew.
    if made().any(|(result, check)| check.how.is_judged() && result.outcome.is_bad()) {
        return Some(Finding::ChecksFailed);
    }
    if next.is_some() {
        return None;
    }
    let gates = gate::judge(&verify::scores(checks, results), &run.task.standards.thresholds);
    Some(if gates.iter().any(is_shut) {
        Finding::ChecksFailed
    } else if results.iter().any(|result| result.outcome.is_pass()) {
        Finding::Passed
    } else {
        Finding::NothingToCheck
    })
}

/// Gates, confidence and who must agree. An output that passed and is still too
/// unlikely to be right has not passed.
fn assured(run: &Run, verification: &Verification, finding: Finding) -> (Finding, Assurance) {
    let (results, checks) = (&verification.results, &run.task.checks);
    let standards = &run.task.standards;
    let gates = gate::judge(&verify::scores(checks, results), &standards.thresholds);
    let passed = finding == Finding::Passed;
    let likely = run.likelihood;
    let features = Features { likely, ..verify::features(checks, results, run.spend.repairs) };
    let confidence =
        passed.then(|| Weights::default().confidence(features, run.mending.calibration)).flatten();
    let disposition = match finding {
        Finding::Passed | Finding::NothingToCheck => Disposition::of(confidence.as_ref(), standards.doubts),
        Finding::SchemaFailed | Finding::ChecksFailed | Finding::NotSure => Disposition::Reject,
    };
    let around = Circumstances {
        irreversible: run.unasked,
        demanded: run.task.review == Review::Always,
        novel: run.mending.novel,
        unfinished: run.pruned,
    };
    let goes_back = disposition == Disposition::Reject && run.task.review == Review::WhenUnsure;
    let finding = if passed && goes_back { Finding::NotSure } else { finding };
    let triggers = match finding {
        Finding::Passed | Finding::NothingToCheck => gate::triggers(disposition, &gates, around),
        // It goes to repair: nobody is asked.
        Finding::SchemaFailed | Finding::ChecksFailed | Finding::NotSure => Vec::new(),
    };
    (finding, Assurance { gates, confidence, disposition, triggers })
}
