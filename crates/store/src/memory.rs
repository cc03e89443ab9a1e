//! Runs in memory: the model the other stores are checked against.
//!
//! A [`MemoryStore`] is a handle; clones share one state, so dropping workers
//! and keeping a handle is a crash that loses nothing acknowledged. Everything
//! is ordered, nothing depends on chance, no lock is held across an await.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::journal::Record;
use bowline_core::message::Blob;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;
use tokio::sync::Notify;

use crate::chain::{self, Counted, Place};
use crate::migrations::VERSION;
use crate::{
    Append, AppendError, Checkpoint, Claimed, Fence, Letter, ListFilter, Mail, Removal, RunRow, RunStore,
    SignalId, StoreError, Submitted, Summary, Tombstone,
};

/// A store that lives as long as its last handle.
#[derive(Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits, and the next one who is about to.
    fn announce(&self) {
        self.changed.notify_waiters();
        self.changed.notify_one();
    }
}

#[derive(Default)]
struct State {
    runs: BTreeMap<RunId, Run>,
    keys: BTreeMap<String, RunId>,
    blobs: BTreeMap<Digest, Kept>,
    tombstones: Vec<Tombstone>,
    submitted: u64,
    letters: u64,
}

struct Run {
    /// Counts submissions, for listings.
    number: u64,
    row: RunRow,
    class: Option<String>,
    fingerprint: Digest,
    records: Vec<Entry>,
    checkpoint: Option<Checkpoint>,
    mailbox: Vec<Post>,
}

struct Entry {
    counted: Counted,
    blobs: BTreeSet<Digest>,
}

struct Kept {
    bytes: Vec<u8>,
    /// How many records brought it.
    named: u64,
}

struct Post {
    key: String,
    mail: Mail,
    consumed: bool,
}

impl Run {
    fn is_live(&self, at: Millis) -> bool {
        self.row.worker.is_some() && self.row.lease_until > at
    }

    fn has_mail(&self) -> bool {
        self.mailbox.iter().any(|post| !post.consumed)
    }

    fn claim(&mut self, worker: &WorkerId, until: Millis) -> Result<Claimed, StoreError> {
        let end = Place { next_seq: self.row.next_seq, head: self.row.head };
        let from = self
            .checkpoint
            .as_ref()
            .map_or(Place::START, |kept| Place { next_seq: kept.seq.saturating_add(1), head: kept.head });
        let after = self.records.iter().map(|entry| &entry.counted);
        let tail: Vec<Counted> =
            after.filter(|counted| counted.record.seq >= from.next_seq).cloned().collect();
        chain::verify(&self.row.run, from, &tail, end)?;
        self.row.epoch = self.row.epoch.saturating_add(1);
        self.row.worker = Some(worker.clone());
        self.row.lease_until = until;
        Ok(Claimed {
            fence: Fence {
                run: self.row.run.clone(),
                epoch: self.row.epoch,
                next_seq: end.next_seq,
                head: end.head,
            },
            checkpoint: self.checkpoint.clone(),
            tail: tail.into_iter().map(|counted| counted.record).collect(),
        })
    }

    fn owned_by(&mut self, fence: &Fence) -> Result<&mut Self, AppendError> {
        if self.row.epoch == fence.epoch && self.row.worker.is_some() {
            Ok(self)
        } else {
            Err(AppendError::Fenced { run: fence.run.clone(), ours: fence.epoch })
        }
    }

    fn happened(&self, record: &Record) -> bool {
        self.records.iter().any(|entry| entry.counted.record == *record)
    }
}

impl State {
    fn run(&self, run: &RunId) -> Result<&Run, StoreError> {
        self.runs.get(run).ok_or_else(|| StoreError::NoRun { run: run.clone() })
    }

    fn run_mut(&mut self, run: &RunId) -> Result<&mut Run, StoreError> {
        self.runs.get_mut(run).ok_or_else(|| StoreError::NoRun { run: run.clone() })
    }

    fn submit(&mut self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError> {
        if let Some(key) = &submission.key
            && let Some(existing) = self.keys.get(key)
        {
            return if self.run(existing)?.fingerprint == submission.fingerprint {
                Ok(Submitted::Existing(existing.clone()))
            } else {
                Err(StoreError::KeyTaken { key: key.clone(), run: existing.clone() })
            };
        }
        if self.runs.contains_key(run) {
            return Err(StoreError::IdTaken { run: run.clone() });
        }
        if let Some(key) = &submission.key {
            self.keys.insert(key.clone(), run.clone());
        }
        self.submitted = self.submitted.saturating_add(1);
        self.runs.insert(run.clone(), first(self.submitted, run, submission, at));
        Ok(Submitted::New(run.clone()))
    }

    fn append(&mut self, fence: &Fence, record: Record, batch: Append) -> Result<(), AppendError> {
        let run = self.run_mut(&fence.run)?.owned_by(fence)?;
        if (run.row.next_seq, run.row.head) != (fence.next_seq, fence.head) {
            return if run.happened(&record) {
                Ok(())
            } else {
                Err(AppendError::Conflict { run: fence.run.clone(), seq: fence.next_seq })
            };
        }
        let counted = Counted { record, count: batch.events.len() as u64 };
        let (last, head) = (counted.next_seq().saturating_sub(1), counted.record.hash);
        run.row.updated_at = batch.at;
        run.row.next_seq = counted.next_seq();
        run.row.head = head;
        run.row.summary = batch.summary;
        if let Some((version, state)) = batch.checkpoint {
            run.checkpoint = Some(Checkpoint { seq: last, head, version, state });
        }
        for post in run.mailbox.iter_mut().filter(|post| batch.consumed.contains(&post.mail.id)) {
            post.consumed = true;
        }
        let blobs: BTreeMap<Digest, Blob> = batch.blobs.into_iter().map(|blob| (blob.sha256, blob)).collect();
        run.records.push(Entry { counted, blobs: blobs.keys().copied().collect() });
        for (sha256, blob) in blobs {
            let kept = self.blobs.entry(sha256).or_insert(Kept { bytes: blob.bytes, named: 0 });
            kept.named = kept.named.saturating_add(1);
        }
        Ok(())
    }

    fn ready(&self, max: usize, at: Millis) -> Vec<RunId> {
        let mut ready: Vec<&Run> = self
            .runs
            .values()
            .filter(|run| !run.row.summary.is_over() && !run.is_live(at))
            .filter(|run| run.row.summary.can_go_on(at) || run.has_mail())
            .collect();
        ready.sort_by_key(|run| run.number);
        ready.into_iter().take(max).map(|run| run.row.run.clone()).collect()
    }

    fn remove(&mut self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        if !self.run(run)?.row.summary.is_over() {
            return Err(StoreError::NotEnded { run: run.clone() });
        }
        let Some(gone) = self.runs.remove(run) else { return Ok(0) };
        if let Some(key) = gone.row.key {
            self.keys.remove(&key);
        }
        let (head, events) = (gone.row.head, gone.row.next_seq.saturating_sub(1));
        let Removal { by, at } = removal;
        self.tombstones.push(Tombstone { run: run.clone(), head, events, at, by });
        let mut freed = 0_u64;
        for sha256 in gone.records.iter().flat_map(|entry| &entry.blobs) {
            let Some(kept) = self.blobs.get_mut(sha256) else { continue };
            kept.named = kept.named.saturating_sub(1);
            if kept.named == 0 {
                freed = freed.saturating_add(kept.bytes.len() as u64);
                self.blobs.remove(sha256);
            }
        }
        Ok(freed)
    }
}

fn first(number: u64, run: &RunId, submission: Submission, at: Millis) -> Run {
    let fingerprint = submission.fingerprint;
    let key = submission.key.clone();
    let class = submission.task.class.clone();
    let summary = Summary::submitted(&submission);
    let events = [Event::Submitted(Box::new(submission))];
    let record = Record::seal(Digest::ZERO, run, 1, at, &events);
    let row = RunRow {
        run: run.clone(),
        key,
        created_at: at,
        updated_at: at,
        epoch: 0,
        worker: None,
        lease_until: Millis(0),
        next_seq: 2,
        head: record.hash,
        summary,
    };
    let entry = Entry { counted: Counted { record, count: 1 }, blobs: BTreeSet::new() };
    Run { number, row, class, fingerprint, records: vec![entry], checkpoint: None, mailbox: Vec::new() }
}

#[async_trait]
impl RunStore for MemoryStore {
    fn version(&self) -> u32 {
        VERSION
    }

    async fn submit(&self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError> {
        let submitted = self.state().submit(run, submission, at)?;
        self.announce();
        Ok(submitted)
    }

    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError> {
        let mut state = self.state();
        let found = state.run_mut(run)?;
        if let Some(owner) = found.row.worker.as_ref().filter(|owner| *owner != worker)
            && found.is_live(at)
        {
            return Err(StoreError::Owned { run: run.clone(), worker: owner.clone() });
        }
        found.claim(worker, at.plus(lease_ms))
    }

    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        let mut state = self.state();
        let ready = state.ready(max, at);
        ready.iter().map(|run| state.run_mut(run)?.claim(worker, at.plus(lease_ms))).collect()
    }

    async fn append(&self, fence: &mut Fence, batch: Append) -> Result<(), AppendError> {
        let record = batch.seal(fence)?;
        let count = batch.events.len() as u64;
        let head = record.hash;
        self.state().append(fence, record, batch)?;
        fence.advance(count, head);
        self.announce();
        Ok(())
    }

    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError> {
        let mut state = self.state();
        state.run_mut(&fence.run)?.owned_by(fence)?.row.lease_until = at.plus(lease_ms);
        Ok(())
    }

    async fn release(&self, fence: &Fence) -> Result<(), AppendError> {
        {
            let mut state = self.state();
            let run = state.run_mut(&fence.run)?;
            if run.row.epoch != fence.epoch {
                return Err(AppendError::Fenced { run: fence.run.clone(), ours: fence.epoch });
            }
            run.row.worker = None;
            run.row.lease_until = Millis(0);
        }
        self.announce();
        Ok(())
    }

    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError> {
        let id = {
            let mut state = self.state();
            let next = SignalId(state.letters.saturating_add(1));
            let found = state.run_mut(run)?;
            if let Some(post) = found.mailbox.iter().find(|post| post.key == letter.key) {
                return Ok(post.mail.id);
            }
            let mail = Mail { id: next, by: letter.by, signal: letter.signal, at: letter.at };
            found.mailbox.push(Post { key: letter.key, mail, consumed: false });
            state.letters = next.0;
            next
        };
        self.announce();
        Ok(id)
    }

    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError> {
        let state = self.state();
        let posts = state.run(run)?.mailbox.iter();
        Ok(posts.filter(|post| !post.consumed).map(|post| post.mail.clone()).collect())
    }

    async fn mailed(&self) -> Result<Vec<RunId>, StoreError> {
        let state = self.state();
        let mut mailed: Vec<&Run> = state.runs.values().filter(|run| run.has_mail()).collect();
        mailed.sort_by_key(|run| run.number);
        Ok(mailed.into_iter().map(|run| run.row.run.clone()).collect())
    }

    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError> {
        Ok(self.state().run(run)?.row.clone())
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError> {
        let state = self.state();
        let mut found: Vec<&Run> = state
            .runs
            .values()
            .filter(|run| run.row.run.as_str().starts_with(&filter.prefix))
            .filter(|run| !filter.open_only || !run.row.summary.is_over())
            .filter(|run| filter.class.is_none() || run.class == filter.class)
            .collect();
        found.sort_by_key(|run| std::cmp::Reverse(run.number));
        Ok(found.into_iter().take(filter.max).map(|run| run.row.clone()).collect())
    }

    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError> {
        let state = self.state();
        let entries = state.run(run)?.records.iter().map(|entry| &entry.counted);
        let wanted = entries.filter(|counted| counted.next_seq() > from_seq).take(max);
        Ok(wanted.map(|counted| counted.record.clone()).collect())
    }

    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        Ok(self.state().run(run)?.checkpoint.clone())
    }

    async fn drop_checkpoints(&self) -> Result<(), StoreError> {
        self.state().runs.values_mut().for_each(|run| run.checkpoint = None);
        Ok(())
    }

    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        let state = self.state();
        let kept = state.blobs.get(&sha256).ok_or(StoreError::NoBlob { sha256 })?;
        Ok(kept.bytes.clone())
    }

    async fn changed(&self, timeout_ms: u64) {
        // A hint: running out of time is as good an answer as a change.
        let _ = tokio::time::timeout(Duration::from_millis(timeout_ms), self.changed.notified()).await;
    }

    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        let freed = self.state().remove(run, removal)?;
        self.announce();
        Ok(freed)
    }

    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError> {
        let state = self.state();
        let found =
            state.tombstones.iter().rev().filter(|left| left.run.as_str().starts_with(&filter.prefix));
        Ok(found.take(filter.max).cloned().collect())
    }
}
