//! What becomes of a sub-task that failed: a choice around it tries its next
//! branch, or the model plans anew, or the run stops as it would without a plan.
//!
//! Work that was given up starts nothing more. What of it is out in the world comes
//! home, and what nobody knows of is settled, before anything else is started: two
//! ways to one end must not be at work at the same time. What is finished stays.

use super::decide::Draft;
use super::state::{Phase, Run, Thread};
use super::{call, ending, planning};
use crate::event::{Event, SubtaskFailure, WayOn};
use crate::id::SubtaskId;
use crate::plan::Failed;

/// How a reply begins that says: this cannot be done.
pub(super) const CANNOT: &str = "CANNOT:";

/// A sub-task failed for good.
pub(super) fn fails(draft: &mut Draft, subtask: &SubtaskId, why: SubtaskFailure) {
    match way_on(&draft.run, subtask) {
        Some(then) => draft.push(Event::SubtaskFailed { subtask: subtask.clone(), why, then }),
        None => ending::stop(draft, why.stop()),
    }
}

/// How the run would go on if this sub-task failed now; `None`: it could not.
pub(super) fn way_on(run: &Run, subtask: &SubtaskId) -> Option<WayOn> {
    let plan = run.plan.as_ref().filter(|_| run.phase == Phase::Acting)?;
    match run.progress.clone().failed(plan, subtask) {
        Failed::FellBack { choice, from, to } => Some(WayOn::FallsBack { choice, from, to }),
        Failed::Fatal if planning::may_plan_anew(run) => Some(WayOn::PlansAnew),
        Failed::Fatal | Failed::Unwanted => None,
    }
}

/// Takes an answer that says "this cannot be done" as such, where there is another way.
pub(super) fn gives_up(draft: &mut Draft, subtask: &SubtaskId, said: &str) {
    let Some(reason) = said.trim_start().strip_prefix(CANNOT) else { return };
    if way_on(&draft.run, subtask).is_some() {
        let message = reason.trim().chars().take(super::thread::QUOTE_MAX).collect();
        fails(draft, subtask, SubtaskFailure::GaveUp { message });
    }
}

/// Work on this sub-task is not wanted any more.
pub(super) fn is_given_up(run: &Run, subtask: &SubtaskId) -> bool {
    let abandoned = || run.plan.as_ref().is_some_and(|plan| run.progress.abandoned(plan, subtask));
    run.replanning.contains(subtask) || run.recourse.given_up.contains(subtask) || abandoned()
}

/// Conversations that were given up and are still there.
fn given_up(run: &Run) -> impl Iterator<Item = (&SubtaskId, &Thread)> {
    run.threads.iter().filter(|(id, thread)| !thread.is_done() && is_given_up(run, id))
}

/// Work that was given up is still out in the world, or in doubt.
pub(super) fn is_winding_down(run: &Run) -> bool {
    given_up(run).next().is_some()
}

/// Closes a conversation that was given up, once nothing of it is out or in doubt.
pub(super) fn proceed(draft: &mut Draft) -> bool {
    let quiet = |(_, thread): &(&SubtaskId, &Thread)| !thread.in_flight() && !call::has_doubt(thread);
    let Some((id, thread)) = given_up(&draft.run).find(quiet) else { return false };
    let (subtask, open) = (id.clone(), call::unstarted(thread));
    call::refuse(draft, open);
    draft.push(Event::SubtaskDropped { subtask });
    true
}
