//! Examining one run's journal: every problem, not only the first.
//!
//! Works on a damaged journal as on a whole one and changes neither.

use std::collections::BTreeSet;

use bowline_core::event::{Ending, Event, Promoted};
use bowline_core::id::Millis;
use bowline_core::journal::Record;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::{Run, STATE};
use bowline_core::view::Provenance;
use bowline_store::{Checkpoint, EndingKind, RunRow, RunStore, StoreError};
use serde_json::Value;

/// Records read at once.
const PAGE: usize = 256;

/// What the examination of a run found.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) events: u64,
    pub(crate) records: u64,
    pub(crate) contents: usize,
    pub(crate) head: Digest,
    /// Everything that is wrong, in the order it was found.
    pub(crate) problems: Vec<String>,
    /// Every record's hash, with the number of its last event.
    pub(crate) hashes: Vec<(Digest, u64)>,
}

/// Examines a run.
pub(crate) async fn examine(store: &dyn RunStore, row: &RunRow) -> Result<Findings, StoreError> {
    let mut walk = Walk::new(row);
    walk.kept = store.checkpoint(&row.run).await?.filter(|kept| kept.version == STATE);
    let mut next = 1;
    loop {
        let page = match store.records(&row.run, next, PAGE).await {
            Ok(page) => page,
            Err(StoreError::Damaged(bad)) => {
                walk.problem(format!("the journal cannot be read from event {next} on: {bad}"));
                break;
            }
            Err(error) => return Err(error),
        };
        // A page may begin with the record that ended the one before.
        let before = walk.last_seq;
        page.iter().filter(|record| record.seq > before).for_each(|record| walk.record(record));
        if page.len() < PAGE || walk.last_seq <= before {
            break;
        }
        next = walk.next_seq.max(walk.last_seq.saturating_add(1));
    }
    walk.end();
    match store.prove(&row.run).await {
        // What was found already says it better.
        Err(StoreError::Damaged(bad)) if walk.found.problems.is_empty() => {
            walk.problem(format!("no worker could go on with it: {bad}"));
        }
        Err(StoreError::Damaged(_)) | Ok(()) => {}
        Err(error) => return Err(error),
    }
    walk.contents(store).await?;
    Ok(walk.found)
}

/// The state of an examination.
struct Walk<'a> {
    row: &'a RunRow,
    found: Findings,
    next_seq: u64,
    last_seq: u64,
    run: Option<Run>,
    /// What the record of provenance says so far.
    facts: Provenance,
    /// Hash and time of the record before the one that is looked at.
    before: (Digest, Millis),
    named: BTreeSet<(Digest, u64)>,
    /// The cached state, until the walk comes by it.
    kept: Option<Checkpoint>,
}

impl<'a> Walk<'a> {
    fn new(row: &'a RunRow) -> Self {
        let found = Findings {
            events: 0,
            records: 0,
            contents: 0,
            head: Digest::ZERO,
            problems: Vec::new(),
            hashes: Vec::new(),
        };
        Self {
            row,
            found,
            next_seq: 1,
            last_seq: 0,
            run: None,
            facts: Provenance::new(&row.run),
            before: (Digest::ZERO, Millis(0)),
            named: BTreeSet::new(),
            kept: None,
        }
    }

    fn problem(&mut self, what: String) {
        self.found.problems.push(what);
    }

    fn record(&mut self, record: &Record) {
        self.found.records += 1;
        self.last_seq = record.seq;
        if record.seq != self.next_seq {
            self.problem(format!("event {} follows where {} should", record.seq, self.next_seq));
        }
        if let Err(bad) = record.verify(self.found.head) {
            self.problem(bad.to_string());
        }
        self.found.head = record.hash;
        let raw: Vec<Value> = serde_json::from_str(&record.body).unwrap_or_default();
        for event in raw.iter().filter(|event| event.get("submitted").is_none()) {
            stored(event, &mut self.named);
        }
        match record.events() {
            Ok(events) => events.iter().for_each(|event| self.event(event, record.at)),
            Err(bad) => self.problem(bad.to_string()),
        }
        // A body that cannot be read still has its place in the numbering.
        let count = (raw.len() as u64).max(1);
        self.next_seq = record.seq.saturating_add(count);
        self.found.events += count;
        self.found.hashes.push((record.hash, self.next_seq - 1));
        self.before = (record.hash, record.at);
        self.cached();
    }

    /// A worker goes on from the cached state, so it must be what the journal folds to.
    fn cached(&mut self) {
        let seq = self.next_seq - 1;
        let Some(kept) = self.kept.take_if(|kept| kept.seq == seq) else { return };
        let cached = Run::from_checkpoint(kept.version, &kept.state).map(|run| run.to_checkpoint());
        if cached != self.run.as_ref().map(Run::to_checkpoint) {
            self.problem(format!(
                "the cached state at event {seq} is not what the journal says: it was changed, and a worker would go on from it"
            ));
        }
    }

    fn event(&mut self, event: &Event, at: Millis) {
        self.provenance(event);
        self.facts.note(event, at);
        match &mut self.run {
            Some(run) if is_final(run) && !is_afterwork(event) && !run.has_afterwork() => {
                self.problem("the journal goes on after a final ending".into());
            }
            Some(run) => {
                let ending = run.ending().filter(|_| is_final(run)).cloned();
                run.apply(event, at);
                if ending.is_some() && run.ending() != ending.as_ref() {
                    self.problem("a final ending was changed".into());
                }
            }
            None => {
                self.run = Run::begin(&self.row.run, event, at);
                if self.run.is_none() {
                    self.problem("the journal does not begin with a submission".into());
                }
            }
        }
    }

    /// A commit names the record of provenance that the journal before it gives.
    fn provenance(&mut self, event: &Event) {
        let Event::Ended { ending: Ending::Committed { output, provenance, missing }, .. } = event else {
            return;
        };
        let Some(run) = &self.run else { return };
        let (head, at) = self.before;
        let fresh = Digest::of(self.facts.finish(run, head, at).as_bytes());
        let other_output = run.output.as_ref() != Some(output) || run.missing() != *missing;
        if fresh != *provenance {
            self.problem("the provenance of the commit is not what the journal says".into());
        }
        if other_output {
            self.problem("the commit delivers another output than was checked".into());
        }
    }

    fn changes(&self) -> Option<Payload> {
        self.run.as_ref()?.landing.changes.as_ref().map(|changes| changes.list.clone())
    }

    /// The journal against the run's row.
    fn end(&mut self) {
        let row = self.row;
        if self.next_seq != row.next_seq {
            self.problem(format!(
                "the journal ends before event {}, the run's row says {}",
                self.next_seq, row.next_seq
            ));
        }
        if self.found.head != row.head {
            self.problem(format!(
                "the last record's hash is {}, the run's row says {}",
                self.found.head, row.head
            ));
        }
        let ending = self.run.as_ref().and_then(Run::ending).map(kind);
        if ending != row.summary.ending {
            let word = |ending: Option<EndingKind>| {
                ending.map_or("not ended".into(), |kind| format!("{kind:?}").to_lowercase())
            };
            self.problem(format!(
                "by its journal the run is {}, by its row {}",
                word(ending),
                word(row.summary.ending)
            ));
        }
    }

    /// Every text the journal names is there, and is that text.
    async fn contents(&mut self, store: &dyn RunStore) -> Result<(), StoreError> {
        // The changes of a run are a text that names further ones.
        if let Some(Payload::Stored { sha256, .. }) = self.changes()
            && let Ok(list) = store.blob(sha256).await
        {
            stored(&serde_json::from_slice(&list).unwrap_or_default(), &mut self.named);
        }
        self.found.contents = self.named.len();
        for (sha256, len) in std::mem::take(&mut self.named) {
            match store.blob(sha256).await {
                Ok(bytes) if bytes.len() as u64 != len => {
                    self.problem(format!(
                        "content {sha256} has {} bytes, the journal says {len}",
                        bytes.len()
                    ));
                }
                Ok(_) => {}
                Err(
                    bad @ (StoreError::NoBlob { .. } | StoreError::BadBlob { .. } | StoreError::Damaged(_)),
                ) => {
                    self.problem(bad.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Over for good.
fn is_final(run: &Run) -> bool {
    matches!(run.ending(), Some(Ending::Committed { .. } | Ending::Failed { .. }))
}

/// What may stand behind a final ending: that its output is handed on, that a person wants it
/// undone or applied, or may not.
fn is_afterwork(event: &Event) -> bool {
    matches!(
        event,
        Event::UndoStarted { .. }
            | Event::LandingStarted { .. }
            | Event::Promoted(Promoted::Begun { .. })
            | Event::SignalRefused { .. }
    )
}

fn kind(ending: &Ending) -> EndingKind {
    match ending {
        Ending::Committed { .. } => EndingKind::Committed,
        Ending::Failed { .. } => EndingKind::Failed,
        Ending::Halted { .. } => EndingKind::Halted,
    }
}

/// Collects every `{"stored": {"sha256", "len"}}` of an event.
fn stored(value: &Value, named: &mut BTreeSet<(Digest, u64)>) {
    match value {
        Value::Object(map) => {
            let payload = map.get("stored");
            let sha256 = payload.and_then(|payload| payload.get("sha256")?.as_str()).and_then(Digest::parse);
            let len = payload.and_then(|payload| payload.get("len")?.as_u64());
            if let (Some(sha256), Some(len)) = (sha256, len) {
                named.insert((sha256, len));
            }
            map.values().for_each(|value| stored(value, named));
        }
        Value::Array(items) => items.iter().for_each(|value| stored(value, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
