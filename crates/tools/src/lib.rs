//! Tools: what an agent can do to its workspace, and the rules it does it by.
//!
//! A [`Registry`] holds the tools of a task; [`Registry::examine`] decides whether
//! a call a model asked for can run at all. File tools go through the path guard
//! of [`Workspace`]; programs run without a shell, in a [`Sandbox`] and a process group
//! of their own that never outlives the call; what speaks HTTP goes through the run's
//! [`Reach`]. [`check`] makes acceptance checks, [`restore`] undoes a write,
//! [`evidence`] reads what a task names.
//!
//! Invariants
//! - Nothing here decides policy: who may call what is the core's business.
//! - No file outside the workspace is opened by a file tool, whatever the path,
//!   the links in it, or what is swapped while it is resolved.
//! - No connection is opened but through the gate of the run's [`Reach`], by tools
//!   and by programs in a cage alike.
//! - File work runs on the blocking pool and stops soon after its caller is gone
//!   (in place only where a simulation asks: [`file_work_in_place`]).

mod arguments;
mod ask;
mod background;
mod built_in;
pub mod check;
pub mod compensate;
pub mod evidence;
mod files;
mod git;
pub mod isolation;
mod note;
mod output;
mod pause;
mod program;
mod reach;
mod registry;
pub mod restore;
mod rules;
mod sandbox;
mod schema;
mod secrets;
mod web;
mod workspace;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::Cost;
use bowline_core::event::Outcome;
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Returned;
use bowline_core::provenance::Digest;
use bowline_core::tool::{Departure, FileImage, Repeat, ToolSpec};
use serde_json::Value;

pub use ask::{Inference, SideAnswer, SideModel, SideQuestion};
pub use background::file_work_in_place;
pub use bowline_cage::Launcher;
pub use output::cap_output;
pub use program::{Ended, Hosted, OVERRUN_MAX, Served, ServedPipes, UNSANDBOXED_WARNING};
pub use reach::{BadReach, Reach};
pub use registry::{BadTools, Registry};
pub use rules::Setting;
pub use sandbox::{Cages, Missing, NoCage, Outlet, Sandbox, runs_programs};
pub use schema::check_schema;
pub use secrets::{BadSecret, Secrets};
pub use workspace::{
    BadWorkspace, COPY_BYTES_MAX, COPY_FILES_MAX, Copied, CopyError, FILE_BYTES_MAX, InsidePath, PathError,
    Workspace, copy_apart, copy_tree,
};

/// Something a model can ask for.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the tool is and what rules it runs by.
    fn spec(&self) -> &ToolSpec;

    /// For tools that write: how the file looks before and would look after.
    /// Changes nothing. The error says why the call cannot work.
    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let _ = (args, ctx);
        Ok(None)
    }

    /// Makes the call. Dropping the future ends it.
    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput;

    /// Undoes a call it made, for tools whose [`ToolSpec::undo`] says that they do so
    /// themselves: `args` is what that declares, by default `{"args", "result", "key"}` of
    /// the call. Doing it twice must be as good as once; `ctx.key` is the undo's own key.
    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let _ = (args, ctx);
        ToolOutput::error("this tool does not undo its calls")
    }

    /// The same tool by other rules, for a tool that acts on its rules itself;
    /// `None` for one that does not look at them.
    fn under(&self, spec: &ToolSpec) -> Option<Arc<dyn Tool>> {
        let _ = spec;
        None
    }

    /// Finds out whether a call happened.
    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        let _ = (args, ctx);
        Probed::Unknown
    }
}

/// A write that is ready to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedWrite {
    /// Path below the workspace.
    pub path: String,
    /// The content before; `None` when there is no file.
    pub before: Option<Vec<u8>>,
    /// The content after.
    pub after: Vec<u8>,
    /// The topmost folder that would be made for it; `None` when its folder is there.
    pub new_folder: Option<String>,
    /// How the file leaves its place; `None` when it stays there.
    pub departure: Option<Departure>,
}

/// What a call knows of its surroundings.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Where it works.
    pub workspace: Workspace,
    /// In what it runs programs.
    pub sandbox: Sandbox,
    /// What programs that are named for it get to know.
    pub secrets: Secrets,
    /// What it may reach over the network.
    pub reach: Reach,
    /// Whom it may ask a question on the side.
    pub inference: Inference,
    /// The run it belongs to.
    pub run: RunId,
    /// Which action it is.
    pub action: ActionId,
    /// Idempotency key, the same for every attempt.
    pub key: Digest,
    /// The epoch of the worker that makes it.
    pub epoch: u64,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The file it changes, as journalled.
    pub image: Option<FileImage>,
    /// After this long it is ended.
    pub timeout: Duration,
}

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// How it went.
    pub how: Returned,
    /// The whole output; what the model reads of it is for the caller to cap.
    pub text: String,
    /// What the model it asked used; `None`: it asked none, or nobody knows.
    pub spent: Option<Cost>,
}

impl ToolOutput {
    /// It did what it was asked.
    #[must_use]
    pub fn ok(text: impl Into<String>) -> Self {
        Self { how: Returned::Known(Outcome::Ok), text: text.into(), spent: None }
    }

    /// It did not; the text says why.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { how: Returned::Known(Outcome::Error), text: text.into(), spent: None }
    }

    /// It did not happen, and may work later: not before `retry_after`, where that is known.
    #[must_use]
    pub fn trouble(text: impl Into<String>, retry_after: Option<Duration>) -> Self {
        let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let how = Returned::Trouble { retry_after_ms: retry_after.map(ms) };
        Self { how, text: text.into(), spent: None }
    }

    /// It was ended by its deadline: a known outcome only for a call that may be repeated.
    #[must_use]
    pub fn timed_out(repeat: Repeat, text: impl Into<String>) -> Self {
        let how = match repeat {
            Repeat::Freely | Repeat::WithSameKey => Returned::Known(Outcome::TimedOut),
            Repeat::Never => Returned::Unknown,
        };
        Self { how, text: text.into(), spent: None }
    }

    /// The same, having asked a model that used so much.
    #[must_use]
    pub fn spending(mut self, spent: Cost) -> Self {
        self.spent = Some(spent);
        self
    }
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probed {
    /// It happened, with this result.
    Happened(String),
    /// It did not happen.
    DidNotHappen,
    /// The probe cannot tell.
    Unknown,
}
