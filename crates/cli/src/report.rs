//! A run as people are told about it: its row, its state, and what its journal
//! says was done. Folded from the journal alone.

use bowline::{EngineError, history};
use bowline_core::event::{Ending, Event};
use bowline_core::id::{ActionId, Millis, RunId};
use bowline_core::message::{Content, Payload};
use bowline_core::run::Run;
use bowline_core::view::{Provenance, Undone, undone};
use bowline_store::{RunRow, RunStore, StoreError};

use crate::error::CliError;
use crate::render::escape;

/// Calls whose undo is told one by one, and how much about each.
const UNDONE_MAX: usize = 20;
const WORDS_MAX: usize = 160;

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

impl Report {
    /// What became of everything that was to be undone, a line for each call.
    pub(crate) fn undone(&self) -> Vec<String> {
        let found = undone(self.events.iter().map(|(_, _, event)| event));
        let line = |(action, how): (&ActionId, &Undone)| {
            let call = self.facts.calls.iter().find(|call| call.action == *action);
            let tool = call.map_or(String::new(), |call| format!("  {}", call.tool));
            let file = call.and_then(|call| call.file.as_ref());
            let file = file.map_or(String::new(), |file| format!(" {}", escape::line(file)));
            format!("{action}{tool}{file}: {}", escape::cut(&escape::line(&how.words()), WORDS_MAX))
        };
        let mut lines: Vec<String> = found.iter().take(UNDONE_MAX).map(line).collect();
        if found.len() > UNDONE_MAX {
            lines.push(format!("and {} more", found.len() - UNDONE_MAX));
        }
        lines
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
