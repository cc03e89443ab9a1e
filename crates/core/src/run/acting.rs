//! Acting: ready sub-tasks work in parallel, each in its own conversation.
//!
//! Contract out: [`Event::Acted`], the outputs of the sub-tasks nobody waits
//! for. A sub-task is started only when everything before it is done.

use super::decide::Draft;
use super::state::{Run, Thread, ThreadState};
use super::{prompt, thread};
use crate::event::{CONTRACT, Event, SubtaskOutput};
use crate::id::SubtaskId;
use crate::message::Payload;
use crate::plan::Subtask;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    if thread::proceed(draft) {
        return true;
    }
    if let Some((subtask, output)) = answered(&draft.run) {
        draft.push(Event::SubtaskFinished { subtask, output });
        return true;
    }
    if let Some(subtask) = next(&draft.run) {
        let opening = prompt::subtask(&draft.run, &subtask);
        draft.push(Event::SubtaskStarted { subtask: subtask.id, opening });
        return true;
    }
    let Some(outputs) = outputs(&draft.run) else { return false };
    draft.push(Event::Acted { contract: CONTRACT, outputs });
    true
}

/// A conversation that has given its answer.
pub(super) fn answered(run: &Run) -> Option<(SubtaskId, Payload)> {
    run.threads.iter().find_map(|(id, thread)| match &thread.state {
        ThreadState::Answered(output) => Some((id.clone(), output.clone())),
        ThreadState::Ready
        | ThreadState::Thinking(_)
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Done(_) => None,
    })
}

/// The output of a finished sub-task.
pub(super) fn output_of<'a>(run: &'a Run, id: &SubtaskId) -> Option<&'a Payload> {
    match run.threads.get(id)?.state {
        ThreadState::Done(ref output) => Some(output),
        ThreadState::Ready
        | ThreadState::Thinking(_)
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Answered(_) => None,
    }
}

/// The next sub-task that may start now, if there is a slot.
fn next(run: &Run) -> Option<Subtask> {
    let at_work = run.threads.values().filter(|thread| !is_done(thread)).count();
    // A run that may do nothing at once would wait for ever.
    if at_work >= usize::try_from(run.limits.parallel.max(1)).unwrap_or(usize::MAX) {
        return None;
    }
    let ready = |subtask: &&Subtask| {
        !run.threads.contains_key(&subtask.id)
            && subtask.after.iter().all(|before| output_of(run, before).is_some())
    };
    run.plan.as_ref()?.subtasks().into_iter().find(ready).cloned()
}

fn is_done(thread: &Thread) -> bool {
    match thread.state {
        ThreadState::Done(_) => true,
        ThreadState::Ready
        | ThreadState::Thinking(_)
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Answered(_) => false,
    }
}

/// All outputs, once every sub-task is done.
fn outputs(run: &Run) -> Option<Vec<SubtaskOutput>> {
    let plan = run.plan.as_ref()?;
    if !plan.subtasks().iter().all(|subtask| output_of(run, &subtask.id).is_some()) {
        return None;
    }
    plan.last()
        .into_iter()
        .map(|id| {
            output_of(run, id).map(|output| SubtaskOutput { subtask: id.clone(), output: output.clone() })
        })
        .collect()
}
