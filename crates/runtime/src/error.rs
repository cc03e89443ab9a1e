//! What can go wrong with an engine, and what to do then.

use bowline_core::id::RunId;
use bowline_core::run::BadScope;
use bowline_models::OpenModelError;
use bowline_store::{AppendError, StoreError};
use bowline_tools::{BadTools, BadWorkspace, CopyError};

use crate::engine::Worked;

/// The engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A write was refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The task's model cannot be opened.
    #[error(transparent)]
    Model(#[from] OpenModelError),
    /// The task's tools do not exist.
    #[error(transparent)]
    Tools(#[from] BadTools),
    /// The task names something that is not there.
    #[error("{what}")]
    Task {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// The workspace could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A journal without a beginning.
    #[error("the journal of run {run} does not begin with a submission")]
    NoBeginning {
        /// Which.
        run: RunId,
    },
    /// The journal and what this worker made of it are not the same.
    #[error("run {run} gets nowhere: its journal is not the one this worker has written")]
    OutOfStep {
        /// Which.
        run: RunId,
    },
    /// Code of ours broke down. The run is as the store has it.
    #[error("the code that worked on run {run} broke down")]
    BrokeDown {
        /// Which.
        run: RunId,
    },
    /// The async runtime that the engine worked in was shut down.
    #[error("the runtime was shut down while it worked on run {run}")]
    ShutDown {
        /// Which.
        run: RunId,
    },
    /// No more runs could be taken up. Those at work came home first.
    #[error("the queue cannot be read: {source}")]
    Queue {
        /// What came of the runs that were taken up before.
        worked: Vec<Worked>,
        /// Why.
        source: Box<EngineError>,
    },
    /// Files were changed after the run by somebody else.
    #[error("{} of run {run} changed since: {}", if files.len() == 1 { "a file" } else { "files" }, files.join(", "))]
    ChangedSince {
        /// Which run.
        run: RunId,
        /// The files, at most so many as are worth naming.
        files: Vec<String>,
    },
    /// The run does not go on without what was named.
    #[error(transparent)]
    Scope(#[from] BadScope),
    /// The workspace is not there.
    #[error(transparent)]
    Workspace(#[from] BadWorkspace),
}

impl EngineError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Store(error) => error.remedy().to_string(),
            Self::Append(error) => error.remedy().to_string(),
            Self::Model(error) => error.remedy().to_string(),
            Self::Tools(error) => error.remedy().to_string(),
            Self::Task { remedy, .. } => remedy.clone(),
            Self::Copy(error) => error.remedy().to_string(),
            Self::NoBeginning { .. } | Self::OutOfStep { .. } => {
                "run `bowline audit verify` and restore the store from a backup".into()
            }
            Self::BrokeDown { .. } => "report it; `bowline resume` goes on with the run where it was".into(),
            Self::ShutDown { .. } => "go on with the run in a runtime that stays".into(),
            Self::Queue { source, .. } => source.remedy(),
            Self::ChangedSince { .. } => {
                "put them back as the run left them, or leave them as they are and undo the rest".into()
            }
            Self::Scope(bad) => bad.remedy(),
            Self::Workspace(error) => error.remedy().to_string(),
        }
    }
}
