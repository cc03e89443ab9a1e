//! The oracle's rules for one seed: journals, outside ledger, client log and
//! letters against each other.
//!
//! Written a second time beside `checker/check.py`, for speed; it folds events by
//! itself and shares nothing with the machine it judges but the names of events.

mod budget;
mod calls;
mod people;
mod undo;

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::event::{Ending, Event};
use bowline_core::id::RunId;
use bowline_core::task::Submission;

use super::state::SentLetter;
use super::violation::{Check, Violation};
use crate::ledger::wire::Entry;
use crate::oracle::{ClientLine, ToldEnding};

/// An event with its number.
pub(super) type Numbered = (u64, Event);

/// What a verdict is made from.
pub(super) struct Evidence<'a> {
    pub(super) journals: &'a BTreeMap<RunId, Vec<Numbered>>,
    pub(super) entries: &'a [Entry],
    /// For each entry, the run's next event number when it was made.
    pub(super) durable: &'a [u64],
    pub(super) client: &'a [ClientLine],
    pub(super) letters: &'a [SentLetter],
}

/// Broken promises so far.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) violations: Vec<Violation>,
}

impl Verdict {
    fn violation(&mut self, check: Check, text: String) {
        self.violations.push(Violation { check, text });
    }

    fn require(&mut self, holds: bool, check: Check, text: impl FnOnce() -> String) {
        if !holds {
            self.violation(check, text());
        }
    }
}

/// Makes every check.
pub(super) fn examine(evidence: &Evidence) -> Vec<Violation> {
    let mut verdict = Verdict::default();
    endings(evidence, &mut verdict);
    submissions(evidence, &mut verdict);
    epochs(evidence, &mut verdict);
    calls::effects(evidence, &mut verdict);
    for (run, journal) in evidence.journals {
        told(evidence, run, journal, &mut verdict);
        undo::undone(evidence, run, journal, &mut verdict);
        budget::bounds(run, journal, &mut verdict);
        calls::doubt(run, journal, &mut verdict);
        calls::answers(run, journal, &mut verdict);
        calls::attempts(run, journal, &mut verdict);
        people::consent(evidence, run, journal, &mut verdict);
    }
    verdict.violations
}

/// What a run started from.
fn submission(journal: &[Numbered]) -> Option<&Submission> {
    match journal.first() {
        Some((1, Event::Submitted(submission))) => Some(submission),
        Some(_) | None => None,
    }
}

fn kind(ending: &Ending) -> ToldEnding {
    match ending {
        Ending::Committed { .. } => ToldEnding::Committed,
        Ending::Failed { .. } => ToldEnding::Failed,
        Ending::Halted { .. } => ToldEnding::Halted,
    }
}

fn ended(event: &Event) -> Option<ToldEnding> {
    if let Event::Ended { ending, .. } = event { Some(kind(ending)) } else { None }
}

/// How a run ended at last; what stands behind an ending changes nothing about it.
fn last_ending(journal: &[Numbered]) -> Option<ToldEnding> {
    journal.iter().rev().find_map(|(_, event)| ended(event))
}

fn acknowledged(evidence: &Evidence) -> BTreeSet<(String, String)> {
    let mut acks = BTreeSet::new();
    for line in evidence.client {
        if let ClientLine::Ack { key, run } = line {
            acks.insert((run.clone(), key.clone()));
        }
    }
    acks
}

/// O1: every acknowledged run reaches exactly one ending.
fn endings(evidence: &Evidence, verdict: &mut Verdict) {
    for (run, _) in acknowledged(evidence) {
        let journal = RunId::parse(&run).ok().and_then(|id| evidence.journals.get(&id));
        let Some((_, last)) = journal.and_then(|journal| journal.last()) else {
            verdict.violation(Check::O1, format!("run {run} was acknowledged and has no journal"));
            continue;
        };
        let is_ended = journal.is_some_and(|journal| last_ending(journal).is_some());
        let is_over = match last {
            Event::Ended { .. } | Event::UndoFinished { .. } => true,
            // What stands behind an ending is looked at by O7.
            Event::SignalRefused { .. } => is_ended,
            _ => false,
        };
        verdict.require(is_over, Check::O1, || format!("run {run} never ended: last is {last:?}"));
        let all = journal.into_iter().flatten().filter_map(|(_, event)| ended(event));
        let finals = all.filter(|how| *how != ToldEnding::Halted).count();
        verdict.require(finals <= 1, Check::O1, || format!("run {run} has {finals} final endings"));
    }
}

/// O2: no run without a submission; one key, one run.
fn submissions(evidence: &Evidence, verdict: &mut Verdict) {
    let mut asked = BTreeSet::new();
    for line in evidence.client {
        if let ClientLine::Submit { key, .. } = line {
            asked.insert(key.clone());
        }
    }
    let mut runs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (run, key) in acknowledged(evidence) {
        runs.entry(key).or_default().insert(run);
    }
    for (run, journal) in evidence.journals {
        let key = submission(journal).and_then(|submission| submission.key.clone());
        match key {
            Some(key) if asked.contains(&key) => {
                runs.entry(key).or_default().insert(run.to_string());
            }
            other => {
                verdict.violation(Check::O2, format!("run {run} exists for {other:?}, which nobody asked"))
            }
        }
    }
    for (key, runs) in runs {
        verdict.require(runs.len() == 1, Check::O2, || format!("key {key} has several runs: {runs:?}"));
    }
}

/// Whether something stands behind this ending that is part of no undo.
fn strays(journal: &[Numbered], ending: u64) -> bool {
    let mut under_way = false;
    for (_, event) in journal.iter().filter(|(seq, _)| *seq > ending) {
        match event {
            Event::SignalRefused { .. } => {}
            Event::UndoStarted { .. } => under_way = true,
            Event::UndoFinished { .. } if under_way => under_way = false,
            Event::Claimed { .. }
            | Event::NotTakenUp { .. }
            | Event::Restored { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationTroubled { .. }
            | Event::Compensated { .. }
            | Event::AlertRaised { .. }
            | Event::AlertTold { .. }
                if under_way => {}
            _ => return true,
        }
    }
    false
}

/// O7: endings stay, and are what people were told.
fn told(evidence: &Evidence, run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    for pair in journal.windows(2) {
        let [(seq, before), (_, after)] = pair else { continue };
        let reopened = matches!(after, Event::Resumed { .. });
        let behind = matches!(after, Event::UndoStarted { .. } | Event::SignalRefused { .. });
        let stays = match ended(before) {
            Some(ToldEnding::Committed | ToldEnding::Failed) => behind && !strays(journal, *seq),
            Some(ToldEnding::Halted) => reopened || (behind && !strays(journal, *seq)),
            None => true,
        };
        verdict
            .require(stays, Check::O7, || format!("run {run} ended at event {seq} and goes on: {after:?}"));
    }
    let kept: Vec<ToldEnding> = journal.iter().filter_map(|(_, event)| ended(event)).collect();
    for line in evidence.client {
        if let ClientLine::End { run: of, ending: Some(how), .. } = line
            && *of == run.as_str()
        {
            let is_last = *how == ToldEnding::Halted || kept.last() == Some(how);
            verdict.require(kept.contains(how) && is_last, Check::O7, || {
                format!("run {run} was told to have {how:?}; its journal says {kept:?}")
            });
        }
    }
}

/// O11: epochs rise with every claim, and the outside never sees one fall.
fn epochs(evidence: &Evidence, verdict: &mut Verdict) {
    let mut claims: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (run, journal) in evidence.journals {
        let claimed = claims.entry(run.as_str()).or_default();
        for (seq, event) in journal {
            if let Event::Claimed { epoch, .. } = event {
                let rises = claimed.last().is_none_or(|last| last < epoch);
                verdict.require(rises, Check::O11, || {
                    format!("run {run} epoch {epoch} at event {seq} is not new")
                });
                claimed.push(*epoch);
            }
        }
    }
    let mut shown: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in evidence.entries {
        let highest = shown.entry(&entry.run).or_default();
        verdict.require(entry.epoch >= *highest, Check::O11, || {
            format!("run {} showed epoch {} after {highest} in entry {}", entry.run, entry.epoch, entry.n)
        });
        *highest = entry.epoch.max(*highest);
        let is_known = claims.get(entry.run.as_str()).is_some_and(|claims| claims.contains(&entry.epoch));
        verdict.require(is_known, Check::O11, || format!("entry {} shows an epoch nobody claimed", entry.n));
    }
}
