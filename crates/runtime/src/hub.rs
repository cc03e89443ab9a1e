//! What people may watch, and how mail finds the run it is for.
//!
//! Watching never slows a run: a watcher that does not keep up loses the oldest
//! observations and can read the journal instead.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId};
use bowline_core::provenance::Digest;
use tokio::sync::{Notify, broadcast};

/// Observations kept for a watcher that is behind.
const BACKLOG: usize = 4096;

/// Something a watcher may want to see.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Whose.
    pub run: RunId,
    /// What.
    pub seen: Seen,
}

/// What was seen.
#[derive(Clone, Debug)]
pub enum Seen {
    /// An event that is durable now.
    Event {
        /// Its sequence number.
        seq: u64,
        /// When.
        at: Millis,
        /// What happened.
        event: Event,
    },
    /// The state a worker works from: once when it has taken up a run, once when it
    /// leaves it. A replay of the journal to that event must give the same.
    State {
        /// The last event in it.
        seq: u64,
        /// Its hash, see [`bowline_core::run::Run::digest`].
        sha256: Digest,
    },
    /// Words of a model as they stream; may be lost, never an event.
    Words {
        /// Which step.
        step: u32,
        /// The piece.
        text: String,
    },
}

/// Watchers and mailboxes of one engine.
pub(crate) struct Hub {
    observations: broadcast::Sender<Observation>,
    mailboxes: Mutex<BTreeMap<RunId, Arc<Notify>>>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { observations: broadcast::Sender::new(BACKLOG), mailboxes: Mutex::default() }
    }

    pub(crate) fn watch(&self) -> broadcast::Receiver<Observation> {
        self.observations.subscribe()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.observations.receiver_count() > 0
    }

    pub(crate) fn show(&self, run: &RunId, seen: Seen) {
        if self.is_watched() {
            // Nobody listening any more is no error.
            let _unheard = self.observations.send(Observation { run: run.clone(), seen });
        }
    }

    /// A bell for this run's mail.
    pub(crate) fn open_mailbox(&self, run: &RunId) -> Arc<Notify> {
        self.lock().entry(run.clone()).or_default().clone()
    }

    pub(crate) fn close_mailbox(&self, run: &RunId) {
        self.lock().remove(run);
    }

    pub(crate) fn ring(&self, run: &RunId) {
        if let Some(bell) = self.lock().get(run) {
            bell.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Arc<Notify>>> {
        // The map is whole after every operation on it, so a panic elsewhere
        // while it was held has not broken it.
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
