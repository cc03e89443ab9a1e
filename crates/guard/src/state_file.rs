//! A session's state in a file: replaced whole or not at all.
//!
//! A crash between two events leaves one of the two states, never a mixture. The
//! new state is on disk before its answer goes out, so nobody acts on a decision
//! that a restart would not know about.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::session::{BadEvent, Session};

/// Why a state cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be replaced.
    #[error("cannot replace {path}")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} holds no state of a guard")]
    Strange {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        source: BadEvent,
    },
}

impl StateError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check that this user may read it",
            Self::Write { .. } => "check that this user may write to its folder and that the disk has room",
            Self::Strange { .. } => "name another file, or move it away to begin anew; it was left as it is",
        }
    }
}

/// Where a session is kept.
#[derive(Clone, Debug)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file of that name, which need not be there yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.into() }
    }

    /// The session that was kept, if one was.
    pub fn load(&self) -> Result<Option<Session>, StateError> {
        let path = || self.path.clone();
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Read { path: path(), source }),
        };
        let strange = |source| StateError::Strange { path: path(), source };
        let state: Value = serde_json::from_slice(&bytes)
            .map_err(|error| strange(BadEvent::State { what: error.to_string() }))?;
        Session::restored(&state).map(Some).map_err(strange)
    }

    /// Puts the session in place of what was kept.
    pub fn save(&self, session: &Session) -> Result<(), StateError> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(session.state().to_string().as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)
        };
        write().map_err(|source| StateError::Write { path: self.path.clone(), source })
    }
}
