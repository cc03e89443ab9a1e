//! What a run changed: its copy held against the base it began with.
//!
//! Names that the path guard protects are not looked at, and neither are names that are
//! no text. Where the folder still has what the base says, the bytes before are there.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use bowline_core::event::{LandOutcome, MovedOn, NAMED_MAX, Seen};
use rustix::io::Errno;

use super::base::{Base, Stood};
use super::{BYTES_MAX, FILES_MAX, Step};
use crate::background::StopFlag;
use crate::workspace::{
    FILE_BYTES_MAX, InsidePath, Kind, MissingParents, PathError, Thing, Walk, Workspace, is_guarded,
};

/// A path that differs from the base.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Below the workspace.
    pub path: String,
    /// What the run began with.
    pub was: Seen,
    /// The same with its bytes, where the folder has them still.
    pub before: Option<Thing>,
    /// What the run made of it; `None`: nothing is there.
    pub after: Option<Thing>,
    /// What the folder has now.
    pub now: Seen,
    /// One side has more bytes than are looked at.
    pub is_large: bool,
}

impl Difference {
    fn is_known(&self) -> bool {
        self.was == Seen::Nothing || self.before.is_some()
    }

    fn wrote(&self) -> Seen {
        self.after.as_ref().map_or(Seen::Nothing, Thing::seen)
    }
}

/// Everything that differs, by path. Blocks.
pub(super) fn differences(
    copy: &Workspace,
    base: &Base,
    folder: &Workspace,
    stop: &StopFlag,
) -> Result<Vec<Difference>, PathError> {
    let mut search = Search { copy, base, folder, met: BTreeSet::new(), found: Vec::new() };
    let mut failed = None;
    let walk = Walk { depth: usize::MAX, skip: &[".git", ".bowline"], stop };
    walk.visit(copy, &copy.resolve(".")?, |entry| {
        let path = entry.path.to_str().filter(|path| !path.split('/').any(is_guarded));
        let looked = match (path, &entry.kind) {
            (None, _) | (_, Kind::Directory | Kind::Special) => Ok(()),
            (Some(path), Kind::File | Kind::Link(_)) => search.look(path),
            (Some(path), Kind::Unreadable(Errno::NAMETOOLONG)) => Err(too_deep(path)),
            (Some(path), Kind::Unreadable(errno)) => Err(PathError::from_errno(*errno, path)),
        };
        match looked {
            Ok(()) if search.found.len() <= FILES_MAX => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    search.missing()?;
    search.found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(search.found)
}

/// Folders that lie deeper than is looked, shown as far as a message can hold.
fn too_deep(path: &str) -> PathError {
    let shown: String = path.chars().take(80).collect();
    let why = "folders lie deeper here than is looked; remove what a program made there";
    PathError::Io { path: format!("{shown}…"), source: std::io::Error::other(why) }
}

struct Search<'a> {
    copy: &'a Workspace,
    base: &'a Base,
    folder: &'a Workspace,
    met: BTreeSet<String>,
    found: Vec<Difference>,
}

impl Search<'_> {
    fn look(&mut self, path: &str) -> Result<(), PathError> {
        self.met.insert(path.to_owned());
        let stood = self.base.entries.get(path);
        if let Some(Stood::Large { len, modified, executable }) = stood {
            let about = std::fs::symlink_metadata(self.copy.root().join(path))
                .map_err(|source| PathError::Io { path: path.to_owned(), source })?;
            let is_same = about.len() == *len
                && (about.mtime(), about.mtime_nsec()) == *modified
                && (about.permissions().mode() & 0o100 != 0) == *executable;
            return if is_same { Ok(()) } else { self.differs(path, None, true) };
        }
        match thing_at(self.copy, path) {
            Ok(after) => {
                let is_same = seen(after.as_ref()) == stood.map_or(Seen::Nothing, Stood::seen);
                if is_same { Ok(()) } else { self.differs(path, after, false) }
            }
            Err(PathError::TooLarge { .. }) => self.differs(path, None, true),
            Err(error) => Err(error),
        }
    }

    /// What the base has and the copy has not.
    fn missing(&mut self) -> Result<(), PathError> {
        let gone: Vec<(String, bool)> = (self.base.entries.iter())
            .filter(|(path, _)| !self.met.contains(*path) && !path.split('/').any(is_guarded))
            .map(|(path, stood)| (path.clone(), matches!(stood, Stood::Large { .. })))
            .collect();
        for (path, is_large) in gone {
            self.differs(&path, None, is_large)?;
        }
        Ok(())
    }

    fn differs(&mut self, path: &str, after: Option<Thing>, is_large: bool) -> Result<(), PathError> {
        let was = self.base.entries.get(path).map_or(Seen::Nothing, Stood::seen);
        let there = match thing_at(self.folder, path) {
            Ok(there) => Some(there),
            Err(
                PathError::TooLarge { .. }
                | PathError::NotAFile { .. }
                | PathError::NotAFolder { .. }
                | PathError::Outside { .. },
            ) => None,
            Err(error) => return Err(error),
        };
        let now = there.as_ref().map_or(Seen::SomethingElse, |there| seen(there.as_ref()));
        let before = there.flatten().filter(|_| now == was);
        self.found.push(Difference { path: path.to_owned(), was, before, after, now, is_large });
        Ok(())
    }
}

impl Stood {
    fn seen(&self) -> Seen {
        match self {
            Self::File { sha256, executable } => Seen::File { sha256: *sha256, executable: *executable },
            Self::Large { .. } => Seen::SomethingElse,
            Self::Link { to } => Seen::Link { to: to.clone() },
        }
    }
}

fn seen(thing: Option<&Thing>) -> Seen {
    thing.map_or(Seen::Nothing, Thing::seen)
}

fn thing_at(workspace: &Workspace, path: &str) -> Result<Option<Thing>, PathError> {
    // Names are as they are: nothing in them is resolved.
    let place = workspace.place(&InsidePath::as_it_is(path), MissingParents::Leave)?;
    place.map_or(Ok(None), |place| place.thing())
}

/// The changes, with every byte before and after; or why there are none to apply.
pub(super) fn steps(differences: Vec<Difference>) -> Result<Vec<Step>, LandOutcome> {
    if differences.len() > FILES_MAX {
        return Err(LandOutcome::Not(format!("more than {FILES_MAX} files changed")));
    }
    if let Some(large) = differences.iter().find(|difference| difference.is_large) {
        let why = format!("{} has more than {FILE_BYTES_MAX} bytes", large.path);
        return Err(LandOutcome::Not(why));
    }
    // What the folder has already needs no change, and no undo.
    let wanted: Vec<Difference> =
        differences.into_iter().filter(|difference| difference.now != difference.wrote()).collect();
    let moved: Vec<MovedOn> = (wanted.iter().filter(|difference| difference.now != difference.was))
        .take(NAMED_MAX)
        .map(|difference| MovedOn {
            path: difference.path.clone(),
            was: difference.was.clone(),
            wrote: difference.wrote(),
            now: difference.now.clone(),
        })
        .collect();
    if !moved.is_empty() || !wanted.iter().all(Difference::is_known) {
        return Err(LandOutcome::MovedOn(moved));
    }
    let bytes: u64 =
        wanted.iter().flat_map(|wanted| [&wanted.before, &wanted.after]).flatten().map(size).sum();
    if bytes > BYTES_MAX {
        return Err(LandOutcome::Not(format!("the changed files have more than {BYTES_MAX} bytes")));
    }
    let step = |wanted: Difference| Step { path: wanted.path, before: wanted.before, after: wanted.after };
    Ok(wanted.into_iter().map(step).collect())
}

fn size(thing: &Thing) -> u64 {
    match thing {
        Thing::File { bytes, .. } => bytes.len() as u64,
        Thing::Link { to } => to.len() as u64,
    }
}
