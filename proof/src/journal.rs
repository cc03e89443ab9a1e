//! The durable journal of a world, shared between worlds with the same past.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId};
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;

/// One append, and those before it.
pub(crate) struct Journal {
    before: Option<Arc<Journal>>,
    record: Record,
}

impl Journal {
    /// The journal of a run nobody has touched.
    pub(crate) fn begin(run: &RunId, first: &Event) -> Arc<Self> {
        let record = Record::seal(Digest::ZERO, run, 1, Millis(0), std::slice::from_ref(first));
        Arc::new(Self { before: None, record })
    }

    /// With one append more.
    pub(crate) fn append(self: &Arc<Self>, run: &RunId, seq: u64, at: Millis, events: &[Event]) -> Arc<Self> {
        let record = Record::seal(self.record.hash, run, seq, at, events);
        Arc::new(Self { before: Some(Arc::clone(self)), record })
    }

    /// What the last append leaves of a state, read back from its record; `None` if
    /// it cannot be read, or does not follow that state.
    pub(crate) fn folded(&self, before: &Run) -> Option<Run> {
        let mut run = before.clone();
        if self.record.seq != before.seq + 1 {
            return None;
        }
        self.record.events().ok()?.iter().for_each(|event| run.apply(event, self.record.at));
        Some(run)
    }

    /// The state by folding everything from the beginning, as another process finds
    /// it; `None` if the journal cannot be read.
    pub(crate) fn replayed(&self) -> Option<Run> {
        let mut records = vec![&self.record];
        let mut before = &self.before;
        while let Some(journal) = before {
            records.push(&journal.record);
            before = &journal.before;
        }
        let (mut run, mut hash) = (None, Digest::ZERO);
        for record in records.into_iter().rev() {
            record.verify(hash).ok()?;
            hash = record.hash;
            for event in record.events().ok()? {
                match &mut run {
                    None => run = Run::begin(&record.run, &event, record.at),
                    Some(run) => run.apply(&event, record.at),
                }
            }
        }
        run
    }
}
