//! The workspace and its path guard: every file tool opens files through here.
//!
//! The root directory is opened once. A path is first judged as text, where the
//! kernel is asked about every `..` ([`Workspace::resolve`]), then opened by the
//! kernel *beneath* that directory (`openat2`), so neither links nor directories
//! that are swapped meanwhile can lead outside. Writes go to a temporary file in
//! the opened directory, are synced and renamed over the old file.
//!
//! Invariants
//! - No path is opened by its absolute name.
//! - What [`protect`] guards is never written, and what it keeps private is not
//!   read either, also not through a link.
//! - Only regular files are read or written, and opening never blocks.

mod copy;
mod error;
mod protect;
mod stage;
mod walk;
mod write;

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub use copy::{COPY_BYTES_MAX, COPY_FILES_MAX, Copied, CopyError, copy_apart, copy_tree};
pub use error::{BadWorkspace, PathError};
pub(crate) use protect::{is_guarded, is_private};
pub use stage::Thing;
pub(crate) use walk::{Found, Kind, Walk};
pub(crate) use write::{Current, MissingParents, Place, TempName};

/// The largest file that is read or written, in bytes.
pub const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How often the kernel may ask to try again because something moved meanwhile.
const RACES_MAX: usize = 100;

const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);
/// The same for an entry of an opened directory, whatever it was swapped for meanwhile.
const READ_ENTRY_FLAGS: OFlags = READ_FLAGS.union(OFlags::NOFOLLOW);
const DIRECTORY_ENTRY_FLAGS: OFlags = DIRECTORY_FLAGS.union(OFlags::NOFOLLOW);

/// A folder an agent works in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The canonical path.
    root: PathBuf,
    /// The path as it was given, which may lead through links.
    given: PathBuf,
    dir: OwnedFd,
    /// Whether links inside may be followed.
    follows_links: bool,
}

/// A path below a workspace that was judged: no `..`, no NUL, relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsidePath(String);

impl InsidePath {
    /// The path, with `/` between names and `.` for the workspace itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// A path whose names are taken as they are.
    pub(crate) fn as_it_is(path: &str) -> Self {
        Self(path.to_owned())
    }

    fn is_guarded(&self) -> bool {
        self.0.split('/').any(protect::is_guarded)
    }

    fn push(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push('/');
        }
        self.0.push_str(name);
    }

    /// The folder it lies in; `None` for the workspace itself.
    pub(crate) fn folder(&self) -> Option<Self> {
        let parents = self.0.rsplit_once('/').map_or("", |(parents, _)| parents);
        (!self.0.is_empty()).then(|| Self(parents.to_owned()))
    }

    /// Every folder it lies in below the workspace, the nearest first.
    pub(crate) fn folders(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.folder(), Self::folder).filter(|folder| !folder.0.is_empty())
    }
}

impl Workspace {
    /// Opens a folder as a workspace.
    pub fn open(path: &Path) -> Result<Self, BadWorkspace> {
        let bad = |source| BadWorkspace::Unusable { path: path.to_owned(), source };
        let given = std::path::absolute(path).map_err(bad)?;
        let root = path.canonicalize().map_err(bad)?;
        if !root.is_dir() {
            return Err(BadWorkspace::NotAFolder { path: path.to_owned() });
        }
        let dir = rustix::fs::openat(CWD, &root, DIRECTORY_FLAGS, Mode::empty())
            .map_err(|errno| bad(errno.into()))?;
        Ok(Self { inner: Arc::new(Inner { root, given, dir, follows_links: true }) })
    }

    /// The same folder, where no link is followed: for an agent that may touch only
    /// parts of it, since a link in one part may lead to another.
    pub fn without_links(self) -> Result<Self, BadWorkspace> {
        let Inner { root, given, dir, .. } = &*self.inner;
        let bad = |source| BadWorkspace::Unusable { path: root.clone(), source };
        let dir = dir.try_clone().map_err(bad)?;
        let (root, given) = (root.clone(), given.clone());
        Ok(Self { inner: Arc::new(Inner { root, given, dir, follows_links: false }) })
    }

    /// The canonical path of the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Judges a path. Absolute paths are fine if they lie in the workspace, and so
    /// is `..` if it does not leave it. Blocks if the path climbs.
    pub fn resolve(&self, raw: &str) -> Result<InsidePath, PathError> {
        let path = shortened(raw);
        if raw.is_empty() {
            return Err(PathError::Empty);
        }
        if raw.contains('\0') {
            return Err(PathError::Nul { path });
        }
        let relative = if raw.starts_with('/') {
            let below = |root: &Path| Path::new(raw).strip_prefix(root).ok().map(Path::to_owned);
            below(&self.inner.root).or_else(|| below(&self.inner.given)).ok_or(PathError::Outside { path })?
        } else {
            PathBuf::from(raw)
        };
        let mut inside = InsidePath(String::new());
        for component in relative.components() {
            match component {
                Component::Normal(name) => inside.push(name.to_str().unwrap_or_default()),
                Component::CurDir => {}
                Component::ParentDir => inside = self.above(&inside)?,
                Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Outside { path: shortened(raw) });
                }
            }
        }
        if raw.ends_with('/') || raw.ends_with("/.") {
            self.directory(&inside)?;
        }
        Ok(inside)
    }

    /// Where `..` leads from a folder, as the kernel sees it: a folder that is not
    /// there has no parent, and the parent of a linked one is not where the link is.
    fn above(&self, folder: &InsidePath) -> Result<InsidePath, PathError> {
        let climbing = InsidePath(format!("{}/..", folder.as_str()));
        let dir = self.directory(&climbing)?;
        let real = self.real(&dir, &climbing)?;
        let text = real.to_str().ok_or_else(|| PathError::Missing { path: climbing.0.clone() })?;
        Ok(InsidePath(text.to_owned()))
    }

    /// The bytes of a regular file, at most `max`. Blocks.
    pub(crate) fn read(&self, path: &InsidePath, max: u64) -> Result<Vec<u8>, PathError> {
        let opened = self.open_beneath(path, READ_FLAGS)?;
        let real = self.real(&opened, path)?;
        if names(&real).any(protect::is_private) {
            return Err(PathError::Private { path: path.as_str().to_owned() });
        }
        read_regular(File::from(opened), path.as_str(), max).map(|(bytes, _)| bytes)
    }

    /// Opens a directory of the workspace. Blocks.
    pub(crate) fn directory(&self, path: &InsidePath) -> Result<OwnedFd, PathError> {
        self.open_beneath(path, DIRECTORY_FLAGS)
    }

    fn open_beneath(&self, path: &InsidePath, flags: OFlags) -> Result<OwnedFd, PathError> {
        let links = if self.inner.follows_links { ResolveFlags::empty() } else { ResolveFlags::NO_SYMLINKS };
        let resolve = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(links);
        let mut errno = Errno::AGAIN;
        for _ in 0..RACES_MAX {
            match rustix::fs::openat2(&self.inner.dir, path.as_str(), flags, Mode::empty(), resolve) {
                Ok(opened) => return Ok(opened),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(other) => {
                    errno = other;
                    break;
                }
            }
        }
        Err(PathError::from_errno(errno, path.as_str()))
    }

    /// Refuses a directory that really lies in a guarded one, whatever link led there.
    fn refuse_guarded(&self, dir: &OwnedFd, path: &InsidePath) -> Result<(), PathError> {
        let real = self.real(dir, path)?;
        if names(&real).any(protect::is_guarded) {
            return Err(PathError::Protected { path: path.as_str().to_owned() });
        }
        Ok(())
    }

    /// Where something that was opened really is, from the workspace down.
    fn real(&self, opened: &OwnedFd, path: &InsidePath) -> Result<PathBuf, PathError> {
        let real = |fd: &OwnedFd| {
            let link = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
            std::fs::read_link(link)
                .map_err(|source| PathError::Io { path: path.as_str().to_owned(), source })
        };
        let (root, opened) = (real(&self.inner.dir)?, real(opened)?);
        let below = opened.strip_prefix(&root);
        below.map(Path::to_owned).map_err(|_| PathError::Outside { path: path.as_str().to_owned() })
    }
}

/// The names of a real path; the kernel marks what was removed meanwhile.
fn names(path: &Path) -> impl Iterator<Item = &str> {
    let text = path.components().filter_map(|part| part.as_os_str().to_str());
    text.map(|name| name.strip_suffix(" (deleted)").unwrap_or(name))
}

fn shortened(raw: &str) -> String {
    raw.chars().take(200).collect()
}

/// Content and permission bits of an opened file, if it is a regular one.
pub(crate) fn read_regular(file: File, path: &str, max: u64) -> Result<(Vec<u8>, Mode), PathError> {
    let io = |source| PathError::Io { path: path.to_owned(), source };
    let about = rustix::fs::fstat(&file).map_err(|errno| PathError::from_errno(errno, path))?;
    if !rustix::fs::FileType::from_raw_mode(about.st_mode).is_file() {
        return Err(PathError::NotAFile { path: path.to_owned() });
    }
    if u64::try_from(about.st_size).is_ok_and(|size| size > max) {
        return Err(PathError::TooLarge { path: path.to_owned(), max });
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > max {
        return Err(PathError::TooLarge { path: path.to_owned(), max });
    }
    Ok((bytes, Mode::from_raw_mode(about.st_mode)))
}
