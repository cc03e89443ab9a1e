//! From a grant to the file system a command sees: one table of paths, each with
//! what lies there, and the words that make bubblewrap build it.
//!
//! Granted places are opened once, without following links, and handed over as
//! open files: what was checked is what is mounted, even if a command that runs
//! beside this one swaps a folder for a link meanwhile.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use crate::error::Refused;
use crate::grant::{Grant, Network};
use crate::order::Access;
use crate::placeholder::Placeholder;

/// Where our own things lie inside.
pub(crate) const LAUNCHER: &str = "/run/bowline/launch";
/// Where the proxy is reached inside.
pub(crate) const PROXY: &str = "/run/bowline/proxy";

/// Paths a grant may name, all lists together.
const ENTRIES_MAX: usize = 512;

/// Programs and libraries, where distributions keep them.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// The part of `/etc` programs need and everybody may know. Each costs a mount for
/// every command, so it is a short list; more can be granted.
const SETTINGS: [&str; 11] = [
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// Read at the next login; never a command's to change.
const LOGIN: [&str; 6] = [".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".ssh"];

/// Where the login files of a private home point: to what cannot be made.
const NOWHERE: &str = "/run/bowline/login-files-are-not-for-commands";

/// What lies at a path.
enum Surface {
    /// The system's own, read-only.
    System,
    /// A link to there.
    Link(PathBuf),
    /// An open file or folder, read-only.
    Read(RawFd),
    /// An open file or folder, writable.
    Write(RawFd),
    /// Private, writable, in memory.
    Scratch,
    /// An empty folder in what is private already.
    Folder,
    /// An empty folder nobody can write to.
    Closed,
    /// A file nobody can open.
    Blank,
    /// The processes of the cage.
    Processes,
    /// The harmless devices.
    Devices,
}

/// A granted place, opened.
struct Root {
    /// As the grant names it.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
    file: RawFd,
}

/// A file system, ready to be built.
pub(crate) struct Layout {
    surfaces: BTreeMap<PathBuf, Surface>,
    roots: Vec<Root>,
    writable: Vec<Root>,
    scratch_bytes: u64,
    /// Kept open until bubblewrap has mounted them.
    pub(crate) files: Vec<OwnedFd>,
    /// Kept until the command has ended.
    pub(crate) placeholders: Vec<Placeholder>,
}

impl Layout {
    /// Opens everything the grant names.
    pub(crate) fn plan(grant: &Grant, launcher: &Path) -> Result<Self, Refused> {
        let count = grant.read.len() + grant.write.len() + grant.protected.len() + grant.hidden.len();
        if count > ENTRIES_MAX {
            return Err(Refused::TooMany { count, max: ENTRIES_MAX });
        }
        let mut layout = Self {
            surfaces: BTreeMap::new(),
            roots: Vec::new(),
            writable: Vec::new(),
            scratch_bytes: grant.limits.scratch_bytes,
            files: Vec::new(),
            placeholders: Vec::new(),
        };
        layout.system();
        let home = grant.home.canonicalize().unwrap_or_else(|_| grant.home.clone());
        layout.home(&home)?;
        for path in &grant.read {
            let root = layout.open(path)?;
            layout.surfaces.insert(root.real.clone(), Surface::Read(root.file));
            layout.roots.push(root);
        }
        for path in &grant.write {
            let root = layout.open(path)?;
            layout.surfaces.insert(root.real.clone(), Surface::Write(root.file));
            layout.writable.push(root);
        }
        layout.granted_home(&home)?;
        for path in &grant.protected {
            layout.protect(path)?;
        }
        for path in &grant.hidden {
            layout.hide(path)?;
        }
        layout.own(launcher, &grant.network)?;
        Ok(layout)
    }

    /// The words for bubblewrap.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut sealed: Vec<&Path> = Vec::new();
        for (path, surface) in &self.surfaces {
            let size = || [OsString::from("--size"), self.scratch_bytes.to_string().into()];
            match surface {
                Surface::System => words.extend(["--ro-bind".into(), path.into(), path.into()]),
                Surface::Link(target) => words.extend(["--symlink".into(), target.into(), path.into()]),
                Surface::Read(file) => {
                    words.extend(["--ro-bind-fd".into(), file.to_string().into(), path.into()]);
                }
                Surface::Write(file) => {
                    words.extend(["--bind-fd".into(), file.to_string().into(), path.into()]);
                }
                Surface::Scratch => {
                    words.extend(size());
                    words.extend(["--tmpfs".into(), path.into()]);
                }
                Surface::Folder => words.extend(["--dir".into(), path.into()]),
                Surface::Closed => {
                    words.extend(["--tmpfs".into(), path.into()]);
                    sealed.push(path);
                }
                // Devices do not work on such a mount, so this one cannot even be opened.
                Surface::Blank => words.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]),
                Surface::Processes => {
                    words.extend(["--proc".into(), path.into()]);
                    sealed.push(path);
                }
                Surface::Devices => {
                    words.extend(["--dev".into(), path.into()]);
                    sealed.push(path);
                }
            }
        }
        // Last, when no mount point must be made any more.
        for path in sealed.into_iter().chain([Path::new("/")]) {
            words.extend(["--remount-ro".into(), path.into()]);
        }
        words
    }

    /// The same once more, for Landlock.
    pub(crate) fn rules(&self) -> Vec<(Access, PathBuf)> {
        let access = |surface: &Surface| match surface {
            Surface::System | Surface::Read(_) | Surface::Processes => Some(Access::Read),
            Surface::Write(_) | Surface::Scratch => Some(Access::Write),
            Surface::Devices => Some(Access::Devices),
            Surface::Link(_) | Surface::Folder | Surface::Closed | Surface::Blank => None,
        };
        self.surfaces.iter().filter_map(|(path, surface)| Some((access(surface)?, path.clone()))).collect()
    }

    /// Writable folders on real disks.
    pub(crate) fn disks(&self) -> Vec<PathBuf> {
        self.writable.iter().map(|root| root.real.clone()).collect()
    }

    /// Private folders in memory.
    pub(crate) fn scratch(&self) -> Vec<PathBuf> {
        let all = self.surfaces.iter();
        all.filter(|(_, surface)| matches!(surface, Surface::Scratch)).map(|(path, _)| path.clone()).collect()
    }

    /// The folder to start in, if the command can see it.
    pub(crate) fn folder(&self, folder: &Path) -> Result<PathBuf, Refused> {
        let outside = || Refused::FolderOutside { path: folder.to_owned() };
        if matches!(self.surfaces.get(folder), Some(Surface::Scratch | Surface::Folder)) {
            return Ok(folder.to_owned());
        }
        let real = folder.canonicalize().map_err(|_| outside())?;
        let granted = self.roots.iter().chain(&self.writable).any(|root| real.starts_with(&root.real));
        let hidden = self.surfaces.iter().any(|(path, surface)| {
            matches!(surface, Surface::Closed | Surface::Blank) && real.starts_with(path)
        });
        if granted && !hidden { Ok(real) } else { Err(outside()) }
    }

    fn system(&mut self) {
        for path in SYSTEM.into_iter().chain(SETTINGS).map(Path::new) {
            // Links into what is visible anyway stay links.
            let surface = match path.read_link() {
                Ok(target) if path.canonicalize().is_ok_and(|real| is_system(&real)) => Surface::Link(target),
                _ if path.exists() => Surface::System,
                _ => continue,
            };
            self.surfaces.insert(path.to_owned(), surface);
        }
        self.surfaces.insert("/proc".into(), Surface::Processes);
        self.surfaces.insert("/dev".into(), Surface::Devices);
        self.surfaces.insert("/dev/shm".into(), Surface::Scratch);
        self.surfaces.insert("/tmp".into(), Surface::Scratch);
    }

    /// A home of its own, whose login files cannot be written: a command that
    /// tries must not believe it succeeded.
    fn home(&mut self, home: &Path) -> Result<(), Refused> {
        plain(home)?;
        too_wide(home)?;
        // What lies below the private /tmp needs no file system of its own.
        let surface = if home.starts_with("/tmp") { Surface::Folder } else { Surface::Scratch };
        self.surfaces.insert(home.to_owned(), surface);
        for name in LOGIN {
            self.surfaces.insert(home.join(name), Surface::Link(NOWHERE.into()));
        }
        Ok(())
    }

    /// Where the real home is granted for writing, its login files are not.
    fn granted_home(&mut self, home: &Path) -> Result<(), Refused> {
        if matches!(self.surfaces.get(home), Some(Surface::Scratch | Surface::Folder)) {
            return Ok(());
        }
        for path in LOGIN.map(|name| home.join(name)) {
            self.surfaces.remove(&path);
            // A linked one cannot be protected, and what it points to is not granted with it.
            if !path.is_symlink() {
                self.protect(&path)?;
            }
        }
        Ok(())
    }

    /// The launcher and the proxy.
    fn own(&mut self, launcher: &Path, network: &Network) -> Result<(), Refused> {
        let file = self.keep(open_real(launcher).map_err(unreadable(launcher))?);
        self.surfaces.insert(LAUNCHER.into(), Surface::Read(file));
        if let Network::Proxy(socket) = network {
            let no_socket = || Refused::NoSocket { path: socket.clone() };
            let real = socket.canonicalize().map_err(|_| no_socket())?;
            let file = open_real(&real).map_err(unreadable(socket))?;
            if !fstat(&file).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket) {
                return Err(no_socket());
            }
            let file = self.keep(file);
            self.surfaces.insert(PROXY.into(), Surface::Read(file));
        }
        Ok(())
    }

    fn open(&mut self, path: &Path) -> Result<Root, Refused> {
        plain(path)?;
        let real = path.canonicalize().map_err(unreadable(path))?;
        too_wide(&real)?;
        let file = open_real(&real).map_err(unreadable(path))?;
        Ok(Root { given: path.to_owned(), real, file: self.keep(file) })
    }

    fn keep(&mut self, file: OwnedFd) -> RawFd {
        let number = file.as_raw_fd();
        self.files.push(file);
        number
    }

    /// Makes a path read-only below every writable root it lies in.
    fn protect(&mut self, path: &Path) -> Result<(), Refused> {
        without_dots(path)?;
        let below = |root: &Root| -> Option<PathBuf> {
            if path.is_relative() {
                return Some(path.to_owned());
            }
            path.strip_prefix(&root.real).or_else(|_| path.strip_prefix(&root.given)).ok().map(Path::to_owned)
        };
        let found: Vec<(PathBuf, RawFd, PathBuf)> = (self.writable.iter())
            .filter_map(|root| Some((root.real.clone(), root.file, below(root)?)))
            .collect();
        for (real, file, below) in found {
            self.protect_below(&real, file, &below)?;
        }
        Ok(())
    }

    fn protect_below(&mut self, real: &Path, root: RawFd, below: &Path) -> Result<(), Refused> {
        let at = real.join(below);
        let mut so_far = PathBuf::new();
        for name in below.components().map(Component::as_os_str) {
            let parent = so_far.clone();
            so_far.push(name);
            let whole = real.join(&so_far);
            match self.open_below(root, &so_far) {
                Ok(file) if whole == at => {
                    if Placeholder::is_left_over(&file) {
                        return self.stand_in(root, &parent, name, whole);
                    }
                    let file = self.keep(file);
                    self.surfaces.insert(whole, Surface::Read(file));
                }
                // A folder on the way is mounted over itself: a mount point cannot be
                // renamed, so the protected path keeps its name.
                Ok(file) => {
                    if !self.surfaces.contains_key(&whole) {
                        let file = self.keep(file);
                        self.surfaces.insert(whole, Surface::Write(file));
                    }
                }
                Err(Errno::NOENT) => return self.stand_in(root, &parent, name, whole),
                Err(Errno::LOOP) => return Err(Refused::ProtectedLink { path: whole }),
                // Not a folder: nothing can be below it, and it cannot be replaced unseen.
                Err(Errno::NOTDIR) => return Err(Refused::ProtectedLink { path: whole }),
                Err(error) => return Err(unreadable(&whole)(error.into())),
            }
        }
        Ok(())
    }

    fn stand_in(&mut self, root: RawFd, parent: &Path, name: &OsStr, whole: PathBuf) -> Result<(), Refused> {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let parent = self.open_below(root, parent).map_err(|error| unreadable(&whole)(error.into()))?;
        if let Some(placeholder) = Placeholder::take(parent, name).map_err(unreadable(&whole))? {
            let file = self.keep(placeholder.folder().map_err(unreadable(&whole))?);
            self.surfaces.insert(whole, Surface::Read(file));
            self.placeholders.push(placeholder);
        }
        Ok(())
    }

    fn open_below(&self, root: RawFd, path: &Path) -> Result<OwnedFd, Errno> {
        let root = self.files.iter().find(|file| file.as_raw_fd() == root).ok_or(Errno::BADF)?;
        open_at(root, path, OFlags::PATH, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
    }

    fn hide(&mut self, path: &Path) -> Result<(), Refused> {
        without_dots(path)?;
        let roots: Vec<PathBuf> =
            self.roots.iter().chain(&self.writable).map(|root| root.real.clone()).collect();
        for root in &roots {
            let whole = root.join(path);
            let is_hidden = self.surfaces.iter().any(|(place, surface)| {
                matches!(surface, Surface::Closed) && whole.starts_with(place) && whole != *place
            });
            if is_hidden {
                continue;
            }
            let real = match whole.canonicalize() {
                Ok(real) => real,
                // Named by a part of its path, it need not be everywhere. A whole path was
                // seen there, and may lie elsewhere by now.
                Err(error) if path.is_relative() && is_nowhere(&error) => continue,
                Err(error) => return Err(unreadable(&whole)(error)),
            };
            if roots.iter().any(|root| real.starts_with(root)) {
                self.pin(&real)?;
                let surface = if real.is_dir() { Surface::Closed } else { Surface::Blank };
                self.surfaces.insert(real, surface);
            }
        }
        Ok(())
    }

    /// Mounts the folders on the way to what is hidden over themselves, as those to what is
    /// protected: else a command could move them while the cage of another is made ready,
    /// and that one would not find what it must hide.
    fn pin(&mut self, real: &Path) -> Result<(), Refused> {
        let roots = self.writable.iter().filter(|root| real.starts_with(&root.real));
        let Some(root) = roots.max_by_key(|root| root.real.as_os_str().len()) else { return Ok(()) };
        let (top, file) = (root.real.clone(), root.file);
        let Some(folders) = real.strip_prefix(&top).ok().and_then(Path::parent) else { return Ok(()) };
        let mut so_far = PathBuf::new();
        for name in folders.components() {
            so_far.push(name);
            let whole = top.join(&so_far);
            match self.surfaces.get(&whole) {
                Some(Surface::Write(_)) => continue,
                // What cannot be written cannot be moved either, and stays so.
                Some(_) => return Ok(()),
                None => {}
            }
            let folder = self.open_below(file, &so_far).map_err(|error| unreadable(&whole)(error.into()))?;
            let folder = self.keep(folder);
            self.surfaces.insert(whole, Surface::Write(folder));
        }
        Ok(())
    }
}

/// Nothing is there, as opposed to something that we cannot reach.
fn is_nowhere(error: &io::Error) -> bool {
    let nowhere = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    nowhere.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

fn open_real(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_at(rustix::fs::CWD, path, OFlags::PATH, ResolveFlags::NO_SYMLINKS)?)
}

fn open_at(at: impl AsFd, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    openat2(at, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve | ResolveFlags::NO_MAGICLINKS)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> Refused {
    let path = path.to_owned();
    move |source| Refused::Unreadable { path: path.clone(), source }
}

fn without_dots(path: &Path) -> Result<(), Refused> {
    let strange = path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir));
    if strange || path.as_os_str().is_empty() {
        Err(Refused::NotPlain { path: path.to_owned() })
    } else {
        Ok(())
    }
}

fn plain(path: &Path) -> Result<(), Refused> {
    without_dots(path)?;
    if path.is_absolute() { Ok(()) } else { Err(Refused::NotPlain { path: path.to_owned() }) }
}

/// Places with which more is given away than anybody means to.
fn too_wide(path: &Path) -> Result<(), Refused> {
    let why = if path == Path::new("/") {
        "it holds everything"
    } else if ["/proc", "/sys", "/dev"].iter().any(|top| path.starts_with(top)) {
        "it is the kernel's"
    } else if ["/run", "/tmp", "/run/bowline"].iter().any(|top| path == Path::new(top)) {
        "it holds the sockets of other programs"
    } else if path == Path::new("/etc") {
        "it holds the secrets of the system"
    } else {
        return Ok(());
    };
    Err(Refused::TooWide { path: path.to_owned(), why })
}
