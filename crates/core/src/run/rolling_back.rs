//! Rolling back: files the run wrote are put back, last write first.
//!
//! Each undo is declarative (the shell restores only what still looks as the
//! call left it) and journalled, so a rollback that is killed goes on where it
//! was and restores nothing twice.

use super::decide::{Draft, Refused};
use super::state::{Phase, RollingBack, Run};
use crate::effect::Effect;
use crate::event::{CONTRACT, Ending, Event, RestoreOutcome};
use crate::id::ActionId;
use crate::tool::FileImage;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::RollingBack(rollback) = &draft.run.phase else { return false };
    if rollback.left > 0 {
        return false;
    }
    let ending = Ending::Failed { why: rollback.why.clone(), partial: draft.run.output.clone() };
    draft.push(Event::Ended { contract: CONTRACT, ending });
    true
}

pub(super) fn restored(draft: &mut Draft, action: ActionId, outcome: &RestoreOutcome) -> Result<(), Refused> {
    let Phase::RollingBack(rollback) = &draft.run.phase else { return Err(Refused::NotExpected) };
    match next(&draft.run, rollback) {
        Some((expected, _)) if *expected == action => {}
        Some(_) | None => return Err(Refused::NotExpected),
    }
    draft.push(Event::Restored { action, outcome: outcome.clone() });
    Ok(())
}

pub(super) fn due(run: &Run, rollback: &RollingBack, effects: &mut Vec<Effect>) {
    if let Some((action, image)) = next(run, rollback) {
        effects.push(Effect::Restore { action: *action, image: image.clone() });
    }
}

fn next<'a>(run: &'a Run, rollback: &RollingBack) -> Option<&'a (ActionId, FileImage)> {
    run.images.iter().nth(rollback.left.checked_sub(1)?)
}
