//! Programs that Bowline itself starts outside a cage, found where no agent can have put
//! them.
//!
//! The search path is the user's, and often leads through folders that programs of an agent
//! write: the environment of a project, its `bin`, a granted cache. What lies there, or is
//! reached over a link that lies there, is passed over, and the refusal says which program
//! that was and why. The judgement comes before the first start.
//!
//! Never: a program is started here, or one is found by another rule than this one.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

/// Where programs are, if nobody says.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where the system keeps its programs: a folder around this one is nobody's project.
const SYSTEM: &str = "/usr/bin";

/// What makes a folder a project of ours.
const OURS: &str = ".bowline";

/// What makes a folder a project.
const MARKS: [&str; 2] = [".git", OURS];

/// Most links on the way to a program, as the kernel has it.
const LINKS_MAX: usize = 40;

/// Most programs that are named in a refusal.
const TOLD_MAX: usize = 3;

/// Groups below this number are the system's own, such as `staff`.
const SYSTEM_GROUPS: u32 = 100;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Where programs that run outside a cage are looked for, and where not.
#[derive(Clone, Debug)]
pub struct Outside {
    path: OsString,
    home: Option<PathBuf>,
    shunned: Vec<PathBuf>,
}

impl Outside {
    /// The search path of this process, without what lies in the project of the working
    /// directory.
    #[must_use]
    pub fn here() -> Self {
        Self::on(&std::env::var_os("PATH").unwrap_or_else(|| USUAL.into()))
    }

    /// The same on another search path.
    #[must_use]
    pub fn on(path: &OsStr) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let this = Self { path: path.to_owned(), home, shunned: Vec::new() };
        match std::env::current_dir() {
            Ok(folder) => this.without_project(&folder),
            Err(_) => this,
        }
    }

    /// Without what lies in a folder, where programs of an agent write.
    #[must_use]
    pub fn without(mut self, folder: &Path) -> Self {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        if let Ok(real) = folder.canonicalize() {
            self.shunned.push(real);
        }
        self.shunned.push(folder);
        self
    }

    /// Without a home of runs, and without the project it lies in.
    #[must_use]
    pub fn without_home(self, home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        let this = self.without(&home);
        let lies_in = home.canonicalize().unwrap_or(home);
        match lies_in.parent() {
            // The user's own home is no project for having one in it.
            Some(parent) if !this.is_users_home(parent) => this.without_project(parent),
            _ => this,
        }
    }

    /// Without the project a folder belongs to, or the folder itself if it is in none.
    fn without_project(self, folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let inner = folder.ancestors().take_while(|above| !self.is_too_wide(above));
        let is_project = |above: &&Path| MARKS.iter().any(|mark| above.join(mark).symlink_metadata().is_ok());
        let top = inner.filter(is_project).last().unwrap_or(&folder).to_owned();
        if Path::new(SYSTEM).starts_with(&top) { self } else { self.without(&top) }
    }

    /// Whether a folder holds more than a project.
    fn is_too_wide(&self, folder: &Path) -> bool {
        Path::new(SYSTEM).starts_with(folder) || self.is_users_home(folder)
    }

    fn is_users_home(&self, folder: &Path) -> bool {
        let home = self.home.as_deref();
        home.is_some_and(|home| home.starts_with(folder) || real(home).starts_with(folder))
    }

    /// The program of that name that may be started outside a cage.
    pub fn find(&self, name: &str) -> Result<PathBuf, NotFound> {
        let mut passed = Vec::new();
        for folder in std::env::split_paths(&self.path) {
            let file = folder.join(name);
            if !file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
            {
                continue;
            }
            match self.judge(&file).and_then(|()| folder.canonicalize().map_err(|_| Why::Unseen)) {
                // By its own name: what a link leads to may go by it.
                Ok(folder) => return Ok(folder.join(name)),
                Err(why) => passed.push((file, why)),
            }
        }
        Err(NotFound { name: name.to_owned(), passed })
    }

    /// The search path for what such a program starts in turn.
    #[must_use]
    pub fn path(&self) -> OsString {
        let kept = std::env::split_paths(&self.path).filter(|folder| self.judge(folder).is_ok());
        std::env::join_paths(kept).unwrap_or_else(|_| USUAL.into())
    }

    /// Whether nobody but the user decides what is found at a path.
    fn judge(&self, path: &Path) -> Result<(), Why> {
        if !path.is_absolute() {
            return Err(Why::Relative);
        }
        let steps = steps(path).map_err(|_| Why::Unseen)?;
        for step in std::iter::once(path).chain(steps.iter().map(PathBuf::as_path)) {
            if let Some(place) = self.shunned.iter().find(|place| step.starts_with(place)) {
                return Err(Why::Within(place.clone()));
            }
        }
        for step in &steps {
            let mut above = step.ancestors().skip(1).take_while(|above| !self.is_too_wide(above));
            if let Some(project) = above.find(|above| above.join(OURS).symlink_metadata().is_ok()) {
                return Err(Why::Within(project.to_owned()));
            }
            open_to_others(step)?;
        }
        Ok(())
    }
}

/// Every link on the way to a path, by its real place, and at last what it leads to.
fn steps(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut steps = Vec::new();
    let mut at = PathBuf::from("/");
    let mut rest = backwards(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        if !next.symlink_metadata()?.is_symlink() {
            at = next;
            continue;
        }
        if steps.len() == LINKS_MAX {
            return Err(io::Error::other("there are too many links"));
        }
        let target = next.read_link()?;
        steps.push(next);
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        rest.extend(backwards(&target));
    }
    steps.push(at);
    Ok(steps)
}

/// The parts of a path, the first one last.
fn backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// Refuses what others than its owner can replace.
fn open_to_others(step: &Path) -> Result<(), Why> {
    let open = || Why::Open(step.to_owned());
    let found = step.symlink_metadata().map_err(|_| Why::Unseen)?;
    // The rights of a link say nothing.
    if !found.is_symlink() && strangers_write(&found) {
        return Err(open());
    }
    for (up, folder) in step.ancestors().skip(1).enumerate() {
        let found = folder.metadata().map_err(|_| Why::Unseen)?;
        let is_sticky = found.mode() & STICKY != 0;
        // In a sticky folder nobody replaces what is another's, but anybody adds something.
        let adds = up == 0 && found.mode() & OTHERS_WRITE != 0;
        if strangers_write(&found) && (!is_sticky || adds) {
            return Err(Why::Open(folder.to_owned()));
        }
    }
    Ok(())
}

/// Whether somebody writes there who is neither its owner nor the system.
fn strangers_write(found: &Metadata) -> bool {
    let (owner, group) = (found.uid(), found.gid());
    // The group of one user, or one that administrators put people into.
    let is_own = group == owner || (owner == 0 && group < SYSTEM_GROUPS);
    found.mode() & OTHERS_WRITE != 0 || (found.mode() & GROUP_WRITES != 0 && group != 0 && !is_own)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Why a program was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Relative,
    Within(PathBuf),
    Open(PathBuf),
    Unseen,
}

/// There is no program of that name that may be started outside a cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    name: String,
    passed: Vec<(PathBuf, Why)>,
}

impl NotFound {
    /// Whether there were programs of that name which may not be started.
    #[must_use]
    pub fn has_passed_over(&self) -> bool {
        !self.passed.is_empty()
    }

    /// What the person at the machine can do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.has_passed_over() {
            "install it for the system, or put a folder on PATH that only you can write and that lies in no project"
        } else {
            "install it, and have its folder on PATH"
        }
    }
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no program `{}` on PATH", self.name)?;
        if self.passed.is_empty() {
            return Ok(());
        }
        f.write_str(" that may be started outside a sandbox")?;
        for (file, why) in self.passed.iter().take(TOLD_MAX) {
            write!(f, "; {} was passed over: {why}", file.display())?;
        }
        match self.passed.len().checked_sub(TOLD_MAX) {
            Some(more @ 1..) => write!(f, "; and {more} more"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("its folder on PATH is relative"),
            Self::Within(place) => {
                write!(
                    f,
                    "it lies in {} or is linked from there, where programs of an agent may write",
                    place.display()
                )
            }
            Self::Open(place) => write!(f, "others than its owner may write {}", place.display()),
            Self::Unseen => f.write_str("where it leads cannot be seen"),
        }
    }
}

#[cfg(test)]
mod tests;
