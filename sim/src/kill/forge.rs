//! A checkpoint that is not what its journal says, put where a worker will
//! believe it: sealed, in the right place, under the right hash.
//!
//! Only for the sabotage. It goes through the store's own door, so it needs to
//! know nothing of the layout on disk.

use std::path::Path;

use bowline::fold;
use bowline_core::budget::Cost;
use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::run::STATE;
use bowline_store::{Append, Role, RunStore as _, SqliteStore};

use super::error::KillError;
use crate::clock::now_ms;

/// How long the forger may hold the run.
const LEASE_MS: u64 = 1_000;

/// Leaves a checkpoint behind that has forgotten what the run has used. Nobody
/// else works on the store.
pub(super) fn checkpoint(home: &Path, run: &str) -> Result<(), KillError> {
    let said = |why: String| KillError::NotForged { run: run.into(), home: home.into(), why };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| said(error.to_string()))?;
    runtime.block_on(forge(home, run)).map_err(|error| said(error.to_string()))
}

async fn forge(home: &Path, run: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (run, forger) = (RunId::parse(run)?, WorkerId::parse("forger")?);
    let store = SqliteStore::open(home, Role::Worker)?;
    let mut state = fold(&store, &run, u64::MAX).await?.run;
    let at = Millis(now_ms()).max(state.now);
    let mut fence = store.claim(&run, &forger, LEASE_MS, at).await?.fence;
    // A checkpoint comes with a record. This one changes nothing.
    let event = Event::SignalRefused { by: "nobody".into(), why: "nothing".into() };
    state.apply(&event, at);
    state.spend.settled = Cost::default();
    let summary = store.row(&run).await?.summary;
    let checkpoint = Some((STATE, state.to_checkpoint()));
    let batch =
        Append { at, events: vec![event], blobs: Vec::new(), checkpoint, summary, consumed: Vec::new() };
    store.append(&mut fence, batch).await?;
    store.release(&fence).await?;
    Ok(())
}
