//! Undoing what a run did: before a failed ending, and for a person after any.
//!
//! Calls are undone one at a time, the last that came to an end first: a file by its
//! image, another call by what its tool declared, with a key of its own. Each is
//! journalled, so that an undo that is killed goes on where it was; each is declarative,
//! so that one that is made twice does no harm. What nothing undoes is named when the
//! undo begins. What should have been undone and was not raises an alert.
//!
//! An ending never changes: an undo for a person is a thing of its own after it.

use super::decide::{Draft, Refused};
use super::state::{
    AlertState, Deed, PersonsUndo, Phase, Reversal, RollingBack, Run, Thread, UndoAttempt, Undoing,
};
use super::{backoff, call, landing, promoting};
use crate::effect::Effect;
use crate::event::{CONTRACT, Compensator, Ending, Event, FailReason, RestoreOutcome, UndoOutcome};
use crate::id::{ActionId, Millis};
use crate::input::Compensation;
use crate::message::Payload;
use crate::provenance::Digest;
use crate::tool::Class;
use crate::undo;

/// Longest quotation of why an undo did not work.
const QUOTE_MAX: usize = 500;

impl Run {
    /// The undo that is under way, if one is.
    #[must_use]
    pub fn undoing(&self) -> Option<&Undoing> {
        match &self.phase {
            Phase::RollingBack(rollback) => Some(&rollback.undoing),
            Phase::Ended(_) => {
                let undo = self.deeds.undo.as_deref().filter(|undo| !undo.finished);
                undo.map(|undo| &undo.undoing)
            }
            Phase::Planning
            | Phase::Decomposing
            | Phase::Retrieving
            | Phase::Acting
            | Phase::Verifying(_)
            | Phase::Critiquing(_)
            | Phase::Repairing { .. }
            | Phase::Committing => None,
        }
    }

    /// A person wants it undone, and that is not over.
    #[must_use]
    pub fn is_being_undone(&self) -> bool {
        self.ending().is_some() && self.undoing().is_some()
    }

    fn undoing_mut(&mut self) -> Option<&mut Undoing> {
        match &mut self.phase {
            Phase::RollingBack(rollback) => Some(&mut rollback.undoing),
            Phase::Ended(_) => self.deeds.undo.as_deref_mut().map(|undo| &mut undo.undoing),
            Phase::Planning
            | Phase::Decomposing
            | Phase::Retrieving
            | Phase::Acting
            | Phase::Verifying(_)
            | Phase::Critiquing(_)
            | Phase::Repairing { .. }
            | Phase::Committing => None,
        }
    }
}

/// Gives up: undoes what can be, or ends at once where there is nothing to undo or to tell.
pub(super) fn give_up(draft: &mut Draft, why: FailReason) {
    let (todo, remains) = draft.run.deeds.since(0);
    if todo.is_empty() && remains.is_empty() {
        fail(draft, why);
    } else {
        draft.push(Event::RollbackStarted { why, remains });
    }
}

/// Ends without undoing anything.
pub(super) fn fail(draft: &mut Draft, why: FailReason) {
    let ending = Ending::Failed { why, partial: draft.run.delivered() };
    draft.push(Event::Ended { contract: CONTRACT, ending });
}

/// A person wants undone what the run did after an event. Why not, if not.
pub(super) fn wanted(draft: &mut Draft, by: &str, to: u64) -> Option<&'static str> {
    if draft.run.ending().is_none() {
        return Some("the run has not ended: cancel it first");
    }
    if draft.run.is_being_undone() {
        return Some("it is being undone already");
    }
    if draft.run.is_being_landed() {
        return Some("its changes are being applied");
    }
    let (todo, remains) = draft.run.deeds.since(to);
    if todo.is_empty() {
        return Some("there is nothing to undo");
    }
    promoting::withdraw(draft);
    draft.push(Event::UndoStarted { by: by.into(), to, remains });
    None
}

/// What follows from the state alone: the next attempt, the alert, the end.
pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Some(undoing) = draft.run.undoing() else { return false };
    match next(&draft.run, undoing) {
        Some(deed) => {
            let Reversal::Call { by, .. } = &deed.reversal else { return false };
            let (action, key) = (deed.action, by.key);
            match undoing.attempt {
                None => draft.push(Event::CompensationStarted { action, key, attempt: 1 }),
                Some(UndoAttempt { attempt, again_at: Some(at), .. }) if at <= draft.now => {
                    draft.push(Event::CompensationStarted { action, key, attempt: attempt + 1 });
                }
                Some(_) => return false,
            }
        }
        None => return finish(draft),
    }
    true
}

fn finish(draft: &mut Draft) -> bool {
    let Some(undoing) = draft.run.undoing() else { return false };
    match undoing.alert {
        AlertState::Quiet if !undoing.failed.is_empty() => {
            let actions = undoing.failed.iter().map(|(action, _)| *action).collect();
            draft.push(Event::AlertRaised { actions });
            return true;
        }
        AlertState::Raised if draft.run.task.on_alert.is_some() => return false,
        AlertState::Quiet | AlertState::Raised | AlertState::Told => {}
    }
    if let Phase::RollingBack(rollback) = &draft.run.phase {
        let ending = Ending::Failed { why: rollback.why.clone(), partial: draft.run.delivered() };
        draft.push(Event::Ended { contract: CONTRACT, ending });
        return true;
    }
    let not_undone = undoing.left.clone();
    let undone = undoing.todo.len().saturating_sub(not_undone.len());
    draft.push(Event::UndoFinished { undone: u32::try_from(undone).unwrap_or(u32::MAX), not_undone });
    true
}

/// A file was put back, or could not be.
pub(super) fn restored(draft: &mut Draft, action: ActionId, outcome: &RestoreOutcome) -> Result<(), Refused> {
    match draft.run.undoing().and_then(|undoing| next(&draft.run, undoing)) {
        Some(deed) if deed.action == action && is_restored(&deed.reversal) => {}
        Some(_) | None => return Err(Refused::NotExpected),
    }
    draft.push(Event::Restored { action, outcome: outcome.clone() });
    Ok(())
}

/// Whether it is put back without a call.
fn is_restored(reversal: &Reversal) -> bool {
    match reversal {
        Reversal::Image | Reversal::Landing => true,
        Reversal::Call { .. } | Reversal::Nothing => false,
    }
}

/// An attempt to undo a call came back.
pub(super) fn compensated(
    draft: &mut Draft,
    (action, attempt): (ActionId, u32),
    found: &Compensation,
) -> Result<(), Refused> {
    let undoing = draft.run.undoing().ok_or(Refused::NotExpected)?;
    let expected = next(&draft.run, undoing).is_some_and(|deed| deed.action == action);
    let troubles = match undoing.attempt {
        Some(UndoAttempt { attempt: out, troubles, again_at: None }) if expected && out == attempt => {
            troubles
        }
        Some(_) | None => return Err(Refused::NotExpected),
    };
    let quote = |text: &str| text.chars().take(QUOTE_MAX).collect::<String>();
    let outcome = match found {
        Compensation::Done => UndoOutcome::Compensated,
        Compensation::WasAsBefore => UndoOutcome::WasAsBefore,
        Compensation::Impossible(why) => UndoOutcome::CannotBeUndone(quote(why)),
        Compensation::Failed(why) => UndoOutcome::Failed(quote(why)),
        Compensation::Trouble { message, retry_after_ms } => {
            let message = quote(message);
            match retry_at(draft, (action, attempt), troubles, *retry_after_ms) {
                Some(retry_at) => {
                    draft.push(Event::CompensationTroubled { action, attempt, message, retry_at });
                    return Ok(());
                }
                None => UndoOutcome::Failed(message),
            }
        }
    };
    draft.push(Event::Compensated { action, outcome });
    Ok(())
}

fn retry_at(
    draft: &Draft,
    (action, attempt): (ActionId, u32),
    troubles: u32,
    retry_after_ms: Option<u64>,
) -> Option<Millis> {
    if troubles + 1 >= undo::ATTEMPTS {
        return None;
    }
    let draw = Digest::of_parts(&[
        b"undo backoff",
        draft.run.seed.as_bytes(),
        action.to_string().as_bytes(),
        &attempt.to_be_bytes(),
    ]);
    backoff::wait_ms(draw, troubles + 1, retry_after_ms).map(|wait| draft.now.plus(wait))
}

/// The command for alerts came back.
pub(super) fn alert_told(draft: &mut Draft, problem: Option<&String>) -> Result<(), Refused> {
    match draft.run.undoing() {
        Some(undoing) if undoing.alert == AlertState::Raised => {}
        Some(_) | None => return Err(Refused::NotExpected),
    }
    let quote = |text: &String| text.chars().take(QUOTE_MAX).collect();
    draft.push(Event::AlertTold { problem: problem.map(quote) });
    Ok(())
}

/// A worker died while an attempt was out: it is made again, with the same key.
pub(super) fn claimed(draft: &mut Draft) {
    let Some(undoing) = draft.run.undoing() else { return };
    let Some(UndoAttempt { attempt, again_at: None, .. }) = undoing.attempt else { return };
    let Some(Deed { action, reversal: Reversal::Call { by, .. }, .. }) = next(&draft.run, undoing) else {
        return;
    };
    let (action, key) = (*action, by.key);
    draft.push(Event::CompensationStarted { action, key, attempt: attempt + 1 });
}

/// What is owed to the undo that is under way.
pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    let Some(undoing) = run.undoing() else { return };
    let Some(deed) = next(run, undoing) else {
        if let (AlertState::Raised, Some(argv)) = (undoing.alert, &run.task.on_alert) {
            effects.push(Effect::Alert { argv: argv.clone(), failed: undoing.failed.clone() });
        }
        return;
    };
    match (&deed.reversal, undoing.attempt) {
        (Reversal::Image, _) => {
            let image = run.images.iter().find(|(action, _)| *action == deed.action);
            effects.extend(
                image.map(|(action, image)| Effect::Restore { action: *action, image: image.clone() }),
            );
        }
        (Reversal::Landing, _) => effects.extend(landing::due_back(run)),
        (Reversal::Call { by, .. }, Some(UndoAttempt { attempt, again_at: None, .. })) => {
            let deed = Box::new(deed.clone());
            effects.push(Effect::Compensate { action: deed.action, attempt, key: by.key, deed });
        }
        (Reversal::Call { .. }, Some(UndoAttempt { again_at: Some(at), .. })) => {
            effects.push(Effect::WakeAt { at });
        }
        (Reversal::Call { .. } | Reversal::Nothing, _) => {}
    }
}

fn next<'a>(run: &'a Run, undoing: &Undoing) -> Option<&'a Deed> {
    run.deeds.find(*undoing.todo.get(undoing.settled)?)
}

/// How a call will be undone, should it have to be.
pub(super) fn compensator(run: &Run, action: ActionId) -> Option<Box<Compensator>> {
    let (_, spec) = call::find(run, action)?;
    let undo = spec.undo.as_deref()?.clone();
    let key = Digest::of_parts(&[b"undo", run.id.as_str().as_bytes(), action.to_string().as_bytes()]);
    Some(Box::new(Compensator { key, undo }))
}

impl Run {
    /// A call was started for the first time: it may change something from now on.
    pub(super) fn deed_begun(&mut self, event: &Event) {
        let Event::CallStarted { action, tool, key, image, undo, .. } = event else { return };
        let args = self.threads.values().flat_map(Thread::calls);
        let args = args.filter(|(id, _)| id == action).map(|(_, call)| call.call.args.clone()).next();
        let reversal = match (image, undo, args) {
            (Some(_), _, _) => Reversal::Image,
            (None, Some(by), Some(args)) => Reversal::Call { by: by.clone(), key: *key, args, result: None },
            (None, Some(_), None) | (None, None, _) => Reversal::Nothing,
        };
        let is_pure = self.tool(tool.as_str()).is_some_and(|spec| spec.class() == Class::Pure);
        if reversal != Reversal::Nothing || !is_pure {
            let deed = Deed { action: *action, seq: self.seq, tool: tool.clone(), reversal };
            self.deeds.open.insert(*action, deed);
        }
    }

    /// A call came to an end, with this result if it is known to have done its work.
    pub(super) fn deed_done(&mut self, action: ActionId, known: Option<&Payload>) {
        let Some(mut deed) = self.deeds.open.remove(&action) else { return };
        if let Reversal::Call { result, .. } = &mut deed.reversal {
            *result = known.cloned();
        }
        self.deeds.done.push(deed);
    }

    /// A call is not made after all. One that was tried and is known not to have happened
    /// has nothing to undo, save a file that is looked at all the same.
    pub(super) fn deed_dropped(&mut self, action: ActionId) {
        if let Some(deed) = self.deeds.open.remove(&action)
            && deed.reversal == Reversal::Image
        {
            self.deeds.done.push(deed);
        }
    }

    /// An undo begins: what nobody knows of counts as done, the oldest first.
    fn undoing_since(&mut self, to: u64) -> Undoing {
        for (_, deed) in std::mem::take(&mut self.deeds.open) {
            self.deeds.done.push(deed);
        }
        Undoing { todo: self.deeds.since(to).0.into(), ..Undoing::default() }
    }

    pub(super) fn rollback_started(&mut self, why: &FailReason) {
        self.stopping = None;
        let undoing = self.undoing_since(0);
        self.phase = Phase::RollingBack(RollingBack { why: why.clone(), undoing });
    }

    pub(super) fn undo_started(&mut self, by: &str, to: u64) {
        let undoing = self.undoing_since(to);
        self.deeds.undo = Some(Box::new(PersonsUndo { by: by.into(), to, undoing, finished: false }));
        // Whoever wanted it need not be the worker that does it.
        self.owned = false;
    }

    pub(super) fn undo_finished(&mut self) {
        if let Some(undo) = &mut self.deeds.undo {
            undo.finished = true;
        }
    }

    pub(super) fn file_restored(&mut self, action: ActionId, outcome: &RestoreOutcome) {
        let (is_back, failed) = match outcome {
            RestoreOutcome::Restored | RestoreOutcome::AlreadyAsBefore => (true, None),
            RestoreOutcome::ChangedSince => (false, None),
            RestoreOutcome::Failed(why) => (false, Some(why.as_str())),
        };
        self.undo_settled(action, is_back, failed);
    }

    pub(super) fn call_compensated(&mut self, action: ActionId, outcome: &UndoOutcome) {
        let failed = match outcome {
            UndoOutcome::Compensated | UndoOutcome::WasAsBefore => None,
            UndoOutcome::CannotBeUndone(why) | UndoOutcome::Failed(why) => Some(why.as_str()),
        };
        self.undo_settled(action, failed.is_none(), failed);
    }

    pub(super) fn compensation_started(&mut self, attempt: u32) {
        let Some(undoing) = self.undoing_mut() else { return };
        let troubles = undoing.attempt.map_or(0, |last| last.troubles);
        undoing.attempt = Some(UndoAttempt { attempt, troubles, again_at: None });
    }

    pub(super) fn compensation_troubled(&mut self, retry_at: Millis) {
        if let Some(out) = self.undoing_mut().and_then(|undoing| undoing.attempt.as_mut()) {
            out.troubles += 1;
            out.again_at = Some(retry_at);
        }
    }

    pub(super) fn alerted(&mut self, state: AlertState) {
        self.deeds.alerted = true;
        if let Some(undoing) = self.undoing_mut() {
            undoing.alert = state;
        }
    }

    fn undo_settled(&mut self, action: ActionId, is_back: bool, failed: Option<&str>) {
        if is_back {
            self.deeds.undone.insert(action);
        }
        let Some(undoing) = self.undoing_mut() else { return };
        if let Some(at) = undoing.todo.iter().position(|todo| *todo == action) {
            undoing.settled = at + 1;
        }
        undoing.attempt = None;
        undoing.failed.extend(failed.map(|why| (action, why.into())));
        if !is_back {
            undoing.left.push(action);
        }
    }
}
