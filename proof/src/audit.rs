//! The audit: reads what became durable, event by event, beside what really
//! happened outside.

mod undo;

use std::collections::BTreeSet;

use bowline_core::effect::Effect;
use bowline_core::event::{Ending, Event, Outcome, Settlement};
use bowline_core::id::{ActionId, WorkerId};
use bowline_core::input::{Input, Signal, What};
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::{Run, decide};
use bowline_core::task::Review;
use bowline_core::tool::Consent;

use crate::menu;
use crate::moves::wake;
use crate::outside::{CallBook, Outside};
use crate::promise::Promise;
use crate::world::{Worker, World};

/// Who settles a doubt without being a person.
const PROBE: &str = "probe";

/// Looks at one event, before it is folded.
pub(crate) fn event(run: &Run, event: &Event, outside: &mut Outside, broken: &mut BTreeSet<Promise>) {
    let is_reopening = matches!(event, Event::Resumed { .. });
    match run.ending() {
        Some(Ending::Halted { .. }) if is_reopening => {}
        Some(_) if undo::is_of_an_undo(run, event) => {}
        Some(_) => drop(broken.insert(Promise::Final)),
        None => {}
    }
    completed(event, outside);
    match event {
        Event::CallStarted { .. } => started(run, event, outside, broken),
        Event::CallFinished { action, outcome, .. } => {
            let tool = outside.calls.get(action).map_or("", |book| book.tool);
            let book = answered(outside, *action, broken);
            book.open = None;
            if *outcome == Outcome::Ok && book.effects == 0 && !menu::is_look(run, tool) {
                broken.insert(Promise::TrueOutcome);
            }
        }
        Event::CallTroubled { action, .. } | Event::CallInDoubt { action, .. } => {
            outside.calls.entry(*action).or_default().open = None;
        }
        Event::CallRefused { action, .. } | Event::CallBlocked { action, .. } => {
            answered(outside, *action, broken);
        }
        Event::CallSettled { action, settlement, by } => settled(outside, *action, (settlement, by), broken),
        Event::Ended { ending, .. } => ended(run, ending, outside, broken),
        _ => undo::event(run, event, outside, broken),
    }
}

/// Remembers the order in which calls that can be undone came to an end.
fn completed(event: &Event, outside: &mut Outside) {
    let (action, is_dropped) = match event {
        Event::CallFinished { action, .. } => (action, false),
        Event::CallSettled { settlement: Settlement::DidNotHappen, .. } => return,
        Event::CallSettled { action, .. } => (action, false),
        Event::CallRefused { action, .. } => (action, true),
        _ => return,
    };
    // What is known not to have happened has nothing to undo but its file.
    if outside.begun.remove(action).is_some_and(|is_file| is_file || !is_dropped) {
        outside.writes.push(*action);
    }
}

fn started(run: &Run, event: &Event, outside: &mut Outside, broken: &mut BTreeSet<Promise>) {
    let Event::CallStarted { action, tool, args, key, attempt, image, undo, .. } = event else { return };
    let is_taken = outside.calls.iter().any(|(other, book)| other != action && book.key == Some(*key));
    let book = outside.calls.entry(*action).or_default();
    if is_taken || book.key.is_some_and(|before| before != *key) {
        broken.insert(Promise::OneKey);
    }
    book.key = Some(*key);
    book.open = Some((*attempt, *key));
    let needs_yes = run.tool(tool.as_str()).is_none_or(|spec| spec.consent == Consent::Ask);
    let is_asked = tool.as_str() == book.tool && *args == menu::asked_digest();
    if !is_asked || (needs_yes && !book.agreed) {
        broken.insert(Promise::Consent);
    }
    if *attempt == 1 && (image.is_some() || undo.is_some()) {
        outside.begun.insert(*action, image.is_some());
    }
}

/// A call gets its answer, which must be its only one.
fn answered<'a>(
    outside: &'a mut Outside,
    action: ActionId,
    broken: &mut BTreeSet<Promise>,
) -> &'a mut CallBook {
    let book = outside.calls.entry(action).or_default();
    book.answers += 1;
    if book.answers > 1 {
        broken.insert(Promise::OneAnswer);
    }
    book
}

fn settled(
    outside: &mut Outside,
    action: ActionId,
    (settlement, by): (&Settlement, &str),
    broken: &mut BTreeSet<Promise>,
) {
    match settlement {
        Settlement::Happened { .. } => {
            let book = answered(outside, action, broken);
            let is_true = if by == PROBE { book.effects > 0 } else { book.happened };
            if !is_true {
                broken.insert(Promise::TrueOutcome);
            }
        }
        Settlement::GivenUp { .. } => drop(answered(outside, action, broken)),
        Settlement::DidNotHappen => {}
    }
}

fn ended(run: &Run, ending: &Ending, outside: &Outside, broken: &mut BTreeSet<Promise>) {
    match ending {
        Ending::Halted { .. } => return,
        Ending::Failed { .. } => {
            let is_settled = |action: &ActionId| outside.settled.contains(action);
            if !outside.writes.iter().all(is_settled) {
                broken.insert(Promise::Undone);
            }
            undo::over(outside, broken);
        }
        Ending::Committed { output, .. } => {
            if !outside.settled.is_empty() {
                broken.insert(Promise::Undone);
            }
            committed(run, output, outside, broken);
        }
    }
    if outside.calls.values().any(|book| book.answers != 1 || book.open.is_some()) {
        broken.insert(Promise::OneAnswer);
    }
}

fn committed(run: &Run, output: &[Payload], outside: &Outside, broken: &mut BTreeSet<Promise>) {
    let sought = Some(&(true, content(output)));
    let passed = |index| outside.checks.get(&index) == sought;
    if !(0..run.task.checks.len()).all(passed) {
        broken.insert(Promise::CheckedCommit);
    }
    let needs_yes = match run.task.review {
        Review::Always => true,
        // No scenario has a judge: what is checked is executed, and that is sure enough.
        Review::WhenUnsure | Review::WhenUnchecked => run.task.checks.is_empty(),
        Review::Never => false,
    };
    let shown = match output {
        [only] => only.digest(),
        parts => {
            let digests: Vec<Digest> = parts.iter().map(Payload::digest).collect();
            Digest::of_parts(&digests.iter().map(|digest| digest.0.as_slice()).collect::<Vec<_>>())
        }
    };
    if needs_yes && !outside.agreed.contains(&shown) {
        broken.insert(Promise::AgreedCommit);
    }
}

/// Looks at what an append led to.
pub(crate) fn state(before: &Run, world: &mut World) {
    let run = world.run.as_ref();
    let mut found = BTreeSet::new();
    // The state before was the fold of the journal before, so this is that of all of
    // it; a worker that claims the run reads it from the beginning all the same.
    let is_new = run.epoch != before.epoch;
    let replayed = if is_new { world.journal.replayed() } else { world.journal.folded(before) };
    if replayed.as_ref() != Some(run) {
        found.insert(Promise::SameState);
    }
    if !is_bounded(before, run) {
        found.insert(Promise::Bounded);
    }
    let is_over_now = run.ending().is_some() && !run.is_being_undone();
    if is_over_now && !is_over(run) {
        found.insert(Promise::Final);
    }
    if let Some(Ending::Committed { .. } | Ending::Failed { .. }) = before.ending()
        && run.ending() != before.ending()
    {
        found.insert(Promise::Final);
    }
    if world.worker == Worker::Working && !is_over_now && !is_live(run) {
        found.insert(Promise::Quiet);
    }
    world.broken.extend(found);
}

fn is_bounded(before: &Run, run: &Run) -> bool {
    let (old, new, limits) = (before.spend, run.spend, &run.limits);
    let held = new.settled.plus(run.reserved);
    let within = new.steps <= limits.steps
        && new.tool_calls <= limits.tool_calls
        && new.repairs <= limits.repairs
        && held.tokens <= limits.tokens
        && held.micros <= limits.micros;
    let grew = old.steps <= new.steps
        && old.tool_calls <= new.tool_calls
        && old.repairs <= new.repairs
        && old.settled.tokens <= new.settled.tokens
        && old.settled.micros <= new.settled.micros
        && old.active_ms <= new.active_ms;
    within && grew && run.now >= before.now
}

/// A run that is over owes nothing and hears nothing, but that it is to go on.
fn is_over(run: &Run) -> bool {
    let is_halted = matches!(run.ending(), Some(Ending::Halted { .. }));
    let signal = |signal| What::Signal { by: "ann".into(), signal };
    let mut inputs = vec![What::Tick, signal(Signal::Cancel), signal(Signal::Pause)];
    inputs.extend(WorkerId::parse("w").map(|worker| What::Claimed {
        epoch: run.epoch + 1,
        worker,
        programs: None,
    }));
    inputs.extend((!is_halted).then(|| signal(Signal::Resume { raise: Vec::new(), without: Vec::new() })));
    let is_deaf = |what| decide(run, &Input::at(run.now, what)).is_err();
    run.due().is_empty() && inputs.into_iter().all(is_deaf)
}

/// Something is due, or a person is awaited; and no wake-up would come at once,
/// again and again.
fn is_live(run: &Run) -> bool {
    let due: Vec<Effect> = run.due();
    let waits = run.needs_person() && !run.waits().is_empty();
    due.iter().filter_map(wake).all(|at| at > run.now) && (!due.is_empty() || waits)
}

/// What a yes to a call of this tool is bound to.
pub(crate) fn call(tool: &str) -> Digest {
    Digest::of_parts(&[tool.as_bytes(), &menu::asked_digest().0])
}

/// The hash of an output, part by part.
pub(crate) fn content(output: &[Payload]) -> Digest {
    Digest::of(&serde_json::to_vec(output).unwrap_or_default())
}
