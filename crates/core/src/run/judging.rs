//! Judging: the part of verifying that asks a model. Each answer a check needs is a
//! conversation of its own, which sees task, output and evidence and nothing else of the
//! run, is offered no tools, and is read strictly: what is not the answer that was asked
//! for is asked for once more, and then the check could not run.
//!
//! Contract out: [`Event::Judged`] for each answer, then [`Event::Checked`].

use super::critiquing::free_id;
use super::decide::Draft;
use super::state::{Phase, Run, Verification};
use super::thread::{self, Asked};
use super::{prompt, repairing};
use crate::event::{Event, Judgement};
use crate::id::SubtaskId;
use crate::input::Reply;
use crate::message::Payload;
use crate::quality::{CheckHow, CheckResult};
use crate::verify::{self, Opinion};

/// Whatever a judge has to say for the next check has been said.
pub(super) fn is_ready(run: &Run, verification: &Verification) -> bool {
    run.task.checks.get(verification.results.len()).is_none_or(|check| {
        usize::try_from(verify::asks(&check.how)).is_ok_and(|asks| verification.opinions.len() >= asks)
    })
}

/// The answer that is wanted next, and of what check.
fn wanted(run: &Run) -> Option<(Judgement, &CheckHow)> {
    let Phase::Verifying(verification) = &run.phase else { return None };
    let place = verification.results.len();
    let check = run.task.checks.get(place).filter(|check| check.how.is_judged())?;
    let ask = u32::try_from(verification.opinions.len()).ok()?.checked_add(1)?;
    let index = u32::try_from(place).ok()?;
    Some((Judgement { round: verification.round, index, ask }, &check.how))
}

/// The next answer that is wanted.
pub(super) fn judgement(run: &Run) -> Option<Judgement> {
    wanted(run).map(|(judgement, _)| judgement)
}

/// How the check is made whose answers are wanted.
pub(super) fn how(run: &Run) -> Option<&CheckHow> {
    wanted(run).map(|(_, how)| how)
}

/// Whether other answers are asked for that might hold as well.
pub(super) fn seeks_rivals(run: &Run) -> bool {
    how(run).is_some_and(|how| how.rivals() > 0)
}

/// The conversation of an answer.
pub(super) fn thread_id(run: &Run, judgement: Judgement) -> Option<SubtaskId> {
    let Judgement { round, index, ask } = judgement;
    free_id(run, &format!("judge-{round}-{}-{ask}", index + 1))
}

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Phase::Verifying(verification) = &draft.run.phase else { return false };
    let Some((judgement, how)) = wanted(&draft.run) else { return false };
    let gave_up = verification.opinions.iter().any(|opinion| matches!(opinion, Opinion::Unusable(_)));
    if gave_up || is_ready(&draft.run, verification) {
        return conclude(draft);
    }
    let Some(id) = thread_id(&draft.run, judgement) else { return false };
    match Asked::of(&draft.run, &id) {
        Asked::NotYet => {
            // A rival is another answer to the very same words.
            let opening = match repairing::only_work(&draft.run).filter(|_| how.rivals() > 0) {
                Some(subtask) => prompt::subtask(&draft.run, subtask),
                None => prompt::judge(&draft.run, &id, how),
            };
            draft.push(Event::SubtaskStarted { subtask: id, opening });
            true
        }
        Asked::Answered => {
            give_up(draft, "its answer is not what was asked for, twice");
            true
        }
        Asked::Going => thread::proceed(draft),
    }
}

/// What the answers come to, unless something has to be executed with them.
fn conclude(draft: &mut Draft) -> bool {
    let Phase::Verifying(verification) = &draft.run.phase else { return false };
    let Some(check) = draft.run.task.checks.get(verification.results.len()) else { return false };
    let thresholds = &draft.run.task.standards.thresholds;
    let Some((outcome, measure)) = verify::conclude(&check.how, thresholds, &verification.opinions) else {
        return false;
    };
    let log = serde_json::to_string(&verification.opinions).unwrap_or_default();
    let result = CheckResult {
        name: check.name.clone(),
        outcome,
        log: Payload::inline(&log),
        duration_ms: 0,
        measure,
    };
    draft.push(Event::Checked { round: verification.round, result });
    true
}

/// A judge answered: use it, or ask once more.
pub(super) fn answered(draft: &mut Draft, subtask: &SubtaskId, reply: &Reply) {
    let Some(how) = how(&draft.run) else { return };
    let unusable = draft.run.threads.get(subtask).map_or(0, |thread| thread.unusable);
    if !reply.calls.is_empty() {
        if unusable > 1 {
            give_up(draft, "it calls tools it was not offered");
        }
        return;
    }
    match verify::read(how, &reply.head, &reply.text) {
        Ok(opinion) => judged(draft, opinion),
        Err(why) if unusable < 1 => {
            let text = prompt::not_an_opinion(&why);
            draft.push(Event::Noticed { subtask: subtask.clone(), text });
        }
        Err(why) => give_up(draft, &why),
    }
}

/// No answer can be had.
pub(super) fn give_up(draft: &mut Draft, why: &str) {
    judged(draft, Opinion::Unusable(why.into()));
}

fn judged(draft: &mut Draft, opinion: Opinion) {
    let Some(Judgement { round, index, ask }) = judgement(&draft.run) else { return };
    draft.push(Event::Judged { round, index, ask, opinion: Box::new(opinion) });
}

impl Run {
    /// A judge answered.
    pub(super) fn judged(&mut self, judgement: Judgement, opinion: &Opinion) {
        let id = thread_id(self, judgement);
        if let Some(thread) = id.and_then(|id| self.threads.get_mut(&id)) {
            thread.close();
        }
        if let Phase::Verifying(verification) = &mut self.phase {
            verification.opinions.push(opinion.clone());
        }
    }
}
