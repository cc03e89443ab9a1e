//! A walk through a directory tree, sorted by name, that follows no link.

use std::ffi::{CString, OsStr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::{DIRECTORY_ENTRY_FLAGS, InsidePath, PathError, TempName, Workspace};
use crate::background::StopFlag;

/// Deepest directory that is entered.
const DEPTH_MAX: usize = 256;

/// What is walked and what is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    /// How many levels; 1 is the directory itself.
    pub(crate) depth: usize,
    /// Names that are not looked at.
    pub(crate) skip: &'a [&'a str],
    /// Ends the walk early.
    pub(crate) stop: &'a StopFlag,
}

/// One entry of the tree.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Path below the directory where the walk began.
    pub(crate) path: &'a Path,
    /// The opened directory it stands in.
    pub(crate) parent: BorrowedFd<'a>,
    /// Its name there.
    pub(crate) name: &'a CString,
    /// What it is.
    pub(crate) kind: Kind,
    /// Its permission bits.
    pub(crate) mode: Mode,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link and where it leads.
    Link(PathBuf),
    /// A device, pipe or socket.
    Special,
    /// It cannot be looked at or entered.
    Unreadable(Errno),
}

struct Level {
    dir: OwnedFd,
    path: PathBuf,
    names: std::vec::IntoIter<CString>,
}

impl Walk<'_> {
    /// Visits the tree under a directory of the workspace: a directory, then what is in it.
    pub(crate) fn visit(
        &self,
        workspace: &Workspace,
        start: &InsidePath,
        mut visitor: impl FnMut(&Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), PathError> {
        let dir = workspace.directory(start)?;
        let first =
            self.level(dir, PathBuf::new()).map_err(|errno| PathError::from_errno(errno, start.as_str()))?;
        let mut levels = vec![first];
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { break };
            let Some(name) = level.names.next() else {
                levels.pop();
                continue;
            };
            let path = level.path.join(OsStr::from_bytes(name.as_bytes()));
            let (mut kind, mode) = look_at(&level.dir, &name);
            let mut inner = None;
            if kind == Kind::Directory && depth >= DEPTH_MAX {
                kind = Kind::Unreadable(Errno::NAMETOOLONG);
            } else if kind == Kind::Directory && depth < self.depth {
                match self.enter(&level.dir, &name, &path) {
                    Ok(entered) => inner = Some(entered),
                    Err(errno) => kind = Kind::Unreadable(errno),
                }
            }
            let found = Found { path: &path, parent: level.dir.as_fd(), name: &name, kind, mode };
            if visitor(&found).is_break() || self.stop.is_set() {
                break;
            }
            levels.extend(inner);
        }
        Ok(())
    }

    fn enter(&self, parent: &OwnedFd, name: &CString, path: &Path) -> Result<Level, Errno> {
        let dir = rustix::fs::openat(parent, name, DIRECTORY_ENTRY_FLAGS, Mode::empty())?;
        self.level(dir, path.to_owned())
    }

    fn level(&self, dir: OwnedFd, path: PathBuf) -> Result<Level, Errno> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let name = entry?.file_name().to_owned();
            let text = name.to_string_lossy();
            let hidden =
                text == "." || text == ".." || self.skip.contains(&&*text) || TempName::is_one(&text);
            if !hidden {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(Level { dir, path, names: names.into_iter() })
    }
}

fn look_at(dir: &OwnedFd, name: &CString) -> (Kind, Mode) {
    let about = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) => about,
        Err(errno) => return (Kind::Unreadable(errno), Mode::empty()),
    };
    let kind = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => match rustix::fs::readlinkat(dir, name, Vec::new()) {
            Ok(target) => Kind::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes()))),
            Err(errno) => Kind::Unreadable(errno),
        },
        _ => Kind::Special,
    };
    (kind, Mode::from_raw_mode(about.st_mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of a tree, until there are `most`.
    fn walked(root: &Path, depth: usize, stop: &StopFlag, most: usize) -> Vec<(String, Kind)> {
        let workspace = Workspace::open(root).unwrap();
        let mut seen = Vec::new();
        let visitor = |found: &Found<'_>| {
            seen.push((found.path.to_str().unwrap().to_owned(), found.kind.clone()));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        Walk { depth, skip: &[], stop }.visit(&workspace, &workspace.resolve(".").unwrap(), visitor).unwrap();
        seen
    }

    fn names(seen: &[(String, Kind)]) -> Vec<&str> {
        seen.iter().map(|(path, _)| path.as_str()).collect()
    }

    #[test]
    fn a_walk_ends_where_its_visitor_or_its_caller_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        ["a", "b", "c"].iter().for_each(|name| std::fs::write(dir.path().join(name), "").unwrap());
        let most = |stop: &StopFlag, most| walked(dir.path(), usize::MAX, stop, most).len();
        assert_eq!(most(&StopFlag::default(), usize::MAX), 3);
        assert_eq!(most(&StopFlag::default(), 2), 2);
        assert_eq!(most(&StopFlag::raised(), usize::MAX), 1);
    }

    #[test]
    fn only_our_own_temporary_files_are_hidden() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.tmp", ".bowline-notes", ".bowline-0a-1.tmp", "..."] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let seen = walked(dir.path(), 1, &StopFlag::default(), usize::MAX);
        assert_eq!(names(&seen), ["...", ".bowline-notes", "a.tmp"]);
    }

    #[test]
    fn the_deepest_folder_is_shown_and_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let deep = |levels: usize| dir.path().join(vec!["d"; levels].join("/"));
        std::fs::create_dir_all(deep(DEPTH_MAX + 1)).unwrap();
        std::fs::write(deep(DEPTH_MAX - 1).join("f"), "").unwrap();
        let seen = walked(dir.path(), usize::MAX, &StopFlag::default(), usize::MAX);
        let [.., (_, above), (_, folder), (_, file)] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(
            (above, folder, file),
            (&Kind::Directory, &Kind::Unreadable(Errno::NAMETOOLONG), &Kind::File)
        );
        assert_eq!(seen.len(), DEPTH_MAX + 1, "nothing below the deepest folder");
        assert_eq!(walked(dir.path(), 3, &StopFlag::default(), usize::MAX).len(), 3);
    }
}
