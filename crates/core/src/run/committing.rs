//! Committing: a checked output becomes the durable result.
//!
//! Contract out: [`Event::Ended`] with `Committed`. Where the task asks for a
//! person, or nothing was checked, a person agrees to exactly these bytes first.

use super::decide::{Draft, Refused};
use super::state::{ApprovalState, Phase, Run};
use super::{call, ending, landing, promoting};
use crate::effect::Effect;
use crate::event::{CONTRACT, Ending, Event, FailReason, StopReason, Subject, Verdict};
use crate::message::Payload;
use crate::provenance::Digest;
use crate::quality::{Defect, DiagnosedBy, Diagnosis, Severity};
use crate::task::Review;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    if landing::proceed(draft) {
        return true;
    }
    if !needs_review(&draft.run) {
        return false;
    }
    let approval = draft.run.approvals.get(&Subject::Output);
    let why = match approval.map(|approval| &approval.state) {
        None => {
            let binds = binds(draft.run.output.as_deref().unwrap_or_default());
            call::ask(draft, Subject::Output, binds, Vec::new());
            return true;
        }
        Some(ApprovalState::Open | ApprovalState::Settled(Verdict::Approved { .. })) => return false,
        Some(ApprovalState::Settled(Verdict::Denied { by, reason })) => {
            FailReason::OutputDenied { by: by.clone(), reason: reason.clone() }
        }
        Some(ApprovalState::Settled(Verdict::SentBack { by, feedback })) => {
            let diagnosis = asked_for(by, feedback);
            draft.push(Event::Diagnosed { contract: CONTRACT, diagnosis });
            return true;
        }
        Some(ApprovalState::Settled(Verdict::Expired)) => FailReason::ApprovalExpired,
    };
    ending::stop(draft, StopReason::Fail(why));
    true
}

pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    if let (true, Some(output)) = (is_agreed(run) && landing::is_over(run), &run.output) {
        effects.push(Effect::StoreResult { output: output.clone() });
    }
}

/// Commits, unless something happened since the record of provenance was made:
/// then it is made again, so that it tells of everything before the commit.
pub(super) fn stored(draft: &mut Draft, provenance: Digest, seq: u64, promotes: bool) -> Result<(), Refused> {
    if seq != draft.run.seq {
        return Err(Refused::NotExpected);
    }
    let committing = draft.run.phase == Phase::Committing && draft.run.stopping.is_none();
    let output = draft
        .run
        .output
        .clone()
        .filter(|_| committing && is_agreed(&draft.run) && landing::is_over(&draft.run));
    let output = output.ok_or(Refused::NotExpected)?;
    let missing = draft.run.missing();
    let ending = Ending::Committed { output, provenance, missing };
    draft.push(Event::Ended { contract: CONTRACT, ending });
    // In the same record: nobody sees a commit that does not owe it.
    if promotes || draft.run.task.memory.is_some() {
        promoting::begin(draft, None);
    }
    Ok(())
}

/// What a person asks for, as a diagnosis.
pub(super) fn asked_for(by: &str, feedback: &str) -> Diagnosis {
    let defect = Defect { what: feedback.into(), place: None, hint: None, severity: Severity::Major };
    let summary = format!("{by} asks for changes");
    Diagnosis { summary, defects: vec![defect], by: DiagnosedBy::Person, cause: None }
}

/// The hash an approval of this output is bound to.
pub(super) fn binds(output: &[Payload]) -> Digest {
    match output {
        [only] => only.digest(),
        parts => {
            let digests: Vec<Digest> = parts.iter().map(Payload::digest).collect();
            Digest::of_parts(&digests.iter().map(|digest| digest.0.as_slice()).collect::<Vec<_>>())
        }
    }
}

fn needs_review(run: &Run) -> bool {
    // Whoever asked for the whole has to agree to a part.
    if !run.missing().is_empty() {
        return true;
    }
    match run.task.review {
        Review::Always => true,
        Review::WhenUnsure => match &run.assurance {
            Some(assurance) => !assurance.triggers.is_empty(),
            None => !run.checked,
        },
        Review::WhenUnchecked => !run.checked,
        Review::Never => false,
    }
}

pub(super) fn is_agreed(run: &Run) -> bool {
    let approved = run.approvals.get(&Subject::Output).is_some_and(|approval| match &approval.state {
        ApprovalState::Settled(Verdict::Approved { .. }) => {
            // The output may have been repaired since: other bytes need another yes.
            approval.binds == binds(run.output.as_deref().unwrap_or_default())
        }
        ApprovalState::Open
        | ApprovalState::Settled(Verdict::Denied { .. } | Verdict::SentBack { .. } | Verdict::Expired) => {
            false
        }
    });
    !needs_review(run) || approved
}
