//! Removing a tree that somebody else made, however deep, wide or closed it is.
//!
//! At most [`DEPTH_MAX`] folders are open at a time: what lies deeper is first moved up to
//! the top of the tree, so neither the stack nor the open files of this process grow with
//! it, and no path gets too long. Folders of our own that are closed are opened first.
//!
//! Never: a link followed, anything outside the tree touched.

use std::ffi::CString;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, fstat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

/// Folders that are open at a time.
const DEPTH_MAX: usize = 64;

/// Folders of one folder that are remembered at a time; the rest is listed again later.
const BATCH: usize = 4096;

/// Names that are tried for a folder that is moved up.
const NAMES_MAX: u64 = 1_000_000;

/// Removes what lies at a path, with everything below it; says how many bytes its files had. Blocks.
pub fn remove(path: &Path) -> io::Result<u64> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let name = CString::new(name.as_bytes())?;
    let above = openat(CWD, above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let found = statat(&above, &name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(found.st_mode).is_dir() {
        unlinkat(&above, &name, AtFlags::empty())?;
        return Ok(u64::try_from(found.st_size).unwrap_or(0));
    }
    let mut removal = Removal { bytes: 0, moved: 0 };
    removal.run(above.as_fd(), name)?;
    Ok(removal.bytes)
}

struct Removal {
    bytes: u64,
    /// How many folders were moved up so far.
    moved: u64,
}

/// A folder on the way down.
struct Level {
    folder: OwnedFd,
    name: CString,
    inner: Vec<CString>,
}

impl Removal {
    fn run(&mut self, above: BorrowedFd<'_>, name: CString) -> Result<(), Errno> {
        let mut levels = vec![Level::enter(above, name)?];
        while let Some(level) = levels.last_mut() {
            if let Some(inner) = level.inner.pop() {
                let entered = match levels.as_slice() {
                    [top, .., deepest] if levels.len() >= DEPTH_MAX => {
                        self.move_up(deepest, &inner, top).map(|()| None)
                    }
                    [.., deepest] => Level::enter(deepest.folder.as_fd(), inner).map(Some),
                    [] => Ok(None),
                };
                match entered {
                    Ok(entered) => levels.extend(entered),
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(error),
                }
            } else if !self.clear(level)? {
                let Some(done) = levels.pop() else { break };
                let above = levels.last().map_or(above, |level| level.folder.as_fd());
                unlinkat(above, &done.name, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    /// Removes what is no folder, and remembers folders; whether there was anything.
    fn clear(&mut self, level: &mut Level) -> Result<bool, Errno> {
        let mut was_any = false;
        for entry in Dir::read_from(&level.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            was_any = true;
            let found = match statat(&level.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => found,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error),
            };
            if FileType::from_raw_mode(found.st_mode).is_dir() {
                level.inner.push(name.to_owned());
                if level.inner.len() >= BATCH {
                    break;
                }
                continue;
            }
            match unlinkat(&level.folder, name, AtFlags::empty()) {
                Ok(()) => self.bytes = self.bytes.saturating_add(u64::try_from(found.st_size).unwrap_or(0)),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(was_any)
    }

    /// Moves a folder to the top of the tree, where it is met again.
    fn move_up(&mut self, from: &Level, name: &CString, top: &Level) -> Result<(), Errno> {
        // Whoever moves a folder must be able to write it.
        widened(from.folder.as_fd(), name)?;
        while self.moved < NAMES_MAX {
            self.moved += 1;
            let free = format!("moved-{}", self.moved);
            match renameat_with(&from.folder, name, &top.folder, free.as_str(), RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return other,
            }
        }
        Err(Errno::EXIST)
    }
}

impl Level {
    fn enter(above: BorrowedFd<'_>, name: CString) -> Result<Self, Errno> {
        let folder = widened(above, &name)?;
        let listed = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(&folder, c".", listed, Mode::empty())?;
        Ok(Self { folder, name, inner: Vec::new() })
    }
}

/// A folder that we may list and write from now on, if it is ours.
fn widened(above: BorrowedFd<'_>, name: &CString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(above, name, flags, Mode::empty())?;
    let mode = fstat(&folder)?.st_mode & 0o7777;
    if mode & 0o700 != 0o700 {
        let by_number = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
        // Where this is not ours to do, what comes next says so.
        let _ = std::fs::set_permissions(by_number, Permissions::from_mode(mode | 0o700));
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_tree_deeper_than_any_path_goes_whole_and_what_links_lead_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, &tree, flags, Mode::empty()).unwrap();
        for _ in 0..3000 {
            mkdirat(&at, "moved-1", Mode::RWXU).unwrap();
            at = openat(&at, "moved-1", flags, Mode::empty()).unwrap();
        }
        rustix::fs::symlinkat(&outside, &at, "away").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("away")).unwrap();
        fs::write(tree.join("five"), "12345").unwrap();
        // A stack on which a step for each level would not fit.
        let small = std::thread::Builder::new().stack_size(128 * 1024);
        let removed = small.spawn(move || remove(&tree).unwrap()).unwrap().join().unwrap();
        assert!(removed >= 5, "{removed}");
        assert!(!dir.path().join("tree").exists());
        assert!(outside.join("kept").exists());
    }

    #[test]
    fn closed_folders_files_and_links_go_too() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/c"), "x").unwrap();
        for folder in ["a/b", "a", ""] {
            fs::set_permissions(tree.join(folder), Permissions::from_mode(0o000)).unwrap();
        }
        assert_eq!(remove(&tree).unwrap(), 1);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        remove(&link).unwrap();
        assert!(dir.path().exists() && link.symlink_metadata().is_err());
        assert_eq!(remove(&tree).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
