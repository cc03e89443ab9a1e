//! Simulated people: they answer what they are asked, settle doubt by looking
//! outside, and pause, resume and cancel when it suits them.
//!
//! A person who settles a call says what is true when the letter is written. An
//! approval is for what was shown; now and then somebody answers about other
//! bytes, which must not count.

use std::sync::Arc;

use bowline::Engine;
use bowline_core::budget::Limit;
use bowline_core::event::{Ending, Exhausted, HaltReason, Raise, Settlement, Subject};
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Signal;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::{Run, Wait};

use super::drive::known_runs;
use super::state::{Alive, SentLetter};

/// How often a run is reopened, and how often it is meddled with.
const REOPEN_MAX: u32 = 3;
const MEDDLE_MAX: u32 = 3;
/// How often somebody thinks about undoing a run.
const REGRET_MAX: u32 = 3;

/// Lives beside the workers.
pub(super) async fn live(alive: Arc<Alive>, engine: Engine) {
    loop {
        alive.takes(50, if alive.life.faulty { 4000 } else { 1500 }).await;
        for run in known_runs(&alive.world) {
            if let Some(signal) = wish(&alive, &run).await {
                write(&alive, &engine, &run, signal).await;
            }
        }
    }
}

async fn write(alive: &Alive, engine: &Engine, run: &RunId, signal: Signal) {
    let by = if matches!(signal, Signal::Settle { .. }) { "ann" } else { "bob" };
    let letter = SentLetter { run: run.clone(), by: by.into(), signal: signal.clone() };
    alive.world.lock().letters.push(letter);
    // A letter that cannot be left is written again when it is still wanted.
    let _left = engine.signal(run, by, signal).await.is_ok();
}

/// What somebody wants of this run now.
async fn wish(alive: &Alive, id: &RunId) -> Option<Signal> {
    let known = alive.world.lock().replays.contains_key(id);
    if !known {
        let folded = bowline::fold(&alive.world.store(), id, u64::MAX).await.ok()?;
        alive.world.lock().replays.insert(id.clone(), folded.run);
    }
    let run = alive.world.lock().replays.get(id).cloned()?;
    match run.ending() {
        Some(Ending::Committed { .. } | Ending::Failed { .. }) => None,
        Some(Ending::Halted { why, .. }) => reopen(alive, id, why),
        None => {
            let waits = run.waits();
            waits.iter().find_map(|wait| answer(alive, &run, wait)).or_else(|| meddle(alive, id))
        }
    }
}

/// From which event on somebody wants a run undone that is over; `None`: it stays. An undo
/// that was begun is wanted to its end.
pub(super) fn regrets(alive: &Alive, run: &Run) -> Option<u64> {
    if run.is_being_undone() {
        return Some(0);
    }
    let mut state = alive.world.lock();
    let times = state.people.regretted.entry(run.id.clone()).or_default();
    *times += 1;
    if *times > REGRET_MAX || run.deeds.since(0).0.is_empty() {
        return None;
    }
    let per_mille = alive.world.plan.regrets;
    let to = if state.faults.happens(250) { state.faults.below(run.seq.max(1)) } else { 0 };
    (state.faults.happens(per_mille) && !run.deeds.since(to).0.is_empty()).then_some(to)
}

fn reopen(alive: &Alive, id: &RunId, why: &HaltReason) -> Option<Signal> {
    let mut state = alive.world.lock();
    if state.people.left.contains(id) || !state.faults.happens(500) {
        return None;
    }
    let times = state.people.reopened.entry(id.clone()).or_default();
    *times += 1;
    let too_often = *times > REOPEN_MAX;
    if too_often || state.faults.happens(250) {
        state.people.left.insert(id.clone());
        return None;
    }
    let raise = match why {
        HaltReason::LimitReached(Exhausted { limit, wanted, .. }) => {
            let is_time = matches!(limit, Limit::ActiveTime | Limit::RepairTime);
            let unit = if is_time { 600_000 } else { 20 };
            vec![Raise { limit: limit.clone(), to: wanted.saturating_mul(2) + unit }]
        }
        HaltReason::ContextFull(full) => {
            let why = full.exhausted().into_iter();
            why.map(|why| Raise { limit: why.limit, to: why.wanted.saturating_mul(2) }).collect()
        }
        HaltReason::Cancelled { .. }
        | HaltReason::Looping(_)
        | HaltReason::ModelUnavailable { .. }
        | HaltReason::RepairStuck { .. } => Vec::new(),
    };
    Some(Signal::Resume { raise, without: Vec::new() })
}

fn answer(alive: &Alive, run: &Run, wait: &Wait) -> Option<Signal> {
    let mut state = alive.world.lock();
    if alive.life.faulty && state.faults.happens(500) {
        return None;
    }
    match wait {
        Wait::Restored { .. } => Some(Signal::TakeUp),
        Wait::Paused => Some(Signal::Resume { raise: Vec::new(), without: Vec::new() }),
        Wait::Approval { subject, binds, .. } => {
            let (subject, binds) = (*subject, *binds);
            if alive.life.faulty && state.faults.happens(150) {
                // Somebody saw something else.
                let other = Digest::of(&binds.0);
                return Some(Signal::Approve { subject, binds: other });
            }
            if !state.people.answered.insert((run.id.clone(), subject, binds)) {
                return None;
            }
            if subject == Subject::Output && state.faults.happens(80) {
                // The same bytes may come back: then they are looked at anew.
                state.people.answered.remove(&(run.id.clone(), subject, binds));
                return Some(Signal::SendBack { binds, feedback: "say it shorter".into() });
            }
            let denies = state.faults.happens(if subject == Subject::Output { 80 } else { 200 });
            let reason = String::from("not today");
            Some(if denies {
                Signal::Deny { subject, binds, reason }
            } else {
                Signal::Approve { subject, binds }
            })
        }
        Wait::InDoubt { action, attempt, .. } => {
            if !state.people.settled.insert((run.id.clone(), *action, run.seq)) {
                return None;
            }
            drop(state);
            Some(settle(alive, run, *action, *attempt))
        }
    }
}

fn settle(alive: &Alive, run: &Run, action: ActionId, attempt: u32) -> Signal {
    let mut state = alive.world.lock();
    // Whoever looks speaks for the newest worker: an older one is refused from now on.
    state.outside.admits(run.id.as_str(), run.epoch);
    let settlement = match state.outside.result_of(run.id.as_str(), &action.to_string()) {
        Some(result) => Settlement::Happened { output: Payload::inline(&result) },
        None if state.faults.happens(600) => Settlement::DidNotHappen,
        None => Settlement::GivenUp { message: "let it be".into() },
    };
    Signal::Settle { action, attempt, settlement }
}

fn meddle(alive: &Alive, id: &RunId) -> Option<Signal> {
    let mut state = alive.world.lock();
    if !alive.life.faulty || !state.faults.happens(40) {
        return None;
    }
    let times = state.people.meddled.entry(id.clone()).or_default();
    *times += 1;
    if *times > MEDDLE_MAX {
        return None;
    }
    Some(match state.faults.below(4) {
        0 => Signal::Cancel,
        1 => Signal::Resume { raise: Vec::new(), without: Vec::new() },
        2 => Signal::Approve { subject: Subject::Output, binds: Digest::ZERO },
        _ => Signal::Pause,
    })
}
