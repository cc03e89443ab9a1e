//! Writing inside the guard: a place (opened directory and a name in it), what
//! is there now, and the atomic replacement of it.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use bowline_core::provenance::Digest;
use bowline_core::tool::FileImage;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{FILE_BYTES_MAX, InsidePath, PathError, READ_ENTRY_FLAGS, Workspace, protect, read_regular};

/// How temporary files begin and end: they are hidden from listings and copies.
const TEMP_PREFIX: &str = ".bowline-";
const TEMP_SUFFIX: &str = ".tmp";

/// Leftovers of at most so many earlier attempts are looked for.
const ATTEMPTS_TIDIED: u32 = 8;

/// A temporary file is new: what stands under its name, a link too, is an error.
pub(super) const MAKE_FLAGS: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What to do about directories that are not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingParents {
    /// Make them.
    Create,
    /// Say so.
    Leave,
}

/// Where a file is or would be.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) parent: OwnedFd,
    pub(super) name: String,
    pub(super) path: String,
}

/// What a file looks like now.
#[derive(Debug)]
pub(crate) struct Current {
    /// Its content.
    pub(crate) bytes: Vec<u8>,
    mode: Mode,
}

impl Current {
    /// Its permission bits.
    pub(crate) fn permissions(&self) -> u32 {
        self.mode.as_raw_mode() & 0o777
    }

    /// The hash of the content.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// The name of a temporary file: fixed per attempt of an action, so that a
/// later attempt can remove what a killed process left.
#[derive(Clone, Debug)]
pub(crate) struct TempName {
    stem: String,
    attempt: u32,
}

impl TempName {
    pub(crate) fn for_call(key: &Digest, attempt: u32) -> Self {
        Self { stem: key.short(), attempt }
    }

    pub(crate) fn for_landing(path: &str) -> Self {
        Self { stem: Digest::of_parts(&[b"landing", path.as_bytes()]).short(), attempt: 0 }
    }

    pub(crate) fn for_undo(image: &FileImage) -> Self {
        let stem = Digest::of_parts(&[b"undo", image.path.as_bytes(), &image.after.0]).short();
        Self { stem, attempt: 0 }
    }

    /// True for the names made here.
    pub(crate) fn is_one(name: &str) -> bool {
        name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
    }

    fn of_attempt(&self, attempt: u32) -> String {
        format!("{TEMP_PREFIX}{}-{attempt}{TEMP_SUFFIX}", self.stem)
    }

    pub(super) fn own(&self) -> String {
        self.of_attempt(self.attempt)
    }

    fn to_tidy(&self) -> impl Iterator<Item = String> {
        (self.attempt.saturating_sub(ATTEMPTS_TIDIED)..=self.attempt).map(|attempt| self.of_attempt(attempt))
    }
}

impl Workspace {
    /// Opens the directory of a file that may be written; `None` if it is not
    /// there and shall not be made. Blocks.
    pub(crate) fn place(
        &self,
        path: &InsidePath,
        missing: MissingParents,
    ) -> Result<Option<Place>, PathError> {
        if protect::deceives(&path.0) {
            return Err(PathError::Deceptive { path: path.0.clone() });
        }
        if path.is_guarded() {
            return Err(PathError::Protected { path: path.as_str().to_owned() });
        }
        let (parents, name) = path.0.rsplit_once('/').unwrap_or(("", &path.0));
        if name.is_empty() {
            return Err(PathError::NotAFile { path: path.as_str().to_owned() });
        }
        let Some(parent) = self.parent(parents, path, missing)? else { return Ok(None) };
        Ok(Some(Place { parent, name: name.to_owned(), path: path.0.clone() }))
    }

    /// Removes a file, or a link and not what it leads to. Blocks.
    pub fn remove(&self, path: &InsidePath) -> Result<(), PathError> {
        self.existing(path)?.remove()
    }

    /// Moves a regular file. What is at the target is replaced: a link itself, never
    /// what it leads to. Blocks.
    pub fn rename(&self, from: &InsidePath, to: &InsidePath) -> Result<(), PathError> {
        let source = self.existing(from)?;
        let about = rustix::fs::statat(&source.parent, &source.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| source.error(errno))?;
        if !FileType::from_raw_mode(about.st_mode).is_file() {
            return Err(PathError::NotAFile { path: from.as_str().to_owned() });
        }
        let target = self.existing(to)?;
        target.take_over(&source.parent, &source.name)?;
        source.sync_directory()?;
        target.sync_directory()
    }

    /// The place of something whose folder must be there.
    fn existing(&self, path: &InsidePath) -> Result<Place, PathError> {
        let place = self.place(path, MissingParents::Leave)?;
        place.ok_or_else(|| PathError::Missing { path: path.as_str().to_owned() })
    }

    /// The topmost folder of a path that is not there. Blocks.
    pub(crate) fn first_missing_folder(&self, path: &InsidePath) -> Result<Option<String>, PathError> {
        let mut missing = None;
        for folder in path.folders() {
            match self.directory(&folder) {
                Ok(_) => break,
                Err(PathError::Missing { .. }) => missing = Some(folder.as_str().to_owned()),
                Err(error) => return Err(error),
            }
        }
        Ok(missing)
    }

    fn parent(
        &self,
        parents: &str,
        path: &InsidePath,
        missing: MissingParents,
    ) -> Result<Option<OwnedFd>, PathError> {
        let mut here = InsidePath(String::new());
        let mut dir = self.directory(&here)?;
        for name in parents.split('/').filter(|name| !name.is_empty()) {
            here.push(name);
            dir = match (self.directory(&here), missing) {
                (Ok(dir), _) => dir,
                (Err(PathError::Missing { .. }), MissingParents::Leave) => return Ok(None),
                (Err(PathError::Missing { .. }), MissingParents::Create) => {
                    make_directory(&dir, name, path)?;
                    self.directory(&here)?
                }
                (Err(error), _) => return Err(error),
            };
            // Before anything is made inside it.
            self.refuse_guarded(&dir, path)?;
        }
        Ok(Some(dir))
    }
}

fn make_directory(parent: &OwnedFd, name: &str, path: &InsidePath) -> Result<(), PathError> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(PathError::from_errno(errno, path.as_str())),
    }
    rustix::fs::fsync(parent).map_err(|errno| PathError::from_errno(errno, path.as_str()))
}

impl Place {
    /// What is there now; `None` if nothing is. A link is not followed. Blocks.
    pub(crate) fn current(&self) -> Result<Option<Current>, PathError> {
        match rustix::fs::openat(&self.parent, &self.name, READ_ENTRY_FLAGS, Mode::empty()) {
            Ok(opened) => {
                let (bytes, mode) = read_regular(File::from(opened), &self.path, FILE_BYTES_MAX)?;
                Ok(Some(Current { bytes, mode }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(self.link()),
            Err(errno) => Err(self.error(errno)),
        }
    }

    /// Replaces the file, or makes it: wholly or not at all, durable when done. Blocks.
    pub(crate) fn replace(&self, bytes: &[u8], temp: &TempName) -> Result<(), PathError> {
        let mode = self.current()?.map(|current| current.mode);
        self.put(bytes, mode, temp)
    }

    /// Makes a file that was deleted again, with the rights it had. Blocks.
    pub(crate) fn make_again(&self, bytes: &[u8], mode: u32, temp: &TempName) -> Result<(), PathError> {
        self.put(bytes, Some(Mode::from_raw_mode(mode)), temp)
    }

    fn put(&self, bytes: &[u8], mode: Option<Mode>, temp: &TempName) -> Result<(), PathError> {
        for leftover in temp.to_tidy() {
            match rustix::fs::unlinkat(&self.parent, &leftover, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.error(errno)),
            }
        }
        let name = temp.own();
        let done = self.write_temp(&name, bytes, mode).and_then(|()| self.take_over(&self.parent, &name));
        if done.is_err() {
            // The error that counts is the first one; a leftover is tidied by the next attempt.
            let _ = rustix::fs::unlinkat(&self.parent, &name, AtFlags::empty());
        }
        done?;
        self.sync_directory()
    }

    /// Puts another entry here, in one step; what was here is gone.
    pub(super) fn take_over(&self, parent: &OwnedFd, name: &str) -> Result<(), PathError> {
        rustix::fs::renameat(parent, name, &self.parent, &self.name).map_err(|errno| self.error(errno))
    }

    /// Moves the file to a place where nothing is, in one step, durable when done. Blocks.
    pub(crate) fn move_to(&self, target: &Self) -> Result<(), PathError> {
        let flags = RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(&self.parent, &self.name, &target.parent, &target.name, flags)
            .map_err(|errno| target.error(errno))?;
        target.sync_directory()?;
        self.sync_directory()
    }

    /// Removes the file. Blocks.
    pub(crate) fn remove(&self) -> Result<(), PathError> {
        rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty())
            .map_err(|errno| self.error(errno))?;
        self.sync_directory()
    }

    /// Removes a folder if it is empty. False if it is in use, or no folder. Blocks.
    pub(crate) fn remove_empty_folder(&self) -> Result<bool, PathError> {
        match rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) => self.sync_directory().map(|()| true),
            Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(errno) => Err(self.error(errno)),
        }
    }

    fn write_temp(&self, name: &str, bytes: &[u8], mode: Option<Mode>) -> Result<(), PathError> {
        let io = |source| PathError::Io { path: self.path.clone(), source };
        let opened = rustix::fs::openat(&self.parent, name, MAKE_FLAGS, Mode::from_raw_mode(0o666))
            .map_err(|errno| self.error(errno))?;
        let mut file = File::from(opened);
        file.write_all(bytes).map_err(io)?;
        if let Some(mode) = mode {
            let plain = mode & Mode::from_raw_mode(0o777);
            rustix::fs::fchmod(&file, plain).map_err(|errno| self.error(errno))?;
        }
        file.sync_all().map_err(io)
    }

    fn sync_directory(&self) -> Result<(), PathError> {
        rustix::fs::fsync(&self.parent).map_err(|errno| self.error(errno))
    }

    fn link(&self) -> PathError {
        let target = rustix::fs::readlinkat(&self.parent, &self.name, Vec::new());
        let target = target.map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
        PathError::Link { path: self.path.clone(), target }
    }

    pub(super) fn error(&self, errno: Errno) -> PathError {
        PathError::from_errno(errno, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_not_on_the_disk_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "text").unwrap();
        // Names can be changed through it, and it cannot be synced.
        let parent =
            rustix::fs::open(dir.path(), OFlags::PATH.union(OFlags::DIRECTORY), Mode::empty()).unwrap();
        let place = Place { parent, name: "a".into(), path: "a".into() };
        assert!(matches!(place.remove(), Err(PathError::Io { .. })));
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn the_leftovers_of_the_last_attempts_are_looked_for() {
        let of = |attempt| TempName::for_call(&Digest::of(b"key"), attempt).to_tidy().collect::<Vec<_>>();
        let named = |attempt| format!(".bowline-{}-{attempt}.tmp", Digest::of(b"key").short());
        assert_eq!(of(1), [named(0), named(1)]);
        assert_eq!(of(20), (12..=20).map(named).collect::<Vec<_>>());
        assert!(of(20).iter().all(|name| TempName::is_one(name)));
        assert_eq!(TempName::for_call(&Digest::of(b"key"), 20).own(), named(20));
    }
}
