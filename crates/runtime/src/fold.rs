//! From a journal to a state: checkpoint ⊕ the records after it. The same
//! `apply` as live work; there is no second way to recover.

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId};
use bowline_core::journal::Record;
use bowline_core::run::Run;
use bowline_store::{Checkpoint, Claimed, RunStore};

use crate::error::EngineError;

/// Records read at once.
const PAGE: usize = 512;

/// A state, and how it was made.
#[derive(Debug)]
pub struct Folded {
    /// The state.
    pub run: Run,
    /// Events folded after the checkpoint.
    pub folded: u64,
}

/// Folds what a claim returned. A checkpoint that is not understood, since another version
/// wrote it, counts as none: the whole journal is folded.
pub(crate) async fn from_claim(store: &dyn RunStore, claimed: &Claimed) -> Result<Folded, EngineError> {
    let id = &claimed.fence.run;
    let understood = |found: &Checkpoint| Run::from_checkpoint(found.version, &found.state);
    let state = match claimed.checkpoint.as_ref().map(understood) {
        // The claim brought no more than what is behind the checkpoint.
        Some(None) => return fold(store, id, u64::MAX).await,
        Some(state) => state,
        None => None,
    };
    let mut folding = Folding { run: state, folded: 0 };
    for record in &claimed.tail {
        folding.add(id, record, u64::MAX)?;
    }
    folding.finish(id)
}

/// Folds a run's journal up to and including event `to` (all of it: `u64::MAX`).
pub async fn fold(store: &dyn RunStore, id: &RunId, to: u64) -> Result<Folded, EngineError> {
    let mut folding = Folding { run: None, folded: 0 };
    let mut next = 1;
    loop {
        let page = store.records(id, next, PAGE).await?;
        for record in &page {
            folding.add(id, record, to)?;
        }
        let seq = folding.run.as_ref().map_or(0, |run| run.seq);
        if page.len() < PAGE || seq >= to {
            return folding.finish(id);
        }
        next = seq + 1;
    }
}

/// Every event of a run up to and including `to`, with its number and time.
pub async fn history(
    store: &dyn RunStore,
    id: &RunId,
    from: u64,
    to: u64,
) -> Result<Vec<(u64, Millis, Event)>, EngineError> {
    let mut events = Vec::new();
    let mut next = from.max(1);
    while next <= to {
        let page = store.records(id, next, PAGE).await?;
        let full = page.len() == PAGE;
        for record in page {
            let found = record.events().map_err(bowline_store::StoreError::from)?;
            for (seq, event) in (record.seq..).zip(found) {
                next = seq + 1;
                if (from..=to).contains(&seq) {
                    events.push((seq, record.at, event));
                }
            }
        }
        if !full {
            break;
        }
    }
    Ok(events)
}

struct Folding {
    run: Option<Run>,
    folded: u64,
}

impl Folding {
    fn add(&mut self, id: &RunId, record: &Record, to: u64) -> Result<(), EngineError> {
        let events = record.events().map_err(bowline_store::StoreError::from)?;
        for (seq, event) in (record.seq..).zip(&events) {
            match &mut self.run {
                _ if seq > to => break,
                Some(run) if run.seq >= seq => {}
                Some(run) => run.apply(event, record.at),
                None => {
                    let begun = Run::begin(id, event, record.at);
                    self.run = Some(begun.ok_or_else(|| EngineError::NoBeginning { run: id.clone() })?);
                }
            }
            self.folded += 1;
        }
        Ok(())
    }

    fn finish(self, id: &RunId) -> Result<Folded, EngineError> {
        let run = self.run.ok_or_else(|| EngineError::NoBeginning { run: id.clone() })?;
        Ok(Folded { run, folded: self.folded })
    }
}
