//! A run that was brought back from a backup: it may have gone on elsewhere since.
//!
//! Nobody here can know what was done there. So nothing is started until a person takes the run
//! up, and a call that must not be made twice is then in doubt before it is made: its probe says
//! whether it happened, or a person does. Keys stay what they were, so calls that the other side
//! recognises by them, and calls that may be made twice, need no question.

use std::collections::BTreeSet;

use super::call;
use super::decide::{Draft, Refused};
use super::state::{Backup, Run};
use crate::event::{Doubt, Ending, Event, FromBackup};
use crate::id::{ActionId, Millis};
use crate::tool::Repeat;

/// The journal was brought back.
pub(super) fn restored(draft: &mut Draft, by: &str, made_at: Millis) -> Result<(), Refused> {
    match draft.run.ending() {
        // Final: there is nothing that could be done twice.
        Some(Ending::Committed { .. } | Ending::Failed { .. }) => return Err(Refused::AlreadyEnded),
        Some(Ending::Halted { .. }) | None => {}
    }
    draft.push(Event::FromBackup(FromBackup::Restored { by: by.into(), made_at }));
    Ok(())
}

/// A person takes it up.
pub(super) fn wanted(draft: &mut Draft, by: &str) -> Option<&'static str> {
    if !draft.run.is_brought_back() {
        return Some("it was not brought back from a backup, or was taken up before");
    }
    draft.push(Event::FromBackup(FromBackup::TakenUp { by: by.into() }));
    None
}

/// Puts a call in doubt that is about to be made and may have been made elsewhere.
pub(super) fn started(draft: &mut Draft, action: ActionId) {
    let known = draft.run.backup.as_ref().is_none_or(|backup| backup.settled.contains(&action));
    if !known && call::repeat_of(&draft.run, action) == Some(Repeat::Never) {
        call::doubt(draft, action, Doubt::Restored);
    }
}

impl Run {
    /// It was brought back from a backup, and nobody has taken it up here yet.
    #[must_use]
    pub fn is_brought_back(&self) -> bool {
        self.backup.as_ref().is_some_and(|backup| !backup.taken_up)
    }

    /// Folds what is said of a backup. Whoever had the run has it no more: it is claimed again
    /// before anything follows.
    pub(super) fn brought_back(&mut self, what: &FromBackup) {
        self.owned = false;
        match what {
            FromBackup::Restored { made_at, .. } => {
                let backup = Backup { made_at: *made_at, taken_up: false, settled: BTreeSet::new() };
                self.backup = Some(Box::new(backup));
            }
            FromBackup::TakenUp { .. } => {
                if let Some(backup) = &mut self.backup {
                    backup.taken_up = true;
                }
            }
        }
    }

    /// Somebody said whether a call happened.
    pub(super) fn settled_since(&mut self, action: ActionId) {
        if let Some(backup) = &mut self.backup {
            backup.settled.insert(action);
        }
    }
}
