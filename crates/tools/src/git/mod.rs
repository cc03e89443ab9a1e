//! Branches and commits in the repository of the workspace, and how they are taken back.
//!
//! [`branch::GitBranch`] makes a branch, [`commit::GitCommit`] puts the files of the
//! workspace on one. Either moves one reference by compare and swap; whatever is written
//! before that is seen by nobody. What was made carries the key of its call (a branch in
//! its log of moves, a commit in its message), so that a second attempt finds the first,
//! and an undo finds what to take back although nobody knows how the call went.
//!
//! Never: files of the workspace are changed, another branch is checked out, something is
//! fetched or pushed, a hook, filter or other program of the repository is run, or
//! something is taken back on which others have built.

pub(crate) mod branch;
mod caged;
pub(crate) mod commit;
mod find;
mod repository;
mod settings;

use bowline_core::tool::Repeat;
use bowline_core::undo::{How, Undo};
use serde::Deserialize;

use crate::{CallContext, ToolOutput};
pub(crate) use repository::Repository;

/// How long a call or an undo may take.
pub(crate) const GIT_MS: u64 = 60_000;

/// How calls of these tools are undone.
pub(crate) fn undo() -> Undo {
    Undo { how: How::Own, args: None, timeout_ms: Some(GIT_MS) }
}

/// What an undo gets: the call, what came of it if that is known, and its key.
#[derive(Deserialize)]
struct Made<A> {
    args: A,
    result: Option<serde_json::Value>,
    key: String,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotDone {
    /// It cannot be, as things are.
    #[error("{what}; {remedy}")]
    Refused {
        /// What is in the way.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Git says no.
    #[error("git {verb} did not work: {said}")]
    Git {
        /// What it was asked to do.
        verb: String,
        /// What it said.
        said: String,
    },
    /// Somebody else moved the reference meanwhile.
    #[error("{name} was moved meanwhile, so nothing was done")]
    Raced {
        /// Which.
        name: String,
    },
    /// Git cannot be started, or did not come back.
    #[error("git cannot be run: {0}")]
    NoGit(String),
    /// The machine was too busy for it.
    #[error("git cannot be run just now: {0}")]
    Trouble(String),
}

impl NotDone {
    fn refused(what: impl Into<String>, remedy: &'static str) -> Self {
        Self::Refused { what: what.into(), remedy }
    }
}

impl From<NotDone> for ToolOutput {
    fn from(why: NotDone) -> Self {
        match why {
            NotDone::Raced { .. } | NotDone::Trouble(_) => Self::trouble(why.to_string(), None),
            NotDone::Refused { .. } | NotDone::Git { .. } | NotDone::NoGit(_) => Self::error(why.to_string()),
        }
    }
}

/// Work on a repository within the time of the call.
async fn in_time(
    ctx: &CallContext,
    repeat: Repeat,
    work: impl Future<Output = Result<String, NotDone>>,
) -> ToolOutput {
    match tokio::time::timeout(ctx.timeout, work).await {
        Ok(Ok(text)) => ToolOutput::ok(text),
        Ok(Err(why)) => why.into(),
        Err(_) => ToolOutput::timed_out(repeat, format!("git did not end within {:?}", ctx.timeout)),
    }
}
