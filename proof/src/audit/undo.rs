//! The audit of undoing: what is begun, in which order it comes to an end, and who is told.

use std::collections::BTreeSet;

use bowline_core::event::{Event, RestoreOutcome, UndoOutcome};
use bowline_core::id::ActionId;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;

use crate::outside::Outside;
use crate::promise::Promise;

/// Whether an event may stand behind an ending: it begins an undo for a person, or is part
/// of one.
pub(super) fn is_of_an_undo(run: &Run, event: &Event) -> bool {
    match event {
        Event::UndoStarted { .. } => !run.is_being_undone(),
        Event::Claimed { .. }
        | Event::Restored { .. }
        | Event::CompensationStarted { .. }
        | Event::CompensationTroubled { .. }
        | Event::Compensated { .. }
        | Event::AlertRaised { .. }
        | Event::AlertTold { .. }
        | Event::UndoFinished { .. } => run.is_being_undone(),
        _ => false,
    }
}

/// Looks at one event of an undo.
pub(super) fn event(run: &Run, event: &Event, outside: &mut Outside, broken: &mut BTreeSet<Promise>) {
    match event {
        Event::RollbackStarted { .. } | Event::UndoStarted { .. } => begin(outside),
        Event::CompensationStarted { action, key, attempt } => {
            if !outside.writes.contains(action) {
                broken.insert(Promise::OnlyDone);
            }
            let id = action.to_string();
            if *key != Digest::of_parts(&[b"undo", run.id.as_str().as_bytes(), id.as_bytes()]) {
                broken.insert(Promise::OneKey);
            }
            outside.amending = Some((*action, *attempt, *key));
        }
        Event::CompensationTroubled { .. } => outside.amending = None,
        Event::Restored { action, outcome } => {
            let is_back = matches!(outcome, RestoreOutcome::Restored | RestoreOutcome::AlreadyAsBefore);
            let has_failed = matches!(outcome, RestoreOutcome::Failed(_));
            settle(outside, *action, (is_back, has_failed), broken);
        }
        Event::Compensated { action, outcome } => {
            let is_back = matches!(outcome, UndoOutcome::Compensated | UndoOutcome::WasAsBefore);
            outside.amending = None;
            settle(outside, *action, (is_back, !is_back), broken);
            let is_undone = outside.amends.contains_key(action);
            if *outcome == UndoOutcome::Compensated && !is_undone {
                broken.insert(Promise::TrueOutcome);
            }
        }
        Event::AlertRaised { actions } => {
            if outside.alerted || *actions != outside.failed || actions.is_empty() {
                broken.insert(Promise::Alerted);
            }
            outside.alerted = true;
        }
        Event::UndoFinished { .. } => over(outside, broken),
        _ => {}
    }
}

/// What nobody knows of counts as done, the oldest first.
fn begin(outside: &mut Outside) {
    let open = std::mem::take(&mut outside.begun);
    outside.writes.extend(open.into_keys());
    let Outside { writes, back, .. } = outside;
    outside.todo = writes.iter().filter(|action| !back.contains(action)).copied().collect();
    outside.failed.clear();
    outside.alerted = false;
}

fn settle(
    outside: &mut Outside,
    action: ActionId,
    (is_back, has_failed): (bool, bool),
    broken: &mut BTreeSet<Promise>,
) {
    if outside.todo.pop() != Some(action) {
        broken.insert(Promise::Undone);
    }
    outside.settled.insert(action);
    if is_back {
        outside.back.insert(action);
    }
    if has_failed {
        outside.failed.push(action);
    }
}

/// An undo is over: nothing is left of it, and people know what did not work.
pub(super) fn over(outside: &Outside, broken: &mut BTreeSet<Promise>) {
    if !outside.todo.is_empty() {
        broken.insert(Promise::Undone);
    }
    if outside.alerted == outside.failed.is_empty() {
        broken.insert(Promise::Alerted);
    }
}
