//! Why the harness could not go on. A broken promise is no error: it is what
//! the harness is for, and is reported as [`super::Violation`].

use std::io;
use std::path::{Path, PathBuf};

use crate::oracle::OracleError;

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum KillError {
    /// Ledger, client log or checker.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A program could not be started or watched.
    #[error("{program} cannot be run")]
    Program {
        /// Which.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the harness.
    #[error("{path} cannot be read or written")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A question that must be answered was not.
    #[error("`bowline {words}` was refused: {complained}")]
    Refused {
        /// What was asked.
        words: String,
        /// What it said.
        complained: String,
    },
    /// Ended by a signal nobody here sent.
    #[error("a process died of signal {signal:?}: {complained}")]
    Died {
        /// Which signal.
        signal: Option<i32>,
        /// What it said before.
        complained: String,
    },
    /// A process that nobody killed did not end.
    #[error("a process did not end within {after_ms} ms: {complained}")]
    Hung {
        /// How long it had.
        after_ms: u64,
        /// What it said before.
        complained: String,
    },
    /// A run that nobody killed broke a promise.
    #[error("a clean run breaks a promise:\n{found}")]
    NotClean {
        /// What was found.
        found: String,
    },
    /// A trace without what must be in it.
    #[error("the clean run of {scenario} made no call of {call} that could be found in its trace")]
    NoMoments {
        /// Which.
        scenario: &'static str,
        /// What was looked for.
        call: String,
    },
    /// The store's thread could not be traced.
    #[error("strace did not take hold of the store's thread")]
    NotHeld,
    /// A sabotage did not get its moment.
    #[error("sabotage {name} did not come to act")]
    NoChance {
        /// Which.
        name: &'static str,
    },
    /// A forgery that the store did not take.
    #[error("run {run} in {home} cannot be forged: {why}")]
    NotForged {
        /// Which run.
        run: String,
        /// Where.
        home: PathBuf,
        /// What the store said.
        why: String,
    },
    /// A worker of the harness broke down.
    #[error("a worker of the harness broke down")]
    Broken,
}

impl KillError {
    /// An error of this file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Oracle(error) => error.remedy(),
            Self::Program { .. } => "build bowline first, and install strace (Debian: strace)",
            Self::Io { .. } => "check that the folder is writable and has space",
            Self::Refused { .. } | Self::Died { .. } | Self::NotClean { .. } => {
                "run that command by hand in the folder that was kept"
            }
            Self::Hung { .. } => "look at the load of the machine and at the folder that was kept",
            Self::NoMoments { .. } => {
                "the store's thread or files have other names now, or strace writes otherwise: mend `moment`"
            }
            Self::NotHeld => "check that this user may trace processes (kernel.yama.ptrace_scope)",
            Self::NoChance { .. } | Self::NotForged { .. } => {
                "the scenario has changed: give the sabotage another moment"
            }
            Self::Broken => "run it again with RUST_BACKTRACE=1",
        }
    }
}
