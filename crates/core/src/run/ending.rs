//! How a run stops: nothing new is started, what is in flight comes home, then
//! it halts, or undoes what it did and fails. A cancelled run waits for nobody.

use super::decide::Draft;
use super::{aside, call, claim, report, undoing};
use crate::event::{
    CONTRACT, Doubt, Ending, Event, HaltReason, Outcome, StepFailure, StepTrouble, StopReason,
};
use crate::id::ActionId;
use crate::message::Payload;
use crate::task::OnFailure;
use crate::tool::Repeat;

/// Decides to stop. The first reason stands.
pub(super) fn stop(draft: &mut Draft, why: StopReason) {
    if draft.run.stopping.is_none() {
        draft.push(Event::Stopping { why });
    }
}

/// Ends a stopping run once nothing of it is out in the world.
pub(super) fn stop_when_quiet(draft: &mut Draft) -> bool {
    let Some(why) = draft.run.stopping.clone() else { return false };
    if draft.run.threads.values().any(super::state::Thread::in_flight) || draft.run.landing.wanted {
        return false;
    }
    match why {
        StopReason::Halt(why) => halt(draft, why),
        // A failed run is over for good: a call nobody knows of is settled first.
        StopReason::Fail(_) if call::any_in_doubt(&draft.run) => return false,
        StopReason::Fail(why) => {
            call::refuse_unstarted(draft);
            match draft.run.task.on_failure {
                OnFailure::Rollback => undoing::give_up(draft, why),
                OnFailure::Keep => undoing::fail(draft, why),
            }
        }
    }
    true
}

fn halt(draft: &mut Draft, why: HaltReason) {
    let report = match &why {
        HaltReason::LimitReached(why) => Some(Box::new(report::of(&draft.run, why))),
        HaltReason::ContextFull(full) => full.exhausted().map(|why| Box::new(report::of(&draft.run, &why))),
        HaltReason::Cancelled { .. }
        | HaltReason::Looping(_)
        | HaltReason::ModelUnavailable { .. }
        | HaltReason::RepairStuck { .. } => None,
    };
    draft.push(Event::Ended { contract: CONTRACT, ending: Ending::Halted { why, report } });
}

/// Ends the run now. Every open call gets its one answer; one that must not be
/// repeated stays in doubt all the same.
pub(super) fn cancel(draft: &mut Draft, by: &str) {
    for step in claim::open_steps(draft) {
        let why = StepFailure { kind: StepTrouble::Lost, message: "the run was cancelled".into() };
        draft.push(Event::StepFailed { step, why, retry_at: None, given_up: false });
    }
    for action in claim::running_calls(draft) {
        cancel_call(draft, action);
    }
    call::refuse_unstarted(draft);
    halt(draft, HaltReason::Cancelled { by: by.into() });
}

fn cancel_call(draft: &mut Draft, action: ActionId) {
    match call::repeat_of(&draft.run, action) {
        Some(Repeat::Never) => call::doubt(draft, action, Doubt::Cancelled),
        Some(Repeat::Freely | Repeat::WithSameKey) | None => draft.push(Event::CallFinished {
            spent: aside::reserved(&draft.run, action),
            action,
            outcome: Outcome::Cancelled,
            output: Payload::inline("The run was cancelled while this was at work."),
            full: None,
            duration_ms: 0,
            trace: None,
            suspicions: Vec::new(),
        }),
    }
}
