//! From a model's name in a task (`kind:argument`) to a model.
//!
//! Nothing here calls a model or reads the environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Model;
use crate::scripted::{BadScript, Scripted};

/// The kinds of models there are, as `kind:argument`.
pub const KINDS: &[&str] = &["scripted:PATH"];

/// A model could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// Not one of [`KINDS`].
    #[error("there is no model {reference:?}; the kinds are {}", kinds.join(", "))]
    UnknownKind {
        /// What was asked for.
        reference: String,
        /// The kinds there are, where it was asked for.
        kinds: Vec<&'static str>,
    },
    /// A source of models outside this crate has no such model, or cannot open it.
    #[error("{source}")]
    Source {
        /// What to do about it.
        remedy: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The script cannot be read.
    #[error("cannot read the script {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The script is larger than any script should be.
    #[error("the script {path} has {len} bytes; the most is {max}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        len: u64,
        /// The cap.
        max: u64,
    },
    /// The script is neither YAML nor JSON.
    #[error("{path}:{line}:{column}: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1; 0 when unknown.
        line: u64,
        /// Counted from 1; 0 when unknown.
        column: u64,
        /// What the parser said.
        message: String,
    },
    /// The file is well-formed and no script.
    #[error("{path}: {problem}")]
    Script {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        #[source]
        problem: BadScript,
    },
}

impl OpenModelError {
    /// The same where there are more kinds of models.
    #[must_use]
    pub fn knowing(self, more: &[&'static str]) -> Self {
        match self {
            Self::UnknownKind { reference, mut kinds } => {
                kinds.extend(more);
                Self::UnknownKind { reference, kinds }
            }
            Self::Source { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Syntax { .. }
            | Self::Script { .. } => self,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match self {
            Self::Source { remedy, .. } => remedy,
            Self::UnknownKind { .. } => {
                "set `model` in the task to one of the kinds, as in scripted:replies.yaml"
            }
            Self::Unreadable { .. } => "check the path (it is relative to the task file) and its permissions",
            Self::TooLarge { .. } => "split the script: one file per task is enough",
            Self::Syntax { .. } => "mend the YAML or JSON at that line and column",
            Self::Script { problem, .. } => problem.remedy(),
        }
    }
}

/// Opens the model a task names; relative paths start at `base`.
pub fn open(reference: &str, base: &Path) -> Result<Arc<dyn Model>, OpenModelError> {
    match reference.split_once(':') {
        Some(("scripted", path)) if !path.is_empty() => Ok(Arc::new(Scripted::open(&base.join(path))?)),
        _ => Err(OpenModelError::UnknownKind {
            reference: reference.chars().take(200).collect(),
            kinds: KINDS.to_vec(),
        }),
    }
}
