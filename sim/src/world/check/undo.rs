//! O8 and U1: what a run did is undone last first, each call once, in the journal and
//! outside; and people are alerted of what could not be undone, and of nothing else.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::event::{Event, RestoreOutcome, Settlement, UndoOutcome};
use bowline_core::id::{ActionId, RunId};
use bowline_core::provenance::Digest;
use bowline_core::task::OnFailure;

use super::{Evidence, Numbered, Verdict, ended, last_ending, submission};
use crate::ledger::wire::{Entry, EntryKind, Operation};
use crate::oracle::ToldEnding;
use crate::world::violation::Check;

/// One undo: where it began, what it came to, call by call, and where it was over.
struct Segment<'j> {
    begin: &'j Numbered,
    undone: Vec<(ActionId, Came)>,
    end: Option<u64>,
}

/// What came of undoing one call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Back,
    Left,
    Failed,
}

/// The key with which a call is undone, in every attempt.
pub(super) fn key_of(run: &str, action: ActionId) -> Digest {
    Digest::of_parts(&[b"undo", run.as_bytes(), action.to_string().as_bytes()])
}

/// Makes both checks of one run.
pub(super) fn undone(evidence: &Evidence, run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    order(run, journal, verdict);
    keys(run, journal, verdict);
    given_back(evidence, run, journal, verdict);
    for segment in segments(journal) {
        alerts(run, journal, &segment, verdict);
    }
}

fn came(event: &Event) -> Option<(ActionId, Came)> {
    if let Event::Restored { action, outcome } = event {
        return Some((
            *action,
            match outcome {
                RestoreOutcome::Restored | RestoreOutcome::AlreadyAsBefore => Came::Back,
                RestoreOutcome::ChangedSince => Came::Left,
                RestoreOutcome::Failed(_) => Came::Failed,
            },
        ));
    }
    let Event::Compensated { action, outcome } = event else { return None };
    Some((
        *action,
        match outcome {
            UndoOutcome::Compensated | UndoOutcome::WasAsBefore => Came::Back,
            UndoOutcome::CannotBeUndone(_) | UndoOutcome::Failed(_) => Came::Failed,
        },
    ))
}

fn segments(journal: &[Numbered]) -> Vec<Segment<'_>> {
    let mut found: Vec<Segment<'_>> = Vec::new();
    for numbered in journal {
        let (seq, event) = numbered;
        if matches!(event, Event::RollbackStarted { .. } | Event::UndoStarted { .. }) {
            found.push(Segment { begin: numbered, undone: Vec::new(), end: None });
        }
        let Some(segment) = found.last_mut().filter(|segment| segment.end.is_none()) else { continue };
        segment.undone.extend(came(event));
        // A rollback that was cancelled goes on when the run does.
        let is_over = ended(event).is_some_and(|how| how != ToldEnding::Halted)
            || matches!(event, Event::UndoFinished { .. });
        segment.end = is_over.then_some(*seq);
    }
    found
}

/// Calls that can be undone, with the event that began each, in the order they came to an
/// end before an event; those nobody knows of last.
fn completed(journal: &[Numbered], until: u64) -> Vec<(ActionId, u64)> {
    let mut open: BTreeMap<ActionId, (u64, bool)> = BTreeMap::new();
    let mut done = Vec::new();
    for (seq, event) in journal.iter().take_while(|(seq, _)| *seq < until) {
        let mut close = |action: &ActionId, is_undone: fn(bool) -> bool| {
            let begun = open.remove(action).filter(|(_, is_file)| is_undone(*is_file));
            done.extend(begun.map(|(begun, _)| (*action, begun)));
        };
        match event {
            Event::CallFinished { action, .. } => close(action, |_| true),
            Event::CallSettled { action, settlement, .. } if *settlement != Settlement::DidNotHappen => {
                close(action, |_| true);
            }
            // One that is known not to have happened has nothing to undo but its file.
            Event::CallRefused { action, .. } => close(action, |is_file| is_file),
            Event::CallStarted { action, image, undo, .. } if image.is_some() || undo.is_some() => {
                open.entry(*action).or_insert((*seq, image.is_some()));
            }
            _ => {}
        }
    }
    done.extend(open.into_iter().map(|(action, (begun, _))| (action, begun)));
    done
}

/// O8: undone calls are those that came to an end in reverse, and none in a run that
/// commits unasked.
fn order(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let ending = last_ending(journal);
    let mut back: BTreeSet<ActionId> = BTreeSet::new();
    let mut is_rolled_back = false;
    let outside = journal.iter().filter(|(_, event)| came(event).is_some()).count();
    let segments = segments(journal);
    let inside: usize = segments.iter().map(|segment| segment.undone.len()).sum();
    verdict.require(inside == outside, Check::O8, || {
        format!("run {run} undid calls of which no undo had begun")
    });
    for Segment { begin: (seq, event), undone, end } in &segments {
        let (to, is_rollback) = match event {
            Event::UndoStarted { to, .. } => (*to, false),
            _ => (0, true),
        };
        is_rolled_back |= is_rollback;
        verdict.require(!is_rollback || ending != Some(ToldEnding::Committed), Check::O8, || {
            format!("run {run} committed and was rolled back from event {seq}")
        });
        let wanted = completed(journal, *seq).into_iter().rev();
        let wanted = wanted.filter(|(action, begun)| *begun > to && !back.contains(action));
        let wanted: Vec<ActionId> = wanted.map(|(action, _)| action).collect();
        let did: Vec<ActionId> = undone.iter().map(|(action, _)| *action).collect();
        let most = if end.is_some() { wanted.len() } else { did.len() };
        verdict.require(wanted.get(..most) == Some(did.as_slice()), Check::O8, || {
            format!("run {run} did {wanted:?} (last first) and undid {did:?} from event {seq}")
        });
        back.extend(undone.iter().filter(|(_, came)| *came == Came::Back).map(|(action, _)| *action));
    }
    let must =
        submission(journal).is_some_and(|submission| submission.task.on_failure == OnFailure::Rollback);
    if ending == Some(ToldEnding::Failed) && must && !is_rolled_back {
        let done = completed(journal, u64::MAX);
        verdict.require(done.is_empty(), Check::O8, || {
            format!("run {run} failed and undid nothing of {done:?}")
        });
    }
}

/// O8: an undo has one key, written down with the intent of the call, and an intent of
/// its own before it comes to an end.
fn keys(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let mut stated: BTreeMap<ActionId, Digest> = BTreeMap::new();
    let mut begun: BTreeSet<ActionId> = BTreeSet::new();
    for (seq, event) in journal {
        if let Event::CallStarted { action, undo: Some(by), .. } = event {
            stated.insert(*action, by.key);
            verdict.require(by.key == key_of(run.as_str(), *action), Check::O8, || {
                format!("run {run} {action} is undone with a key that is not H(undo, run, action)")
            });
        }
        if let Event::CompensationStarted { action, key, .. } = event {
            begun.insert(*action);
            verdict.require(stated.get(action) == Some(key), Check::O8, || {
                format!("run {run} event {seq}: {action} is undone with a key its intent does not name")
            });
        }
        if let Event::Compensated { action, .. } = event {
            verdict.require(begun.contains(action), Check::O8, || {
                format!("run {run} event {seq}: {action} is undone without an intent")
            });
        }
    }
}

/// O8, outside: what is given back was taken by that call, and is given back once, in the
/// order the journal says.
fn given_back(evidence: &Evidence, run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let of = |op: Operation| {
        evidence.entries.iter().filter(move |entry| {
            entry.run == run.as_str() && entry.kind == EntryKind::Effect && entry.op == op
        })
    };
    let taken: BTreeMap<&str, u64> =
        of(Operation::Reserve).map(|entry| (entry.action.as_str(), entry.n)).collect();
    let given: Vec<&Entry> = of(Operation::Release).collect();
    let times = |action: &str| given.iter().filter(|entry| entry.action == action).count();
    for entry in &given {
        let is_own = taken.get(entry.action.as_str()).copied() == entry.of;
        verdict.require(is_own, Check::O8, || {
            format!(
                "run {run}: entry {} gives back {:?}, which {} did not take",
                entry.n, entry.of, entry.action
            )
        });
        let count = times(&entry.action);
        verdict.require(count == 1, Check::O8, || {
            format!("run {run}: {} was given back {count} times", entry.action)
        });
    }
    let mut said: Vec<String> = Vec::new();
    let mut failed: BTreeSet<String> = BTreeSet::new();
    for (_, event) in journal {
        let Event::Compensated { action, outcome } = event else { continue };
        let name = action.to_string();
        match outcome {
            UndoOutcome::Compensated => {
                let (is_taken, count) = (taken.contains_key(name.as_str()), times(&name));
                verdict.require(!is_taken || count == 1, Check::O8, || {
                    format!("run {run}: {name} was undone, and given back {count} times")
                });
                said.push(name);
            }
            // Its reply may have been lost, after it worked and before others had their turn.
            UndoOutcome::CannotBeUndone(_) | UndoOutcome::Failed(_) => drop(failed.insert(name)),
            UndoOutcome::WasAsBefore => {}
        }
    }
    said.retain(|name| !failed.contains(name) && times(name) > 0);
    let did = given.iter().map(|entry| &entry.action).filter(|action| said.contains(action));
    let did: Vec<&String> = did.collect();
    verdict.require(did.iter().copied().eq(&said), Check::O8, || {
        format!("run {run} gave back {did:?}, and says {said:?}")
    });
}

/// U1: an alert exactly where an undo did not work, with those calls, once; and people
/// were told of each.
fn alerts(run: &RunId, journal: &[Numbered], segment: &Segment<'_>, verdict: &mut Verdict) {
    let begin = segment.begin.0;
    let last = segment.end.or_else(|| journal.last().map(|(seq, _)| *seq)).unwrap_or(begin);
    let inside = || journal.iter().filter(|(seq, _)| (begin..=last).contains(seq));
    let failed: Vec<ActionId> =
        segment.undone.iter().filter(|(_, came)| *came == Came::Failed).map(|(action, _)| *action).collect();
    let raised = inside().filter_map(|(_, event)| match event {
        Event::AlertRaised { actions } => Some(actions.clone()),
        _ => None,
    });
    let raised: Vec<Vec<ActionId>> = raised.collect();
    let wanted = if failed.is_empty() { Vec::new() } else { vec![failed] };
    // One that goes on may not have come to its alert.
    let is_right = raised == wanted || (segment.end.is_none() && raised.is_empty());
    verdict.require(is_right, Check::U1, || {
        format!("run {run} could not undo {wanted:?} and alerted people of {raised:?} (from event {begin})")
    });
    let told = inside().filter(|(_, event)| matches!(event, Event::AlertTold { .. })).count();
    let tells = submission(journal).is_some_and(|submission| submission.task.on_alert.is_some());
    verdict.require(segment.end.is_none() || !tells || told == raised.len(), Check::U1, || {
        format!("run {run} raised {} alerts and told people {told} times (from event {begin})", raised.len())
    });
}
