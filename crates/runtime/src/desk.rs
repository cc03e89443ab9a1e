//! The desk: one worker at one run. The loop of the whole runtime, on one screen.
//!
//! Nothing is shown to the world before it is durable: an effect is started only
//! from a state whose events the store has acknowledged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::effect::{Effect, EffectKey};
use bowline_core::event::{Ending, LandOutcome, RestoreOutcome};
use bowline_core::id::{Millis, WorkerId};
use bowline_core::input::{CallResult, Compensation, EvidenceGap, Input, ProbeFinding, Returned, What};
use bowline_core::message::Payload;
use bowline_core::quality::CheckOutcome;
use bowline_core::run::{Run, STATE, Wait, decide};
use bowline_store::{Append, AppendError, EndingKind, Fence, SignalId, StoreError, Summary};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};

use crate::clerk;
use crate::engine::{Patience, Stopped};
use crate::error::EngineError;
use crate::hands::{Arrival, Hands};
use crate::hub::Seen;
use crate::images;

/// How long a claim lasts without being renewed.
pub(crate) const LEASE_MS: u64 = 30_000;
/// How long work in flight may finish when the process is asked to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// Fewer events than this are never worth a checkpoint.
const CHECKPOINT_EVENTS_MIN: u64 = 2048;
/// About what an event weighs in the journal, to compare with a checkpoint.
const EVENT_BYTES: u64 = 300;
/// Results in a row from which nothing followed. A late one or two are normal;
/// this many say that the same work is done over and over.
const FRUITLESS_MAX: u32 = 64;

pub(crate) struct Desk {
    run: Run,
    fence: Fence,
    hands: Hands,
    patience: Patience,
    bell: Arc<Notify>,
    stop: watch::Receiver<bool>,
    at_work: JoinSet<Option<Result<Arrival, StoreError>>>,
    started: BTreeMap<EffectKey, tokio::task::AbortHandle>,
    keys: BTreeMap<Id, EffectKey>,
    checkpoint: LastCheckpoint,
    renew_at: Millis,
    /// Whether the journal knows of this claim: before, nothing may be started.
    claimed: bool,
    /// Results since the last one from which something followed.
    fruitless: u32,
}

#[derive(Default)]
struct LastCheckpoint {
    seq: u64,
    bytes: u64,
}

enum Next {
    Arrived(Box<Arrival>),
    Mail,
    Tick,
    Renew,
    Stop,
}

impl Desk {
    pub(crate) fn new(
        run: Run,
        fence: Fence,
        hands: Hands,
        patience: Patience,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let bell = hands.hub.open_mailbox(&run.id);
        let renew_at = hands.clock.now().plus(LEASE_MS / 3);
        let checkpoint = LastCheckpoint { seq: run.seq, bytes: 0 };
        Self {
            run,
            fence,
            hands,
            patience,
            bell,
            stop,
            at_work: JoinSet::new(),
            started: BTreeMap::new(),
            keys: BTreeMap::new(),
            checkpoint,
            renew_at,
            claimed: false,
            fruitless: 0,
        }
    }

    /// Works until the run has ended, waits for a person, or is asked to stop.
    pub(crate) async fn work(mut self, worker: &WorkerId) -> Result<Stopped, EngineError> {
        self.show_state();
        let outcome = self.work_to_a_stop(worker).await;
        self.at_work.shutdown().await;
        if outcome.is_ok() {
            self.show_state();
        }
        self.hands.hub.close_mailbox(&self.run.id);
        let released = self.hands.store.release(&self.fence).await;
        let stopped = outcome?;
        match released {
            Ok(()) | Err(AppendError::Fenced { .. }) => Ok(stopped),
            Err(error) => Err(error.into()),
        }
    }

    async fn work_to_a_stop(&mut self, worker: &WorkerId) -> Result<Stopped, EngineError> {
        // Mail first: it may reopen a halted run, which cannot be claimed before, or
        // cancel one before anything of it is started again. What it allows is
        // started under the new claim, or that would put it in doubt.
        self.read_mail().await?;
        if let Some(ending) = self.is_over() {
            return Ok(Stopped::Ended(ending.clone()));
        }
        let (epoch, worker, programs) = (self.fence.epoch, worker.clone(), self.hands.programs);
        let claimed = What::Claimed { epoch, worker, programs };
        self.claimed = true;
        self.take_in(claimed.into(), &[]).await?;
        loop {
            if let Some(ending) = self.is_over() {
                return Ok(Stopped::Ended(ending.clone()));
            }
            if *self.stop.borrow() {
                return self.drain().await;
            }
            self.start_due();
            if self.patience == Patience::LeaveWhenWaiting && self.run.needs_person() {
                return Ok(Stopped::Waiting(self.run.waits()));
            }
            match self.next().await? {
                Next::Arrived(arrival) => self.arrived(*arrival).await?,
                Next::Mail => self.read_mail().await?,
                Next::Tick => {
                    self.take_in(What::Tick.into(), &[]).await?;
                }
                Next::Renew => self.renew().await?,
                Next::Stop => {}
            }
        }
    }

    /// How it ended, if nothing more is done about it.
    fn is_over(&self) -> Option<&Ending> {
        self.run.ending().filter(|_| !self.run.has_afterwork())
    }

    /// Starts what is due and not in flight, ends what is no longer wanted.
    fn start_due(&mut self) {
        let due = self.run.due();
        self.started.retain(|key, handle| {
            let wanted = due.iter().any(|effect| effect.key() == *key);
            if !wanted {
                handle.abort();
            }
            wanted
        });
        for effect in due {
            let key = effect.key();
            // One that was ended on purpose comes home first, or two would be at it.
            let is_leaving = || self.keys.values().any(|leaving| *leaving == key);
            if matches!(effect, Effect::WakeAt { .. }) || self.started.contains_key(&key) || is_leaving() {
                continue;
            }
            let handle = self.at_work.spawn(self.hands.clone().perform(effect));
            self.keys.insert(handle.id(), key);
            self.started.insert(key, handle);
        }
    }

    async fn next(&mut self) -> Result<Next, EngineError> {
        let now = self.hands.clock.now();
        let wake = self.run.due().iter().filter_map(wake_time).min();
        let tick = Duration::from_millis(wake.map_or(u64::MAX / 4, |at| at.since(now)));
        let renew = Duration::from_millis(self.renew_at.since(now));
        tokio::select! {
            biased;
            _ = self.stop.changed() => Ok(Next::Stop),
            () = self.bell.notified() => Ok(Next::Mail),
            Some(done) = self.at_work.join_next_with_id() => self.finished(done),
            () = tokio::time::sleep(tick.min(Duration::from_secs(3600))), if wake.is_some() => Ok(Next::Tick),
            () = tokio::time::sleep(renew) => Ok(Next::Renew),
        }
    }

    fn finished(
        &mut self,
        done: Result<(Id, Option<Result<Arrival, StoreError>>), tokio::task::JoinError>,
    ) -> Result<Next, EngineError> {
        let (id, arrival) = match done {
            Ok((id, arrival)) => (id, arrival),
            Err(broken) => (broken.id(), None),
        };
        let Some(key) = self.keys.remove(&id) else { return Ok(Next::Tick) };
        // An effect that was ended on purpose is no longer in `started`.
        if self.started.get(&key).is_none_or(|handle| handle.id() != id) {
            return Ok(Next::Tick);
        }
        self.started.remove(&key);
        match arrival {
            Some(arrival) => Ok(Next::Arrived(Box::new(arrival?))),
            None => Ok(Next::Arrived(Box::new(broken_down(key).into()))),
        }
    }

    /// Takes a result in. An effect whose result is refused is due again at once:
    /// without an end to that, a store that lost our writes would keep us busy for ever.
    async fn arrived(&mut self, arrival: Arrival) -> Result<(), EngineError> {
        let followed = self.take_in(arrival, &[]).await?;
        self.fruitless = if followed { 0 } else { self.fruitless + 1 };
        if self.fruitless > FRUITLESS_MAX {
            return Err(EngineError::OutOfStep { run: self.run.id.clone() });
        }
        Ok(())
    }

    /// From what happened to a durable state, with the mail that is answered by
    /// it. False when nothing followed.
    async fn take_in(&mut self, mut arrival: Arrival, mail: &[SignalId]) -> Result<bool, EngineError> {
        images::attach(&self.hands, &mut arrival).await?;
        let hold = *self.stop.borrow() || !self.claimed;
        let input = Input { hold, ..Input::at(self.hands.clock.now(), arrival.what) };
        let Ok(events) = decide(&self.run, &input) else { return Ok(false) };
        if events.is_empty() {
            return Ok(false);
        }
        let at = input.now.max(self.run.now);
        arrival.blobs.iter().for_each(|blob| self.hands.texts.keep(blob));
        // The state is folded before the append is acknowledged, but nothing is
        // started from it until then: an error below ends this desk.
        events.iter().for_each(|event| self.run.apply(event, at));
        let consumed = mail.to_vec();
        let (blobs, checkpoint) = (arrival.blobs, self.worth_a_checkpoint());
        let summary = summary(&self.run);
        let shown = self.hands.hub.is_watched().then(|| events.clone());
        let batch = Append { at, events, blobs, checkpoint, summary, consumed };
        clerk::append(self.hands.store.as_ref(), &mut self.fence, batch).await?;
        clerk::show(&self.hands.hub, &self.run, at, shown.unwrap_or_default());
        Ok(true)
    }

    /// A checkpoint pays once the events after the last one outweigh it.
    fn worth_a_checkpoint(&mut self) -> Option<(u32, Vec<u8>)> {
        let events = self.run.seq.saturating_sub(self.checkpoint.seq);
        if events < CHECKPOINT_EVENTS_MIN || events * EVENT_BYTES < self.checkpoint.bytes {
            return None;
        }
        let state = self.run.to_checkpoint();
        self.checkpoint = LastCheckpoint { seq: self.run.seq, bytes: state.len() as u64 };
        Some((STATE, state))
    }

    async fn read_mail(&mut self) -> Result<(), EngineError> {
        // A letter that came too late is put away with the next one that counts,
        // so that it cannot take effect on a run that was reopened since.
        let mut put_away = Vec::new();
        for mail in self.hands.store.mail(&self.run.id).await? {
            put_away.push(mail.id);
            let what = What::Signal { by: mail.by, signal: mail.signal };
            if self.take_in(what.into(), &put_away).await? {
                put_away.clear();
            }
        }
        Ok(())
    }

    async fn renew(&mut self) -> Result<(), EngineError> {
        let now = self.hands.clock.now();
        self.hands.store.renew(&self.fence, LEASE_MS, now).await?;
        self.renew_at = now.plus(LEASE_MS / 3);
        Ok(())
    }

    /// Lets work in flight come home, starting nothing new.
    async fn drain(&mut self) -> Result<Stopped, EngineError> {
        let deadline = tokio::time::sleep(DRAIN);
        tokio::pin!(deadline);
        while !self.at_work.is_empty() {
            tokio::select! {
                biased;
                Some(done) = self.at_work.join_next_with_id() => {
                    if let Next::Arrived(arrival) = self.finished(done)? {
                        self.take_in(*arrival, &[]).await?;
                    }
                }
                () = &mut deadline => break,
            }
        }
        Ok(Stopped::Asked)
    }

    /// Only what is durable: after a failed append the state is ahead of the store.
    fn show_state(&self) {
        if self.hands.hub.is_watched() {
            let (seq, sha256) = (self.run.seq, self.run.digest());
            self.hands.hub.show(&self.run.id, Seen::State { seq, sha256 });
        }
    }
}

fn wake_time(effect: &Effect) -> Option<Millis> {
    match effect {
        Effect::WakeAt { at } => Some(*at),
        Effect::CallModel { .. }
        | Effect::PrepareCall { .. }
        | Effect::RunTool { .. }
        | Effect::Probe { .. }
        | Effect::ReadEvidence { .. }
        | Effect::RunCheck { .. }
        | Effect::Weigh { .. }
        | Effect::Splice { .. }
        | Effect::Restore { .. }
        | Effect::Compensate { .. }
        | Effect::Alert { .. }
        | Effect::FindChanges
        | Effect::Land { .. }
        | Effect::StoreResult { .. }
        | Effect::Promote { .. } => None,
    }
}

/// What an effect whose code broke down is reported as: never as done.
fn broken_down(key: EffectKey) -> What {
    let message = || String::from("the code that did this broke down");
    match key {
        EffectKey::Model(step) => images::lost_step(step),
        EffectKey::Prepare(action) => What::CallPrepared { action, image: Err(message()) },
        EffectKey::Tool(action, attempt) => {
            let (how, output) = (Returned::Unknown, Payload::inline(&message()));
            let (full, trace, suspicions) = (None, None, Vec::new());
            let result = CallResult { how, output, full, duration_ms: 0, trace, suspicions, spent: None };
            What::CallReturned { action, attempt, result }
        }
        EffectKey::Probe(action) => What::Probed { action, found: ProbeFinding::Unknown },
        EffectKey::Splice(round) => What::Spliced { round, output: Err(message()) },
        EffectKey::Weigh(serial) => What::Weighed { serial, holds: false },
        EffectKey::Evidence => {
            What::EvidenceRead(Err(EvidenceGap { path: "evidence".into(), message: message() }))
        }
        EffectKey::Check(round, index) => What::CheckReturned {
            round,
            index,
            outcome: CheckOutcome::CouldNotRun(message()),
            measure: None,
            log: Payload::inline(""),
            duration_ms: 0,
        },
        EffectKey::Restore(action) => What::Restored { action, outcome: RestoreOutcome::Failed(message()) },
        EffectKey::Compensate(action, attempt) => {
            let found = Compensation::Trouble { message: message(), retry_after_ms: None };
            What::Compensated { action, attempt, found }
        }
        EffectKey::Alert => What::AlertTold(Some(message())),
        EffectKey::Changes => What::ChangesFound(Err(LandOutcome::Not(message()))),
        EffectKey::Land(back) => What::Landed { back, outcome: LandOutcome::Torn(message()) },
        EffectKey::Promote(attempt) => What::Promoted { attempt, problem: Some(message()) },
        EffectKey::Result | EffectKey::Wake(_) => What::Tick,
    }
}

/// What listings show of this state.
#[must_use]
pub fn summary(run: &Run) -> Summary {
    let ending = run.ending().map(|ending| match ending {
        Ending::Committed { .. } => EndingKind::Committed,
        Ending::Failed { .. } => EndingKind::Failed,
        Ending::Halted { .. } => EndingKind::Halted,
    });
    let goal: String = run.task.goal.lines().next().unwrap_or_default().chars().take(120).collect();
    let waits = if run.needs_person() { run.waits() } else { Vec::new() };
    Summary {
        goal,
        phase: match (run.is_being_undone(), run.is_being_landed(), run.is_being_promoted()) {
            (true, _, _) => "being undone",
            (false, true, _) => "being applied",
            (false, false, true) => "being promoted",
            (false, false, false) => run.phase.word(),
        }
        .into(),
        ending,
        // Nobody has to ask for this: whoever looks for work finds it.
        owes: run.is_being_promoted(),
        waiting: waits.first().map(wait_word),
        wake_at: waits.iter().filter_map(wait_end).min(),
        unable: run.unable.as_deref().filter(|_| run.ending().is_none()).map(str::to_owned),
        steps: run.spend.steps,
        tool_calls: run.spend.tool_calls,
        tokens: run.spend.settled.tokens,
        micros: run.spend.settled.micros,
    }
}

/// When a wait is over even if nobody acts. Only what is settled then may say so,
/// or the run would be taken up for nothing, again and again.
fn wait_end(wait: &Wait) -> Option<Millis> {
    match wait {
        Wait::Approval { expires_at, .. } => Some(*expires_at),
        Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => None,
    }
}

fn wait_word(wait: &Wait) -> String {
    match wait {
        Wait::Restored { .. } => "restored".into(),
        Wait::Paused => "paused".into(),
        Wait::Approval { subject, .. } => format!("approval of {subject}"),
        Wait::InDoubt { action, .. } => format!("doubt about {action}"),
    }
}
