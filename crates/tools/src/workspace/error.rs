//! Why a path or a workspace was refused.

use std::path::PathBuf;

use rustix::io::Errno;

/// A folder that cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum BadWorkspace {
    /// It cannot be opened.
    #[error("the workspace {path} cannot be opened")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no folder.
    #[error("the workspace {path} is not a folder")]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },
}

impl BadWorkspace {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "create the folder, or correct its path and permissions",
            Self::NotAFolder { .. } => "name the folder the agent shall work in, not a file",
        }
    }
}

/// Why a path of a call was refused. The model reads the message.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// No path at all.
    #[error("the path is empty; use . for the workspace itself")]
    Empty,
    /// Not a path.
    #[error("the path {path:?} contains a NUL character")]
    Nul {
        /// As asked.
        path: String,
    },
    /// Leads out, by name or by a link.
    #[error("{path} leads outside the workspace; only files inside it can be used")]
    Outside {
        /// As asked.
        path: String,
    },
    /// Must not be written.
    #[error("{path} cannot be written: .git, .agent, .bowline, .mcp.json and .env are protected")]
    Protected {
        /// As asked.
        path: String,
    },
    /// Must not even be read.
    #[error("{path} cannot be read: .env files hold secrets and are protected")]
    Private {
        /// As asked.
        path: String,
    },
    /// Would be shown as something else than it is.
    #[error("{path:?} cannot be written: its name has control characters, or some that reorder text")]
    Deceptive {
        /// As asked.
        path: String,
    },
    /// Is not there.
    #[error("there is no {path} in the workspace")]
    Missing {
        /// As asked.
        path: String,
    },
    /// A file stands where a folder is needed.
    #[error("a part of {path} is a file, not a folder")]
    NotAFolder {
        /// As asked.
        path: String,
    },
    /// A folder, device, pipe or socket.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// As asked.
        path: String,
    },
    /// A write would replace a link.
    #[error("{path} is a symbolic link to {target}; write to the file it leads to")]
    Link {
        /// As asked.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Over the cap.
    #[error("{path} has more than {max} bytes")]
    TooLarge {
        /// As asked.
        path: String,
        /// The cap.
        max: u64,
    },
    /// The kernel cannot guard paths.
    #[error(
        "this system cannot open {path} safely: openat2 is missing (Linux 5.6 or later, not blocked by a sandbox)"
    )]
    NoGuard {
        /// As asked.
        path: String,
    },
    /// The operating system says no.
    #[error("{path}: {source}")]
    Io {
        /// As asked.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl PathError {
    /// What to do about it, for a person.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Empty | Self::Nul { .. } | Self::Missing { .. } => "correct the path",
            Self::Outside { .. } | Self::Link { .. } => {
                "name a file inside the workspace by its path below it"
            }
            Self::Protected { .. } => "leave protected files to the programs that own them",
            Self::Private { .. } => "keep what the agent needs to read outside .env",
            Self::Deceptive { .. } => "give the file a plain name",
            Self::NotAFolder { .. } | Self::NotAFile { .. } => "name a regular file",
            Self::TooLarge { .. } => "split the file, or work on it with a command",
            Self::NoGuard { .. } => "run on Linux 5.6 or later and allow the openat2 system call",
            Self::Io { .. } => "check permissions and the disk",
        }
    }

    pub(crate) fn from_errno(errno: Errno, path: &str) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::XDEV | Errno::LOOP => Self::Outside { path },
            Errno::NOENT | Errno::NAMETOOLONG => Self::Missing { path },
            Errno::NOTDIR => Self::NotAFolder { path },
            Errno::ISDIR | Errno::NXIO | Errno::NODEV => Self::NotAFile { path },
            Errno::NOSYS => Self::NoGuard { path },
            other => Self::Io { path, source: other.into() },
        }
    }
}
