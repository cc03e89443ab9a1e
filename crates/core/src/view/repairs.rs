//! What repairs of a run did: for people, and for those who learn from it.

use crate::control::{Rates, Strategy};
use crate::defect::Cause;
use crate::event::{Escalated, Escalation, Event, Finding};
use crate::id::SubtaskId;
use crate::quality::{CheckOutcome, CheckResult};

/// One line about a repair.
pub(super) fn line(event: &Event) -> String {
    if let Event::RepairStarted { round, strategy, window } = event {
        let how = strategy.map_or(String::new(), |strategy| format!(", {}", strategy.words()));
        let what = window.as_ref().map_or(String::new(), |window| format!(" of {}", window.words()));
        return format!("repair {round} begins{how}{what}");
    }
    let Event::Repaired { round, unplaced, .. } = event else { return String::new() };
    match unplaced {
        None => format!("repair {round} done"),
        Some(why) => format!("repair {round} changed nothing: {why}"),
    }
}

/// One line about what is tried beyond repair.
pub(super) fn escalated(Escalated { step, why }: &Escalated) -> String {
    let step = match step {
        Escalation::BiggerModel { model, rung } => format!("{model} repairs, rung {rung} of the ladder"),
        Escalation::ReDecompose => "the task is broken down otherwise".into(),
        Escalation::Partial { missing } => {
            let missing: Vec<&str> = missing.iter().map(SubtaskId::as_str).collect();
            format!("what holds is taken for itself, without {}", missing.join(", "))
        }
        Escalation::Person { .. } => "a person is asked about the best there is".into(),
    };
    format!("escalated ({why}): {step}")
}

/// What strategies did against what causes in one run. A repair worked if everything
/// passed after it, or less was wrong than before.
pub fn repair_rates<'e>(events: impl IntoIterator<Item = &'e Event>, rates: &mut Rates) {
    let mut cause: Option<Cause> = None;
    let mut tried: Option<Strategy> = None;
    let (mut wrong, mut before) = (0_usize, 0_usize);
    for event in events {
        if let Event::Checked { result, .. } = event {
            wrong = wrong.saturating_add(count(result));
        }
        if let Event::Verified { finding, .. } = event {
            if let Some(strategy) = tried.take() {
                let passed = *finding == Finding::Passed;
                rates.note(cause, strategy, passed || wrong < before);
            }
            before = std::mem::take(&mut wrong);
        }
        if let Event::Diagnosed { diagnosis, .. } = event {
            cause = diagnosis.cause.as_ref().map(|found| found.cause);
        }
        if let Event::RepairStarted { strategy, .. } = event {
            tried = *strategy;
        }
    }
}

fn count(result: &CheckResult) -> usize {
    match &result.outcome {
        CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => 0,
        CheckOutcome::CouldNotRun(_) => 1,
        CheckOutcome::Failed(failures) => failures.len().max(1),
    }
}
