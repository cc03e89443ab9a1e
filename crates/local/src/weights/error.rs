//! What can go wrong with weights.

use std::path::PathBuf;

use crate::error::LoadError;

/// Weights could not be had.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// No such name in the catalogue or the store.
    #[error("there are no weights called {name:?}")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A name that is no name.
    #[error("{name:?} is no name for weights")]
    BadName {
        /// What was given.
        name: String,
    },
    /// The store cannot be used.
    #[error("cannot use {path}: {source}")]
    Store {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What came is not what was pinned.
    #[error("{what} has the checksum {found}, not {pinned}")]
    Checksum {
        /// Which file.
        what: String,
        /// What it has.
        found: String,
        /// What it must have.
        pinned: String,
    },
    /// The file a person brought cannot be run.
    #[error(transparent)]
    Unusable(#[from] LoadError),
    /// Every source failed.
    #[error("the weights {name:?} could not be fetched: {}", tried.join("; "))]
    Unreachable {
        /// Which weights.
        name: String,
        /// What was tried, and what came of it.
        tried: Vec<String>,
    },
}

impl WeightsError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "name one of the catalogue, or import a GGUF file under that name",
            Self::BadName { .. } => {
                "use letters, digits, dots, dashes and underscores, 64 at most, and no .gguf at the end"
            }
            Self::Store { .. } => "check the folder, its permissions and the space left on its disk",
            Self::Checksum { .. } => {
                "fetch the file again, from a source you trust; a file of your own needs a name of its own"
            }
            Self::Unusable(cause) => cause.remedy(),
            Self::Unreachable { .. } => {
                "check the network or the settings of pip, or fetch the file elsewhere and import it under that name"
            }
        }
    }
}
