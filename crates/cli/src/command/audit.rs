//! Examining one run's journal: every problem, not only the first.
//!
//! Works on a damaged journal as on a whole one and changes neither.

use std::collections::BTreeSet;

use bowline_core::event::{Ending, Event};
use bowline_core::id::Millis;
use bowline_core::journal::Record;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_core::view::Provenance;
use bowline_store::{EndingKind, RunRow, RunStore, StoreError};
use serde_json::Value;

use crate::report;

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
    /// Every record's hash, with the number of its last event and whether the
    /// run was over for good by then.
    pub(crate) hashes: Vec<(Digest, u64, bool)>,
}

/// Examines a run.
pub(crate) async fn examine(store: &dyn RunStore, row: &RunRow) -> Result<Findings, StoreError> {
    let mut walk = Walk::new(row);
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
        next = walk.next_seq.max(walk.last_seq + 1);
    }
    walk.end();
    walk.contents(store).await?;
    walk.provenance(store).await;
    Ok(walk.found)
}

/// The state of an examination.
struct Walk<'a> {
    row: &'a RunRow,
    found: Findings,
    next_seq: u64,
    last_seq: u64,
    run: Option<Run>,
    /// What the record of provenance should say after each record.
    facts: Provenance,
    facts_by_head: Vec<(Digest, String)>,
    named: BTreeSet<(Digest, u64)>,
    committed: Option<(Payload, Vec<Digest>)>,
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
            facts_by_head: Vec::new(),
            named: BTreeSet::new(),
            committed: None,
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
        let is_final = matches!(
            self.run.as_ref().and_then(Run::ending),
            Some(Ending::Committed { .. } | Ending::Failed { .. })
        );
        self.found.hashes.push((record.hash, self.next_seq - 1, is_final));
        self.remember(record.hash);
    }

    fn event(&mut self, event: &Event, at: Millis) {
        self.facts.note(event, at);
        match &mut self.run {
            Some(run) if matches!(run.ending(), Some(Ending::Committed { .. } | Ending::Failed { .. })) => {
                self.problem("the journal goes on after a final ending".into());
            }
            Some(run) => run.apply(event, at),
            None => {
                self.run = Run::begin(&self.row.run, event, at);
                if self.run.is_none() {
                    self.problem("the journal does not begin with a submission".into());
                }
            }
        }
        if let Event::Ended { ending: Ending::Committed { output, provenance }, .. } = event {
            self.committed = Some((provenance.clone(), output.iter().map(Payload::digest).collect()));
        }
    }

    /// Keeps what a record of provenance made now would say.
    fn remember(&mut self, head: Digest) {
        let Some(run) = &self.run else { return };
        // Only a run about to commit has one; the others need no copy.
        if run.output.is_none() {
            return;
        }
        let mut facts = self.facts.clone();
        facts.head = head;
        facts.spend = run.spend;
        facts.output = run.output.iter().flatten().map(Payload::digest).collect();
        self.facts_by_head.push((head, comparable(&facts)));
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

    /// The provenance of a committed run says what the journal says.
    async fn provenance(&mut self, store: &dyn RunStore) {
        let Some((payload, output)) = self.committed.take() else { return };
        // What is missing or damaged is reported with the other contents.
        let Ok(text) = report::text(store, std::slice::from_ref(&payload)).await else { return };
        let Ok(record) = serde_json::from_str::<Provenance>(&text) else {
            return self.problem(format!("the provenance record {} is not understood", payload.digest()));
        };
        if record.output != output {
            self.problem("the provenance record is about another output".into());
        }
        let fresh = self.facts_by_head.iter().find(|(head, _)| *head == record.head);
        match fresh {
            None => self.problem("the provenance record names a head that the journal does not have".into()),
            Some((_, facts)) if *facts != comparable(&record) => {
                self.problem("the provenance record says something else than the journal".into());
            }
            Some(_) => {}
        }
    }
}

/// A record of provenance without the moment it was made.
fn comparable(record: &Provenance) -> String {
    let timeless = Provenance { made_at: Millis(0), ..record.clone() };
    serde_json::to_string(&timeless).unwrap_or_default()
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
