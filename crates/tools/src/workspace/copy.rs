//! A copy of a whole folder, there completely or not at all.
//!
//! The copy grows in a temporary sibling that is written to the disk and renamed at
//! the end, so a target that exists is complete, also after the power failed. The sibling is locked while it grows: one left by a
//! killed process is not locked and is begun again; a live one is left alone.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode};

use super::{BadWorkspace, Found, InsidePath, Kind, RACES_MAX, READ_ENTRY_FLAGS, Walk, Workspace};
use crate::background::{self, StopFlag};

/// Most files and folders of one copy.
pub const COPY_FILES_MAX: u64 = 100_000;

/// Most bytes of one copy.
pub const COPY_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Longest time one copy may take.
const COPY_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(600);

/// Runs live here; they are never copied.
const SKIPPED: &[&str] = &[".bowline"];

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files, folders and links; 0 if the target was there already.
    pub entries: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// Devices, pipes and sockets, which are left out.
    pub left_out: u64,
}

/// A folder could not be copied. Nothing is at the target then.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source is no folder that can be opened.
    #[error(transparent)]
    Source(#[from] BadWorkspace),
    /// The target lies in the source.
    #[error("{to} lies inside {from}, of which it shall be a copy")]
    InsideItself {
        /// The source.
        from: PathBuf,
        /// The target.
        to: PathBuf,
    },
    /// More files than the cap.
    #[error("{from} has more than {max} files and folders")]
    TooMany {
        /// The source.
        from: PathBuf,
        /// The cap.
        max: u64,
    },
    /// More bytes than the cap.
    #[error("{from} has more than {max} bytes")]
    TooLarge {
        /// The source.
        from: PathBuf,
        /// The cap.
        max: u64,
    },
    /// Somebody else is copying to the same place.
    #[error("another process is copying to {to}")]
    Busy {
        /// The target.
        to: PathBuf,
    },
    /// It took too long, or nobody waited any more.
    #[error("copying to {to} was broken off")]
    BrokenOff {
        /// The target.
        to: PathBuf,
    },
    /// The operating system says no.
    #[error("cannot copy {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl CopyError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Source(bad) => bad.remedy(),
            Self::InsideItself { .. } => "keep runs outside the workspace, or under its .bowline folder",
            Self::TooMany { .. } | Self::TooLarge { .. } => {
                "work in place (mode: in-place), or name a smaller folder as the workspace"
            }
            Self::Busy { .. } => "wait until the other process is done",
            Self::BrokenOff { .. } => "try again",
            Self::Io { .. } => "check permissions and free space",
        }
    }
}

/// Copies a folder to a place where nothing is yet. If something is there, it is
/// a complete copy and left as it is.
pub async fn copy_tree(from: &Path, to: &Path) -> Result<Copied, CopyError> {
    let (source, target) = (from.to_owned(), to.to_owned());
    let caps = Caps { entries: COPY_FILES_MAX, bytes: COPY_BYTES_MAX, sync: Sync::DISK };
    background::run(COPY_TIME_MAX, move |stop| copy(&source, &target, caps, stop))
        .await
        .unwrap_or_else(|_| Err(CopyError::BrokenOff { to: to.to_owned() }))
}

#[derive(Clone, Copy)]
struct Caps {
    entries: u64,
    bytes: u64,
    sync: Sync,
}

/// How a copy is made to last; tests bring disks that fail.
#[derive(Clone, Copy)]
struct Sync {
    /// Everything on the disk of this folder.
    tree: fn(&File) -> io::Result<()>,
    /// The names in this folder.
    folder: fn(&File) -> io::Result<()>,
}

impl Sync {
    const DISK: Self = Self {
        tree: |folder| Ok(rustix::fs::syncfs(folder)?),
        folder: |folder| Ok(rustix::fs::fsync(folder)?),
    };
}

fn copy(from: &Path, to: &Path, caps: Caps, stop: &StopFlag) -> Result<Copied, CopyError> {
    let source = Workspace::open(from)?;
    if to.symlink_metadata().is_ok() {
        return Ok(Copied::default());
    }
    let sibling = sibling(&source, to)?;
    let Some(lock) = claim(&sibling, to)? else { return Ok(Copied::default()) };
    let mut copying =
        Copying { source: &source, target: &sibling, caps, done: Copied::default(), failed: None };
    let walk = Walk { depth: usize::MAX, skip: SKIPPED, stop };
    let walked = walk.visit(&source, &InsidePath(String::new()), |found| copying.entry(found));
    let done = match (walked, copying.failed) {
        (_, Some(failed)) => Err(failed),
        (Err(error), None) => Err(CopyError::Io { path: from.to_owned(), source: io::Error::other(error) }),
        (Ok(()), None) if stop.is_set() => Err(CopyError::BrokenOff { to: to.to_owned() }),
        (Ok(()), None) => finish(&lock, &sibling, to, caps.sync)
            .map(|()| copying.done)
            .map_err(|source| CopyError::Io { path: to.to_owned(), source }),
    };
    if done.is_err() {
        // What is left is begun again by the next copy; the first error counts.
        let _ = fs::remove_dir_all(&sibling);
    }
    done
}

/// Gives the copy its name, once all of it is on the disk: a name must not outlive
/// a power failure that its content does not.
fn finish(copied: &File, sibling: &Path, to: &Path, sync: Sync) -> io::Result<()> {
    (sync.tree)(copied)?;
    fs::rename(sibling, to)?;
    let parent = File::open(sibling.parent().unwrap_or(Path::new("/")))?;
    (sync.folder)(&parent)
}

/// The temporary place beside the target.
fn sibling(source: &Workspace, to: &Path) -> Result<PathBuf, CopyError> {
    let io = |source| CopyError::Io { path: to.to_owned(), source };
    let name = to.file_name().ok_or_else(|| io(io::ErrorKind::InvalidInput.into()))?;
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(io)?;
    let parent = parent.canonicalize().map_err(io)?;
    if let Ok(below) = parent.join(name).strip_prefix(source.root()) {
        let skipped = below.components().any(|part| SKIPPED.iter().any(|skip| part.as_os_str() == *skip));
        if !skipped {
            return Err(CopyError::InsideItself { from: source.root().to_owned(), to: to.to_owned() });
        }
    }
    Ok(parent.join(format!(".{}.partial", name.to_string_lossy())))
}

/// Locks an empty sibling; `None` if the copy was finished by somebody else meanwhile.
fn claim(sibling: &Path, to: &Path) -> Result<Option<File>, CopyError> {
    let io = |source| CopyError::Io { path: sibling.to_owned(), source };
    for _ in 0..RACES_MAX {
        if to.exists() {
            return Ok(None);
        }
        match DirBuilder::new().mode(0o700).create(sibling) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(error)),
        }
        let lock = match File::open(sibling) {
            Ok(lock) => lock,
            // Renamed by whoever finished it, or removed by whoever failed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(io(error)),
        };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(CopyError::Busy { to: to.to_owned() });
        }
        if to.exists() {
            return Ok(None);
        }
        let locked = lock.metadata().map_err(io)?.ino();
        if sibling.symlink_metadata().is_ok_and(|now| now.ino() == locked) {
            empty(sibling).map_err(io)?;
            return Ok(Some(lock));
        }
    }
    Err(CopyError::Busy { to: to.to_owned() })
}

fn empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    Ok(())
}

struct Copying<'a> {
    source: &'a Workspace,
    target: &'a Path,
    caps: Caps,
    done: Copied,
    failed: Option<CopyError>,
}

impl Copying<'_> {
    fn entry(&mut self, found: &Found<'_>) -> ControlFlow<()> {
        match self.one(found) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failed) => {
                self.failed = Some(failed);
                ControlFlow::Break(())
            }
        }
    }

    fn one(&mut self, found: &Found<'_>) -> Result<(), CopyError> {
        let io = |source| CopyError::Io { path: found.path.to_owned(), source };
        let from = || self.source.root().to_owned();
        if self.done.entries >= self.caps.entries {
            return Err(CopyError::TooMany { from: from(), max: self.caps.entries });
        }
        let target = self.target.join(found.path);
        let mode = found.mode.as_raw_mode() & 0o777;
        match &found.kind {
            // Writable for us, or nothing could be put into it.
            Kind::Directory => DirBuilder::new().mode(mode | 0o700).create(&target).map_err(io)?,
            Kind::Link(leads_to) => std::os::unix::fs::symlink(leads_to, &target).map_err(io)?,
            Kind::File => {
                let left = self.caps.bytes - self.done.bytes;
                let bytes = copy_file(found, &target, left.saturating_add(1)).map_err(io)?;
                if bytes > left {
                    return Err(CopyError::TooLarge { from: from(), max: self.caps.bytes });
                }
                self.done.bytes += bytes;
            }
            Kind::Special => {
                self.done.left_out += 1;
                return Ok(());
            }
            Kind::Unreadable(errno) => return Err(io((*errno).into())),
        }
        self.done.entries += 1;
        Ok(())
    }
}

fn copy_file(found: &Found<'_>, target: &Path, max: u64) -> io::Result<u64> {
    let opened = rustix::fs::openat(found.parent, found.name, READ_ENTRY_FLAGS, Mode::empty())?;
    let from = File::from(opened);
    let mode = from.metadata()?.permissions().mode() & 0o777;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    let bytes = io::copy(&mut from.take(max), &mut to)?;
    to.set_permissions(Permissions::from_mode(mode))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
