//! What a harness holds in its hands: the ledger's process, the client log and
//! the checker.
//!
//! Nothing here kills a runtime or reads a journal; it only makes sure that the
//! evidence exists and outlives what it is evidence of.

mod client;
mod verdict;

pub use client::{ClientLine, ClientLog, ToldEnding};
pub use verdict::{CheckVerdict, Evidence, check};

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use crate::ledger::book;
use crate::ledger::wire::{Entry, Reply, Request};
use crate::ledger::{FILE, SOCKET};
use crate::tool::exchange;

/// What the ledger prints once callers can connect.
pub const READY: &str = "ready";

/// How long the ledger may take to start or stop.
const LEDGER_DEADLINE: Duration = Duration::from_secs(10);
/// How often a child is asked whether it has ended.
const POLL: Duration = Duration::from_millis(2);

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// A program could not be started or watched.
    #[error("{program} cannot be run")]
    Run {
        /// Which.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The ledger ended or hung before it was ready.
    #[error("the ledger in {folder} did not become ready")]
    NotReady {
        /// Where.
        folder: PathBuf,
    },
    /// The ledger did not answer as it should.
    #[error("the ledger in {folder} does not answer")]
    Silent {
        /// Where.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A child did not end in time and was killed.
    #[error("{program} did not end within {} s", .after.as_secs())]
    Hung {
        /// Which.
        program: PathBuf,
        /// How long it had.
        after: Duration,
    },
    /// The ledger ended, but not well.
    #[error("the ledger in {folder} ended with {status}")]
    Ended {
        /// Where.
        folder: PathBuf,
        /// How.
        status: ExitStatus,
    },
    /// A file could not be read or written.
    #[error("{path} cannot be read or written")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A ledger file with damage before its tail.
    #[error("{path} is damaged at line {line}")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Where.
        line: u64,
    },
    /// The checker could not read its evidence.
    #[error("the checker gave no verdict ({status}): {printed}")]
    NoVerdict {
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        printed: String,
    },
}

impl OracleError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Run { .. } => "check that the program exists and may be executed",
            Self::NotReady { .. } | Self::Ended { .. } => "read what the ledger printed on standard error",
            Self::Silent { .. } | Self::Hung { .. } => "check the load of the machine, then run it again",
            Self::Io { .. } => "check that the folder exists, is writable and has space",
            Self::Damaged { .. } => "keep the file as evidence and start over in another folder",
            Self::NoVerdict { .. } => "correct the named file; no verdict is never a pass",
        }
    }
}

/// The outside ledger, alive as long as this value.
#[derive(Debug)]
pub struct LedgerProcess {
    child: Child,
    folder: PathBuf,
    program: PathBuf,
    /// The ledger stops when this connection closes, also when we die.
    lifeline: Option<UnixStream>,
}

impl LedgerProcess {
    /// Starts `program ledger --dir folder` and waits until it serves.
    pub fn start(program: &Path, folder: &Path) -> Result<Self, OracleError> {
        let child = Command::new(program)
            .args(["ledger", "--dir"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| OracleError::Run { program: program.into(), source })?;
        let mut ledger = Self { child, folder: folder.into(), program: program.into(), lifeline: None };
        ledger.await_ready()?;
        ledger.lifeline = Some(ledger.hold()?);
        Ok(ledger)
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Every entry, as the ledger itself tells it.
    pub fn dump(&self) -> Result<Vec<Entry>, OracleError> {
        match self.ask(&Request::Dump)? {
            (Reply::Entries(entries), _) => Ok(entries),
            (
                Reply::Done { .. }
                | Reply::Found { .. }
                | Reply::NotFound
                | Reply::Refused { .. }
                | Reply::Held,
                _,
            ) => Err(self.silent(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Ends it in order and says whether it ended well.
    pub fn stop(mut self) -> Result<(), OracleError> {
        self.lifeline = None;
        let status = wait_at_most(&mut self.child, LEDGER_DEADLINE)
            .map_err(|source| OracleError::Run { program: self.program.clone(), source })?;
        match status {
            None => Err(OracleError::Hung { program: self.program.clone(), after: LEDGER_DEADLINE }),
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(OracleError::Ended { folder: self.folder.clone(), status }),
        }
    }

    fn await_ready(&mut self) -> Result<(), OracleError> {
        let not_ready = || OracleError::NotReady { folder: self.folder.clone() };
        let Some(stdout) = self.child.stdout.take() else { return Err(not_ready()) };
        let (sender, receiver) = sync_channel(1);
        let reader = thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            // The receiver is gone only when the deadline has passed: nobody to tell.
            let _told = sender.send(read.is_ok() && line.trim_end() == READY);
        });
        let is_ready = receiver.recv_timeout(LEDGER_DEADLINE).unwrap_or(false);
        if !is_ready {
            // Ends the pipe, and with it the reader.
            let _killed = self.child.kill();
        }
        let joined = reader.join().is_ok();
        if is_ready && joined { Ok(()) } else { Err(not_ready()) }
    }

    fn hold(&self) -> Result<UnixStream, OracleError> {
        match self.ask(&Request::Hold)? {
            (Reply::Held, stream) => Ok(stream),
            (
                Reply::Done { .. }
                | Reply::Found { .. }
                | Reply::NotFound
                | Reply::Refused { .. }
                | Reply::Entries(_),
                _,
            ) => Err(self.silent(io::ErrorKind::InvalidData.into())),
        }
    }

    fn ask(&self, request: &Request) -> Result<(Reply, UnixStream), OracleError> {
        let stream = UnixStream::connect(self.folder.join(SOCKET)).map_err(|source| self.silent(source))?;
        let reply = exchange(&stream, request).map_err(|source| self.silent(source))?;
        Ok((reply, stream))
    }

    fn silent(&self, source: io::Error) -> OracleError {
        OracleError::Silent { folder: self.folder.clone(), source }
    }
}

impl Drop for LedgerProcess {
    /// What was answered is synced, so killing it loses nothing.
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The entries of a ledger file; a torn last line is left out.
pub fn read_ledger(path: &Path) -> Result<Vec<Entry>, OracleError> {
    let bytes = std::fs::read(path).map_err(|source| OracleError::Io { path: path.into(), source })?;
    match book::read(&bytes) {
        Ok((entries, _)) => Ok(entries),
        Err(line) => Err(OracleError::Damaged { path: path.into(), line }),
    }
}

/// The child's status; `None` when it had to be killed.
fn wait_at_most(child: &mut Child, deadline: Duration) -> io::Result<Option<ExitStatus>> {
    let polls = deadline.as_millis() / POLL.as_millis().max(1);
    for _ in 0..polls {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
