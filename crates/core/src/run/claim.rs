//! Recovery: a worker takes the run, and whatever was in flight is in doubt.
//!
//! A model call is paid as reserved and asked again. A tool call is made again,
//! with the same key, where its tool allows that (and is paid as reserved where it
//! asked a model); otherwise it is put in doubt
//! and a probe or a person decides. Nothing is ever repeated blindly.

use super::decide::{Draft, Refused};
use super::state::{CallState, Thread, ThreadState};
use super::{aside, attempt, call, promoting, undoing};
use crate::event::{Confinement, Doubt, Event, StepFailure, StepTrouble};
use crate::id::{ActionId, WorkerId};
use crate::tool::Repeat;

/// Longest reason, in characters, why a run is not taken up.
const REASON_MAX: usize = 1000;

pub(super) fn claimed(
    draft: &mut Draft,
    epoch: u64,
    worker: &WorkerId,
    programs: Option<Confinement>,
) -> Result<(), Refused> {
    if epoch <= draft.run.epoch {
        return Err(Refused::StaleEpoch { epoch, ours: draft.run.epoch });
    }
    if draft.run.is_brought_back() {
        return Err(Refused::NotTakenUp);
    }
    draft.push(Event::Claimed { epoch, worker: worker.clone(), programs });
    if draft.run.has_afterwork() {
        // The calls of a run that has ended are what they are.
        undoing::claimed(draft);
        promoting::claimed(draft);
        return Ok(());
    }
    for step in open_steps(draft) {
        let why = StepFailure {
            kind: StepTrouble::Lost,
            message: "the process ended while the model was answering".into(),
        };
        draft.push(Event::StepFailed { step, why, retry_at: None, given_up: false });
    }
    for action in running_calls(draft) {
        settle(draft, action);
    }
    undoing::claimed(draft);
    Ok(())
}

/// Notes why nobody can go on with the run; once for each reason.
pub(super) fn not_taken_up(draft: &mut Draft, worker: &WorkerId, why: &str) {
    let why: String = why.chars().take(REASON_MAX).collect();
    if draft.run.unable.as_deref() != Some(why.as_str()) {
        draft.push(Event::NotTakenUp { worker: worker.clone(), why });
    }
}

fn settle(draft: &mut Draft, action: ActionId) {
    let Some(repeat) = call::repeat_of(&draft.run, action) else { return };
    match repeat {
        Repeat::Freely | Repeat::WithSameKey if aside::reserved(&draft.run, action).is_some() => {
            attempt::lost(draft, action);
        }
        Repeat::Freely | Repeat::WithSameKey => drop(call::start_again(draft, action)),
        Repeat::Never => call::doubt(draft, action, Doubt::Crash),
    }
}

pub(super) fn open_steps(draft: &Draft) -> Vec<u32> {
    let open = |thread: &Thread| match &thread.state {
        ThreadState::Thinking(open) => Some(open.step),
        ThreadState::Ready
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Answered(_)
        | ThreadState::Done(_) => None,
    };
    draft.run.threads.values().filter_map(open).collect()
}

pub(super) fn running_calls(draft: &Draft) -> Vec<ActionId> {
    let running = draft.run.threads.values().flat_map(Thread::calls).filter(|(_, call)| match call.state {
        CallState::Running { .. } => true,
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. }
        | CallState::Answered { .. } => false,
    });
    running.map(|(action, _)| action).collect()
}
