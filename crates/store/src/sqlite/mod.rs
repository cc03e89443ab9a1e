//! Runs in one SQLite database: the store of a single machine.
//!
//! Writes go through one thread that commits whatever waits together
//! ([`writer`]); reads have connections of their own ([`reader`]). Records are
//! sealed and content is hashed in the caller's task. One process at a time may
//! work on runs ([`lock`]); any other may read, submit, signal and remove.
//!
//! Invariants
//! - Journals are verified before a run is claimed: a damaged run is never taken.
//! - No clock is read: every moment comes from the caller.

mod copy;
mod heads;
mod layout;
mod lock;
mod migrate;
mod place;
mod reader;
mod reads;
mod rows;
mod schema;
mod scrub;
mod stall;
#[cfg(test)]
mod tests;
mod watch;
mod writer;
mod writes;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;
use rusqlite::ErrorCode;
use tokio::sync::Notify;

use self::lock::WorkerLock;
pub use self::migrate::{Progress, Upgrade};
use self::place::Place;
use self::reader::Readers;
use self::reads::Loaded;
use self::watch::Watch;
pub use self::writer::Stats;
use self::writer::Writer;
use self::writes::{Claim, ClaimOutcome, Claimant, NewRun, Posted, Sealed, SealedState};
use crate::migrations::VERSION;
use crate::{
    Append, AppendError, Checkpoint, Claimed, Fence, Letter, ListFilter, Mail, OpenError, Removal, RunRow,
    RunStore, SignalId, StoreError, Submitted, Summary, Tombstone,
};

/// Name of the database in a store's directory.
const DATABASE: &str = "store.db";

/// How often a claim starts over because the run changed under it.
const CLAIM_ATTEMPTS: usize = 8;

/// What a process means to do with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Work on runs. Only one at a time; it takes over what a dead one left.
    Worker,
    /// Read, submit, signal and remove, beside a worker.
    Observer,
}

/// A store in a directory.
///
/// Dropping it finishes what was handed in, closes the database and gives up
/// the right to work.
pub struct SqliteStore {
    role: Role,
    version: u32,
    path: PathBuf,
    // Dropped in this order: the writer closes the database, and the lock goes last, when
    // nothing is written any more.
    readers: Readers,
    watch: Watch,
    writer: Writer,
    _lock: Option<WorkerLock>,
}

impl SqliteStore {
    /// Opens the store in `dir`, making both if they do not exist.
    ///
    /// A worker gives up every claim of workers before it: they are dead, or
    /// they would hold the lock. It brings a store of an earlier version to today's, with a copy
    /// of it before; an observer reads it as it is.
    pub fn open(dir: impl AsRef<Path>, role: Role) -> Result<Self, OpenError> {
        Self::open_with(dir, role, Upgrade { copy: true, tell: &mut |_| () })
    }

    /// The same, saying how a store of an earlier version is brought to today's.
    pub fn open_with(dir: impl AsRef<Path>, role: Role, mut upgrade: Upgrade<'_>) -> Result<Self, OpenError> {
        let dir = dir.as_ref();
        make_dir(dir)?;
        let lock = match role {
            Role::Worker => Some(WorkerLock::take(dir)?),
            Role::Observer => None,
        };
        let path = dir.join(DATABASE);
        place::not_emptied(&path)?;
        make_database(&path)?;
        let mut opened = schema::open_writer(&path)?;
        let said = |error: rusqlite::Error| schema::trouble(&path, error);
        if role == Role::Worker {
            if opened.version < VERSION {
                migrate::bring_up(&opened.conn, &path, opened.version, &mut upgrade)?;
                opened.version = VERSION;
            }
            writes::release_all(&opened.conn).map_err(said)?;
            schema::lengthen_log(&opened.conn).map_err(said)?;
        }
        let version = opened.version;
        let changed = Arc::new(Notify::new());
        let readers = Readers::open(&path, version)?;
        let watch = Watch::new(schema::open_reader(&path, version)?, Arc::clone(&changed));
        let writer = Writer::start(opened, changed, Place::of(&path)).map_err(said)?;
        Ok(Self { role, version, path, readers, watch, writer, _lock: lock })
    }

    /// Who works on the runs in `dir`, if anybody does. Changes nothing.
    pub fn worker(dir: impl AsRef<Path>) -> Result<Option<String>, OpenError> {
        match WorkerLock::take(dir.as_ref()) {
            Ok(_) => Ok(None),
            Err(OpenError::InUse { holder, .. }) => Ok(Some(holder)),
            Err(error) => Err(error),
        }
    }

    /// Copies the store in `dir`, as it is at one moment, to the file `to`, where nothing may be.
    /// Others read and write meanwhile. `tell` hears how many bytes of how many are done.
    pub fn copy(
        dir: impl AsRef<Path>,
        to: impl AsRef<Path>,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<(), OpenError> {
        copy::copy(&dir.as_ref().join(DATABASE), to.as_ref(), tell)
    }

    /// The copies that migrations left in `dir`, whole or not.
    #[must_use]
    pub fn copies(dir: impl AsRef<Path>) -> Vec<PathBuf> {
        migrate::copies(&dir.as_ref().join(DATABASE))
    }

    /// What the writer has done since the store was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.writer.stats()
    }

    fn may_work(&self) -> Result<(), StoreError> {
        match self.role {
            Role::Worker => Ok(()),
            Role::Observer => Err(StoreError::Observer),
        }
    }
}

#[async_trait]
impl RunStore for SqliteStore {
    fn version(&self) -> u32 {
        self.version
    }

    async fn submit(&self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError> {
        let request = submission.key.clone();
        let fingerprint = submission.fingerprint;
        let summary = rows::json(&Summary::submitted(&submission), "submit")?;
        let class = submission.task.class.clone();
        let events = [Event::Submitted(Box::new(submission))];
        let record = Record::seal(Digest::ZERO, run, 1, at, &events);
        let new = NewRun { record, request, fingerprint, summary, class };
        let bytes = new.record.body.len();
        self.writer.write("submit", bytes, move |book| writes::submit(book, &new)).await
    }

    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError> {
        self.may_work()?;
        let by = Claimant { worker: worker.clone(), at, lease_ms };
        for _ in 0..CLAIM_ATTEMPTS {
            let wanted = run.clone();
            let loaded = self.readers.read("claim", move |conn| reads::load(conn, &wanted)).await?;
            let (wish, by) = (wish(&loaded), by.clone());
            let outcome: ClaimOutcome =
                self.writer.write("claim", 0, move |book| writes::claim(book, &wish, &by, false)).await?;
            match outcome {
                ClaimOutcome::Ours(epoch) => return Ok(claimed(loaded, epoch)),
                ClaimOutcome::Owned(worker) => return Err(StoreError::Owned { run: run.clone(), worker }),
                ClaimOutcome::Moved => {}
            }
        }
        Err(StoreError::Database { action: "claim", message: format!("run {run} keeps changing") })
    }

    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.may_work()?;
        let by = Claimant { worker: worker.clone(), at, lease_ms };
        let mut ours = Vec::new();
        let mut after = i64::MIN;
        while ours.len() < max {
            let missing = max - ours.len();
            let found = self.readers.read("claim", move |conn| load_ready(conn, after, missing, at)).await?;
            let Some(last) = found.last else { break };
            after = last;
            let wishes: Vec<Claim> = found.loaded.iter().map(wish).collect();
            let by = by.clone();
            let outcomes: Vec<ClaimOutcome> = self
                .writer
                .write("claim", 0, move |book| {
                    wishes
                        .iter()
                        .map(|wish| writes::claim(book, wish, &by, true))
                        .collect::<Result<_, StoreError>>()
                })
                .await?;
            for (loaded, outcome) in found.loaded.into_iter().zip(outcomes) {
                match outcome {
                    ClaimOutcome::Ours(epoch) => ours.push(claimed(loaded, epoch)),
                    // Somebody was faster; it is not ready any more.
                    ClaimOutcome::Moved | ClaimOutcome::Owned(_) => {}
                }
            }
        }
        Ok(ours)
    }

    async fn append(&self, fence: &mut Fence, batch: Append) -> Result<(), AppendError> {
        self.may_work()?;
        let record = batch.seal(fence)?;
        let (count, head) = (batch.events.len() as u64, record.hash);
        let sealed = Sealed {
            fence: fence.clone(),
            record,
            count,
            row: rows::json(&batch.summary, "append")?,
            summary: batch.summary,
            checkpoint: batch.checkpoint.map(|(version, state)| {
                let hash = Digest::of(&state);
                SealedState { version, state, hash }
            }),
            blobs: batch.blobs,
            consumed: batch.consumed,
        };
        let content: usize = sealed.blobs.iter().map(|blob| blob.bytes.len()).sum();
        let bytes = content.saturating_add(sealed.record.body.len());
        self.writer
            .write::<(), AppendError, _>("append", bytes, move |book| writes::append(book, &sealed))
            .await?;
        fence.advance(count, head);
        Ok(())
    }

    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError> {
        self.may_work()?;
        let (fence, until) = (fence.clone(), at.plus(lease_ms));
        self.writer.write("renew", 0, move |book| writes::renew(book, &fence, until)).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), AppendError> {
        self.may_work()?;
        let fence = fence.clone();
        self.writer.write("release", 0, move |book| writes::release(book, &fence)).await
    }

    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError> {
        let signal = rows::json(&letter.signal, "signal")?;
        let posted = Posted { key: letter.key, sender: letter.by, signal, at: letter.at };
        let run = run.clone();
        let bytes = posted.signal.len();
        self.writer.write("signal", bytes, move |book| writes::signal(book.conn, &run, &posted)).await
    }

    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError> {
        let run = run.clone();
        self.readers.read("read mail", move |conn| reads::mail(conn, &run)).await
    }

    async fn mailed(&self) -> Result<Vec<RunId>, StoreError> {
        self.readers.read("read mail", reads::mailed).await
    }

    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError> {
        let run = run.clone();
        self.readers.read("read a run", move |conn| Ok(reads::row(conn, &run)?.row)).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError> {
        self.readers.read("list runs", move |conn| reads::list(conn, &filter)).await
    }

    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError> {
        let run = run.clone();
        self.readers.read("read a journal", move |conn| reads::records(conn, &run, from_seq, max)).await
    }

    async fn prove(&self, run: &RunId) -> Result<(), StoreError> {
        let run = run.clone();
        self.readers.read("read a journal", move |conn| reads::prove(conn, &run)).await
    }

    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        let run = run.clone();
        self.readers.read("read a checkpoint", move |conn| reads::kept(conn, &run)).await
    }

    async fn drop_checkpoints(&self) -> Result<(), StoreError> {
        self.writer.write("drop checkpoints", 0, |book| writes::drop_checkpoints(book.conn)).await
    }

    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        self.readers.read("read content", move |conn| reads::blob(conn, sha256)).await
    }

    async fn changed(&self, timeout_ms: u64) {
        self.watch.changed(timeout_ms).await;
    }

    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        let run = run.clone();
        self.writer.write("remove", 0, move |book| writes::remove(book, &run, &removal)).await
    }

    async fn scrub(&self) -> Result<(), StoreError> {
        self.may_work()?;
        scrub::scrub(self.path.clone()).await
    }

    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError> {
        self.readers.read("list deleted runs", move |conn| reads::tombstones(conn, &filter)).await
    }
}

/// Runs that may be claimed, and the last key that was looked at.
struct Found {
    loaded: Vec<Loaded>,
    last: Option<i64>,
}

/// A damaged run is passed over: it stays as it is for [`RunStore::claim`] to
/// report, and does not keep the others from being worked on.
fn load_ready(conn: &rusqlite::Connection, after: i64, max: usize, at: Millis) -> Result<Found, StoreError> {
    let ready = reads::ready(conn, after, max, at)?;
    let last = ready.last().map(|(key, _)| *key);
    let mut loaded = Vec::with_capacity(ready.len());
    for (_, run) in &ready {
        match reads::load(conn, run) {
            Ok(found) => loaded.push(found),
            Err(StoreError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Found { loaded, last })
}

fn wish(loaded: &Loaded) -> Claim {
    let row = &loaded.found.row;
    Claim { run: row.run.clone(), key: loaded.found.key, epoch: row.epoch, end: loaded.found.end() }
}

fn claimed(loaded: Loaded, epoch: u64) -> Claimed {
    let row = loaded.found.row;
    Claimed {
        fence: Fence { run: row.run, epoch, next_seq: row.next_seq, head: row.head },
        checkpoint: loaded.checkpoint,
        tail: loaded.tail,
    }
}

/// Makes the directory and, so that it survives a power cut, syncs its parent.
fn make_dir(dir: &Path) -> Result<(), OpenError> {
    let io = |path: &Path| {
        let path: PathBuf = path.to_owned();
        move |source| OpenError::Io { path, source }
    };
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir).map_err(io(dir))?;
    #[cfg(unix)]
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::File::open(parent).and_then(|parent| parent.sync_all()).map_err(io(parent))?;
    }
    Ok(())
}

/// Makes the database before SQLite does it with the modes of the moment; its log takes these over.
fn make_database(path: &Path) -> Result<(), OpenError> {
    match private(OpenOptions::new().write(true)).create_new(true).open(path) {
        Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(OpenError::Io { path: path.to_owned(), source })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Opens a file, making it for this user alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.create(true).truncate(false)
}

/// What SQLite said while we tried to do something.
fn trouble(action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { action },
        _ if is_damage(&error) => StoreError::Malformed { action, message: error.to_string() },
        _ => StoreError::Database { action, message: error.to_string() },
    }
}

/// Whether the file, or a value in it, is not what a store writes.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    let corrupt = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase, ErrorCode::TypeMismatch];
    let by_code = error.sqlite_error_code().is_some_and(|code| corrupt.contains(&code));
    let by_value = matches!(
        error,
        Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    );
    by_code || by_value
}
