//! The client log: what a harness asked for and what it was told.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::OracleError;
use crate::clock::now_ms;

/// How a process said a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldEnding {
    /// Checked and delivered.
    Committed,
    /// Given up.
    Failed,
    /// Stopped, resumable.
    Halted,
}

/// One line of the client log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ClientLine {
    /// A run is about to be asked for.
    Submit {
        /// The idempotency key.
        key: String,
        /// Which task.
        task: String,
    },
    /// It was acknowledged.
    Ack {
        /// The idempotency key.
        key: String,
        /// The run.
        run: String,
    },
    /// A process that works on the run was killed.
    Kill {
        /// The run.
        run: String,
        /// When, in milliseconds since 1970.
        at: u64,
    },
    /// A process that worked on the run came back.
    End {
        /// The run.
        run: String,
        /// What it said; `None` if it said nothing about an ending.
        ending: Option<ToldEnding>,
        /// Its exit code; `None` if a signal ended it.
        exit: Option<i32>,
    },
}

/// What the harness asked for and was told: synced line by line, so that it is
/// written before the submission and after the acknowledgement.
#[derive(Debug)]
pub struct ClientLog {
    path: PathBuf,
    file: File,
}

impl ClientLog {
    /// Opens the log to go on with it, or creates it.
    pub fn open(path: &Path) -> Result<Self, OracleError> {
        let io = |source| OracleError::Io { path: path.into(), source };
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(io)?;
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        }
        Ok(Self { path: path.into(), file })
    }

    /// Writes one line; durable when this returns.
    pub fn write(&mut self, line: &ClientLine) -> Result<(), OracleError> {
        let io = |source| OracleError::Io { path: self.path.clone(), source };
        let mut bytes = serde_json::to_vec(line).map_err(|error| io(error.into()))?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).and_then(|()| self.file.sync_data()).map_err(io)
    }

    /// Notes a kill, now.
    pub fn killed(&mut self, run: &str) -> Result<(), OracleError> {
        self.write(&ClientLine::Kill { run: run.into(), at: now_ms() })
    }
}
