//! Critiquing: the model, as a critic, diagnoses what the checks found.
//!
//! Contract out: [`Event::Diagnosed`]. The critic sees task, output and
//! failures, never the conversation that made the output. An answer that is no
//! diagnosis is asked for once more; then the failures speak for themselves.

use serde::Deserialize;

use super::decide::Draft;
use super::state::{Phase, Run};
use super::thread::{self, Asked};
use super::{causing, escalating, prompt, remedying, repairing, watch};
use crate::event::{CONTRACT, Event};
use crate::id::SubtaskId;
use crate::input::Reply;
use crate::plan::{NODES_MAX, unfenced};
use crate::quality::{CheckOutcome, CheckResult, Defect, DiagnosedBy, Diagnosis, Failure, Severity};
use crate::task::Repair;

/// Most defects taken from one answer.
const DEFECTS_MAX: usize = 32;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Critiquing(critique) = &draft.run.phase else { return false };
    let Some(id) = thread_id(&draft.run, critique.round) else { return false };
    if let Some(why) = repairing::exhausted(&draft.run) {
        escalating::escalate(draft, why);
        return true;
    }
    match Asked::of(&draft.run, &id) {
        Asked::NotYet => {
            let opening = prompt::critic(&draft.run, &id);
            draft.push(Event::SubtaskStarted { subtask: id, opening });
            true
        }
        Asked::Answered => {
            let diagnosis = from_failures(&draft.run.failures);
            diagnosed(draft, diagnosis);
            true
        }
        Asked::Going => thread::proceed(draft),
    }
}

/// A diagnosis was made; says so when it sounds like an earlier one of an output
/// like the earlier one, and tries something against it.
pub(super) fn diagnosed(draft: &mut Draft, diagnosis: Diagnosis) {
    let diagnosis = Diagnosis { cause: causing::of(&draft.run), ..diagnosis };
    let back = match draft.run.task.repair {
        Repair::Mend => watch::repeats(&draft.run, &diagnosis),
        // Attempts that know nothing of each other may well fail alike.
        Repair::Afresh => None,
    };
    draft.push(Event::Diagnosed { contract: CONTRACT, diagnosis });
    if let Some(back) = back {
        draft.push(Event::RoundRepeated { round: draft.run.verifications, back });
        remedying::remedy(draft, back);
    }
}

/// The conversation of a critique.
pub(super) fn thread_id(run: &Run, round: u32) -> Option<SubtaskId> {
    free_id(run, &format!("critique-{round}"))
}

/// This name, or one like it where the plan has a node of that name.
pub(super) fn free_id(run: &Run, name: &str) -> Option<SubtaskId> {
    let taken = |id: &SubtaskId| run.plan.as_ref().is_some_and(|plan| plan.node(id).is_some());
    let others = (2..=NODES_MAX + 1).map(|count| format!("{name}-{count}"));
    let names = std::iter::once(name.to_owned()).chain(others);
    names.filter_map(|name| SubtaskId::parse(&name).ok()).find(|id| !taken(id))
}

/// The critic answered: use it, ask once more, or leave it to the failures.
///
/// A reply that calls tools is no diagnosis either; its refused calls tell it so.
pub(super) fn answered(draft: &mut Draft, subtask: &SubtaskId, reply: &Reply) {
    let unusable = draft.run.threads.get(subtask).map_or(0, |thread| thread.unusable);
    if !reply.calls.is_empty() {
        if unusable > 1 {
            let diagnosis = from_failures(&draft.run.failures);
            diagnosed(draft, diagnosis);
        }
        return;
    }
    match read(&reply.head) {
        Some(diagnosis) => diagnosed(draft, diagnosis),
        None if unusable < 1 => {
            draft.push(Event::Noticed { subtask: subtask.clone(), text: prompt::NOT_A_DIAGNOSIS.into() });
        }
        None => {}
    }
}

#[derive(Deserialize)]
struct RawDiagnosis {
    summary: String,
    defects: Vec<RawDefect>,
}

#[derive(Deserialize)]
struct RawDefect {
    what: String,
    place: Option<String>,
    hint: Option<String>,
    severity: Option<Severity>,
}

/// Reads a critic's answer: a JSON object, possibly in a fence.
fn read(text: &str) -> Option<Diagnosis> {
    let raw: RawDiagnosis = serde_json::from_str(unfenced(text)).ok()?;
    let defects = raw.defects.into_iter().take(DEFECTS_MAX).map(|defect| Defect {
        what: defect.what,
        place: defect.place,
        hint: defect.hint,
        severity: defect.severity.unwrap_or(Severity::Major),
    });
    Some(Diagnosis { summary: raw.summary, defects: defects.collect(), by: DiagnosedBy::Critic, cause: None })
}

/// A value of the output that does not fit is mended where it stands.
fn severity_of(failure: &Failure) -> Severity {
    let is_value = failure.place.as_deref().is_some_and(|place| place.starts_with('/'));
    if is_value { Severity::Minor } else { Severity::Major }
}

/// The diagnosis that needs no critic.
pub(super) fn from_failures(results: &[CheckResult]) -> Diagnosis {
    let mut defects = Vec::new();
    for result in results {
        match &result.outcome {
            CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => {}
            CheckOutcome::Failed(failures) => defects.extend(failures.iter().map(|failure| Defect {
                what: format!("{}: {}", failure.name, failure.message),
                place: failure.place.clone(),
                hint: None,
                severity: severity_of(failure),
            })),
            CheckOutcome::CouldNotRun(why) => defects.push(Defect {
                what: format!("{} could not run: {why}", result.name),
                place: None,
                hint: None,
                severity: Severity::Critical,
            }),
        }
    }
    defects.truncate(DEFECTS_MAX);
    let failed = results.iter().filter(|result| result.outcome.is_bad());
    let names: Vec<&str> = failed.map(|result| result.name.as_str()).collect();
    let summary = if names.is_empty() {
        "every check passed, and the run is still not sure enough of the output".to_owned()
    } else {
        format!("failed: {}", names.join(", "))
    };
    Diagnosis { summary, defects, by: DiagnosedBy::Verifier, cause: None }
}
