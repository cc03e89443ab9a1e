//! Where runs live: the [`RunStore`] trait and its implementations.
//!
//! A store keeps, for each run, a journal of sealed records, one disposable
//! checkpoint, a mailbox of signals and a summary for listings; and, for all
//! runs together, content-addressed blobs. It decides nothing about runs: it
//! refuses writes of a worker that lost its claim, and otherwise keeps what it
//! is given.
//!
//! Invariants
//! - `Ok` from [`RunStore::append`], [`RunStore::submit`] and
//!   [`RunStore::signal`] means durable.
//! - Every append is predicated on the fence; a stale one writes nothing.
//! - After a failed sync the store is poisoned: nothing is acknowledged any more.

mod chain;
pub mod conformance;
mod error;
mod memory;
pub mod migrations;
mod sqlite;
mod types;

pub use error::{AppendError, OpenError, StoreError};
pub use memory::MemoryStore;
pub use sqlite::{Progress, Role, SqliteStore, Stats, Upgrade};
pub use types::{
    Append, Checkpoint, Claimed, EndingKind, Fence, Letter, ListFilter, Mail, Removal, RunRow, SignalId,
    Submitted, Summary, Tombstone,
};

use async_trait::async_trait;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;

/// A home for runs. Implementations: SQLite and memory.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// The version of its layout: how many of [`migrations::MIGRATIONS`] it has had.
    fn version(&self) -> u32;

    /// Creates a run whose journal begins with `submission`.
    ///
    /// The same key and fingerprint again give the existing run; the same key
    /// with another fingerprint is refused. `run` is the proposed id.
    async fn submit(&self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError>;

    /// Takes ownership of one run that is not owned by a live worker, raising
    /// its epoch. Ended runs can be claimed too (to reopen a halted one).
    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError>;

    /// Takes ownership of up to `max` unfinished runs that no live worker owns
    /// and that are not waiting for a person; those that wait are taken once they
    /// have mail, or once the time has come until which they wait.
    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// Makes a batch durable in one transaction and moves the fence.
    ///
    /// Repeating an append that already happened (same fence, same record) is
    /// `Ok` and writes nothing: a lost acknowledgement can be asked again.
    async fn append(&self, fence: &mut Fence, batch: Append) -> Result<(), AppendError>;

    /// Extends the lease.
    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError>;

    /// Gives the run up, so that another worker may claim it at once.
    async fn release(&self, fence: &Fence) -> Result<(), AppendError>;

    /// Leaves a message for a run: durable, from anyone. The same key again is
    /// the same message.
    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError>;

    /// Messages of a run that no event has consumed yet, oldest first.
    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError>;

    /// Runs that have unconsumed mail. Cheap: workers ask several times a second.
    async fn mailed(&self) -> Result<Vec<RunId>, StoreError>;

    /// The run's row.
    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError>;

    /// Runs, newest first. Never waits for writers.
    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError>;

    /// At most `max` records from the one that holds event `from_seq` on.
    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError>;

    /// Proves that a worker could go on with a run: its whole journal against the chain and
    /// whatever the store keeps beside it.
    async fn prove(&self, run: &RunId) -> Result<(), StoreError> {
        self.row(run).await.map(|_| ())
    }

    /// The cached state of a run, as it is kept. That it is what the journal folds to, nobody
    /// has looked.
    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError>;

    /// Throws the cached states of all runs away: they are folded from their journals again.
    async fn drop_checkpoints(&self) -> Result<(), StoreError>;

    /// Bytes by content hash; checked against it.
    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError>;

    /// Waits until something may have changed (an append, a signal, another
    /// process), or `timeout_ms` passed. A hint: spurious wake-ups are fine.
    async fn changed(&self, timeout_ms: u64);

    /// Removes a run that has ended, and the blobs only it named. What is left is a
    /// [`Tombstone`]. Returns the bytes of content freed.
    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError>;

    /// Sees to it that no byte of what was removed is left where the store lies. May take as long
    /// as writing the whole store anew; whoever works on runs waits.
    async fn scrub(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// What is left of runs that were removed, the latest first; of the filter, only beginning
    /// and number count.
    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError>;
}
