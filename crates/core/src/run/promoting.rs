//! Promoting: a committed output is handed on to whoever keeps it.
//!
//! It is owed from the record that commits on, so that no crash loses it, and goes on behind
//! the ending: at least once, under one key. Attempts are bounded. What comes of it is
//! journalled and never changes the ending; a person can ask for it again. A run that is
//! undone hands nothing on any more.

use super::backoff;
use super::decide::{Draft, Refused};
use super::state::{Promotion, Run, UndoAttempt};
use crate::effect::{Committed, Effect};
use crate::event::{Ending, Event, Promoted, PromotionOutcome};
use crate::provenance::Digest;

/// Attempts at handing one output on, crashes not counted.
pub const PROMOTIONS_MAX: u32 = 5;
/// Longest reason why it was not taken.
const QUOTE_MAX: usize = 500;

impl Run {
    /// Its output is being handed on, and that is not over.
    #[must_use]
    pub fn is_being_promoted(&self) -> bool {
        self.ending().is_some() && self.promotion.as_ref().is_some_and(|handed| handed.outcome.is_none())
    }

    pub(super) fn promoted(&mut self, how: &Promoted) {
        if let Promoted::Begun { key, by } = how {
            self.promotion = Some(Box::new(Promotion { key: *key, attempt: None, outcome: None }));
            // Whoever wanted it need not be the worker that does it.
            self.owned &= by.is_none();
        }
        let Some(handed) = self.promotion.as_deref_mut() else { return };
        let troubles = handed.attempt.map_or(0, |last| last.troubles);
        match how {
            Promoted::Begun { .. } => {}
            Promoted::Tried { attempt } => {
                handed.attempt = Some(UndoAttempt { attempt: *attempt, troubles, again_at: None });
            }
            Promoted::Troubled { attempt, retry_at, .. } => {
                let (attempt, troubles, again_at) = (*attempt, troubles + 1, Some(*retry_at));
                handed.attempt = Some(UndoAttempt { attempt, troubles, again_at });
            }
            Promoted::Settled(outcome) => handed.outcome = Some(outcome.clone()),
        }
    }
}

/// A committed output shall be handed on.
pub(super) fn begin(draft: &mut Draft, by: Option<&str>) {
    let key = Digest::of_parts(&[b"promote", draft.run.id.as_str().as_bytes()]);
    draft.push(Event::Promoted(Promoted::Begun { key, by: by.map(Into::into) }));
}

/// A person wants it handed on, or tried again. Why not, if not.
pub(super) fn wanted(draft: &mut Draft, by: &str) -> Option<&'static str> {
    let run = &draft.run;
    match run.ending() {
        Some(Ending::Committed { .. }) => {}
        Some(Ending::Failed { .. } | Ending::Halted { .. }) | None => {
            return Some("only what is committed is handed on");
        }
    }
    if run.deeds.undo.is_some() {
        return Some("what the run did was undone");
    }
    match run.promotion.as_ref().map(|handed| &handed.outcome) {
        Some(None) => return Some("its output is being handed on already"),
        Some(Some(PromotionOutcome::Taken)) => return Some("its output was taken already"),
        Some(Some(PromotionOutcome::NotTaken(_) | PromotionOutcome::Withdrawn)) | None => {}
    }
    begin(draft, Some(by));
    None
}

/// The run is being undone: what was not handed on is not.
pub(super) fn withdraw(draft: &mut Draft) {
    if draft.run.is_being_promoted() {
        draft.push(Event::Promoted(Promoted::Settled(PromotionOutcome::Withdrawn)));
    }
}

/// What follows from the state alone: the next attempt.
pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Some(handed) = under_way(&draft.run) else { return false };
    let attempt = match handed.attempt {
        None => 1,
        Some(UndoAttempt { attempt, again_at: Some(at), .. }) if at <= draft.now => attempt + 1,
        Some(_) => return false,
    };
    draft.push(Event::Promoted(Promoted::Tried { attempt }));
    true
}

/// A worker died while an attempt was out: it is made again, with the same key.
pub(super) fn claimed(draft: &mut Draft) {
    let out = under_way(&draft.run).and_then(|handed| handed.attempt);
    if let Some(UndoAttempt { attempt, again_at: None, .. }) = out {
        draft.push(Event::Promoted(Promoted::Tried { attempt: attempt + 1 }));
    }
}

/// An attempt came back: why it was not taken, if it was not.
pub(super) fn returned(draft: &mut Draft, attempt: u32, problem: Option<&str>) -> Result<(), Refused> {
    let out = under_way(&draft.run).and_then(|handed| handed.attempt);
    let troubles = match out {
        Some(UndoAttempt { attempt: out, troubles, again_at: None }) if out == attempt => troubles,
        Some(_) | None => return Err(Refused::NotExpected),
    };
    let message = problem.map(|why| why.chars().take(QUOTE_MAX).collect::<String>());
    let draw = Digest::of_parts(&[b"promote backoff", draft.run.seed.as_bytes(), &attempt.to_be_bytes()]);
    let wait = backoff::wait_ms(draw, troubles + 1, None).filter(|_| troubles + 1 < PROMOTIONS_MAX);
    draft.push(Event::Promoted(match (message, wait) {
        (None, _) => Promoted::Settled(PromotionOutcome::Taken),
        (Some(message), None) => Promoted::Settled(PromotionOutcome::NotTaken(message)),
        (Some(message), Some(wait)) => {
            Promoted::Troubled { attempt, message, retry_at: draft.now.plus(wait.max(1)) }
        }
    }));
    Ok(())
}

/// What is owed to it.
pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    let Some(handed) = under_way(run) else { return };
    let Some(Ending::Committed { output, provenance, missing }) = run.ending() else { return };
    match handed.attempt {
        Some(UndoAttempt { attempt, again_at: None, .. }) => {
            let (output, missing, assurance) = (output.clone(), missing.clone(), run.assurance.clone());
            let committed = Box::new(Committed { output, provenance: *provenance, missing, assurance });
            effects.push(Effect::Promote { attempt, key: handed.key, committed });
        }
        Some(UndoAttempt { again_at: Some(at), .. }) => effects.push(Effect::WakeAt { at }),
        None => {}
    }
}

fn under_way(run: &Run) -> Option<&Promotion> {
    run.promotion.as_deref().filter(|_| run.is_being_promoted())
}
