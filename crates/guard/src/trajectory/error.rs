//! Why recorded runs cannot be read: where, what, and what to do.

use std::io;
use std::path::PathBuf;

/// A file of recorded runs that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path cannot be opened or listed.
    #[error("cannot read {path}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder without recorded runs.
    #[error("there are no recorded runs in {path}")]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// The file stops making sense as bytes.
    #[error("{path}, line {line}: the file cannot be read on from here")]
    Broken {
        /// Which file.
        path: PathBuf,
        /// The line that could not be read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// A line over the limit.
    #[error("{path}, line {line}: longer than {max} bytes")]
    TooLong {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: u64,
        /// The limit.
        max: u64,
    },
    /// A line that is no JSON.
    #[error("{path}, line {line}: not JSON: {what}")]
    NotJson {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: u64,
        /// What the parser says.
        what: String,
    },
    /// JSON of another shape.
    #[error("{path}, line {line}: not a recorded run: {what}")]
    NotARun {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: u64,
        /// What is missing or wrong.
        what: String,
    },
}

impl ReadError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check that the path exists and this user may read it",
            Self::Empty { .. } => "name a .jsonl or .jsonl.gz file, or a folder that holds some",
            Self::Broken { .. } => "copy or download the file again: it is damaged or cut short",
            Self::TooLong { .. } => "keep one run a line, and clip long outputs",
            Self::NotJson { .. } => "put one JSON object on each line, and nothing else",
            Self::NotARun { .. } => {
                "give each run id, source, success and events; \
                 each event t (user, assistant, tool_call, tool_result) and its fields"
            }
        }
    }
}
