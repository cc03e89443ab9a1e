//! The files of a copy: read once, hashed, written; several at a time.
//!
//! What is hashed is what is written, so that the base tells of exactly the bytes the
//! copy began with. No link is followed.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bowline_core::provenance::Digest;
use rustix::fs::{Mode, ResolveFlags};

use super::super::{FILE_BYTES_MAX, READ_ENTRY_FLAGS, Workspace};
use super::CopyError;
use crate::background::StopFlag;
use crate::isolation::base::{Base, Stood};

/// Files are copied by so many threads: making one waits for the disk's own book-keeping.
const THREADS: usize = 4;

/// Copies these files and notes what each was like. How many bytes they had.
pub(super) fn copy(
    source: &Workspace,
    target: &Path,
    (files, max): (&[(PathBuf, u32)], u64),
    stop: &StopFlag,
    base: &mut Base,
) -> Result<u64, CopyError> {
    let copying = Copying { source, target, max, spent: AtomicU64::new(0) };
    let share = files.len().div_ceil(THREADS).max(1);
    let parts: Vec<Result<Vec<Stood>, CopyError>> = std::thread::scope(|scope| {
        let copying = &copying;
        let parts: Vec<_> =
            files.chunks(share).map(|part| scope.spawn(move || copying.part(part, stop))).collect();
        let broke = |path: &Path| CopyError::BrokenOff { to: path.to_owned() };
        parts.into_iter().map(|part| part.join().unwrap_or_else(|_| Err(broke(target)))).collect()
    });
    for (part, files) in parts.into_iter().zip(files.chunks(share)) {
        for ((path, _), stood) in files.iter().zip(part?) {
            base.file(path, stood);
        }
    }
    Ok(copying.spent.into_inner())
}

struct Copying<'a> {
    source: &'a Workspace,
    target: &'a Path,
    max: u64,
    spent: AtomicU64,
}

impl Copying<'_> {
    fn part(&self, files: &[(PathBuf, u32)], stop: &StopFlag) -> Result<Vec<Stood>, CopyError> {
        let mut stood = Vec::with_capacity(files.len());
        for (path, _) in files {
            if stop.is_set() {
                return Err(CopyError::BrokenOff { to: self.target.to_owned() });
            }
            let copied = self.one(path).map_err(|source| CopyError::Io { path: path.clone(), source })?;
            stood.push(
                copied.ok_or_else(|| CopyError::TooLarge {
                    from: self.source.root().to_owned(),
                    max: self.max,
                })?,
            );
        }
        Ok(stood)
    }

    /// Copies a file; `None` if it does not fit any more.
    fn one(&self, path: &Path) -> io::Result<Option<Stood>> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let dir = &self.source.inner.dir;
        let from = File::from(rustix::fs::openat2(dir, path, READ_ENTRY_FLAGS, Mode::empty(), resolve)?);
        let about = from.metadata()?;
        let mode = about.permissions().mode() & 0o777;
        let mut to =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.target.join(path))?;
        let executable = mode & 0o100 != 0;
        let mut bytes = Vec::new();
        if about.len() <= FILE_BYTES_MAX {
            (&from).take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        }
        let is_small = about.len() <= FILE_BYTES_MAX && bytes.len() as u64 <= FILE_BYTES_MAX;
        let len = if is_small {
            to.write_all(&bytes)?;
            bytes.len() as u64
        } else {
            to.write_all(&bytes)?;
            // Disks that can share blocks do so here.
            bytes.len() as u64 + io::copy(&mut (&from).take(self.max.saturating_add(1)), &mut to)?
        };
        if self.spent.fetch_add(len, Ordering::Relaxed).saturating_add(len) > self.max {
            return Ok(None);
        }
        to.set_permissions(Permissions::from_mode(mode))?;
        if is_small {
            return Ok(Some(Stood::File { sha256: Digest::of(&bytes), executable }));
        }
        let made = to.metadata()?;
        Ok(Some(Stood::Large { len, modified: (made.mtime(), made.mtime_nsec()), executable }))
    }
}
