//! The one thread that writes, and the group commit it makes.
//!
//! It takes every job that waits, runs them in one transaction, commits it with
//! one sync and only then answers. A job that is refused has written nothing. A
//! commit that fails fails the whole group and poisons the store: after a failed
//! sync nobody knows what the disk holds, so nothing is acknowledged any more.
//! The same goes for a commit that takes longer than any healthy disk
//! ([`super::stall`]).
//!
//! Nothing is encoded or hashed here; jobs arrive ready to be written.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{Notify, mpsc, oneshot};

use super::heads::Heads;
use super::place::Place;
use super::schema::{self, Opened, PAGE_BYTES};
use super::stall::Stall;
use super::trouble;
use crate::{AppendError, StoreError};

/// Jobs that may wait; more callers wait to hand theirs in.
const QUEUE: usize = 1024;

/// Most jobs in one commit.
const GROUP_JOBS: usize = 1024;

/// Most bytes of content in one commit, give or take the last job.
const GROUP_BYTES: usize = 16 << 20;

/// Pages in the log after which they are moved into the database at the latest.
const LOG_PAGES: i32 = (8 << 20) / PAGE_BYTES;

/// Commits after which they are moved in any case. A log that is written over
/// again syncs faster than one that grows, and this many small commits fit into
/// the length a worker's log begins with.
const LOG_COMMITS: u32 = 64;

/// What the writer has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs that were committed or refused.
    pub jobs: u64,
    /// Commits, each with one sync.
    pub commits: u64,
    /// Times the log was moved into the database.
    pub checkpoints: u64,
}

#[derive(Default)]
struct Counters {
    jobs: AtomicU64,
    commits: AtomicU64,
    checkpoints: AtomicU64,
}

/// An error a job may end in.
pub(super) trait Failure: From<StoreError> + std::fmt::Display {
    /// Nobody knows what came of the job.
    fn unanswered(action: &'static str) -> Self;
    /// Whether there was no room on the disk.
    fn is_full(&self) -> bool;
}

impl Failure for StoreError {
    fn unanswered(action: &'static str) -> Self {
        Self::Database { action, message: "no answer from the writer".to_owned() }
    }

    fn is_full(&self) -> bool {
        matches!(self, Self::DiskFull)
    }
}

impl Failure for AppendError {
    fn unanswered(_action: &'static str) -> Self {
        Self::Unacknowledged
    }

    fn is_full(&self) -> bool {
        matches!(self, Self::Store(StoreError::DiskFull))
    }
}

/// Hands jobs to the thread; joins it when dropped.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    poison: Arc<OnceLock<String>>,
    stall: Arc<Stall>,
    counters: Arc<Counters>,
}

/// What a job works with.
pub(super) struct Book<'desk> {
    pub(super) conn: &'desk Connection,
    pub(super) heads: &'desk mut Heads,
    /// The version of the store.
    pub(super) version: u32,
}

impl Writer {
    pub(super) fn start(opened: Opened, changed: Arc<Notify>, place: Place) -> Result<Self, rusqlite::Error> {
        let Opened { mut conn, version } = opened;
        let (sender, jobs) = mpsc::channel(QUEUE);
        let poison = Arc::new(OnceLock::new());
        let counters = Arc::new(Counters::default());
        let log_pages = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&log_pages);
        // Also turns SQLite's own checkpoints off: they would swallow errors.
        conn.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let stall = Arc::new(Stall::watch(Arc::clone(&poison))?);
        let mut desk = Desk {
            conn,
            version,
            place,
            heads: Heads::default(),
            stall: Arc::clone(&stall),
            jobs,
            changed,
            poison: Arc::clone(&poison),
            counters: Arc::clone(&counters),
            log_pages,
            log_commits: 0,
            checkpoint_at: LOG_PAGES,
        };
        let thread = std::thread::Builder::new()
            .name("bowline-store".to_owned())
            .spawn(move || desk.work())
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(Self { jobs: Some(sender), thread: Some(thread), poison, stall, counters })
    }

    /// Runs `work` in the next commit; `Ok` means it is durable.
    pub(super) async fn write<T, E, F>(&self, action: &'static str, bytes: usize, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
        F: FnOnce(&mut Book<'_>) -> Result<T, E> + Send + 'static,
    {
        // Asked for before the poison is looked at, or it could be missed.
        let stalled = self.stall.stalled();
        if let Some(message) = self.poison.get() {
            return Err(StoreError::Poisoned { message: message.clone() }.into());
        }
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Errand { work: Some(work), bytes, outcome: None, reply });
        let hand_in = async {
            let jobs = self.jobs.as_ref().ok_or_else(|| E::unanswered(action))?;
            jobs.send(job).await.map_err(|_| E::unanswered(action))?;
            answer.await.map_err(|_| E::unanswered(action))?
        };
        tokio::select! {
            biased;
            answer = hand_in => answer,
            () = stalled => Err(E::unanswered(action)),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            jobs: self.counters.jobs.load(Ordering::Relaxed),
            commits: self.counters.commits.load(Ordering::Relaxed),
            checkpoints: self.counters.checkpoints.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread finishes what was handed in, then sees the closed queue.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

/// Something to be written, with somebody waiting for the answer.
trait Job: Send {
    fn bytes(&self) -> usize;
    /// Writes. The loss counts only if SQLite gave up the whole group with it.
    fn run(&mut self, book: &mut Book<'_>) -> Result<(), Loss>;
    /// Tells what came of it, or that the whole group was lost.
    fn answer(self: Box<Self>, loss: Option<&Loss>);
}

struct Errand<T, E, F> {
    work: Option<F>,
    bytes: usize,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Job for Errand<T, E, F>
where
    T: Send,
    E: Failure + Send,
    F: FnOnce(&mut Book<'_>) -> Result<T, E> + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, book: &mut Book<'_>) -> Result<(), Loss> {
        self.outcome = self.work.take().map(|work| work(book));
        match &self.outcome {
            Some(Err(error)) if error.is_full() => Err(Loss::Full),
            Some(Err(error)) => Err(Loss::Undone(error.to_string())),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    fn answer(self: Box<Self>, loss: Option<&Loss>) {
        let said = match (loss, self.outcome) {
            (None, Some(outcome)) => outcome,
            (Some(loss), _) => Err(loss.error().into()),
            (None, None) => Err(E::unanswered("write")),
        };
        // Whoever went away finds out by asking again with the same fence.
        let _ = self.reply.send(said);
    }
}

/// Why a whole group came to nothing.
enum Loss {
    /// It was rolled back cleanly; the store goes on.
    Full,
    Undone(String),
    Busy,
    Damaged(String),
    /// Another process brought the store to this version, of which we know nothing.
    OtherVersion {
        opened: u32,
        found: i64,
    },
    /// Nobody knows what the disk holds; the store stops.
    Poison(String),
}

impl Loss {
    fn error(&self) -> StoreError {
        match self {
            Self::Full => StoreError::DiskFull,
            Self::Undone(message) => StoreError::Database { action: "write", message: message.clone() },
            Self::Busy => StoreError::Busy { action: "write" },
            Self::Damaged(message) => StoreError::Malformed { action: "write", message: message.clone() },
            Self::OtherVersion { opened, found } => {
                StoreError::OtherVersion { opened: *opened, found: *found }
            }
            Self::Poison(message) => StoreError::Poisoned { message: message.clone() },
        }
    }

    fn undone(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ if super::is_damage(error) => Self::Damaged(error.to_string()),
            _ => Self::Undone(error.to_string()),
        }
    }
}

/// What the thread owns.
struct Desk {
    conn: Connection,
    version: u32,
    place: Place,
    heads: Heads,
    stall: Arc<Stall>,
    jobs: mpsc::Receiver<Box<dyn Job>>,
    changed: Arc<Notify>,
    poison: Arc<OnceLock<String>>,
    counters: Arc<Counters>,
    log_pages: Arc<AtomicI32>,
    log_commits: u32,
    checkpoint_at: i32,
}

impl Desk {
    fn work(&mut self) {
        while let Some(first) = self.jobs.blocking_recv() {
            if let Some(message) = self.poison.get() {
                first.answer(Some(&Loss::Poison(message.clone())));
                continue;
            }
            let mut group = Vec::new();
            self.stall.begin();
            let loss = self.commit(first, &mut group).err();
            self.stall.end();
            if loss.is_some() {
                // What was remembered of the group did not happen.
                self.heads.clear();
            }
            if let Some(Loss::Poison(message)) = &loss {
                self.stop(message);
            }
            self.counters.jobs.fetch_add(group.len() as u64, Ordering::Relaxed);
            for job in group {
                job.answer(loss.as_ref());
            }
            self.changed.notify_waiters();
            self.changed.notify_one();
            self.shorten_log();
        }
        if self.poison.get().is_some() {
            // It cannot fail for a connection that is open.
            let _ = schema::leave_the_log(&self.conn);
        }
    }

    /// Runs and commits `first` and everything that waits behind it. Whatever
    /// was taken from the queue is in `group` afterwards.
    fn commit(&mut self, first: Box<dyn Job>, group: &mut Vec<Box<dyn Job>>) -> Result<(), Loss> {
        if let Err(error) = self.say("BEGIN IMMEDIATE") {
            group.push(first);
            return Err(Loss::undone(&error));
        }
        if let Err(loss) = self.is_what_we_opened() {
            group.push(first);
            // Only to tidy up: nothing was written.
            let _ = self.say("ROLLBACK");
            return Err(loss);
        }
        let mut bytes = 0_usize;
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            bytes = bytes.saturating_add(job.bytes());
            let ran = self.run(&mut *job);
            group.push(job);
            ran?;
            if group.len() < GROUP_JOBS && bytes < GROUP_BYTES {
                next = self.jobs.try_recv().ok();
            }
        }
        if let Some(name) = self.place.moved() {
            // Only to tidy up: nothing is acknowledged any more.
            let _ = self.say("ROLLBACK");
            return Err(Loss::Poison(format!(
                "{name} was moved, replaced or removed while it was in use; put it back where it was"
            )));
        }
        if let Err(error) = self.say("COMMIT") {
            // No room is found out while writing, before any sync: once that is
            // rolled back, the disk holds what it held. Anything else leaves
            // nobody knowing; then the rollback only tidies up.
            let undone = self.conn.is_autocommit() || self.say("ROLLBACK").is_ok();
            let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
            return Err(if full && undone { Loss::Full } else { Loss::Poison(error.to_string()) });
        }
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.log_commits = self.log_commits.saturating_add(1);
        Ok(())
    }

    /// Whether the store still has the version it was opened with: asked in the transaction,
    /// so nobody can change it before the commit.
    fn is_what_we_opened(&self) -> Result<(), Loss> {
        let asked = self.conn.prepare_cached("PRAGMA user_version");
        match asked.and_then(|mut version| version.query_row([], |row| row.get::<_, i64>(0))) {
            Ok(found) if found == i64::from(self.version) => Ok(()),
            Ok(found) => Err(Loss::OtherVersion { opened: self.version, found }),
            Err(error) => Err(Loss::undone(&error)),
        }
    }

    /// One job. Jobs judge before they write, so one that is refused has written
    /// nothing and disturbs nobody. One that fails after it wrote can only mean
    /// trouble with the disk: the whole group is given up, and none of it was synced.
    fn run(&mut self, job: &mut dyn Job) -> Result<(), Loss> {
        let before = self.conn.total_changes();
        let mut book = Book { conn: &self.conn, heads: &mut self.heads, version: self.version };
        match job.run(&mut book) {
            Ok(()) => Ok(()),
            Err(loss) if self.conn.is_autocommit() => Err(loss),
            Err(_) if self.conn.total_changes() == before => Ok(()),
            Err(loss) => match self.say("ROLLBACK") {
                Ok(()) => Err(loss),
                Err(error) => Err(Loss::Poison(error.to_string())),
            },
        }
    }

    fn say(&self, sql: &'static str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    fn stop(&self, message: &str) {
        // Only the first reason is kept; there is one thread, so it is ours.
        let _ = self.poison.set(message.to_owned());
    }

    /// Moves the log into the database once it is long. Callers have their
    /// answers by now, so nobody waits for this but the next group.
    fn shorten_log(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < LOG_PAGES {
            self.checkpoint_at = LOG_PAGES;
        }
        let is_due = pages >= self.checkpoint_at || self.log_commits >= LOG_COMMITS;
        if !is_due || self.poison.get().is_some() {
            return;
        }
        self.log_commits = 0;
        match self.conn.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
            Ok(_) => {
                self.counters.checkpoints.fetch_add(1, Ordering::Relaxed);
            }
            // Everything is safe in the log: later will do.
            Err(error) if is_passing(&error) => {}
            Err(error) => self.stop(&trouble("move the log into the database")(error).to_string()),
        }
        // A reader may have kept part of it: try again after as much more.
        self.checkpoint_at = pages.saturating_add(LOG_PAGES);
    }
}

fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
    )
}
