//! Which model a step is sent to.
//!
//! Whoever speaks has a first choice: the task's own model, its critic for those who
//! judge, a stronger one once repairs were moved up the ladder. After it come the
//! fallbacks, in the task's order. A model that leaves all its attempts unanswered is
//! given up for this answer, each at most once; one that is in trouble again and again
//! is left alone for a while, and then one step decides. One that the conversation cannot
//! be made to fit is passed over where another can take it.
//!
//! Invariants
//! - A run with one model is never moved, and nothing is remembered of its troubles.
//! - The choice looks at the state only, so a restart makes the same one.

use super::context::{self, Context};
use super::decide::Draft;
use super::state::{Breaker, OpenStep, Run, Thread};
use super::step::Terms;
use super::{backoff, thread};
use crate::budget::Price;
use crate::event::{Event, Purpose, Routed, Sent, SentFor, StepTrouble};
use crate::id::{Millis, SubtaskId};

/// Unanswered attempts in a row after which a model is left alone.
const FAILURES: u32 = 5;
/// First and longest time it is; each time twice the one before.
const FIRST_MS: u64 = 30_000;
const LONGEST_MS: u64 = 600_000;
/// Nobody is left alone for longer, whatever it asks for.
const REST_MAX_MS: u64 = 3_600_000;

/// The model a step goes to.
pub(super) struct Choice<'r> {
    pub(super) model: &'r str,
    /// Why it is not whoever is asked as a rule.
    pub(super) sent: Option<Box<Sent>>,
}

/// Who is asked next in a conversation.
pub(super) fn choose<'r>(run: &'r Run, thread: &Thread, purpose: &Purpose) -> Choice<'r> {
    let route = route(run, purpose);
    let left = || route.iter().copied().filter(|model| !is_given_up(thread, model));
    let fits = |model: &str| route.len() < 2 || can_take(run, thread, purpose, model);
    let awake = || left().filter(|model| rests_until(run, model).is_none());
    // Where everybody is to be left alone, or too small, the first is asked all the same.
    let model = awake().find(|model| fits(model)).or_else(|| left().find(|model| fits(model)));
    let model = model.or_else(|| awake().next()).or_else(|| left().next());
    let model = model.unwrap_or_else(|| first(run, purpose));
    Choice { model, sent: sent(run, thread, purpose, model) }
}

/// The conversation fits this model, or can be made to.
fn can_take(run: &Run, thread: &Thread, purpose: &Purpose, model: &str) -> bool {
    context::may_fit(run, thread, model, thread::beside(run, thread, purpose))
}

fn sent(run: &Run, thread: &Thread, purpose: &Purpose, model: &str) -> Option<Box<Sent>> {
    let first = first(run, purpose);
    if model == first && first == own(run, purpose) {
        return None;
    }
    let why = match (thread.given_up.last(), rests_until(run, first)) {
        (Some(with), _) => SentFor::Trouble { with: with.to_string() },
        (None, Some(until)) if model != first => SentFor::Resting { model: first.into(), until },
        (None, _) if model != first => SentFor::TooLong { model: first.into() },
        (None, _) => SentFor::Stronger { rung: run.rung },
    };
    Some(Box::new(Sent { model: model.into(), why }))
}

/// Everybody who may be asked, the first choice first, each once.
fn route<'r>(run: &'r Run, purpose: &Purpose) -> Vec<&'r str> {
    let mut route = vec![first(run, purpose)];
    let others = run.task.routes.fallbacks.iter().map(String::as_str);
    for model in others.chain([own(run, purpose)]) {
        if !route.contains(&model) {
            route.push(model);
        }
    }
    route
}

/// Who is asked as a rule: a critic and a judge may be another model than the one that works.
fn own<'r>(run: &'r Run, purpose: &Purpose) -> &'r str {
    match &run.task.critic {
        Some(critic) if thread::is_critical(run, purpose) => critic,
        Some(_) | None => &run.task.model,
    }
}

/// Who should be asked: those who work climb the ladder, those who judge do not.
fn first<'r>(run: &'r Run, purpose: &Purpose) -> &'r str {
    let climbs = match purpose {
        Purpose::Act(_) | Purpose::Plan(_) => true,
        Purpose::Critique(_) | Purpose::Judge(_) => false,
    };
    let rung = usize::try_from(run.rung).ok().and_then(|rung| rung.checked_sub(1)).filter(|_| climbs);
    let stronger = rung.and_then(|rung| run.task.routes.ladder.get(rung));
    stronger.map_or_else(|| own(run, purpose), String::as_str)
}

fn is_given_up(thread: &Thread, model: &str) -> bool {
    thread.given_up.iter().any(|gone| **gone == *model)
}

fn rests_until(run: &Run, model: &str) -> Option<Millis> {
    run.resting.get(model)?.until.filter(|until| *until > run.now)
}

/// On what terms a model of the run is asked.
pub(super) fn terms_of(run: &Run, model: &str) -> Terms {
    Terms { price: price_of(run, model), answer: Context::of(run, model).answer }
}

/// What a model of the run costs.
fn price_of(run: &Run, model: &str) -> Price {
    if *model == *run.task.model {
        return run.price;
    }
    let critic = run.task.critic.as_deref() == Some(model);
    if critic { run.critic_price } else { run.prices.get(model).copied().unwrap_or(run.price) }
}

/// Whom a step was sent to.
pub(super) fn asked<'r>(run: &'r Run, id: &SubtaskId, open: &'r OpenStep) -> &'r str {
    open.model.as_deref().unwrap_or_else(|| own(run, &thread::purpose(run, id)))
}

/// Somebody else can be asked for the answer this model did not give.
pub(super) fn has_another(run: &Run, id: &SubtaskId, thread: &Thread, model: &str) -> bool {
    let route = route(run, &thread::purpose(run, id));
    route.iter().any(|other| *other != model && !is_given_up(thread, other))
}

/// A model left an attempt unanswered: whether it is left alone from now on. Looked at
/// before the attempt is folded in.
pub(super) fn rest(
    run: &Run,
    model: &str,
    (why, retry_after_ms): (StepTrouble, Option<u64>),
    now: Millis,
) -> Option<Event> {
    if !run.task.routes.has_others() || why == StepTrouble::Lost {
        return None;
    }
    let Breaker { failures, openings, until } = run.resting.get(model).copied().unwrap_or_default();
    let failures = failures.saturating_add(1);
    let is_lasting = why == StepTrouble::Permanent || backoff::is_too_long(retry_after_ms);
    let opens = is_lasting
        || match until {
            None => failures >= FAILURES,
            // The one step that was to decide. A late one says nothing new.
            Some(until) => until <= now,
        };
    let stays_ms = FIRST_MS.saturating_mul(1 << openings.min(16)).min(LONGEST_MS);
    let until = now.plus(stays_ms.max(retry_after_ms.unwrap_or(0)).min(REST_MAX_MS));
    opens.then(|| Event::Routed(Box::new(Routed::Rests { model: model.into(), failures, why, until })))
}

/// Notes that a model answered that was left alone.
pub(super) fn answered(draft: &mut Draft, model: &str) {
    if draft.run.resting.get(model).is_some_and(|rest| rest.until.is_some()) {
        draft.push(Event::Routed(Box::new(Routed::Back { model: model.into() })));
    }
}

impl Run {
    /// A model is left alone, or is not any more.
    pub(super) fn routed(&mut self, what: &Routed) {
        match what {
            Routed::Rests { model, until, .. } => {
                let rest = self.resting.entry(model.clone()).or_default();
                rest.openings = rest.openings.saturating_add(1);
                rest.until = Some(*until);
            }
            Routed::Back { model } => drop(self.resting.remove(model)),
        }
    }

    /// A model left an attempt unanswered.
    pub(super) fn model_failed(&mut self, model: &str, kind: StepTrouble) {
        if !self.task.routes.has_others() || kind == StepTrouble::Lost {
            return;
        }
        let rest = self.resting.entry(model.into()).or_default();
        rest.failures = rest.failures.saturating_add(1);
    }

    /// A model answered: what was failing in a row is not any more.
    pub(super) fn model_answered(&mut self, model: &str) {
        if self.resting.get(model).is_some_and(|rest| rest.until.is_none()) {
            self.resting.remove(model);
        }
    }
}
