//! Runs that were brought back from a backup: marked, and taken up by a person.

use bowline_core::id::{Millis, RunId};
use bowline_core::input::Signal;

use super::{Engine, LEASE_MS};
use crate::error::EngineError;

impl Engine {
    /// Notes that a run was brought back from a backup made at `made_at`: it may have gone on
    /// elsewhere, so nothing of it is started until [`Engine::take_up`]. False if it has ended
    /// for good, so that there is nothing that could be done twice.
    pub async fn bring_back(&self, id: &RunId, by: &str, made_at: Millis) -> Result<bool, EngineError> {
        let inner = &self.inner;
        let claimed = inner.store.claim(id, &inner.worker, LEASE_MS, inner.clock.now()).await?;
        let mut clerk = inner.clerk(claimed).await?;
        let noted = clerk.brought_back(by, made_at).await;
        self.give_up(&clerk.fence).await;
        noted
    }

    /// Takes a run up here that was brought back from a backup. Calls that must not be made
    /// twice are in doubt from now on before they are made.
    pub async fn take_up(&self, id: &RunId, by: &str) -> Result<(), EngineError> {
        self.signal(id, by, Signal::TakeUp).await
    }
}
