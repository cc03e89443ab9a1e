//! Takes in what people told a run without working on it.
//!
//! A run that lacks what it is worked on with (a server, a secret, a model) can
//! still be cancelled, answered and settled: its mail is read before anything
//! is opened, and again when that went wrong. Nothing is ever started here.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::id::{Millis, WorkerId};
use bowline_core::input::{Input, What};
use bowline_core::run::{Run, decide};
use bowline_store::{Append, AppendError, Fence, RunStore, SignalId};

use crate::clock::Clock;
use crate::desk;
use crate::error::EngineError;
use crate::hub::{Hub, Seen};

/// How often an unacknowledged append is asked again.
const ASK_AGAIN: u32 = 5;

/// A run and the right to write its journal.
pub(crate) struct Clerk {
    pub(crate) run: Run,
    pub(crate) fence: Fence,
    pub(crate) store: Arc<dyn RunStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hub: Arc<Hub>,
}

impl Clerk {
    /// Takes in every letter.
    pub(crate) async fn read_mail(&mut self) -> Result<(), EngineError> {
        // A letter that came too late is put away with the next one that counts.
        let mut put_away = Vec::new();
        for mail in self.store.mail(&self.run.id).await? {
            put_away.push(mail.id);
            if self.note(What::Signal { by: mail.by, signal: mail.signal }, &put_away).await? {
                put_away.clear();
            }
        }
        Ok(())
    }

    /// Writes down why nobody can go on with the run.
    pub(crate) async fn not_taken_up(&mut self, worker: &WorkerId, why: String) -> Result<(), EngineError> {
        let what = What::NotTakenUp { worker: worker.clone(), why };
        self.note(what, &[]).await.map(drop)
    }

    /// Writes down that the journal was brought back from a backup.
    pub(crate) async fn brought_back(&mut self, by: &str, made_at: Millis) -> Result<bool, EngineError> {
        self.note(What::FromBackup { by: by.into(), made_at }, &[]).await
    }

    /// From what was said to a durable state, with the mail that is answered by it. False
    /// when nothing followed.
    async fn note(&mut self, what: What, mail: &[SignalId]) -> Result<bool, EngineError> {
        let input = Input { hold: true, ..Input::at(self.clock.now(), what) };
        let Ok(events) = decide(&self.run, &input) else { return Ok(false) };
        if events.is_empty() {
            return Ok(false);
        }
        let at = input.now.max(self.run.now);
        events.iter().for_each(|event| self.run.apply(event, at));
        let batch = Append {
            at,
            events: events.clone(),
            blobs: Vec::new(),
            checkpoint: None,
            summary: desk::summary(&self.run),
            consumed: mail.to_vec(),
        };
        append(self.store.as_ref(), &mut self.fence, batch).await?;
        show(&self.hub, &self.run, at, events);
        Ok(true)
    }
}

/// Makes a batch durable; one whose acknowledgement was lost is asked about again.
pub(crate) async fn append(
    store: &dyn RunStore,
    fence: &mut Fence,
    batch: Append,
) -> Result<(), EngineError> {
    let mut tries = 0;
    loop {
        match store.append(fence, batch.clone()).await {
            Err(AppendError::Unacknowledged) if tries < ASK_AGAIN => tries += 1,
            outcome => return Ok(outcome?),
        }
    }
}

/// Shows events that are durable.
pub(crate) fn show(hub: &Hub, run: &Run, at: Millis, events: Vec<Event>) {
    let first = run.seq + 1 - events.len() as u64;
    for (seq, event) in (first..).zip(events) {
        hub.show(&run.id, Seen::Event { seq, at, event });
    }
}
