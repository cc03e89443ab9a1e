//! A copy of a whole folder, there completely or not at all.
//!
//! The copy grows in a temporary sibling that is written to the disk and renamed at
//! the end, so a target that exists is complete, for a copy that is synced also after the power failed. The sibling is locked while it grows: one left by a
//! killed process is not locked and is begun again; a live one is left alone.
//!
//! What is copied is listed first; the files are then copied side by side. What each was
//! like is written down beside the copy: its base.

mod files;
mod listed;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::{BadWorkspace, RACES_MAX, Workspace};
use crate::Sandbox;
use crate::background::{self, StopFlag};
use crate::isolation::base::Base;
use crate::program::git;
use listed::{Listed, What};

/// Most files and folders of one copy.
pub const COPY_FILES_MAX: u64 = 100_000;

/// Most bytes of one copy.
pub const COPY_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Longest time one copy may take.
const COPY_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(600);

/// Runs live here; they are never copied.
const SKIPPED: &[&str] = &[".bowline"];

/// In a copy that is brought back, neither is the repository.
const SKIPPED_APART: &[&str] = &[".bowline", ".git"];

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

/// Copies a folder to a place where nothing is yet, and writes down at `base` what it
/// was like. If something is there, it is a complete copy and left as it is.
pub async fn copy_tree(from: &Path, to: &Path, base: &Path) -> Result<Copied, CopyError> {
    let order = Order { what: What::Everything(SKIPPED), base: base.to_owned(), sync: Sync::DISK };
    copy_in_background(from, to, order).await
}

/// The same of what a repository tracks or would track, or, without one, of everything
/// but `.git`; the copy is not synced, and its base says so.
pub async fn copy_apart(from: &Path, to: &Path, base: &Path, sandbox: &Sandbox) -> Result<Copied, CopyError> {
    if to.symlink_metadata().is_ok() {
        return Ok(Copied::default());
    }
    let what = match git::files(from, &sandbox.outside(from)).await {
        Some(files) => What::Files(files),
        None => What::Everything(SKIPPED_APART),
    };
    copy_in_background(from, to, Order { what, base: base.to_owned(), sync: Sync::LATER }).await
}

async fn copy_in_background(from: &Path, to: &Path, order: Order) -> Result<Copied, CopyError> {
    let (source, target) = (from.to_owned(), to.to_owned());
    let caps = Caps { entries: COPY_FILES_MAX, bytes: COPY_BYTES_MAX };
    background::run(COPY_TIME_MAX, move |stop| copy(&source, &target, &order, caps, stop))
        .await
        .unwrap_or_else(|_| Err(CopyError::BrokenOff { to: to.to_owned() }))
}

/// What is copied, and what is kept of it.
struct Order {
    what: What,
    /// Where the base goes.
    base: PathBuf,
    sync: Sync,
}

#[derive(Clone, Copy)]
struct Caps {
    entries: u64,
    bytes: u64,
}

/// How a copy is made to last; tests bring disks that fail.
#[derive(Clone, Copy)]
struct Sync {
    /// Everything on the disk of this folder; `None`: not now.
    tree: Option<fn(&File) -> io::Result<()>>,
    /// The names in this folder.
    folder: fn(&File) -> io::Result<()>,
}

impl Sync {
    const DISK: Self = Self {
        tree: Some(|folder| Ok(rustix::fs::syncfs(folder)?)),
        folder: |folder| Ok(rustix::fs::fsync(folder)?),
    };
    const LATER: Self = Self { tree: None, ..Self::DISK };
}

fn copy(from: &Path, to: &Path, order: &Order, caps: Caps, stop: &StopFlag) -> Result<Copied, CopyError> {
    let source = Workspace::open(from)?;
    if to.symlink_metadata().is_ok() {
        return Ok(Copied::default());
    }
    let sibling = sibling(&source, to)?;
    let Some(lock) = claim(&sibling, to)? else { return Ok(Copied::default()) };
    let done = fill(&source, &sibling, (order, caps), stop).and_then(|(done, base)| {
        if stop.is_set() {
            return Err(CopyError::BrokenOff { to: to.to_owned() });
        }
        base.keep(&order.base).map_err(|source| CopyError::Io { path: order.base.clone(), source })?;
        finish(&lock, &sibling, to, order.sync)
            .map(|()| done)
            .map_err(|source| CopyError::Io { path: to.to_owned(), source })
    });
    if done.is_err() {
        // What is left is begun again by the next copy; the first error counts.
        let _ = fs::remove_dir_all(&sibling);
    }
    done
}

/// Copies what is wanted into an empty folder.
fn fill(
    source: &Workspace,
    target: &Path,
    (order, caps): (&Order, Caps),
    stop: &StopFlag,
) -> Result<(Copied, Base), CopyError> {
    let listed = Listed::of(source, &order.what, caps.entries, stop)?;
    let mut base = Base::new(order.sync.tree.is_some());
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| CopyError::Io { path, source }
    };
    for (path, mode) in &listed.folders {
        // Writable for us, or nothing could be put into it.
        DirBuilder::new().mode(mode | 0o700).create(target.join(path)).map_err(io(path))?;
    }
    for (path, leads_to) in &listed.links {
        std::os::unix::fs::symlink(leads_to, target.join(path)).map_err(io(path))?;
        base.link(path, leads_to);
    }
    let bytes = files::copy(source, target, (&listed.files, caps.bytes), stop, &mut base)?;
    let entries = listed.folders.len() + listed.links.len() + listed.files.len();
    Ok((Copied { entries: entries as u64, bytes, left_out: listed.left_out }, base))
}

/// Gives the copy its name, once all of it is on the disk: a name must not outlive
/// a power failure that its content does not.
fn finish(copied: &File, sibling: &Path, to: &Path, sync: Sync) -> io::Result<()> {
    if let Some(sync_tree) = sync.tree {
        sync_tree(copied)?;
    }
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
    crate::isolation::private_folder(parent).map_err(io)?;
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

#[cfg(test)]
mod tests;
