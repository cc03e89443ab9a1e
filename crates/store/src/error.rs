//! What can go wrong with a store, and what to do then.

use std::path::PathBuf;

use bowline_core::id::{RunId, WorkerId};
use bowline_core::journal::BadRecord;
use bowline_core::provenance::Digest;

/// A store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process works on runs here.
    #[error("{path} is in use by another worker ({holder})")]
    InUse {
        /// The lock file.
        path: PathBuf,
        /// What the lock file says of its holder.
        holder: String,
    },
    /// Of a version that this build does not know.
    #[error("{path} is a store of version {found}; this build knows versions 1 to {newest}")]
    Version {
        /// The database.
        path: PathBuf,
        /// What it says.
        found: i64,
        /// The newest we know.
        newest: u32,
    },
    /// No room for a migration or the copy before it.
    #[error("{path} does not fit on the disk{}", room(*.needed))]
    NoRoom {
        /// What was written.
        path: PathBuf,
        /// How many bytes it takes, as far as that is known; else 0.
        needed: u64,
    },
    /// Something else is there.
    #[error("{path} is not a Bowline store")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// It says that it is ours, and has other tables than a store, or things that run.
    #[error("{path} is not laid out like a Bowline store: {what}")]
    Layout {
        /// The database.
        path: PathBuf,
        /// What is too much, missing or different.
        what: String,
    },
    /// It is damaged.
    #[error("{path} is damaged: {message}")]
    Malformed {
        /// The database.
        path: PathBuf,
        /// What was seen.
        message: String,
    },
    /// Another process keeps it to itself.
    #[error("{path} is locked by another process")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The operating system says no.
    #[error("cannot open {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// SQLite says no.
    #[error("cannot open {path}: {message}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What it said.
        message: String,
    },
}

/// A store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such run.
    #[error("there is no run {run}")]
    NoRun {
        /// Which.
        run: RunId,
    },
    /// The key belongs to another request.
    #[error("key {key:?} was used for another request, run {run}")]
    KeyTaken {
        /// The key.
        key: String,
        /// The run it made.
        run: RunId,
    },
    /// The proposed id exists.
    #[error("run {run} exists already")]
    IdTaken {
        /// Which.
        run: RunId,
    },
    /// A live worker owns the run.
    #[error("run {run} is being worked on by {worker}")]
    Owned {
        /// Which.
        run: RunId,
        /// By whom.
        worker: WorkerId,
    },
    /// The run has not ended.
    #[error("run {run} has not ended")]
    NotEnded {
        /// Which.
        run: RunId,
    },
    /// The journal is damaged.
    #[error(transparent)]
    Damaged(#[from] BadRecord),
    /// Content is missing.
    #[error("content {sha256} is not in the store")]
    NoBlob {
        /// Which.
        sha256: Digest,
    },
    /// Content does not match its name.
    #[error("content {sha256} is damaged")]
    BadBlob {
        /// Which.
        sha256: Digest,
    },
    /// The store was opened to look on.
    #[error("this store was opened without the right to work on runs")]
    Observer,
    /// It is another version than when it was opened.
    #[error(
        "the store was brought from version {opened} to {found} by another process; nothing more is written"
    )]
    OtherVersion {
        /// What it was.
        opened: u32,
        /// What it is.
        found: i64,
    },
    /// It is of an earlier version, which has no place for this.
    #[error("the store cannot {action}: it is of version {version}, and that needs version {needed}")]
    TooOld {
        /// What was attempted.
        action: &'static str,
        /// What it is.
        version: u32,
        /// From when on it can be done.
        needed: u32,
    },
    /// No room.
    #[error("the disk is full")]
    DiskFull,
    /// A sync failed earlier; nothing is acknowledged any more.
    #[error("the store stopped after a failed write: {message}")]
    Poisoned {
        /// What failed.
        message: String,
    },
    /// The database file is damaged, or holds what no store writes.
    #[error("the store cannot {action}, it is damaged: {message}")]
    Malformed {
        /// What was attempted.
        action: &'static str,
        /// What was seen.
        message: String,
    },
    /// Another process keeps the database to itself.
    #[error("the store cannot {action}: another process has locked it")]
    Busy {
        /// What was attempted.
        action: &'static str,
    },
    /// The database or the disk says no.
    #[error("the store cannot {action}: {message}")]
    Database {
        /// What was attempted.
        action: &'static str,
        /// What it said.
        message: String,
    },
}

/// An append was refused. Nothing of it is in the store.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another worker claimed the run.
    #[error("run {run} was taken over: epoch {ours} is stale")]
    Fenced {
        /// Which.
        run: RunId,
        /// The epoch shown.
        ours: u64,
    },
    /// The journal goes on elsewhere.
    #[error("run {run} has another event {seq}")]
    Conflict {
        /// Which.
        run: RunId,
        /// Where.
        seq: u64,
    },
    /// Nobody knows whether it happened: ask again with the same fence.
    #[error("no acknowledgement from the store")]
    Unacknowledged,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn room(needed: u64) -> String {
    if needed == 0 { String::new() } else { format!(": it takes {needed} bytes") }
}

/// What to do about a locked database.
const LOCKED: &str = "end the program that has it open (a database browser, a backup), then go on: nothing acknowledged is lost";

impl OpenError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::InUse { .. } => {
                "stop the other worker, or leave it to it: reading and signalling work meanwhile"
            }
            Self::Version { .. } => {
                "use a newer Bowline, which knows that version, or another directory; nothing was changed"
            }
            Self::NoRoom { .. } => {
                "free some space and try again: the store is as it was, with everything that is in it"
            }
            Self::NotAStore { .. } => "name another directory, or move the file away",
            Self::Layout { .. } => {
                "restore it from a backup, or name another directory; nothing of it was read or changed"
            }
            Self::Malformed { .. } => "restore it from a backup, or name another directory",
            Self::Busy { .. } => LOCKED,
            Self::Io { .. } => "check that the directory can be made, read and written by this user",
            Self::Database { .. } => "check the disk and the permissions of the directory, then try again",
        }
    }
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoRun { .. } => "list the runs to find the right id",
            Self::KeyTaken { .. } => "use another key, or submit exactly the request the key was used for",
            Self::IdTaken { .. } => "submit again under a fresh id",
            Self::Owned { .. } => "wait until its worker releases it or its lease runs out",
            Self::NotEnded { .. } => "cancel the run first, or wait until it ends",
            Self::Damaged(bad) => bad.remedy(),
            Self::NoBlob { .. } | Self::BadBlob { .. } => {
                "restore the store from a backup; the journal itself is kept"
            }
            Self::Observer => "open the store as a worker, once no other worker runs",
            Self::OtherVersion { .. } => {
                "start again with the Bowline that brought it there: everything acknowledged is in the store"
            }
            Self::TooOld { .. } => "open it as a worker once, which brings it to today's version",
            Self::DiskFull => "free some space and try again; nothing was written",
            Self::Poisoned { .. } => {
                "check the disk and start again: everything acknowledged is in the store"
            }
            Self::Malformed { .. } => "restore the store from a backup",
            Self::Busy { .. } => LOCKED,
            Self::Database { .. } => "check the disk, then try again",
        }
    }
}

impl AppendError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Fenced { .. } => "stop working on the run: another worker has it",
            Self::Conflict { .. } => "stop working on the run and claim it again",
            Self::Unacknowledged => "repeat the append with the same fence",
            Self::Store(error) => error.remedy(),
        }
    }
}
