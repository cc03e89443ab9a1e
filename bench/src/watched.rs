//! A store that notes when a resuming engine comes and goes: the only way to see
//! the parts of a resume without changing what is measured.

use std::sync::OnceLock;
use std::time::Instant;

use async_trait::async_trait;
use bowline::core::id::{Millis, RunId, WorkerId};
use bowline::core::journal::Record;
use bowline::core::provenance::Digest;
use bowline::core::task::Submission;
use bowline::store::{
    Append, AppendError, Checkpoint, Claimed, Fence, Letter, ListFilter, Mail, Removal, RunRow, RunStore,
    SignalId, SqliteStore, StoreError, Submitted, Tombstone,
};

use crate::stopwatch;

/// A store, and the first time of each thing.
pub(crate) struct Watched {
    store: SqliteStore,
    /// The claim came back, verified.
    pub(crate) claimed: OnceLock<Instant>,
    /// The first append was asked for: the state is folded.
    pub(crate) folded: OnceLock<Instant>,
    /// The first append was acknowledged: effects may start.
    pub(crate) appended: OnceLock<Instant>,
}

impl Watched {
    /// Watches this store.
    pub(crate) fn new(store: SqliteStore) -> Self {
        Self { store, claimed: OnceLock::new(), folded: OnceLock::new(), appended: OnceLock::new() }
    }
}

fn note(moment: &OnceLock<Instant>) {
    moment.get_or_init(stopwatch::now);
}

#[async_trait]
impl RunStore for Watched {
    fn version(&self) -> u32 {
        self.store.version()
    }

    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError> {
        let claimed = self.store.claim(run, worker, lease_ms, at).await;
        note(&self.claimed);
        claimed
    }

    async fn append(&self, fence: &mut Fence, batch: Append) -> Result<(), AppendError> {
        note(&self.folded);
        let appended = self.store.append(fence, batch).await;
        note(&self.appended);
        appended
    }

    async fn submit(&self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError> {
        self.store.submit(run, submission, at).await
    }

    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.store.claim_ready(worker, max, lease_ms, at).await
    }

    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError> {
        self.store.renew(fence, lease_ms, at).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), AppendError> {
        self.store.release(fence).await
    }

    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError> {
        self.store.signal(run, letter).await
    }

    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError> {
        self.store.mail(run).await
    }

    async fn mailed(&self) -> Result<Vec<RunId>, StoreError> {
        self.store.mailed().await
    }

    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.store.row(run).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError> {
        self.store.list(filter).await
    }

    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError> {
        self.store.records(run, from_seq, max).await
    }

    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        self.store.checkpoint(run).await
    }

    async fn drop_checkpoints(&self) -> Result<(), StoreError> {
        self.store.drop_checkpoints().await
    }

    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        self.store.blob(sha256).await
    }

    async fn changed(&self, timeout_ms: u64) {
        self.store.changed(timeout_ms).await;
    }

    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        self.store.remove(run, removal).await
    }

    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError> {
        self.store.tombstones(filter).await
    }
}
