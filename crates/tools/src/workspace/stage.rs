//! A change of one place in two steps: what will stand there is written beside it and
//! synced, then it takes the place by its name alone. And a look at what stands there.
//!
//! The folder itself is synced by whoever makes many of these.

use std::fs::File;
use std::io::Write as _;

use bowline_core::event::Seen;
use bowline_core::provenance::Digest;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::write::MAKE_FLAGS;
use super::{InsidePath, MissingParents, PathError, Place, TempName, Workspace};

/// What shall stand at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A regular file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Whether its owner may run it.
        executable: bool,
    },
    /// A symbolic link, whatever it leads to.
    Link {
        /// Where it leads.
        to: String,
    },
}

impl Thing {
    /// Enough of it to compare.
    #[must_use]
    pub fn seen(&self) -> Seen {
        match self {
            Self::File { bytes, executable } => {
                Seen::File { sha256: Digest::of(bytes), executable: *executable }
            }
            Self::Link { to } => Seen::Link { to: to.clone() },
        }
    }
}

impl Workspace {
    /// What stands at a path. Blocks.
    pub(crate) fn seen(&self, path: &InsidePath) -> Result<Seen, PathError> {
        match self.place(path, MissingParents::Leave) {
            Ok(Some(place)) => place.seen(),
            Ok(None) => Ok(Seen::Nothing),
            // A file or a link stands where a folder was.
            Err(PathError::NotAFolder { .. } | PathError::Outside { .. }) => Ok(Seen::SomethingElse),
            Err(error) => Err(error),
        }
    }
}

impl Place {
    /// What stands here. Blocks.
    pub(crate) fn seen(&self) -> Result<Seen, PathError> {
        match self.thing() {
            Ok(thing) => Ok(thing.as_ref().map_or(Seen::Nothing, Thing::seen)),
            Err(PathError::NotAFile { .. } | PathError::TooLarge { .. }) => Ok(Seen::SomethingElse),
            Err(error) => Err(error),
        }
    }

    /// The same, with its bytes; no folder, and nothing that is too large. Blocks.
    pub(crate) fn thing(&self) -> Result<Option<Thing>, PathError> {
        match self.current() {
            Ok(current) => Ok(current.map(|current| {
                let executable = current.permissions() & 0o100 != 0;
                Thing::File { bytes: current.bytes, executable }
            })),
            Err(PathError::Link { target, .. }) => Ok(Some(Thing::Link { to: target })),
            Err(error) => Err(error),
        }
    }

    /// Writes beside the place what shall stand there. Blocks.
    pub(crate) fn stage(&self, thing: &Thing, temp: &TempName) -> Result<(), PathError> {
        self.discard(temp)?;
        match thing {
            Thing::Link { to } => rustix::fs::symlinkat(to.as_str(), &self.parent, temp.own())
                .map_err(|errno| self.error(errno)),
            Thing::File { bytes, executable } => {
                let io = |source| PathError::Io { path: self.path.clone(), source };
                let was = self.current().ok().flatten().map(|current| current.permissions());
                let made =
                    rustix::fs::openat(&self.parent, temp.own(), MAKE_FLAGS, Mode::from_raw_mode(0o666))
                        .map_err(|errno| self.error(errno))?;
                let about = rustix::fs::fstat(&made).map_err(|errno| self.error(errno))?;
                let mode = runnable(was.unwrap_or(about.st_mode & 0o777), *executable);
                rustix::fs::fchmod(&made, Mode::from_raw_mode(mode)).map_err(|errno| self.error(errno))?;
                let mut file = File::from(made);
                file.write_all(bytes).map_err(io)?;
                file.sync_data().map_err(io)
            }
        }
    }

    /// What was written beside it takes the place. Blocks.
    pub(crate) fn take_staged(&self, temp: &TempName) -> Result<(), PathError> {
        self.take_over(&self.parent, &temp.own())
    }

    /// Removes what was written beside it, if it is there. Blocks.
    pub(crate) fn discard(&self, temp: &TempName) -> Result<(), PathError> {
        self.unlink(&temp.own())
    }

    /// Removes what stands here, a link itself too. Blocks.
    pub(crate) fn clear(&self) -> Result<(), PathError> {
        self.unlink(&self.name)
    }

    fn unlink(&self, name: &str) -> Result<(), PathError> {
        match rustix::fs::unlinkat(&self.parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error(errno)),
        }
    }
}

/// Whoever may read a file may run it, or nobody.
fn runnable(mode: u32, executable: bool) -> u32 {
    if executable { mode | (mode & 0o444) >> 2 | 0o100 } else { mode & !0o111 }
}
