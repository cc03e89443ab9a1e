//! What the command line can refuse: what is wrong, where, and what to do.

use std::io;
use std::path::PathBuf;

use bowline::EngineError;
use bowline_core::task::BadTask;
use bowline_store::{AppendError, OpenError, StoreError};

use crate::exit::Exit;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something about the request itself, in words.
    #[error("{what}")]
    Refused { what: String, remedy: String },
    #[error("{} is no task: {} {}", path.display(), bad.problems.len(), if bad.problems.len() == 1 { "problem" } else { "problems" })]
    Task { path: PathBuf, bad: BadTask },
    #[error("{} is no agent manifest: {} {}", path.display(), bad.problems.len(), if bad.problems.len() == 1 { "problem" } else { "problems" })]
    Manifest { path: PathBuf, bad: BadTask },
    #[error("this goal is no task")]
    Goal { bad: BadTask },
    #[error("{} is not readable as {form}: {message}", path.display())]
    Syntax { path: PathBuf, form: &'static str, message: String },
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the operating system gives no threads or events")]
    Runtime(#[source] io::Error),
}

impl CliError {
    /// A refusal in words.
    pub(crate) fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), remedy: remedy.into() }
    }

    /// The operating system said no.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// What to do about it.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Engine(error) => engine_remedy(error),
            Self::Store(error) => store_remedy(error),
            Self::Open(error) => open_remedy(error),
            Self::Refused { remedy, .. } => remedy.clone(),
            Self::Task { .. } | Self::Manifest { .. } => {
                "mend these places in the file and run it again".into()
            }
            Self::Goal { .. } => {
                "say it otherwise, or write a task file: `bowline init DIR` makes one".into()
            }
            Self::Syntax { form, .. } => format!("mend the {form} at that place"),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space and try again".into()
            }
            Self::Io { .. } => "check that the path exists and this user may read and write it".into(),
            Self::Runtime(_) => {
                "raise the limits of this user (`ulimit -n`, `ulimit -u`), then try again".into()
            }
        }
    }

    /// Further lines: each problem of a task with its place and remedy.
    pub(crate) fn details(&self) -> Vec<(String, String)> {
        match self {
            Self::Task { bad, .. } | Self::Manifest { bad, .. } | Self::Goal { bad } => {
                let problems = bad.problems.iter();
                problems
                    .map(|found| (format!("{}: {}", found.place, found.what), found.remedy.clone()))
                    .collect()
            }
            Self::Engine(_)
            | Self::Store(_)
            | Self::Open(_)
            | Self::Refused { .. }
            | Self::Syntax { .. }
            | Self::Io { .. }
            | Self::Runtime(_) => Vec::new(),
        }
    }

    /// How the program ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Engine(EngineError::Store(error) | EngineError::Append(AppendError::Store(error)))
            | Self::Store(error) => store_exit(error),
            Self::Engine(
                EngineError::Append(AppendError::Unacknowledged)
                | EngineError::BrokeDown { .. }
                | EngineError::ShutDown { .. },
            )
            | Self::Runtime(_) => Exit::Internal,
            Self::Engine(_)
            | Self::Open(_)
            | Self::Refused { .. }
            | Self::Task { .. }
            | Self::Manifest { .. }
            | Self::Goal { .. }
            | Self::Syntax { .. }
            | Self::Io { .. } => Exit::Refused,
        }
    }
}

fn store_exit(error: &StoreError) -> Exit {
    match error {
        StoreError::Poisoned { .. } | StoreError::Database { .. } | StoreError::Observer => Exit::Internal,
        StoreError::NoRun { .. }
        | StoreError::OtherVersion { .. }
        | StoreError::TooOld { .. }
        | StoreError::KeyTaken { .. }
        | StoreError::IdTaken { .. }
        | StoreError::Owned { .. }
        | StoreError::NotEnded { .. }
        | StoreError::Damaged(_)
        | StoreError::NoBlob { .. }
        | StoreError::BadBlob { .. }
        | StoreError::Malformed { .. }
        | StoreError::Busy { .. }
        | StoreError::DiskFull => Exit::Refused,
    }
}

/// The store does not know what the commands are called; we do.
fn store_remedy(error: &StoreError) -> String {
    match error {
        StoreError::NoRun { .. } => "`bowline runs` lists the runs".into(),
        StoreError::Owned { run, .. } => format!("`bowline watch {run}` shows what it does"),
        StoreError::NotEnded { run } => format!("`bowline cancel {run}` ends it"),
        StoreError::Damaged(bad) if bad.is_newer() => {
            format!("{}; `bowline runs` and `bowline export --json` work meanwhile", bad.remedy())
        }
        StoreError::Damaged(_) | StoreError::NoBlob { .. } | StoreError::BadBlob { .. } => {
            format!("`bowline audit verify` names everything that is wrong; {}", error.remedy())
        }
        StoreError::TooOld { .. } => "`bowline migrate` brings it to today's version".into(),
        StoreError::KeyTaken { .. }
        | StoreError::IdTaken { .. }
        | StoreError::OtherVersion { .. }
        | StoreError::Observer
        | StoreError::DiskFull
        | StoreError::Poisoned { .. }
        | StoreError::Malformed { .. }
        | StoreError::Busy { .. }
        | StoreError::Database { .. } => error.remedy().into(),
    }
}

fn engine_remedy(error: &EngineError) -> String {
    match error {
        EngineError::Store(error) | EngineError::Append(AppendError::Store(error)) => store_remedy(error),
        other => other.remedy(),
    }
}

fn open_remedy(error: &OpenError) -> String {
    match error {
        OpenError::InUse { .. } => {
            "wait for the other process or stop it; meanwhile `bowline runs`, `watch`, \
             `approve`, `deny`, `pause` and `cancel` work beside it, and `--home DIR` names another place"
                .into()
        }
        OpenError::Version { .. } => {
            "use a newer Bowline, which knows that version, or name another place with `--home DIR`; \
             nothing was changed"
                .into()
        }
        OpenError::NoRoom { .. } => {
            "free some space and try again, or do without the copy: `bowline migrate --no-backup`; \
             the store is as it was"
                .into()
        }
        OpenError::NotAStore { .. } => "name another place with `--home DIR`, or move the file away".into(),
        OpenError::Layout { .. }
        | OpenError::Malformed { .. }
        | OpenError::Busy { .. }
        | OpenError::Io { .. }
        | OpenError::Database { .. } => error.remedy().into(),
    }
}
