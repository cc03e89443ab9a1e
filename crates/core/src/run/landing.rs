//! Landing: what a run changed apart is brought to the folder it is about.
//!
//! An isolated run does so while it commits, once its output is agreed to; for any run on
//! a copy a person can ask for it behind a committed ending. First the changes are looked
//! for and written down with all their bytes, then the folder is changed: wholly or not
//! at all. Once begun it is not interrupted: a pause, a limit and a cancel wait for it.
//!
//! An ending never changes because of it, and a run whose changes do not fit any more
//! commits its output all the same.

use super::committing;
use super::decide::{Draft, Refused};
use super::state::{Deed, LANDING, Reversal, Run};
use crate::effect::Effect;
use crate::event::{Changes, Ending, Event, LandOutcome, NAMED_MAX, RestoreOutcome};
use crate::id::ToolName;
use crate::task::WorkspaceMode;

/// Longest reason why changes are not applied.
const QUOTE_MAX: usize = 500;

impl Run {
    /// A person wants its changes applied, and that is not over.
    #[must_use]
    pub fn is_being_landed(&self) -> bool {
        self.ending().is_some() && self.landing.wanted
    }

    /// It has ended, and something is done about it all the same.
    #[must_use]
    pub fn has_afterwork(&self) -> bool {
        self.is_being_undone() || self.is_being_landed() || self.is_being_promoted()
    }

    /// Whether the folder has what the run changed apart.
    #[must_use]
    pub fn has_landed(&self) -> bool {
        let landed = self.landing.outcome == Some(LandOutcome::Landed);
        landed && !self.deeds.undone.contains(&LANDING)
    }

    pub(super) fn landing_started(&mut self) {
        self.landing.wanted = true;
        self.landing.outcome = None;
        if self.ending().is_some() {
            // Whoever wanted it need not be the worker that does it.
            self.owned = false;
        }
    }

    pub(super) fn landed(&mut self, outcome: &LandOutcome) {
        self.landing.wanted = false;
        self.landing.outcome = Some(outcome.clone());
        let has_files = self.landing.changes.as_ref().is_some_and(|changes| changes.files > 0);
        let is_there = match outcome {
            LandOutcome::Landed | LandOutcome::Torn(_) => has_files,
            LandOutcome::MovedOn(_) | LandOutcome::Not(_) => false,
        };
        let Ok(tool) = ToolName::parse("apply") else { return };
        if is_there && !self.deeds.undone.remove(&LANDING) && self.deeds.find(LANDING).is_none() {
            let deed = Deed { action: LANDING, seq: self.seq, tool, reversal: Reversal::Landing };
            self.deeds.done.push(deed);
        }
    }
}

/// Whether the changes of a committing run are where they belong, or will not be.
pub(super) fn is_over(run: &Run) -> bool {
    match run.task.workspace.mode {
        WorkspaceMode::Isolated => !run.landing.wanted && run.landing.outcome.is_some(),
        WorkspaceMode::InPlace | WorkspaceMode::Copy => true,
    }
}

/// What follows from the state of a committing run: it begins.
pub(super) fn proceed(draft: &mut Draft) -> bool {
    let run = &draft.run;
    if !committing::is_agreed(run) || is_over(run) || run.landing.wanted {
        return false;
    }
    draft.push(Event::LandingStarted { by: None });
    true
}

/// A person wants the changes applied. Why not, if not.
pub(super) fn wanted(draft: &mut Draft, by: &str) -> Option<&'static str> {
    let run = &draft.run;
    match run.ending() {
        Some(Ending::Committed { .. }) => {}
        Some(Ending::Failed { .. } | Ending::Halted { .. }) => {
            return Some("only what a committed run changed can be applied");
        }
        None => return Some("the run has not ended"),
    }
    if run.task.workspace.mode == WorkspaceMode::InPlace {
        return Some("the run worked in place: its changes are there");
    }
    if run.is_being_undone() || run.is_being_landed() {
        return Some("it is being applied or undone already");
    }
    if run.has_landed() {
        return Some("its changes are applied already");
    }
    draft.push(Event::LandingStarted { by: Some(by.into()) });
    None
}

/// The changes were looked for.
pub(super) fn found(draft: &mut Draft, found: &Result<Changes, LandOutcome>) -> Result<(), Refused> {
    if !draft.run.landing.wanted || draft.run.landing.changes.is_some() {
        return Err(Refused::NotExpected);
    }
    match found {
        Ok(changes) => {
            let is_nothing = changes.files == 0;
            draft.push(Event::ChangesFound(changes.clone()));
            if is_nothing {
                draft.push(Event::Landed { outcome: LandOutcome::Landed });
            }
        }
        Err(outcome) => draft.push(Event::Landed { outcome: quoted(outcome) }),
    }
    Ok(())
}

/// An attempt to apply the changes, or to take them back, came home.
pub(super) fn landed(draft: &mut Draft, back: bool, outcome: &LandOutcome) -> Result<(), Refused> {
    if back {
        let outcome = match outcome {
            LandOutcome::Landed => RestoreOutcome::Restored,
            LandOutcome::MovedOn(_) => RestoreOutcome::ChangedSince,
            LandOutcome::Not(why) | LandOutcome::Torn(why) => RestoreOutcome::Failed(quote(why)),
        };
        return super::undoing::restored(draft, LANDING, &outcome);
    }
    if !draft.run.landing.wanted || draft.run.landing.changes.is_none() {
        return Err(Refused::NotExpected);
    }
    draft.push(Event::Landed { outcome: quoted(outcome) });
    Ok(())
}

/// With words that fit into a journal.
fn quoted(outcome: &LandOutcome) -> LandOutcome {
    match outcome {
        LandOutcome::Landed => LandOutcome::Landed,
        LandOutcome::MovedOn(moved) => LandOutcome::MovedOn(moved.iter().take(NAMED_MAX).cloned().collect()),
        LandOutcome::Not(why) => LandOutcome::Not(quote(why)),
        LandOutcome::Torn(why) => LandOutcome::Torn(quote(why)),
    }
}

fn quote(why: &str) -> String {
    why.chars().take(QUOTE_MAX).collect()
}

/// What is owed to it, whatever else the run waits for.
pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    if !run.landing.wanted {
        return;
    }
    effects.push(match &run.landing.changes {
        None => Effect::FindChanges,
        Some(changes) => Effect::Land { changes: changes.clone(), back: false },
    });
}

/// What is owed to an undo that takes the changes back.
pub(super) fn due_back(run: &Run) -> Option<Effect> {
    let changes = run.landing.changes.clone()?;
    Some(Effect::Land { changes, back: true })
}
