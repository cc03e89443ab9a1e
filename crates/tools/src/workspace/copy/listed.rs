//! What a copy will hold, found before anything is copied.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode};

use super::super::{Found, InsidePath, Kind, TempName, Walk, Workspace};
use super::{CopyError, SKIPPED_APART};
use crate::background::StopFlag;

/// What is wanted of a folder.
pub(super) enum What {
    /// All of it but these names.
    Everything(&'static [&'static str]),
    /// These files, and what is in those that are folders.
    Files(Vec<String>),
}

/// What is there of it. Folders stand before what is in them.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) folders: Vec<(PathBuf, u32)>,
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) files: Vec<(PathBuf, u32)>,
    /// Devices, pipes and sockets.
    pub(super) left_out: u64,
}

impl Listed {
    pub(super) fn of(source: &Workspace, what: &What, max: u64, stop: &StopFlag) -> Result<Self, CopyError> {
        let mut listing = Listing { source, max, stop, found: Self::default(), made: BTreeSet::new() };
        match what {
            What::Everything(skip) => listing.walk("", skip)?,
            What::Files(files) => {
                for file in files {
                    listing.file(file)?;
                }
            }
        }
        Ok(listing.found)
    }

    fn len(&self) -> u64 {
        (self.folders.len() + self.links.len() + self.files.len()) as u64
    }
}

struct Listing<'a> {
    source: &'a Workspace,
    max: u64,
    stop: &'a StopFlag,
    found: Listed,
    /// Folders that are listed already.
    made: BTreeSet<PathBuf>,
}

impl Listing<'_> {
    fn walk(&mut self, below: &str, skip: &[&str]) -> Result<(), CopyError> {
        let mut failed = None;
        let walk = Walk { depth: usize::MAX, skip, stop: self.stop };
        let start = InsidePath(below.to_owned());
        let walked = walk.visit(self.source, &start, |found| match self.entry(below, found) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
        match (failed, walked) {
            (Some(failed), _) => Err(failed),
            (None, Err(error)) => {
                let source = std::io::Error::other(error);
                Err(CopyError::Io { path: self.source.root().join(below), source })
            }
            (None, Ok(())) => Ok(()),
        }
    }

    fn entry(&mut self, below: &str, found: &Found<'_>) -> Result<(), CopyError> {
        let path = Path::new(below).join(found.path);
        self.add(path, &found.kind, found.mode)
    }

    fn add(&mut self, path: PathBuf, kind: &Kind, mode: Mode) -> Result<(), CopyError> {
        if self.found.len() >= self.max {
            return Err(CopyError::TooMany { from: self.source.root().to_owned(), max: self.max });
        }
        let mode = mode.as_raw_mode() & 0o777;
        match kind {
            Kind::Directory => self.found.folders.push((path, mode)),
            Kind::Link(leads_to) => self.found.links.push((path, leads_to.clone())),
            Kind::File => self.found.files.push((path, mode)),
            Kind::Special => self.found.left_out += 1,
            Kind::Unreadable(errno) => return Err(CopyError::Io { path, source: (*errno).into() }),
        }
        Ok(())
    }

    /// One file that was named to us. What is not there any more is not copied.
    fn file(&mut self, name: &str) -> Result<(), CopyError> {
        let name = name.trim_end_matches('/');
        let path = PathBuf::from(name);
        let hidden = |part: &str| SKIPPED_APART.contains(&part) || TempName::is_one(part);
        let is_odd = name.is_empty() || name.starts_with('/') || name.split('/').any(|part| part == "..");
        if is_odd || name.split('/').any(hidden) {
            return Ok(());
        }
        let Ok(about) = rustix::fs::statat(&self.source.inner.dir, &path, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(());
        };
        if !self.folders_of(&path)? {
            return Ok(());
        }
        let mode = Mode::from_raw_mode(about.st_mode);
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => self.add(path, &Kind::File, mode),
            FileType::Symlink => {
                let target = std::fs::read_link(self.source.root().join(&path));
                let target = target.map_err(|source| CopyError::Io { path: path.clone(), source })?;
                self.add(path, &Kind::Link(target), mode)
            }
            // A repository of its own.
            FileType::Directory => {
                self.folder(&path)?;
                self.walk(name, SKIPPED_APART)
            }
            _ => self.add(path, &Kind::Special, mode),
        }
    }

    /// Lists the folders of a file; false if one of them is none.
    fn folders_of(&mut self, path: &Path) -> Result<bool, CopyError> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
            if !self.folder(folder)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn folder(&mut self, path: &Path) -> Result<bool, CopyError> {
        if self.made.contains(path) {
            return Ok(true);
        }
        let about = rustix::fs::statat(&self.source.inner.dir, path, AtFlags::SYMLINK_NOFOLLOW);
        let Some(about) = about.ok().filter(|about| FileType::from_raw_mode(about.st_mode).is_dir()) else {
            return Ok(false);
        };
        self.add(path.to_owned(), &Kind::Directory, Mode::from_raw_mode(about.st_mode))?;
        self.made.insert(path.to_owned());
        Ok(true)
    }
}
