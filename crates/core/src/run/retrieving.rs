//! Retrieving: named files are read as evidence, each with its hash.
//!
//! Contract out: [`Event::Retrieved`]. A file that cannot be read fails the run
//! before any model is paid: an answer without its evidence is a guess.

use super::decide::{Draft, Refused};
use super::state::{Phase, Run};
use super::{ending, remedying};
use crate::effect::Effect;
use crate::event::{CONTRACT, Event, Evidence, FailReason, StopReason};
use crate::input::EvidenceGap;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    if !draft.run.task.evidence.is_empty() {
        return false;
    }
    draft.push(Event::Retrieved { contract: CONTRACT, evidence: Vec::new() });
    true
}

pub(super) fn evidence_read(
    draft: &mut Draft,
    found: &Result<Vec<Evidence>, EvidenceGap>,
) -> Result<(), Refused> {
    let again = draft.run.mending.rereading && matches!(draft.run.phase, Phase::Repairing { .. });
    if (draft.run.phase != Phase::Retrieving && !again) || draft.run.stopping.is_some() {
        return Err(Refused::NotExpected);
    }
    match found {
        Ok(evidence) => draft.push(Event::Retrieved { contract: CONTRACT, evidence: evidence.clone() }),
        // What is gone by now may be what the repair is about: it goes on with what it has.
        Err(_) if again => {
            let evidence = draft.run.evidence.to_vec();
            draft.push(Event::Retrieved { contract: CONTRACT, evidence });
        }
        Err(EvidenceGap { path, message }) => {
            let why = FailReason::EvidenceMissing { path: path.clone(), message: message.clone() };
            ending::stop(draft, StopReason::Fail(why));
        }
    }
    Ok(())
}

pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    effects.push(Effect::ReadEvidence { paths: run.task.evidence.clone() });
}

/// Evidence that a repair waits for.
pub(super) fn due_again(run: &Run, effects: &mut Vec<Effect>) {
    if run.mending.rereading {
        effects.push(Effect::ReadEvidence { paths: remedying::paths(run) });
    }
}
