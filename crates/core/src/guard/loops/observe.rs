//! What a result tells: reasons, each with its weight.

use super::window::Turned;
use super::world::Step;
use super::{Detector, Known, Reason};
use crate::guard::{CallTrace, Effect, Outcome, OutputTrace};

/// How a result relates to what was known.
pub(super) struct Sighting {
    /// What was known of this call, as long as the world has not changed.
    pub(super) known: Option<Known>,
    /// The call was made before, in whatever world.
    pub(super) is_known_call: bool,
    /// It succeeded then.
    pub(super) is_done_before: bool,
    /// It gave another result then.
    pub(super) has_changed: bool,
    /// The output was seen before, under another call.
    pub(super) is_seen_elsewhere: bool,
    /// Same call, same result as right before.
    pub(super) is_same_as_last: bool,
}

impl Sighting {
    /// The same result as before in the same world.
    pub(super) fn is_repeat(&self) -> bool {
        self.known.is_some() && !self.has_changed
    }
}

impl Detector {
    pub(super) fn sight(&self, call: &CallTrace, output: &OutputTrace) -> Sighting {
        let known = self.calls.get(&call.key).copied();
        let before = |turned: &Turned| turned.key == call.key && turned.digest == output.digest;
        Sighting {
            known: known.filter(|known| self.world.is_same_since(call, known.at)),
            is_known_call: known.is_some(),
            is_done_before: known.is_some_and(|known| known.outcome == Outcome::Succeeded),
            has_changed: known
                .is_some_and(|known| known.digest != output.digest || known.outcome != output.outcome),
            is_seen_elsewhere: !output.empty
                && self.outputs.get(&output.digest).is_some_and(|first| first != &call.key),
            is_same_as_last: self.window.last().is_some_and(before),
        }
    }

    /// The first matching observation about repeating.
    pub(super) fn about_repeating(
        &self,
        call: &CallTrace,
        output: &OutputTrace,
        sighting: &Sighting,
        step: Step,
    ) -> Option<(Reason, i32)> {
        let weights = &self.settings.weights;
        let failed = output.outcome == Outcome::Failed;
        let moves = matches!(call.effect, Effect::Cursor | Effect::Poll);
        match step {
            Step::Oscillation => return Some((Reason::Oscillation, weights.oscillation)),
            Step::Progress if !sighting.is_known_call => {
                return Some((Reason::NewChange, weights.new_change));
            }
            Step::Progress | Step::Moved | Step::Returned | Step::Still => {}
        }
        if sighting.has_changed {
            return Some((Reason::ChangedResult, weights.changed_result));
        }
        if sighting.is_same_as_last && !moves {
            let at =
                usize::try_from(self.streaks.same).unwrap_or(usize::MAX).min(weights.same_in_a_row.len() - 1);
            return Some((Reason::SameInARow, weights.same_in_a_row.get(at).copied().unwrap_or(0)));
        }
        if sighting.is_repeat() {
            return (!moves).then_some((Reason::SameInOneWorld, weights.same_in_one_world));
        }
        if sighting.is_known_call {
            // An edit, a run, the same output: hardly evidence of anything.
            let again = matches!(step, Step::Moved | Step::Returned);
            return again.then_some((Reason::SameChange, weights.same_change));
        }
        if sighting.is_seen_elsewhere {
            return Some(if failed {
                (Reason::SeenError, weights.seen_error)
            } else {
                (Reason::SeenOutput, weights.seen_output)
            });
        }
        if output.empty {
            return None;
        }
        let is_known_error = output.signature.is_some_and(|signature| self.errors.get(&signature).is_some());
        match (failed, is_known_error) {
            (true, true) => None,
            (true, false) => Some((Reason::NewError, weights.new_error)),
            (false, _) => Some((Reason::NewOutput, weights.new_output)),
        }
    }
}
