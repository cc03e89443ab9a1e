//! Repairing: a fresh conversation mends the output, given what is wrong.
//!
//! A minimal edit of a place in the output itself shows and replaces only a window
//! around it. Contract out: [`Event::Repaired`]. Rounds are bounded; after the last one
//! something else is tried, or the run fails with its report.

use super::acting;
use super::decide::{Draft, Refused};
use super::state::{Phase, Run, ThreadState};
use super::{causing, critiquing, escalating, prompt, thread};
use crate::effect::Effect;
use crate::event::{CONTRACT, Event, FailReason, StopReason};
use crate::id::SubtaskId;
use crate::message::Payload;
use crate::plan::{Node, Subtask};
use crate::window::Window;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Repairing { round } = draft.run.phase else { return false };
    if let Some(moved) = escalating::answered(draft) {
        return moved;
    }
    let Some(id) = critiquing::free_id(&draft.run, &format!("repair-{round}")) else { return false };
    if draft.run.mending.rereading {
        return false;
    }
    if !draft.run.threads.contains_key(&id) {
        return start(draft, round, id);
    }
    if let Some((subtask, output)) = acting::answered(&draft.run) {
        draft.push(Event::SubtaskFinished { subtask, output: output.clone() });
        if draft.run.mending.window.is_none() {
            let (output, unplaced) = (vec![output], None);
            draft.push(Event::Repaired { contract: CONTRACT, round, output, unplaced });
        }
        return true;
    }
    thread::proceed(draft)
}

fn start(draft: &mut Draft, round: u32, id: SubtaskId) -> bool {
    // Doing the work anew would only find a third answer.
    if draft.run.mending.undecided {
        escalating::escalate(draft, StopReason::Fail(FailReason::Undecided));
        return true;
    }
    if let Some(why) = exhausted(&draft.run) {
        escalating::escalate(draft, why);
        return true;
    }
    if draft.run.diagnosis.is_none() {
        // No critic was asked: the failures say what is wrong.
        let diagnosis = critiquing::from_failures(&draft.run.failures);
        critiquing::diagnosed(draft, diagnosis);
        let Phase::Repairing { round: ours } = draft.run.phase else { return true };
        let is_over = draft.run.stopping.is_some() || draft.run.mending.rereading;
        if is_over || ours != round || escalating::is_unmended(&draft.run) {
            return true;
        }
    }
    if escalating::outgrows(draft) {
        return true;
    }
    let strategy = causing::strategy(&draft.run);
    let window = causing::window(&draft.run, strategy);
    draft.push(Event::RepairStarted { round, strategy, window });
    let opening = match afresh(&draft.run) {
        Some(subtask) => prompt::subtask(&draft.run, subtask),
        None => prompt::repair(&draft.run, &id),
    };
    draft.push(Event::SubtaskStarted { subtask: id, opening });
    true
}

/// The work that is done anew, where that is what a repair does, one sub-task makes the
/// whole output, and nobody has said what to change about it.
fn afresh(run: &Run) -> Option<&Subtask> {
    only_work(run).filter(|_| run.repairs_afresh())
}

/// The sub-task that makes the whole output, where one does.
pub(super) fn only_work(run: &Run) -> Option<&Subtask> {
    let plan = run.plan.as_ref()?;
    let [last] = plan.last()[..] else { return None };
    match plan.node(last)? {
        Node::Subtask(subtask) => Some(subtask),
        Node::Choice(_) => None,
    }
}

/// A part that was mended and is not in its place yet.
pub(super) fn due(run: &Run, round: u32, effects: &mut Vec<Effect>) {
    let Some((window, replacement)) = unplaced(run, round) else { return };
    let (output, window) = (run.output.clone().unwrap_or_default(), window.clone());
    effects.push(Effect::Splice { round, output, window, replacement: replacement.clone() });
}

/// Whether a part that was mended is not in its place yet.
pub(super) fn is_unplaced(run: &Run, round: u32) -> bool {
    unplaced(run, round).is_some()
}

/// The window of the repair and what shall stand there, once that is known.
fn unplaced(run: &Run, round: u32) -> Option<(&Window, &Payload)> {
    let window = run.mending.window.as_ref()?;
    let id = critiquing::free_id(run, &format!("repair-{round}"))?;
    match &run.threads.get(&id)?.state {
        ThreadState::Done(text) => Some((window, text)),
        ThreadState::Ready
        | ThreadState::Thinking(_)
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Answered(_) => None,
    }
}

/// A part is in its place, or does not fit: then the output stays as it was.
pub(super) fn spliced(
    draft: &mut Draft,
    round: u32,
    output: &Result<Payload, String>,
) -> Result<(), Refused> {
    let Phase::Repairing { round: ours } = draft.run.phase else { return Err(Refused::NotExpected) };
    if ours != round || !is_unplaced(&draft.run, round) {
        return Err(Refused::NotExpected);
    }
    let (output, unplaced) = match output {
        Ok(output) => (vec![output.clone()], None),
        Err(why) => (draft.run.output.clone().unwrap_or_default(), Some(why.clone())),
    };
    draft.push(Event::Repaired { contract: CONTRACT, round, output, unplaced });
    Ok(())
}

/// The reason to stop, when no round is left.
pub(super) fn exhausted(run: &Run) -> Option<StopReason> {
    let is_over = run.repair_rounds() >= run.limits.repairs || !run.recourse.missing.is_empty();
    let rounds = run.spend.repairs;
    is_over.then_some(StopReason::Fail(FailReason::RepairsExhausted { rounds }))
}
