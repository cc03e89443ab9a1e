//! What can happen next.

use bowline_core::effect::Effect;
use bowline_core::event::{Ending, Purpose, Subject};
use bowline_core::id::{ActionId, Millis};
use bowline_core::run::{CallState, Thread, Wait};

use crate::menu::{Amend, Fate, Finding, Say, Settle, Test, is_look};
use crate::plant::Plant;
use crate::world::{Model, Worker, World};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A worker claims the run, at this moment.
    Claim(Millis),
    /// The worker dies.
    Crash,
    /// The worker is asked to stop.
    Stop,
    /// A worker that was asked to stop is gone.
    Leave,
    /// A model does this about a step.
    Model(u32, Say),
    /// A file is looked at before a call; false: it cannot be.
    Prepare(ActionId, bool),
    /// A look at something comes to this.
    Look(ActionId, u32, Fate),
    /// A request of a call is made, and comes to this.
    Request(ActionId, u32, Fate),
    /// The reply of a request is taken in.
    Return(ActionId, u32),
    /// A request whose worker is gone arrives.
    Land(ActionId, u32),
    /// A probe comes back.
    Probe(ActionId, Finding),
    /// A check comes back.
    Check(u32, usize, Test),
    /// A condition is looked at.
    Weigh(u32, bool),
    /// An undo comes back; false: somebody else changed the file.
    Restore(ActionId, bool),
    /// An attempt to undo a call comes to this.
    Compensate(ActionId, u32, Amend),
    /// People were told what could not be undone.
    Tell,
    /// The result is stored.
    Store,
    /// Time passes to this moment.
    Wake(Millis),
    /// A person says yes.
    Approve(Subject),
    /// A person says yes to other bytes.
    ApproveOther(Subject),
    /// A person says yes when it is too late.
    ApproveLate(Subject),
    /// A person says no.
    Deny(Subject),
    /// A person settles a doubt.
    Settle(ActionId, u32, Settle),
    /// A person stops the clock.
    Pause,
    /// A person lets a paused run go on.
    Resume,
    /// A person cancels the run.
    Cancel,
    /// A person opens a halted run again, with one more step.
    Reopen,
    /// A person has a run undone that has ended.
    Undo,
}

/// Everything that can happen next. Nothing follows a broken promise.
pub(crate) fn list(model: &Model, world: &World, moves: &mut Vec<Move>) {
    if !world.broken.is_empty() {
        return;
    }
    moves.extend(world.outside.late.keys().map(|(action, attempt)| Move::Land(*action, *attempt)));
    if let Some(ending) = world.run.ending().filter(|_| !world.run.is_being_undone()) {
        after(model, world, ending, moves);
        return;
    }
    let due = world.run.due();
    match world.worker {
        Worker::Gone => {
            moves.push(Move::Claim(world.now()));
            moves.extend(due.iter().filter_map(|effect| wake(effect).map(Move::Claim)));
            people(model, world, moves);
        }
        Worker::Leaving => {
            due.iter().for_each(|effect| outcomes(model, world, effect, moves));
            moves.push(Move::Leave);
        }
        Worker::Working => {
            due.iter().for_each(|effect| outcomes(model, world, effect, moves));
            moves.extend(due.iter().filter_map(|effect| wake(effect).map(Move::Wake)));
            if world.used.crashes < model.scenario.crashes {
                moves.extend([Move::Crash, Move::Stop]);
            }
            people(model, world, moves);
            if model.plant == Some(Plant::EffectFirst) {
                too_early(world, moves);
            }
        }
    }
}

fn after(model: &Model, world: &World, ending: &Ending, moves: &mut Vec<Move>) {
    let is_halted = matches!(ending, Ending::Halted { .. });
    if is_halted && world.used.reopenings < model.scenario.reopenings {
        moves.push(Move::Reopen);
    }
    if world.used.undos < model.scenario.undos && !world.run.deeds.since(0).0.is_empty() {
        moves.push(Move::Undo);
    }
    if model.plant == Some(Plant::WorkAfterEnd) {
        let late = world.outside.late.keys();
        moves.extend(late.map(|(action, attempt)| Move::Request(*action, *attempt, Fate::Done)));
    }
}

/// Every outcome of what is due.
fn outcomes(model: &Model, world: &World, effect: &Effect, moves: &mut Vec<Move>) {
    let scenario = &model.scenario;
    match effect {
        Effect::CallModel { step, purpose: Purpose::Act(_), .. } => {
            moves.extend(scenario.says.iter().map(|say| Move::Model(*step, *say)));
        }
        Effect::CallModel { step, purpose: Purpose::Critique(_), .. } => {
            moves.extend([Say::Diagnose, Say::Answer].map(|say| Move::Model(*step, say)));
        }
        // No scenario has a plan of the model's, or a judge.
        Effect::CallModel { purpose: Purpose::Plan(_) | Purpose::Judge(_), .. } => {}
        Effect::PrepareCall { action, .. } if world.worker == Worker::Working => {
            moves.extend([Move::Prepare(*action, true), Move::Prepare(*action, false)]);
        }
        Effect::RunTool { action, attempt, tool, .. } => {
            let fates = scenario.fates.iter();
            if world.outside.flights.contains_key(&(*action, *attempt)) {
                moves.push(Move::Return(*action, *attempt));
            } else if is_look(&world.run, tool.as_str()) {
                let fates = fates.filter(|fate| **fate != Fate::LostAfter);
                moves.extend(fates.map(|fate| Move::Look(*action, *attempt, *fate)));
            } else {
                moves.extend(fates.map(|fate| Move::Request(*action, *attempt, *fate)));
            }
        }
        Effect::Probe { action, .. } => {
            moves.push(Move::Probe(*action, Finding::Unknown));
            // As long as a request may still arrive, nobody can say that it will not.
            let is_known = |book: &crate::outside::CallBook| book.effects > 0;
            if world.outside.calls.get(action).is_some_and(is_known) || !world.outside.is_late(*action) {
                moves.push(Move::Probe(*action, Finding::Truth));
            }
        }
        Effect::RunCheck { round, index, .. } => {
            moves.extend(scenario.tests.iter().map(|test| Move::Check(*round, *index, *test)));
        }
        Effect::Weigh { serial, .. } => {
            moves.extend([Move::Weigh(*serial, true), Move::Weigh(*serial, false)]);
        }
        Effect::Restore { action, .. } => {
            moves.extend([Move::Restore(*action, true), Move::Restore(*action, false)]);
        }
        Effect::Compensate { action, attempt, .. } => {
            let dies = world.used.crashes < scenario.crashes && world.worker == Worker::Working;
            let amends = scenario.amends.iter().filter(|amend| dies || **amend != Amend::LostAfter);
            moves.extend(amends.map(|amend| Move::Compensate(*action, *attempt, *amend)));
        }
        Effect::Alert { .. } => moves.push(Move::Tell),
        // No scenario works apart, and none has anybody to hand its output on to.
        Effect::FindChanges | Effect::Land { .. } | Effect::Promote { .. } => {}
        Effect::StoreResult { .. } => moves.push(Move::Store),
        // No check of a scenario names a place in the output.
        Effect::Splice { .. } => {}
        Effect::PrepareCall { .. } | Effect::ReadEvidence { .. } | Effect::WakeAt { .. } => {}
    }
}

/// Everything people can say now.
fn people(model: &Model, world: &World, moves: &mut Vec<Move>) {
    let may_meddle = world.used.meddles < model.scenario.meddles;
    for wait in world.run.waits() {
        match wait {
            // No world of the model brings a journal back.
            Wait::Restored { .. } => {}
            Wait::Paused => moves.push(Move::Resume),
            // Nobody answers for ever what nobody can take any more: a worker settles it.
            Wait::Approval { expires_at, .. } if expires_at <= world.now() => {}
            Wait::Approval { subject, .. } => {
                moves.extend([Move::Approve(subject), Move::Deny(subject)]);
                if may_meddle {
                    moves.extend([Move::ApproveOther(subject), Move::ApproveLate(subject)]);
                }
            }
            Wait::InDoubt { action, attempt, .. } => {
                let settle = |how| Move::Settle(action, attempt, how);
                moves.extend([settle(Settle::Happened), settle(Settle::GiveUp)]);
                if world.used.did_nots < model.scenario.did_nots {
                    moves.push(settle(Settle::DidNot));
                }
            }
        }
    }
    if may_meddle {
        moves.push(Move::Cancel);
        if !world.run.paused {
            moves.push(Move::Pause);
        }
    }
}

/// A bug: calls that a person is still asked about are made.
fn too_early(world: &World, moves: &mut Vec<Move>) {
    let calls = world.run.threads.values().flat_map(Thread::calls);
    let asked = calls.filter(|(_, call)| call.state == CallState::AwaitingConsent);
    moves.extend(asked.map(|(action, _)| Move::Request(action, 1, Fate::Done)));
}

/// The moment of a wake-up.
pub(crate) fn wake(effect: &Effect) -> Option<Millis> {
    if let Effect::WakeAt { at } = effect { Some(*at) } else { None }
}
