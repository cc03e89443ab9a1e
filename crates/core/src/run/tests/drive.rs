//! The driver: feeds inputs, keeps the journal, and after every decision checks
//! what must hold of any run at any time.

use std::collections::BTreeSet;

use super::audit::Audit;
use super::show::START;
use crate::budget::{Allowance, Spend};
use crate::effect::Effect;
use crate::event::{Ending, Event};
use crate::guard::ledger::Ledger;
use crate::id::{Millis, RunId};
use crate::input::{Input, What};
use crate::run::{Refused, Run, STATE, decide};
use crate::task::Submission;

/// What one input led to, and when.
#[derive(Clone)]
pub(super) struct Record {
    at: Millis,
    events: Vec<Event>,
}

/// A run with its journal.
#[derive(Clone)]
pub(super) struct Driver {
    pub(super) run: Run,
    pub(super) now: Millis,
    id: RunId,
    first: Event,
    records: Vec<Record>,
    audit: Audit,
}

impl Driver {
    pub(super) fn new(submission: &Submission) -> Self {
        Self::named("r1", submission)
    }

    pub(super) fn named(id: &str, submission: &Submission) -> Self {
        let first = Event::Submitted(Box::new(submission.clone()));
        let id = RunId::parse(id).unwrap();
        let run = begin(&id, &first);
        Self { run, now: START, id, first, records: Vec::new(), audit: Audit::default() }
    }

    /// The same run as another process finds it after its first `count` records.
    pub(super) fn recovered(&self, count: usize) -> Self {
        let mut found = Self {
            run: begin(&self.id, &self.first),
            now: START,
            id: self.id.clone(),
            first: self.first.clone(),
            records: Vec::new(),
            audit: Audit::default(),
        };
        for record in self.records.iter().take(count) {
            found.now = record.at;
            found.fold(&record.events);
        }
        found
    }

    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().flat_map(|record| &record.events)
    }

    /// Feeds one input; a refused one must leave everything as it was.
    pub(super) fn feed(&mut self, what: What) -> Result<Vec<Event>, Refused> {
        let events = self.take(&Input::at(self.now, what))?;
        self.check_debts();
        Ok(events)
    }

    /// The journal, from the submission on.
    pub(super) fn journal(&self) -> impl Iterator<Item = &Event> {
        std::iter::once(&self.first).chain(self.events())
    }

    /// Feeds one input to a run that shares a ledger: decided with what was known
    /// to be left, booked all or nothing, and decided again where others were
    /// faster.
    pub(super) fn share(
        &mut self,
        ledger: &mut Ledger,
        known: Allowance,
        what: What,
    ) -> Result<Vec<Event>, Refused> {
        let mut input = Input { allowance: Some(known), ..Input::at(self.now, what) };
        while ledger.book(&self.id, &decide(&self.run, &input)?).is_err() {
            let fresh = Some(ledger.allowance(&self.id));
            assert_ne!(input.allowance, fresh, "what the ledger allows is not refused by it");
            input.allowance = fresh;
        }
        let events = self.take(&input)?;
        self.check_debts();
        Ok(events)
    }

    /// Feeds one input to a process that is about to stop.
    pub(super) fn hold(&mut self, what: What) -> Result<Vec<Event>, Refused> {
        self.take(&Input { hold: true, ..Input::at(self.now, what) })
    }

    fn take(&mut self, input: &Input) -> Result<Vec<Event>, Refused> {
        let decided = decide(&self.run, input);
        assert_eq!(decided, decide(&self.run, input), "a decision depends on its arguments only");
        let events = durable(&decided?);
        let woken = self.recalled();
        let spent = self.run.spend;
        self.fold(&events);
        assert_eq!(with(woken, &events, self.now), self.run, "a checkpoint goes on like the live state");
        assert!(grew(spent, self.run.spend), "spend never falls: {spent:?} {:?}", self.run.spend);
        Ok(events)
    }

    fn fold(&mut self, events: &[Event]) {
        if matches!(self.run.ending(), Some(Ending::Committed { .. } | Ending::Failed { .. })) {
            let begins = matches!(
                events,
                [Event::UndoStarted { .. } | Event::LandingStarted { .. } | Event::Promoted(_), ..]
            );
            let is_undo = self.run.has_afterwork() || begins;
            assert!(events.is_empty() || is_undo || is_refusal(events), "a final ending is final");
            let ending = self.run.ending().cloned();
            let after = with(self.run.clone(), events, self.now);
            assert_eq!(after.ending().cloned(), ending, "an ending never changes");
        }
        for event in events {
            self.run.apply(event, self.now);
            self.audit.see(event, &self.run);
        }
        if !events.is_empty() {
            self.records.push(Record { at: self.now, events: events.to_vec() });
        }
    }

    /// The state through a checkpoint.
    fn recalled(&self) -> Run {
        let run = Run::from_checkpoint(STATE, &self.run.to_checkpoint()).expect("a checkpoint is understood");
        assert_eq!(run, self.run, "a checkpoint keeps everything");
        run
    }

    /// All events from the beginning give the live state, to the last bit.
    pub(super) fn check_replay(&self) {
        let replayed = self.recovered(self.records.len()).run;
        assert_eq!(replayed, self.run, "replay gives the live state");
        assert_eq!(replayed.digest(), self.run.digest());
    }

    fn check_debts(&self) {
        let due = self.run.due();
        assert_eq!(due, self.run.due(), "asking twice gives the same answer");
        let keys: BTreeSet<_> = due.iter().map(Effect::key).collect();
        assert_eq!(keys.len(), due.len(), "every effect has its own key: {keys:?}");
        if self.run.ending().is_some() && !self.run.has_afterwork() {
            assert_eq!(due, [], "a run that is over owes nothing");
        }
        for effect in due {
            if let Effect::WakeAt { at } = effect {
                assert!(at > self.now, "a wake-up in the past would spin: {at:?} at {:?}", self.now);
            }
        }
    }
}

fn is_refusal(events: &[Event]) -> bool {
    matches!(events, [Event::SignalRefused { .. }])
}

fn begin(id: &RunId, first: &Event) -> Run {
    Run::begin(id, first, START).unwrap()
}

fn with(mut run: Run, events: &[Event], at: Millis) -> Run {
    events.iter().for_each(|event| run.apply(event, at));
    run
}

/// Events as they come back from the journal.
fn durable(events: &[Event]) -> Vec<Event> {
    let back: Vec<Event> = serde_json::from_str(&serde_json::to_string(events).unwrap()).unwrap();
    assert_eq!(back, events, "the journal keeps every event");
    back
}

fn grew(before: Spend, after: Spend) -> bool {
    before.steps <= after.steps
        && before.tool_calls <= after.tool_calls
        && before.settled.tokens <= after.settled.tokens
        && before.settled.micros <= after.settled.micros
        && before.active_ms <= after.active_ms
        && before.repairs <= after.repairs
}
