//! A run as people are told about it: its row, its state, and what its journal
//! says was done. Folded from the journal alone.

use bowline::{EngineError, history};
use bowline_core::event::{Ending, Event};
use bowline_core::id::{Millis, RunId};
use bowline_core::message::{Content, Payload};
use bowline_core::run::Run;
use bowline_core::view::Provenance;
use bowline_store::{RunRow, RunStore, StoreError};

use crate::error::CliError;

/// Everything there is to tell about a run.
pub(crate) struct Report {
    /// As the store sees it.
    pub(crate) row: RunRow,
    /// As its journal leaves it.
    pub(crate) run: Run,
    /// What was done, call by call.
    pub(crate) facts: Provenance,
    /// Every event, with number and time.
    pub(crate) events: Vec<(u64, Millis, Event)>,
    /// What would be or was committed, or what there is so far, as text.
    pub(crate) output: Option<String>,
}

impl Report {
    /// Reads a run's journal.
    pub(crate) async fn load(store: &dyn RunStore, id: &RunId) -> Result<Self, CliError> {
        let row = store.row(id).await?;
        let events = history(store, id, 1, u64::MAX).await?;
        let mut facts = Provenance::new(id);
        let mut state: Option<Run> = None;
        for (_, at, event) in &events {
            facts.note(event, *at);
            match &mut state {
                Some(run) => run.apply(event, *at),
                None => state = Run::begin(id, event, *at),
            }
        }
        let run = state.ok_or_else(|| EngineError::NoBeginning { run: id.clone() })?;
        let output = match best(&run) {
            Some(content) => Some(text(store, content).await?),
            None => None,
        };
        Ok(Self { row, run, facts, events, output })
    }
}

/// The partial work of a run that reached a limit, and else its output.
fn best(run: &Run) -> Option<&Content> {
    let partial = match run.ending() {
        Some(Ending::Halted { report: Some(report), .. }) => report.partial.as_ref(),
        Some(_) | None => None,
    };
    partial.or(run.output.as_ref())
}

/// Payloads as one text. Bytes that are no text are shown as such.
pub(crate) async fn text(store: &dyn RunStore, content: &[Payload]) -> Result<String, StoreError> {
    let mut whole = String::new();
    for payload in content {
        match payload {
            Payload::Inline(text) => whole.push_str(text),
            Payload::Stored { sha256, .. } => {
                whole.push_str(&String::from_utf8_lossy(&store.blob(*sha256).await?));
            }
        }
    }
    Ok(whole)
}
