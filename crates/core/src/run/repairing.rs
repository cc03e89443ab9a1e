//! Repairing: a fresh conversation mends the output, given what is wrong.
//!
//! Contract out: [`Event::Repaired`]. Rounds are bounded; after the last one the
//! run fails with its report.

use super::acting;
use super::decide::Draft;
use super::state::{Phase, Run};
use super::{causing, critiquing, ending, prompt, thread};
use crate::event::{CONTRACT, Event, FailReason, StopReason};
use crate::id::SubtaskId;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Repairing { round } = draft.run.phase else { return false };
    let Some(id) = critiquing::free_id(&draft.run, &format!("repair-{round}")) else { return false };
    if draft.run.mending.rereading {
        return false;
    }
    if !draft.run.threads.contains_key(&id) {
        return start(draft, round, id);
    }
    if let Some((subtask, output)) = acting::answered(&draft.run) {
        draft.push(Event::SubtaskFinished { subtask, output: output.clone() });
        draft.push(Event::Repaired { contract: CONTRACT, round, output: vec![output] });
        return true;
    }
    thread::proceed(draft)
}

fn start(draft: &mut Draft, round: u32, id: SubtaskId) -> bool {
    if let Some(why) = exhausted(&draft.run) {
        ending::stop(draft, why);
        return true;
    }
    if draft.run.diagnosis.is_none() {
        // A schema failure skips the critic: the failure says what is wrong.
        let diagnosis = critiquing::from_failures(&draft.run.failures);
        critiquing::diagnosed(draft, diagnosis);
        if draft.run.stopping.is_some() || draft.run.mending.rereading {
            return true;
        }
    }
    let strategy = causing::strategy(&draft.run);
    draft.push(Event::RepairStarted { round, strategy });
    let opening = prompt::repair(&draft.run, &id);
    draft.push(Event::SubtaskStarted { subtask: id, opening });
    true
}

/// The reason to stop, when no round is left.
pub(super) fn exhausted(run: &Run) -> Option<StopReason> {
    let rounds = run.spend.repairs;
    (rounds >= run.limits.repairs).then_some(StopReason::Fail(FailReason::RepairsExhausted { rounds }))
}
