//! What can be wrong with a server, and what to do about it.

use std::time::Duration;

use bowline_core::agent::server::{BadServer, ServerName};

use crate::difference::Difference;
use crate::pins::BadPins;
use crate::secret::Secrets;

/// A server that cannot be used now.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// It is declared in a way that cannot be.
    #[error(transparent)]
    Declared(#[from] BadServer),
    /// A secret is not where it should be.
    #[error("the server {server} needs a secret from {place}: {why}")]
    Secret {
        /// Which server.
        server: ServerName,
        /// The variable or file.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Its program did not start.
    #[error("the server {server} could not be started: {why}")]
    Start {
        /// Which.
        server: ServerName,
        /// Why.
        why: String,
    },
    /// It is spoken to over HTTP, and nothing may leave.
    #[error("the server {server} is reached over the network, and this run has none")]
    NoNetwork {
        /// Which.
        server: ServerName,
    },
    /// It did not answer in time.
    #[error("the server {server} took longer than {} s for {stage}{}", waited.as_secs_f64(), said(complaint))]
    Late {
        /// Which.
        server: ServerName,
        /// For what.
        stage: Stage,
        /// How long.
        waited: Duration,
        /// The end of what it complained about.
        complaint: String,
    },
    /// The connection is gone.
    #[error("the connection to the server {server} broke: {fault}{}", said(complaint))]
    Broken {
        /// Which.
        server: ServerName,
        /// How.
        fault: Fault,
        /// The end of what it complained about.
        complaint: String,
    },
    /// It answered with an error.
    #[error("the server {server} refused {stage}: {message} ({code})")]
    Refused {
        /// Which.
        server: ServerName,
        /// What it was asked.
        stage: Stage,
        /// Its code.
        code: i32,
        /// Its words, escaped and cut short.
        message: String,
    },
    /// No version of the protocol both sides speak.
    #[error("the server {server} speaks none of our protocol versions, only {theirs}")]
    Version {
        /// Which.
        server: ServerName,
        /// What it speaks.
        theirs: String,
    },
    /// Its list of tools cannot be used.
    #[error("the list of tools of the server {server} cannot be used: {why}")]
    List {
        /// Which.
        server: ServerName,
        /// Why.
        why: String,
    },
    /// Nobody has approved its tools, and first use does not count.
    #[error("nobody has approved the {count} tools of the server {server}")]
    Unapproved {
        /// Which.
        server: ServerName,
        /// How many.
        count: usize,
    },
    /// Its tools are not those that were approved.
    #[error("the tools of the server {server} changed ({difference}); a person must approve them")]
    Changed {
        /// Which.
        server: ServerName,
        /// How.
        difference: Box<Difference>,
    },
    /// It changed while a run was using it.
    #[error("the tools of the server {server} changed ({summary}); a person must approve them")]
    ChangedMeanwhile {
        /// Which.
        server: ServerName,
        /// How, in a few words.
        summary: String,
    },
    /// Somebody closed the connection on purpose.
    #[error("the connection to the server {server} was closed")]
    Closed {
        /// Which.
        server: ServerName,
    },
    /// The file of pins.
    #[error(transparent)]
    Pins(#[from] BadPins),
}

impl McpError {
    /// The same without secrets in the words of the server.
    pub(crate) fn masked(mut self, secrets: &Secrets) -> Self {
        let hide = |words: &mut String| *words = secrets.mask(words);
        match &mut self {
            Self::Start { why, .. } | Self::List { why, .. } => hide(why),
            Self::Late { complaint, .. } => hide(complaint),
            Self::Broken { fault, complaint, .. } => {
                hide(complaint);
                match fault {
                    Fault::Nonsense { sample, .. } => hide(sample),
                    Fault::Http { why, .. } => hide(why),
                    Fault::Nested { .. }
                    | Fault::Closed
                    | Fault::Ended { .. }
                    | Fault::Oversized { .. }
                    | Fault::Answer => {}
                }
            }
            Self::Refused { message, .. } => hide(message),
            Self::Version { theirs, .. } => hide(theirs),
            Self::ChangedMeanwhile { summary, .. } => hide(summary),
            // Lists are masked before they are compared; the rest are our own words.
            Self::Declared(_)
            | Self::Secret { .. }
            | Self::NoNetwork { .. }
            | Self::Unapproved { .. }
            | Self::Changed { .. }
            | Self::Closed { .. }
            | Self::Pins(_) => {}
        }
        self
    }
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Starting and settling on a version.
    Opening,
    /// Reading the list of tools.
    Listing,
    /// A call.
    Calling,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Opening => "the opening",
            Self::Listing => "its list of tools",
            Self::Calling => "a call",
        })
    }
}

/// How a connection broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The other side closed it.
    #[error("it closed the connection")]
    Closed,
    /// Its program ended.
    #[error("its program ended: {how}")]
    Ended {
        /// How.
        how: String,
    },
    /// One message was too large.
    #[error("it sent a message of more than {max} bytes")]
    Oversized {
        /// What is taken.
        max: usize,
    },
    /// One message was nested too deeply to be read.
    #[error("it sent a message that is nested deeper than {max} levels")]
    Nested {
        /// What is taken.
        max: usize,
    },
    /// It does not speak the protocol.
    #[error("it sent {lines} lines that are no messages, the last: {sample:?}")]
    Nonsense {
        /// How many.
        lines: usize,
        /// The last of them, cut short.
        sample: String,
    },
    /// An answer of another kind than was asked for.
    #[error("its answer cannot be understood")]
    Answer,
    /// HTTP did not work.
    #[error("{why}")]
    Http {
        /// How.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
}

fn said(complaint: &str) -> String {
    match complaint.trim() {
        "" => String::new(),
        complaint => format!("; it said: {complaint}"),
    }
}

impl McpError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        let fixed = match self {
            Self::Declared(bad) => bad.remedy(),
            Self::Secret { .. } => "put the secret there, or name another place",
            Self::Start { .. } => "check the command, and what the sandbox lets it read",
            Self::NoNetwork { .. } => "choose a privacy tier with a network, and allow the server's host",
            Self::Late { .. } => "see whether the server works by itself; a slow one may be given more time",
            Self::Broken { fault, .. } => fault.remedy(),
            Self::Refused { .. } => "ask the server's makers what the error means",
            Self::Version { .. } => "use another release of the server",
            Self::List { .. } => "ask the server's makers; nothing of such a list is used",
            Self::Pins(bad) => bad.remedy(),
            Self::Closed { .. } => "start the run again",
            Self::Unapproved { server, .. }
            | Self::Changed { server, .. }
            | Self::ChangedMeanwhile { server, .. } => {
                return format!("read what it offers now: `bowline mcp approve {server}`");
            }
        };
        fixed.to_owned()
    }
}

impl Fault {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Closed | Self::Ended { .. } => {
                "see in its own words why it ended; the next call starts it again"
            }
            Self::Oversized { .. } => "ask the server for less at a time",
            Self::Nested { .. } => {
                "ask the server's makers for flatter answers; no reader of messages takes these"
            }
            Self::Nonsense { .. } => {
                "start the server so that it writes messages alone to its standard output"
            }
            Self::Answer => "use another release of the server",
            Self::Http { remedy, .. } => remedy,
        }
    }
}
