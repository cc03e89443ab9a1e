//! A stand-in for a protected path that does not exist: an empty folder that is
//! mounted read-only over itself, so that nothing can be made in its place.
//!
//! A mount needs something to lie on, and inside a writable folder that something
//! is on the real disk. It is there only while commands run. Each command holds
//! a shared lock on it; who lets go last removes it. Removing it earlier would
//! take the mount of the other commands away with it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// Nobody may write it. What a umask takes away, or a folder's group adds, changes
/// the rest of the mode, so stand-ins are recognised by this and by being empty.
const MODE: u32 = 0o555;

/// How often somebody may remove it between our making and our locking it.
const TRIES: usize = 16;

/// One stand-in, ours or shared.
#[derive(Debug)]
pub(crate) struct Placeholder {
    parent: OwnedFd,
    name: OsString,
    folder: OwnedFd,
    left: bool,
}

impl Placeholder {
    /// Makes or joins the stand-in `name` in `parent`. Nothing where the user may
    /// not make it: then the command may not either.
    pub(crate) fn take(parent: OwnedFd, name: &OsStr) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            match mkdirat(&parent, name, Mode::from_raw_mode(MODE)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = match openat(&parent, name, flags, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            flock(&folder, FlockOperation::LockShared)?;
            if is_still_there(&parent, name, &folder)? {
                return Ok(Some(Self { parent, name: name.to_owned(), folder, left: false }));
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Is the folder at this place one that a command which was killed left behind?
    pub(crate) fn is_left_over(folder: impl AsFd) -> bool {
        let plain = |mode: u32| mode & 0o170_000 == 0o040_000 && mode & 0o222 == 0;
        fstat(&folder).is_ok_and(|found| plain(found.st_mode))
            && rustix::fs::Dir::read_from(&folder).is_ok_and(|entries| entries.flatten().count() == 2)
    }

    /// Leaves it where it is, for the next command to take over: whoever had it may
    /// not be gone yet, and would find nothing there.
    pub(crate) fn leave(&mut self) {
        self.left = true;
    }

    /// What is mounted, to be handed over. It shares the lock.
    pub(crate) fn folder(&self) -> io::Result<OwnedFd> {
        self.folder.as_fd().try_clone_to_owned()
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Somebody else's lock, or something inside, keeps it.
        if !self.left && flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        }
    }
}

fn is_still_there(parent: &OwnedFd, name: &OsStr, folder: &OwnedFd) -> io::Result<bool> {
    let ours = fstat(folder)?;
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder(path: &std::path::Path) -> OwnedFd {
        std::fs::File::open(path).unwrap().into()
    }

    #[test]
    fn the_last_to_let_go_removes_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".agent");
        let first = Placeholder::take(folder(place.path()), ".agent".as_ref()).unwrap();
        let second = Placeholder::take(folder(place.path()), ".agent".as_ref()).unwrap();
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn one_that_is_left_is_taken_over_and_removed_by_the_next() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".agent");
        let mut first = Placeholder::take(folder(place.path()), ".agent".as_ref()).unwrap().unwrap();
        first.leave();
        drop(first);
        assert!(Placeholder::is_left_over(folder(&path)));
        drop(Placeholder::take(folder(place.path()), ".agent".as_ref()).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_somebody_put_into_it_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".agent");
        let held = Placeholder::take(folder(place.path()), ".agent".as_ref()).unwrap();
        // Root may; for others the folder is read-only even outside.
        if std::fs::write(path.join("x"), "x").is_ok() {
            drop(held);
            assert!(path.join("x").exists());
        }
    }

    #[test]
    fn one_left_behind_is_known_and_others_are_not() {
        let place = tempfile::tempdir().unwrap();
        let held = Placeholder::take(folder(place.path()), "a".as_ref()).unwrap().unwrap();
        assert!(Placeholder::is_left_over(held.folder().unwrap()));
        let narrow = std::fs::Permissions::from_mode(0o2500);
        std::fs::set_permissions(place.path().join("a"), narrow).unwrap();
        assert!(Placeholder::is_left_over(held.folder().unwrap()), "a umask and a group change its mode");
        std::fs::create_dir(place.path().join("b")).unwrap();
        assert!(!Placeholder::is_left_over(folder(&place.path().join("b"))));
        assert!(!Placeholder::is_left_over(folder(place.path())));
    }
}
