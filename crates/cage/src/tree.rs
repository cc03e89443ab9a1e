//! A tree of folders, looked through name by name and level by level. No link is followed,
//! whatever is swapped meanwhile, and what cannot be looked at is told, never passed over.

mod remove;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

pub use remove::remove;

/// Most names that are looked at in one tree.
const ENTRIES_MAX: usize = 1_000_000;

/// Deepest folder that is entered.
const DEPTH_MAX: usize = 64;

/// A name in a folder.
#[derive(Debug)]
pub struct Met<'a> {
    /// The folder, open.
    pub folder: BorrowedFd<'a>,
    /// The whole path.
    pub path: &'a Path,
    /// Its last part.
    pub name: &'a OsStr,
    /// What it is.
    pub kind: FileType,
    /// 0 for what lies in the root itself.
    pub depth: usize,
}

/// What to do about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Look into it later, if it is a folder.
    In,
    /// Leave it.
    Past,
    /// Look no further at all.
    Stop,
}

/// What was not seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Folders that could not be looked into, and names of which nobody can say what they are.
    pub closed: Vec<PathBuf>,
    /// Where it was given up: too deep, too long a path, or too many names.
    pub cut: Option<PathBuf>,
}

/// How a tree is looked through.
pub struct Look<'a> {
    /// Folders of our own that are closed to us are opened for the look, and closed again.
    pub opens: bool,
    /// Asked now and then: whether to give up.
    pub is_over: &'a dyn Fn() -> bool,
}

impl Look<'_> {
    /// Shows every name below a folder. The error is why the folder itself cannot be looked
    /// into. Blocks.
    pub fn through(&self, root: &Path, mut visit: impl FnMut(&Met<'_>) -> Go) -> Result<Unseen, Errno> {
        let mut opened = Vec::new();
        let top = self.open(CWD, root, &mut opened)?;
        let mut unseen = Unseen::default();
        let mut entries = 0_usize;
        let mut folders = VecDeque::from([(PathBuf::new(), 0_usize)]);
        while let Some((below, depth)) = folders.pop_front() {
            let at = if below.as_os_str().is_empty() { Path::new(".") } else { &below };
            let listed =
                self.open(top.as_fd(), at, &mut opened).and_then(|fd| Ok((Dir::read_from(&fd)?, fd)));
            let (listed, folder) = match listed {
                Ok(listed) => listed,
                // It went away, or is no folder any more.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if depth > 0 => continue,
                Err(Errno::NAMETOOLONG) => {
                    unseen.cut = Some(root.join(below));
                    return Ok(unseen);
                }
                Err(error) if depth == 0 => return Err(error),
                Err(_) => {
                    unseen.closed.push(root.join(below));
                    continue;
                }
            };
            for entry in listed {
                let Ok(entry) = entry else {
                    unseen.closed.push(root.join(&below));
                    break;
                };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                entries += 1;
                if entries > ENTRIES_MAX || (self.is_over)() {
                    unseen.cut = Some(root.join(below));
                    return Ok(unseen);
                }
                let path = root.join(&below).join(name);
                let kind = match kind_of(&folder, name, entry.file_type()) {
                    Ok(kind) => kind,
                    Err(Errno::NOENT) => continue,
                    Err(_) => {
                        unseen.closed.push(path);
                        continue;
                    }
                };
                match visit(&Met { folder: folder.as_fd(), path: &path, name, kind, depth }) {
                    Go::Stop => return Ok(unseen),
                    Go::In if kind.is_dir() && depth >= DEPTH_MAX => {
                        unseen.cut = Some(path);
                        return Ok(unseen);
                    }
                    Go::In if kind.is_dir() => folders.push_back((below.join(name), depth + 1)),
                    Go::In | Go::Past => {}
                }
            }
        }
        Ok(unseen)
    }

    /// Opens a folder to be listed, and whose names can be looked up.
    fn open(&self, at: BorrowedFd<'_>, path: &Path, opened: &mut Vec<Opened>) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat2(at, path, flags | OFlags::RDONLY, Mode::empty(), resolve).and_then(|folder| {
            // Whoever may list a folder need not be able to reach what is in it.
            statat(&folder, ".", AtFlags::empty())?;
            Ok(folder)
        });
        if !self.opens || !matches!(listed, Err(Errno::ACCESS)) {
            return listed;
        }
        let closed = openat2(at, path, flags | OFlags::PATH, Mode::empty(), resolve)?;
        let folder = Opened::open(closed)?;
        let listed = openat(CWD, folder.by_number(), flags | OFlags::RDONLY, Mode::empty())?;
        opened.push(folder);
        Ok(listed)
    }
}

fn kind_of(folder: &OwnedFd, name: &OsStr, known: FileType) -> Result<FileType, Errno> {
    if known != FileType::Unknown {
        return Ok(known);
    }
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}

/// A folder of our own whose mode was widened for a while.
#[derive(Debug)]
pub struct Opened {
    folder: OwnedFd,
    mode: RawMode,
}

impl Opened {
    /// Widens the mode of a folder that is ours.
    pub fn open(folder: OwnedFd) -> Result<Self, Errno> {
        let found = fstat(&folder)?;
        if found.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Errno::ACCESS);
        }
        let opened = Self { folder, mode: found.st_mode & 0o7777 };
        opened.set(opened.mode | 0o700).map_err(|_| Errno::ACCESS)?;
        Ok(opened)
    }

    fn set(&self, mode: RawMode) -> std::io::Result<()> {
        std::fs::set_permissions(self.by_number(), Permissions::from_mode(mode))
    }

    fn by_number(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.set(self.mode);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(root: &Path) -> (Vec<String>, Unseen) {
        let mut names = Vec::new();
        let look = Look { opens: false, is_over: &|| false };
        let unseen = look.through(root, |met| {
            names.push(met.path.strip_prefix(root).unwrap().display().to_string());
            Go::In
        });
        names.sort();
        (names, unseen.unwrap())
    }

    #[test]
    fn every_name_is_shown_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "").unwrap();
        std::os::unix::fs::symlink(&root, root.join("a/loop")).unwrap();
        assert_eq!(
            names(&root),
            (["a", "a/b", "a/b/c", "a/loop"].map(Into::into).to_vec(), Unseen::default())
        );
    }

    #[test]
    fn what_lies_too_deep_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("d/".repeat(DEPTH_MAX + 2))).unwrap();
        assert!(names(&root).1.cut.is_some());
    }
}
