//! Escalating: what is tried once repairs came to nothing, in this order, as far as the
//! task asks for it: a stronger model, other sub-tasks, the parts that hold, a person.
//!
//! Contract out: [`Event::Escalated`]. Each way has a number of times it can be taken
//! (a stronger model once a rung, other sub-tasks and parts once a run, a person
//! [`ASKS_MAX`] times), so it always ends: committed, or with the reason it began with.
//! After each, rounds, money and time of repairs are counted anew, within the limits of
//! the whole run, which are not.
//!
//! Nothing here opens a gate: what is left of an output is verified like any other, a
//! person who agrees to a part agrees to what passed, and an output whose checks fail
//! can be sent back or denied, never approved.

use std::collections::BTreeSet;

use super::decide::Draft;
use super::state::{ApprovalState, Phase, RepairBase, Run};
use super::{acting, apply, call, causing, committing, critiquing, ending, planning};
use crate::defect::Cause;
use crate::event::{CONTRACT, Escalated, Escalation, Event, FailReason, StopReason, Subject, Verdict};
use crate::id::SubtaskId;
use crate::message::Content;
use crate::quality::{Check, Diagnosis};
use crate::task::Recourse;

/// How often a person is asked about an output that could not be mended.
pub(super) const ASKS_MAX: u32 = 3;

/// Repairs came to nothing, for this reason: tries what is left, or stops.
pub(super) fn escalate(draft: &mut Draft, why: StopReason) {
    let Some(step) = next(&draft.run) else { return ending::stop(draft, why) };
    let asks = matches!(step, Escalation::Person { .. });
    if step == Escalation::ReDecompose {
        diagnose(draft);
    }
    let why = in_words(&why);
    draft.push(Event::Escalated(Box::new(Escalated { step, why })));
    if asks {
        diagnose(draft);
        let binds = committing::binds(draft.run.output.as_deref().unwrap_or_default());
        call::ask(draft, Subject::Output, binds, Vec::new());
    }
}

/// A stronger model is asked before rounds are used up, where the defect is known to be
/// beyond the one that works.
pub(super) fn outgrows(draft: &mut Draft) -> bool {
    let cause = draft.run.diagnosis.as_ref().and_then(|diagnosis| diagnosis.cause.as_ref());
    let is_beyond = cause.is_some_and(|found| found.cause == Cause::CapabilityLimit);
    let Some(step @ Escalation::BiggerModel { .. }) = next(&draft.run).filter(|_| is_beyond) else {
        return false;
    };
    let why = Cause::CapabilityLimit.words().into();
    draft.push(Event::Escalated(Box::new(Escalated { step, why })));
    true
}

/// The next way that is left.
fn next(run: &Run) -> Option<Escalation> {
    let is_asked_for = |way: Recourse| run.task.tries(way);
    let may_repair = run.limits.repairs > 0;
    let rung = usize::try_from(run.rung).unwrap_or(usize::MAX);
    if let Some(model) = run.task.routes.ladder.get(rung)
        && is_asked_for(Recourse::BiggerModel)
        && may_repair
    {
        return Some(Escalation::BiggerModel { model: model.clone(), rung: run.rung.saturating_add(1) });
    }
    // Another plan would be one of the whole again.
    let is_whole = run.recourse.left_out.is_empty();
    if is_asked_for(Recourse::ReDecompose) && !run.recourse.redecomposed && is_whole {
        return Some(Escalation::ReDecompose);
    }
    if is_asked_for(Recourse::Partial)
        && !run.recourse.parted
        && let Some(missing) = at_fault(run)
    {
        return Some(Escalation::Partial { missing });
    }
    let asked = run.recourse.asked.saturating_add(1);
    let may_ask = is_asked_for(Recourse::Person) && may_repair && asked <= ASKS_MAX;
    may_ask.then_some(Escalation::Person { asked })
}

/// The parts whose own checks fail, where everything else that was checked holds and
/// every other part has a check of its own that says so.
fn at_fault(run: &Run) -> Option<Vec<SubtaskId>> {
    let plan = run.plan.as_ref()?;
    let parts = plan.last();
    let made = || run.failures.iter().zip(&run.task.checks);
    let bad: Option<BTreeSet<&SubtaskId>> = made()
        .filter(|(result, _)| result.outcome.is_bad())
        .map(|(_, check)| check.part.as_ref().filter(|part| parts.contains(part)))
        .collect();
    let bad = bad.filter(|bad| !bad.is_empty())?;
    let holds = |part: &SubtaskId| {
        made().any(|(result, check)| check.part.as_ref() == Some(part) && result.outcome.is_pass())
            && !acting::outputs_of(run, plan, part).is_empty()
    };
    let kept: Vec<&&SubtaskId> = parts.iter().filter(|part| !bad.contains(**part)).collect();
    let is_sound = !kept.is_empty() && kept.iter().all(|part| holds(part));
    is_sound.then(|| parts.iter().filter(|part| bad.contains(**part)).map(|part| (*part).clone()).collect())
}

/// A check of a part that is left out.
pub(super) fn is_left_out(run: &Run, check: &Check) -> bool {
    let recourse = &run.recourse;
    let is_missing = |part: &SubtaskId| recourse.missing.contains(part) || recourse.left_out.contains(part);
    check.part.as_ref().is_some_and(is_missing)
}

/// What is wrong is known before anybody else is asked about it.
fn diagnose(draft: &mut Draft) {
    if draft.run.diagnosis.is_none() {
        let diagnosis = critiquing::from_failures(&draft.run.failures);
        let diagnosis = Diagnosis { cause: causing::of(&draft.run), ..diagnosis };
        draft.push(Event::Diagnosed { contract: CONTRACT, diagnosis });
    }
}

/// What a person says to an output that could not be mended: whether that moves the run.
/// `None`: nobody was asked.
pub(super) fn answered(draft: &mut Draft) -> Option<bool> {
    let why = match &draft.run.approvals.get(&Subject::Output)?.state {
        ApprovalState::Open => return Some(false),
        ApprovalState::Settled(Verdict::SentBack { by, feedback }) => {
            let diagnosis = committing::asked_for(by, feedback);
            draft.push(Event::Diagnosed { contract: CONTRACT, diagnosis });
            return Some(true);
        }
        ApprovalState::Settled(Verdict::Denied { by, reason }) => {
            FailReason::OutputDenied { by: by.clone(), reason: reason.clone() }
        }
        ApprovalState::Settled(Verdict::Expired) => FailReason::ApprovalExpired,
        // Nobody can say yes to what fails its checks.
        ApprovalState::Settled(Verdict::Approved { .. }) => {
            FailReason::RepairsExhausted { rounds: draft.run.spend.repairs }
        }
    };
    ending::stop(draft, StopReason::Fail(why));
    Some(true)
}

/// A person was asked about an output whose checks fail.
pub(super) fn is_unmended(run: &Run) -> bool {
    matches!(run.phase, Phase::Repairing { .. }) && run.approvals.contains_key(&Subject::Output)
}

fn in_words(why: &StopReason) -> String {
    match why {
        StopReason::Fail(why) => crate::view::failure(why),
        StopReason::Halt(why) => crate::view::halt(why),
    }
}

impl Run {
    /// Something beyond repair is tried.
    pub(super) fn escalated(&mut self, what: &Escalated) {
        self.recourse.base = RepairBase { rounds: self.spend.repairs, spend: self.repair_spend };
        self.mending.begin_anew();
        self.rounds = std::sync::Arc::default();
        if let Some(id) = planning::thread_id(self) {
            self.threads.remove(&id);
        }
        match &what.step {
            Escalation::BiggerModel { rung, .. } => {
                self.rung = *rung;
                // What was beyond one model is not known to be beyond the next.
                self.diagnosis.iter_mut().for_each(|diagnosis| diagnosis.cause = None);
            }
            Escalation::ReDecompose => {
                self.recourse.redecomposed = true;
                self.replanning.clear();
                self.lessons.clear();
                self.phase = Phase::Planning;
            }
            Escalation::Partial { missing } => {
                self.recourse.parted = true;
                self.recourse.missing.clone_from(missing);
                self.sketch = None;
                self.verify(self.kept_parts(), None);
            }
            Escalation::Person { asked } => {
                self.recourse.asked = *asked;
                self.take_up_best();
                self.phase = Phase::Repairing { round: self.spend.repairs + 1 };
            }
        }
    }

    fn kept_parts(&self) -> Content {
        let Some(plan) = &self.plan else { return Content::new() };
        let kept = plan.last().into_iter().filter(|part| !self.recourse.missing.contains(part));
        apply::joined(&kept.flat_map(|part| acting::outputs_of(self, plan, part)).collect::<Vec<_>>())
    }

    /// Goes on from the best whole output, and from what was wrong with it.
    pub(super) fn take_up_best(&mut self) {
        self.recourse.missing.clear();
        if let Some(best) = self.best.as_ref().filter(|best| best.round != self.verifications) {
            self.output = Some(best.output.clone());
            self.likelihood = None;
            self.failures.clone_from(&best.failures);
            self.diagnosis = None;
            self.sketch = None;
        }
    }
}
