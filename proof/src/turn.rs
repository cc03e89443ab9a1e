//! One move: what the shell tells the machine about it, what becomes durable, and
//! what is then wrong, if anything.

use bowline_core::budget::Limit;
use bowline_core::effect::Effect;
use bowline_core::event::{CONTRACT, Event, Raise, RestoreOutcome, Settlement, Subject};
use bowline_core::id::{ActionId, Millis, WorkerId};
use bowline_core::input::{CallResult, Compensation, Input, ProbeFinding, Returned, Signal, What};
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::quality::{CheckOutcome, Failure};
use bowline_core::run::decide;
use bowline_core::tool::Repeat;

use crate::audit;
use crate::menu::{self, Amend, Fate, Finding, Say, Settle, Test, is_look};
use crate::moves::Move;
use crate::plant::Plant;
use crate::promise::Promise;
use crate::world::{Model, Worker, World};

/// The person of every scenario.
const PERSON: &str = "ann";

/// What follows from a move; `None` if nothing does, and nothing had to.
pub(crate) fn take(model: &Model, world: &World, action: Move) -> Option<World> {
    let had_worker = world.worker != Worker::Gone;
    let mut turn = Turn { model, due: world.run.due(), next: world.clone(), now: world.now(), had_worker };
    turn.make(action)?;
    let mut next = turn.next;
    if next.rank() <= world.rank() {
        next.broken.insert(Promise::Progress);
    }
    Some(next)
}

struct Turn<'a> {
    model: &'a Model,
    /// What was due before.
    due: Vec<Effect>,
    next: World,
    now: Millis,
    /// Somebody was at the run before.
    had_worker: bool,
}

impl Turn<'_> {
    fn make(&mut self, action: Move) -> Option<()> {
        match action {
            Move::Claim(at) => self.claim(at),
            Move::Crash => self.vanish(),
            Move::Stop => {
                self.next.worker = Worker::Leaving;
                self.next.used.crashes += 1;
            }
            Move::Leave => self.leave(),
            Move::Model(step, say) => self.model_comes_back(step, say),
            Move::Prepare(action, works) => {
                let image = if works { Ok(menu::image()) } else { Err("no such folder".into()) };
                self.answer(What::CallPrepared { action, image });
            }
            Move::Look(action, attempt, fate) => self.answer(returned(action, attempt, fate.returned())),
            Move::Request(action, attempt, fate) => self.request(action, attempt, fate),
            Move::Return(action, attempt) => self.comes_home(action, attempt),
            Move::Land(action, attempt) => self.land(action, attempt),
            Move::Probe(action, finding) => self.probed(action, finding),
            Move::Check(round, index, test) => self.checked((round, index), test),
            Move::Weigh(serial, holds) => self.answer(What::Weighed { serial, holds }),
            Move::Restore(action, works) => {
                let outcome = if works { RestoreOutcome::Restored } else { RestoreOutcome::ChangedSince };
                self.answer(What::Restored { action, outcome });
            }
            Move::Compensate(action, attempt, amend) => self.amend(action, attempt, amend),
            Move::Tell => self.answer(What::AlertTold(None)),
            Move::Store => {
                let seq = self.next.run.seq;
                self.answer(What::ResultStored { provenance: Digest::ZERO, seq, promotes: false });
            }
            Move::Wake(at) => {
                self.now = at;
                self.answer(What::Tick);
            }
            Move::Approve(_)
            | Move::ApproveOther(_)
            | Move::ApproveLate(_)
            | Move::Deny(_)
            | Move::Settle(..)
            | Move::Pause
            | Move::Resume
            | Move::Cancel
            | Move::Reopen
            | Move::Undo => return self.person(action),
        }
        Some(())
    }

    fn claim(&mut self, at: Millis) {
        self.now = at;
        self.next.worker = Worker::Working;
        let epoch = self.next.run.epoch + 1;
        // A name that is no name makes no claim, which is noticed.
        if let Ok(worker) = WorkerId::parse("w") {
            self.answer(What::Claimed { epoch, worker, programs: None });
        }
    }

    /// The worker dies with everything it had in its hands.
    fn vanish(&mut self) {
        self.next.used.crashes += 1;
        self.leave();
    }

    fn leave(&mut self) {
        self.next.worker = Worker::Gone;
        let again = self.model.plant == Some(Plant::SendAgain);
        self.abandon(|effect, flying| effect && (again || !flying));
        self.next.outside.flights.clear();
    }

    /// Requests that were out and are not waited for any more may still arrive.
    fn abandon(&mut self, is_late: impl Fn(bool, bool) -> bool) {
        for effect in &self.due {
            let Effect::RunTool { action, attempt, tool, key, .. } = effect else { continue };
            let outside = &mut self.next.outside;
            let (has_effect, flying) =
                (!is_look(&self.next.run, tool.as_str()), outside.flights.contains_key(&(*action, *attempt)));
            if self.model.scenario.late && is_late(has_effect, flying) {
                outside.late.insert((*action, *attempt), *key);
            }
        }
    }

    fn model_comes_back(&mut self, step: u32, say: Say) {
        if let Some(kind) = menu::trouble(say) {
            let message = "away".into();
            return self.answer(What::ModelFailed { step, kind, message, retry_after_ms: None });
        }
        let mut reply = menu::reply(&self.next.run, step, say);
        if self.model.plant == Some(Plant::OverBilling) {
            reply.micros = reply.micros.saturating_add(self.next.run.limits.micros);
        }
        if let Say::Call(tools) = say {
            for (index, tool) in (0..).zip(tools) {
                self.next.outside.calls.entry(ActionId { step, index }).or_default().tool = tool;
            }
        }
        self.answer(What::ModelReplied { step, reply });
    }

    fn request(&mut self, action: ActionId, attempt: u32, fate: Fate) {
        let intended = self.due.iter().find_map(|effect| match effect {
            Effect::RunTool { action: of, attempt: nth, key, .. } if (*of, *nth) == (action, attempt) => {
                Some(*key)
            }
            _ => None,
        });
        let key = match (intended, self.model.plant) {
            (Some(key), Some(Plant::FreshKey)) => Digest::of_parts(&[&key.0, &attempt.to_be_bytes()]),
            (Some(key), _) => key,
            (None, _) => Digest::ZERO,
        };
        let World { outside, broken, run, .. } = &mut self.next;
        let book = outside.calls.entry(action).or_default();
        book.requests += 1;
        if book.open.map(|(nth, _)| nth) != Some(attempt) {
            broken.insert(Promise::IntentFirst);
        }
        if book.key != Some(key) {
            broken.insert(Promise::OneKey);
        }
        if run.ending().is_some() {
            broken.insert(Promise::Final);
        }
        outside.flights.insert((action, attempt), fate);
        if fate.happens() {
            self.arrive(action, key);
        }
    }

    /// An attempt to undo a call: what it does outside, and what is told of it.
    fn amend(&mut self, action: ActionId, attempt: u32, amend: Amend) {
        if let Amend::Done | Amend::LostAfter = amend {
            let intended = self.due.iter().find_map(|effect| match effect {
                Effect::Compensate { action: of, key, .. } if *of == action => Some(*key),
                _ => None,
            });
            let key = intended.unwrap_or(Digest::ZERO);
            let World { outside, broken, .. } = &mut self.next;
            if outside.amending != Some((action, attempt, key)) {
                broken.insert(Promise::IntentFirst);
            }
            let shown = match self.model.plant {
                Some(Plant::FreshUndoKey) => Digest::of_parts(&[&key.0, &attempt.to_be_bytes()]),
                _ => key,
            };
            let keys = outside.amends.entry(action).or_default();
            keys.insert(shown);
            if keys.len() > 1 {
                broken.insert(Promise::UndoneOnce);
            }
        }
        let found = match amend {
            Amend::LostAfter => return self.vanish(),
            Amend::Done => Compensation::Done,
            Amend::Trouble => Compensation::Trouble { message: "away".into(), retry_after_ms: None },
            Amend::Failed => Compensation::Failed("it does not work".into()),
        };
        self.answer(What::Compensated { action, attempt, found });
    }

    /// A request has its effect.
    fn arrive(&mut self, action: ActionId, key: Digest) {
        let World { outside, broken, run, .. } = &mut self.next;
        let tool = outside.calls.entry(action).or_default().tool;
        let once = run.tool(tool).is_some_and(|spec| spec.repeat != Repeat::Never);
        outside.arrive(action, key, once);
        let book = outside.calls.entry(action).or_default();
        let allowed = if once { 1 } else { 1 + book.did_nots };
        if book.effects > allowed {
            broken.insert(Promise::AtMostOnce);
        }
    }

    fn comes_home(&mut self, action: ActionId, attempt: u32) {
        if self.model.plant == Some(Plant::SwallowedReply) {
            self.next.outside.flights.remove(&(action, attempt));
            return;
        }
        let Some(fate) = self.next.outside.flights.get(&(action, attempt)) else { return };
        let forged = self.model.plant == Some(Plant::ForgedOutcome) && *fate == Fate::LostBefore;
        let fate = if forged { Fate::Done } else { *fate };
        self.answer(returned(action, attempt, fate.returned()));
    }

    /// Late requests have their effect, and their replies no listener.
    fn land(&mut self, action: ActionId, attempt: u32) {
        let Some(key) = self.next.outside.late.remove(&(action, attempt)) else { return };
        self.next.outside.landed += 1;
        self.arrive(action, key);
        let late = returned(action, attempt, Fate::Done.returned());
        let is_heard = decide(&self.next.run, &Input::at(self.now, late)).is_ok();
        if self.next.worker == Worker::Working && is_heard {
            self.next.broken.insert(Promise::IntentFirst);
        }
    }

    fn probed(&mut self, action: ActionId, finding: Finding) {
        let happened = self.next.outside.calls.get(&action).is_some_and(|book| book.effects > 0);
        let lies = self.model.plant == Some(Plant::LyingProbe);
        let found = match finding {
            Finding::Unknown => ProbeFinding::Unknown,
            Finding::Truth if happened && !lies => ProbeFinding::Happened(Payload::inline("seen")),
            Finding::Truth => ProbeFinding::DidNotHappen,
        };
        self.answer(What::Probed { action, found });
    }

    fn checked(&mut self, (round, index): (u32, usize), test: Test) {
        let output = audit::content(self.next.run.output.as_deref().unwrap_or_default());
        let checks = &mut self.next.outside.checks;
        if index == 0 {
            checks.clear();
        }
        checks.insert(index, (test == Test::Pass, output));
        let failure = Failure::new("adds", "1 + 1 is 3");
        let outcome = match test {
            Test::Pass => CheckOutcome::Passed,
            Test::Fail if self.model.plant == Some(Plant::ForgedCheck) => CheckOutcome::Passed,
            Test::Fail => CheckOutcome::Failed(vec![failure]),
            Test::Broken => CheckOutcome::CouldNotRun("no such program".into()),
        };
        let log = Payload::inline("log");
        self.answer(What::CheckReturned { round, index, outcome, measure: None, log, duration_ms: 0 });
    }

    /// What a person says; `None` where the machine has no use for it.
    fn person(&mut self, action: Move) -> Option<()> {
        let signal = self.signal(action)?;
        let what = What::Signal { by: PERSON.into(), signal };
        // Mail is read before a claim: it is taken note of, and starts nothing.
        self.take_in(what).then_some(())
    }

    fn signal(&mut self, action: Move) -> Option<Signal> {
        let other = Digest::of(b"other bytes");
        Some(match action {
            Move::Approve(subject) => {
                let binds = self.agree(subject)?;
                Signal::Approve { subject, binds }
            }
            Move::ApproveOther(subject) => {
                self.next.used.meddles += 1;
                let by_name = self.model.plant == Some(Plant::YesByName);
                let binds = if by_name { self.shown(subject)? } else { other };
                Signal::Approve { subject, binds }
            }
            Move::ApproveLate(subject) => {
                self.next.used.meddles += 1;
                self.now = self.next.run.approvals.get(&subject)?.expires_at;
                Signal::Approve { subject, binds: self.shown(subject)? }
            }
            Move::Deny(subject) => {
                let binds = self.shown(subject)?;
                match (self.model.plant, subject) {
                    (Some(Plant::ForgedReview), Subject::Output) => Signal::Approve { subject, binds },
                    _ => Signal::Deny { subject, binds, reason: "no".into() },
                }
            }
            Move::Settle(action, attempt, how) => {
                let settlement = self.settle(action, how);
                Signal::Settle { action, attempt, settlement }
            }
            Move::Pause => {
                self.next.used.meddles += 1;
                Signal::Pause
            }
            Move::Cancel => {
                self.next.used.meddles += 1;
                Signal::Cancel
            }
            Move::Resume => Signal::Resume { raise: Vec::new(), without: Vec::new() },
            Move::Reopen => {
                self.next.used.reopenings += 1;
                let to = u64::from(self.next.run.limits.steps) + 1;
                Signal::Resume { raise: vec![Raise { limit: Limit::Steps, to }], without: Vec::new() }
            }
            Move::Undo => {
                self.next.used.undos += 1;
                Signal::Undo { to: 0 }
            }
            _ => return None,
        })
    }

    /// The hash of what a person is shown.
    fn shown(&self, subject: Subject) -> Option<Digest> {
        Some(self.next.run.approvals.get(&subject)?.binds)
    }

    /// A person says yes to what is shown: it counts for what it really is.
    fn agree(&mut self, subject: Subject) -> Option<Digest> {
        let binds = self.shown(subject)?;
        match subject {
            Subject::Output => drop(self.next.outside.agreed.insert(binds)),
            Subject::Action(action) => {
                let book = self.next.outside.calls.entry(action).or_default();
                book.agreed |= binds == audit::call(book.tool);
            }
        }
        Some(binds)
    }

    fn settle(&mut self, action: ActionId, how: Settle) -> Settlement {
        let book = self.next.outside.calls.entry(action).or_default();
        match how {
            Settle::Happened => {
                book.happened = true;
                Settlement::Happened { output: Payload::inline("seen") }
            }
            Settle::DidNot => {
                book.did_nots += 1;
                self.next.used.did_nots += 1;
                Settlement::DidNotHappen
            }
            Settle::GiveUp => Settlement::GivenUp { message: "nobody knows".into() },
        }
    }

    /// Takes in what the machine waits for. Something must follow, or the shell
    /// would do the same again and again.
    fn answer(&mut self, what: What) {
        if !self.take_in(what) && self.next.worker == Worker::Working {
            self.next.broken.insert(Promise::Progress);
        }
    }

    /// From what happened to a durable state. False when nothing followed.
    fn take_in(&mut self, what: What) -> bool {
        let hold = self.next.worker != Worker::Working;
        let input = Input { hold, ..Input::at(self.now, what) };
        let Ok(events) = decide(&self.next.run, &input) else { return false };
        if events.is_empty() {
            return false;
        }
        let before = std::sync::Arc::clone(&self.next.run);
        let events = self.tampered(events);
        self.append(&events, self.now.max(before.now));
        audit::state(&before, &mut self.next);
        self.let_go();
        true
    }

    fn append(&mut self, events: &[Event], at: Millis) {
        let before = &self.next.run;
        let is_lost = self.model.plant == Some(Plant::LostAppend)
            && events.iter().any(|event| matches!(event, Event::StepFinished { .. }));
        if !is_lost {
            self.next.journal = self.next.journal.append(&before.id, before.seq + 1, at, events);
        }
        let mut run = before.as_ref().clone();
        for event in events {
            audit::event(&run, event, &mut self.next.outside, &mut self.next.broken);
            run.apply(event, at);
        }
        self.next.set_run(run);
    }

    /// What the store makes of an append.
    fn tampered(&self, mut events: Vec<Event>) -> Vec<Event> {
        let has = |wanted: fn(&Event) -> bool| events.iter().any(wanted);
        match self.model.plant {
            Some(Plant::DoubledAppend) if has(|event| matches!(event, Event::CallFinished { .. })) => {
                [events.clone(), events].concat()
            }
            Some(Plant::TornAppend) if has(|event| matches!(event, Event::StepFinished { .. })) => {
                events.truncate(1);
                events
            }
            Some(Plant::DoubledUndo) => events
                .into_iter()
                .flat_map(|event| {
                    let again = matches!(event, Event::Restored { .. } | Event::Compensated { .. })
                        .then(|| event.clone());
                    again.into_iter().chain([event])
                })
                .collect(),
            Some(Plant::WrongUndo | Plant::UndoOfNothing | Plant::EmptyAlert | Plant::EndedAgain) => {
                events.into_iter().flat_map(|event| self.mangled(event)).collect()
            }
            _ => events,
        }
    }

    /// An event of an undo, as a store that is broken keeps it.
    fn mangled(&self, event: Event) -> Vec<Event> {
        let nobody = ActionId { step: 99, index: 0 };
        match (self.model.plant, event) {
            (Some(Plant::WrongUndo), Event::Compensated { outcome, .. }) => {
                vec![Event::Compensated { action: nobody, outcome }]
            }
            (Some(Plant::UndoOfNothing), event @ Event::CompensationStarted { .. }) => {
                let key = Digest::of_parts(&[b"undo", self.next.run.id.as_str().as_bytes(), b"a99.0"]);
                vec![Event::CompensationStarted { action: nobody, key, attempt: 1 }, event]
            }
            (Some(Plant::EmptyAlert), Event::AlertRaised { .. }) => {
                vec![Event::AlertRaised { actions: Vec::new() }]
            }
            (Some(Plant::EndedAgain), event @ Event::UndoFinished { .. }) => {
                let ending = self.next.run.ending().cloned();
                let again = ending.map(|ending| Event::Ended { contract: CONTRACT, ending });
                [event].into_iter().chain(again).collect()
            }
            (_, event) => vec![event],
        }
    }

    /// The shell ends what is not wanted any more, and leaves a run that is over.
    fn let_go(&mut self) {
        let due = self.next.run.due();
        let is_due = |key: (ActionId, u32)| {
            due.iter().any(|effect| matches!(effect, Effect::RunTool { action, attempt, .. } if (*action, *attempt) == key))
        };
        if self.had_worker {
            let gone: Vec<Effect> = std::mem::take(&mut self.due);
            let gone = gone.into_iter().filter(|effect| match effect {
                Effect::RunTool { action, attempt, .. } => !is_due((*action, *attempt)),
                _ => false,
            });
            self.due = gone.collect();
            self.abandon(|effect, flying| effect && !flying);
        }
        self.next.outside.flights.retain(|key, _| is_due(*key));
        if self.next.run.ending().is_some() && !self.next.run.is_being_undone() {
            self.next.worker = Worker::Gone;
        }
    }
}

fn returned(action: ActionId, attempt: u32, how: Returned) -> What {
    let output = Payload::inline("out");
    let result = CallResult {
        how,
        output,
        full: None,
        duration_ms: 0,
        trace: None,
        suspicions: Vec::new(),
        spent: None,
    };
    What::CallReturned { action, attempt, result }
}
