//! Why there is no cage, and why a grant cannot be turned into one.

use std::io;
use std::path::PathBuf;

use crate::outside::NotFound;

/// The sandbox is missing: something this machine lacks. Nothing runs then.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// There is no bubblewrap, or only where an agent may have put it.
    #[error("sandbox missing: {0}")]
    Bubblewrap(NotFound),
    /// There is one that cannot do what we need.
    #[error("sandbox missing: {} lacks {}", path.display(), lacks.join(" "))]
    Outdated {
        /// The program found.
        path: PathBuf,
        /// Options it does not know.
        lacks: Vec<&'static str>,
    },
    /// The program found cannot be started.
    #[error("sandbox missing: {} cannot be started", path.display())]
    Unusable {
        /// The program found.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refuses the namespaces.
    #[error("sandbox missing: this user may not create namespaces ({said})")]
    Namespaces {
        /// What bubblewrap said.
        said: String,
    },
    /// The kernel has no Landlock, or it is switched off.
    #[error("sandbox missing: the kernel offers no Landlock ({said})")]
    Landlock {
        /// What the launcher said.
        said: String,
    },
    /// The kernel refuses the system call filter.
    #[error("sandbox missing: the kernel takes no system call filter ({said})")]
    Filter {
        /// What bubblewrap said.
        said: String,
    },
    /// We do not know this processor's system calls.
    #[error("sandbox missing: no system call filter for this processor")]
    Processor,
    /// The first trial failed in some other way.
    #[error("sandbox missing: the trial run ended otherwise than expected ({said})")]
    Trial {
        /// What was said.
        said: String,
    },
}

impl Missing {
    /// Whether it may be otherwise the next time: the machine was short of something,
    /// or what happened is not understood. Only the rest is a machine without a cage.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        let short = ["temporarily unavailable", "Cannot allocate memory", "Too many open files"];
        match self {
            // There is one: a machine that has no cage is another thing.
            Self::Bubblewrap(found) => found.has_passed_over(),
            Self::Outdated { .. } | Self::Landlock { .. } | Self::Processor => false,
            Self::Namespaces { said } | Self::Filter { said } => {
                short.iter().any(|words| said.contains(words))
            }
            Self::Unusable { source, .. } => {
                !matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            }
            Self::Trial { .. } => true,
        }
    }

    /// What the person at the machine can do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Bubblewrap(found) if found.has_passed_over() => found.remedy(),
            Self::Bubblewrap(_) => {
                "install bubblewrap: `apt-get install bubblewrap`, `dnf install bubblewrap`, `apk add bubblewrap` or `pacman -S bubblewrap`"
            }
            Self::Outdated { .. } => {
                "update bubblewrap to 0.10, or to your distribution's patched 0.8 or 0.9"
            }
            Self::Unusable { .. } => "make sure the `bwrap` found first on PATH is bubblewrap and may be run",
            Self::Namespaces { .. } => {
                "allow unprivileged user namespaces: `sysctl user.max_user_namespaces=10000`, and where they exist `kernel.unprivileged_userns_clone=1` and `kernel.apparmor_restrict_unprivileged_userns=0`; in a container, start it with the rights to create them"
            }
            Self::Landlock { .. } => "boot a kernel of 5.13 or later with `landlock` in its `lsm=` list",
            Self::Filter { .. } => "boot a kernel with CONFIG_SECCOMP_FILTER",
            Self::Processor => "run on x86-64 or 64-bit ARM",
            Self::Trial { .. } => "run `bowline doctor`; the words in brackets say where it stopped",
        }
    }
}

/// A grant or command that cannot be caged as it stands.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Only absolute paths without `..` say the same everywhere.
    #[error("{} is not an absolute path without `..`", path.display())]
    NotPlain {
        /// The path.
        path: PathBuf,
    },
    /// A granted path cannot be opened.
    #[error("cannot open {}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Too much hangs on this path to be granted.
    #[error("{} cannot be granted: {why}", path.display())]
    TooWide {
        /// The path.
        path: PathBuf,
        /// What would be given away with it.
        why: &'static str,
    },
    /// A link cannot be protected: it could be replaced. Nor can what would lie below a file.
    #[error("protected path {} is a symbolic link, or lies below a link or a file", path.display())]
    ProtectedLink {
        /// The path.
        path: PathBuf,
    },
    /// The command would start where it can see nothing.
    #[error("working folder {} is not within the grant", path.display())]
    FolderOutside {
        /// The path.
        path: PathBuf,
    },
    /// A variable no environment can hold.
    #[error("environment variable {name:?} has a bad name or value")]
    BadVariable {
        /// Its name.
        name: String,
    },
    /// The proxy is not a listening place.
    #[error("proxy {} is not a Unix socket", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// More entries than a grant may have.
    #[error("the grant has {count} entries, {max} at most")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// A word no command line can hold.
    #[error("the command holds a NUL byte")]
    NulByte,
    /// The system refused something we need on the way.
    #[error("cannot prepare the cage: {what}")]
    System {
        /// What it was.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl Refused {
    /// What to change.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotPlain { .. } => "write the whole path, from `/`, without `..`",
            Self::Unreadable { .. } => "grant paths that exist and may be read",
            Self::TooWide { .. } => "grant the folders below it that are really needed",
            Self::ProtectedLink { .. } => "protect the real path instead of the link",
            Self::FolderOutside { .. } => "start the command in a granted folder",
            Self::BadVariable { .. } => "drop the variable, or take `=` and NUL out of it",
            Self::NoSocket { .. } => "start the proxy before the command",
            Self::TooMany { .. } => "grant folders instead of single files",
            Self::NulByte => "take the NUL byte out of the command",
            Self::System { .. } => "free memory or file descriptors and try again",
        }
    }
}
