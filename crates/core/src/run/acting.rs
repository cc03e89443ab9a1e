//! Acting: ready sub-tasks work in parallel, each in its own conversation.
//!
//! Contract out: [`Event::Acted`], the outputs of the nodes nobody waits for. A
//! sub-task is started only when everything before it is done, the most urgent
//! first; a choice with a condition waits until somebody looked at the output it is
//! about.

use super::decide::{Draft, Refused};
use super::state::{Phase, Run, Thread, ThreadState};
use super::{falling_back, planning, prompt, thread};
use crate::effect::Effect;
use crate::event::{CONTRACT, Event, SubtaskOutput};
use crate::id::SubtaskId;
use crate::message::{Content, Payload};
use crate::plan::{Condition, Plan, Rule, Subtask};

pub(super) fn proceed(draft: &mut Draft) -> bool {
    if falling_back::proceed(draft) || thread::proceed(draft) || planning::plan_anew(draft) {
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

/// What stands for a node: the output of a sub-task, or those of the branch a
/// choice has taken.
pub(super) fn outputs_of(run: &Run, plan: &Plan, id: &SubtaskId) -> Vec<SubtaskOutput> {
    let delivered = |subtask: &SubtaskId| {
        output_of(run, subtask)
            .map(|output| SubtaskOutput { subtask: subtask.clone(), output: output.clone() })
    };
    run.progress.outputs_of(plan, id).into_iter().filter_map(delivered).collect()
}

/// The next sub-task that may start now, if there is a slot.
fn next(run: &Run) -> Option<Subtask> {
    let at_work = run.threads.values().filter(|thread| !thread.is_done()).count();
    // A run that may do nothing at once would wait for ever.
    let slots = usize::try_from(run.limits.parallel.max(1)).unwrap_or(usize::MAX);
    if at_work >= slots || falling_back::is_winding_down(run) {
        return None;
    }
    run.progress.next(run.plan.as_ref()?).cloned()
}

/// All outputs, once every node is over.
fn outputs(run: &Run) -> Option<Vec<SubtaskOutput>> {
    let plan = run.plan.as_ref()?;
    let is_over = run.progress.is_over() && run.threads.values().all(Thread::is_done);
    is_over.then(|| plan.last().into_iter().flat_map(|id| outputs_of(run, plan, id)).collect())
}

/// The choice somebody has to look at the condition of.
pub(super) fn undecided(run: &Run) -> Option<(&SubtaskId, &Condition, usize)> {
    let choice = run.progress.undecided(run.plan.as_ref().filter(|_| run.phase == Phase::Acting)?)?;
    match &choice.rule {
        Rule::When(condition) => Some((&choice.id, condition, choice.branches.len())),
        Rule::FirstThatWorks => None,
    }
}

pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    let (Some((_, condition, _)), Some(plan)) = (undecided(run), &run.plan) else { return };
    let outputs: Content = outputs_of(run, plan, &condition.of).into_iter().map(|part| part.output).collect();
    effects.push(Effect::Weigh { serial: run.weighed + 1, output: outputs, test: condition.test.clone() });
}

pub(super) fn weighed(draft: &mut Draft, serial: u32, holds: bool) -> Result<(), Refused> {
    let Some((choice, _, branches)) = undecided(&draft.run).filter(|_| serial == draft.run.weighed + 1)
    else {
        return Err(Refused::NotExpected);
    };
    let branch = if holds { Some(0) } else { (branches > 1).then_some(1) };
    let choice = choice.clone();
    draft.push(Event::BranchChosen { choice, holds, branch });
    Ok(())
}
