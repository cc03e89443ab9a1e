//! O3 to O6, J3 and J4: intent, effect, outcome, doubt, attempts, and one answer to each call.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::event::{Event, Outcome, Purpose, Settlement};
use bowline_core::id::{ActionId, RunId, ToolName};
use bowline_core::provenance::Digest;
use bowline_core::tool::Repeat;

use super::{Evidence, Numbered, Verdict, ended, last_ending, undo};
use crate::ledger::wire::{Entry, EntryKind, Operation};
use crate::oracle::ToldEnding;
use crate::world::violation::Check;

/// What is taken as true about an action at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Done,
    Error,
    Other,
}

fn irreversible(op: Operation) -> bool {
    matches!(op, Operation::Pay | Operation::SlowPay)
}

fn is_action(entry: &Entry, run: &RunId, action: &str) -> bool {
    entry.run == run.as_str() && entry.action == action
}

/// O3, O4 and O5, from the outside's entries.
pub(super) fn effects(evidence: &Evidence, verdict: &mut Verdict) {
    let mut made: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for entry in
        evidence.entries.iter().filter(|entry| irreversible(entry.op) && entry.kind != EntryKind::Look)
    {
        *made.entry((&entry.run, &entry.action)).or_default() += 1;
    }
    for ((run, action), count) in made {
        verdict.require(count == 1, Check::O3, || format!("run {run} action {action} has {count} effects"));
    }
    for (entry, durable) in evidence.entries.iter().zip(evidence.durable) {
        intent_first(evidence, entry, *durable, verdict);
    }
    announced(evidence, verdict);
    for (run, journal) in evidence.journals {
        exactly_once(evidence, run, journal, verdict);
    }
}

/// O5: no more attempts outside than in the journal.
fn announced(evidence: &Evidence, verdict: &mut Verdict) {
    let mut unannounced: BTreeMap<(String, String), i64> = BTreeMap::new();
    // Attempts at undoing have intents of their own.
    let is_call = |entry: &&Entry| entry.kind != EntryKind::Look && entry.op != Operation::Release;
    for entry in evidence.entries.iter().filter(is_call) {
        *unannounced.entry((entry.run.clone(), entry.action.clone())).or_default() += 1;
    }
    for (run, (_, event)) in
        evidence.journals.iter().flat_map(|(run, all)| all.iter().map(move |one| (run, one)))
    {
        if let Event::CallStarted { action, .. } = event
            && let Some(count) = unannounced.get_mut(&(run.to_string(), action.to_string()))
        {
            *count -= 1;
        }
    }
    for ((run, action), count) in unannounced {
        verdict.require(count <= 0, Check::O5, || format!("run {run} {action}: {count} attempts too many"));
    }
}

/// O5: an intent with this key, these arguments and this attempt was durable.
fn intent_first(evidence: &Evidence, entry: &Entry, durable: u64, verdict: &mut Verdict) {
    let journal = RunId::parse(&entry.run).ok().and_then(|run| evidence.journals.get(&run));
    let mut right = false;
    for (seq, event) in journal.into_iter().flatten() {
        if let Event::CallStarted { action, key, args, attempt, .. } = event
            && action.to_string() == entry.action
        {
            let same_attempt = entry.kind == EntryKind::Look || u64::from(*attempt) == entry.attempt;
            let same_call = key.to_string() == entry.key && Some(args.to_string()) == entry.args;
            right |= same_attempt && same_call && *seq < durable && *key == key_of(&entry.run, *action);
        }
        if let Event::CompensationStarted { action, key, attempt } = event
            && entry.op == Operation::Release
            && action.to_string() == entry.action
        {
            let same_call = key.to_string() == entry.key && u64::from(*attempt) == entry.attempt;
            right |= same_call && *seq < durable && *key == undo::key_of(&entry.run, *action);
        }
    }
    verdict.require(right, Check::O5, || {
        format!(
            "entry {} ({} {} attempt {}) has no durable intent",
            entry.n, entry.run, entry.action, entry.attempt
        )
    });
}

fn key_of(run: &str, action: ActionId) -> Digest {
    Digest::of_parts(&[b"action", run.as_bytes(), action.to_string().as_bytes()])
}

/// O4: done was done once; an error was not done; nothing else was done twice.
fn exactly_once(evidence: &Evidence, run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let mut tools: BTreeMap<ActionId, Operation> = BTreeMap::new();
    let mut answers: BTreeMap<ActionId, Answer> = BTreeMap::new();
    for (_, event) in journal {
        if let Event::CallStarted { action, tool, .. } = event
            && let Some(op) = Operation::parse(tool.as_str())
        {
            tools.insert(*action, op);
        }
        if let Some((action, answer)) = answered(event) {
            answers.insert(action, answer);
        }
    }
    let committed = last_ending(journal) == Some(ToldEnding::Committed);
    for (action, op) in tools {
        let name = action.to_string();
        let effects = evidence.entries.iter().filter(|entry| entry.kind == EntryKind::Effect);
        let count = effects.filter(|entry| is_action(entry, run, &name) && entry.op == op).count();
        let right = match answers.get(&action) {
            Some(Answer::Done) => count == 1,
            Some(Answer::Error) => count == 0 || !irreversible(op),
            Some(Answer::Other) => count <= 1,
            None => count == 1 || !committed,
        };
        verdict.require(right, Check::O4, || format!("run {run} action {action} has {count} effects"));
    }
}

fn answered(event: &Event) -> Option<(ActionId, Answer)> {
    if let Event::CallFinished { action, outcome, .. } = event {
        return Some((
            *action,
            match outcome {
                Outcome::Ok => Answer::Done,
                Outcome::Error | Outcome::Unavailable => Answer::Error,
                Outcome::TimedOut | Outcome::Cancelled => Answer::Other,
            },
        ));
    }
    if let Event::CallSettled { action, settlement, .. } = event {
        let answer = match settlement {
            Settlement::Happened { .. } => Answer::Done,
            Settlement::DidNotHappen | Settlement::GivenUp { .. } => Answer::Other,
        };
        return Some((*action, answer));
    }
    None
}

/// Where an irreversible action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Idle,
    Open,
    InDoubt,
    Free,
    Done,
}

/// O6: an irreversible intent without outcome is reported, and never repeated blindly.
pub(super) fn doubt(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let mut actions: BTreeMap<ActionId, (Stand, u32)> = BTreeMap::new();
    let never: BTreeSet<ActionId> = journal.iter().filter_map(|(_, event)| never(event)).collect();
    for (seq, event) in journal {
        if ended(event).is_some() {
            let open = actions.iter().find(|(_, (stand, _))| *stand == Stand::Open);
            verdict.require(open.is_none(), Check::O6, || {
                format!("run {run} ends at event {seq} with {open:?}")
            });
        }
        let Some((action, next, from)) = doubt_step(event) else { continue };
        if !never.contains(&action) {
            continue;
        }
        let (stand, attempt) = actions.entry(action).or_insert((Stand::Idle, 0));
        let mut right = from.contains(stand);
        if let Event::CallStarted { attempt: made, .. } = event {
            right &= *made == *attempt + 1;
            *attempt = *made;
        }
        if let Event::CallFinished { outcome, .. } = event {
            right &= matches!(outcome, Outcome::Ok | Outcome::Error | Outcome::Unavailable);
        }
        verdict.require(right, Check::O6, || {
            format!("run {run} {action} was {stand:?} at event {seq}: {event:?}")
        });
        *stand = next;
    }
}

fn never(event: &Event) -> Option<ActionId> {
    if let Event::CallStarted { action, repeat: Repeat::Never, .. } = event { Some(*action) } else { None }
}

/// Whose state an event changes, to what, and from where it may.
fn doubt_step(event: &Event) -> Option<(ActionId, Stand, &'static [Stand])> {
    if let Event::CallStarted { action, .. } = event {
        return Some((*action, Stand::Open, &[Stand::Idle, Stand::Free]));
    }
    if let Event::CallInDoubt { action, .. } = event {
        // A probe that cannot tell passes the same doubt on to a person.
        return Some((*action, Stand::InDoubt, &[Stand::Open, Stand::InDoubt]));
    }
    if let Event::CallSettled { action, settlement, .. } = event {
        let free = *settlement == Settlement::DidNotHappen;
        return Some((*action, if free { Stand::Free } else { Stand::Done }, &[Stand::InDoubt]));
    }
    if let Event::CallTroubled { action, .. } = event {
        // An irreversible call has one attempt.
        return Some((*action, Stand::Free, &[]));
    }
    if let Event::CallFinished { action, .. } = event {
        return Some((*action, Stand::Done, &[Stand::Open]));
    }
    if let Event::CallRefused { action, .. } | Event::CallBlocked { action, .. } = event {
        return Some((*action, Stand::Done, &[Stand::Idle, Stand::Free]));
    }
    None
}

/// J4: attempts of a call count up under one key, another one follows trouble or a
/// claim, and a tool that is left alone is tried by one call at a time.
pub(super) fn attempts(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let mut last: BTreeMap<ActionId, (Digest, u32)> = BTreeMap::new();
    let mut out: BTreeMap<ActionId, &ToolName> = BTreeMap::new();
    let mut open: BTreeSet<&ToolName> = BTreeSet::new();
    for (seq, event) in journal {
        if let Event::CallStarted { action, tool, key, attempt, .. } = event {
            let before = last.insert(*action, (*key, *attempt));
            let counts = before.map_or(*attempt == 1, |(first, made)| first == *key && made + 1 == *attempt);
            verdict
                .require(counts, Check::J4, || format!("run {run} event {seq}: {event:?} after {before:?}"));
            let others = out.iter().filter(|(other, of)| **other != *action && **of == tool).count();
            let is_restart = out.insert(*action, tool).is_some();
            verdict.require(is_restart || !open.contains(tool) || others == 0, Check::J4, || {
                format!("run {run} event {seq}: {tool} is tried by {} calls at once", others + 1)
            });
        }
        if let Event::CallTroubled { action, attempt, .. } = event {
            let right = out.contains_key(action) && last.get(action).is_some_and(|(_, made)| made == attempt);
            verdict.require(right, Check::J4, || format!("run {run} event {seq}: {event:?} was not out"));
        }
        if let Event::CallTroubled { action, .. }
        | Event::CallFinished { action, .. }
        | Event::CallInDoubt { action, .. } = event
        {
            out.remove(action);
        }
        if let Event::BreakerOpened { tool, .. } = event {
            open.insert(tool);
        }
        if let Event::BreakerClosed { tool } = event {
            verdict.require(open.remove(tool), Check::J4, || {
                format!("run {run} event {seq}: {tool} was not open")
            });
        }
    }
}

/// J3: every call of a reply is answered exactly once before its conversation goes on.
pub(super) fn answers(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let mut talks: BTreeMap<u32, String> = BTreeMap::new();
    let mut waiting: BTreeMap<ActionId, String> = BTreeMap::new();
    for (seq, event) in journal {
        if let Event::StepStarted { step, purpose, .. } = event {
            let talk = talk(purpose);
            let open = waiting.values().any(|of| *of == talk);
            verdict
                .require(!open, Check::J3, || format!("run {run} asks again at event {seq} with calls open"));
            talks.insert(*step, talk);
        }
        if let Event::StepFinished { step, calls, .. } = event {
            let talk = talks.get(step).cloned().unwrap_or_default();
            for (index, _) in (0..).zip(calls) {
                waiting.insert(ActionId { step: *step, index }, talk.clone());
            }
        }
        if let Event::CallStarted { action, .. } = event {
            let asked = waiting.contains_key(action);
            verdict.require(asked, Check::J3, || format!("run {run} starts {action} at event {seq} unasked"));
        }
        if let Some(action) = settles(event) {
            let asked = waiting.remove(&action).is_some();
            verdict.require(asked, Check::J3, || format!("run {run} answers {action} again at event {seq}"));
        }
        let is_final = matches!(ended(event), Some(ToldEnding::Committed | ToldEnding::Failed));
        verdict.require(!is_final || waiting.is_empty(), Check::J3, || {
            format!("run {run} ends with {waiting:?}")
        });
    }
}

fn talk(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Act(id) => format!("act {id}"),
        Purpose::Critique(round) => format!("critique {round}"),
        Purpose::Plan(round) => format!("plan {round}"),
        Purpose::Judge(asked) => format!("judge {asked:?}"),
    }
}

/// The action whose one answer this event is.
fn settles(event: &Event) -> Option<ActionId> {
    if let Event::CallFinished { action, .. }
    | Event::CallRefused { action, .. }
    | Event::CallBlocked { action, .. } = event
    {
        return Some(*action);
    }
    if let Event::CallSettled { action, settlement, .. } = event {
        return (*settlement != Settlement::DidNotHappen).then_some(*action);
    }
    None
}
