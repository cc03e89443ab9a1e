//! What must be kept from programs in a granted folder: the `.git` of other repositories,
//! whose hooks run; `.env` files; folders of our own name; and whatever cannot be looked
//! into, which may hold any of these.
//!
//! Links are not followed. A program does not run where there is more than is looked
//! through: whoever makes that many files could hide one among them.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bowline_cage::tree::{Go, Look, Met};
use rustix::fs::{AtFlags, statat};

use super::OURS;
use crate::background::StopFlag;

/// Most that is kept; a program with more around it does not run.
pub(super) const FOUND_MAX: usize = 128;

/// Which file or folder something is, whatever it is called.
pub(super) type Which = (u64, u64);

/// What was found, each with its whole path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Nested {
    /// Repositories: read-only.
    pub(super) repositories: Vec<PathBuf>,
    /// Secrets: hidden.
    pub(super) secrets: Vec<PathBuf>,
    /// Under our own name, ours or not: hidden.
    pub(super) homes: Vec<(PathBuf, Which)>,
    /// What nobody could look into: hidden whole.
    pub(super) closed: Vec<PathBuf>,
}

/// Why a folder cannot be granted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoLook {
    /// It cannot be looked into.
    Closed(PathBuf, rustix::io::Errno),
    /// There is more than is looked through; this is where it ended.
    Cut(PathBuf),
}

impl Nested {
    /// Looks through a folder. Blocks.
    pub(super) fn below(root: &Path, stop: &StopFlag) -> Result<Self, NoLook> {
        let mut nested = Self::default();
        let is_over = || stop.is_set();
        let look = Look { opens: false, is_over: &is_over };
        let unseen = look.through(root, |met| nested.take(met));
        let unseen = match unseen {
            Ok(unseen) => unseen,
            // A file that is granted, or nothing.
            Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::NOENT) => return Ok(nested),
            Err(why) => return Err(NoLook::Closed(root.to_owned(), why)),
        };
        if let Some(place) = unseen.cut {
            return Err(NoLook::Cut(place));
        }
        nested.closed = unseen.closed;
        Ok(nested)
    }

    fn take(&mut self, met: &Met<'_>) -> Go {
        let is_nested = met.depth > 0;
        if is_ours(met.name) {
            self.homes.extend(which(met).map(|which| (met.path.to_owned(), which)));
            Go::Past
        } else if met.name == ".git" {
            if met.kind.is_symlink() {
                // The link itself cannot be held; what it leads to can.
                let leads_to = met.path.canonicalize().into_iter().filter(|_| is_nested);
                self.repositories.extend(leads_to.filter(|place| place.is_dir()));
                return Go::Past;
            }
            if is_nested {
                self.repositories.push(met.path.to_owned());
            }
            // Read-only is not hidden: a program may have moved secrets into one it made itself.
            if is_nested { self.go_on() } else { Go::Past }
        } else if met.name == ".env" {
            if is_nested {
                self.secrets.push(met.path.to_owned());
            }
            Go::Past
        } else {
            self.go_on()
        }
    }

    fn go_on(&self) -> Go {
        if self.count() > FOUND_MAX { Go::Stop } else { Go::In }
    }

    pub(super) fn count(&self) -> usize {
        self.repositories.len() + self.secrets.len() + self.homes.len() + self.closed.len()
    }

    /// One of those that were found, for a message.
    pub(super) fn example(&self) -> Option<&PathBuf> {
        let homes = self.homes.iter().map(|(path, _)| path);
        self.repositories.iter().chain(&self.secrets).chain(&self.closed).chain(homes).last()
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.secrets.extend(other.secrets);
        self.homes.extend(other.homes);
        self.closed.extend(other.closed);
    }
}

impl NoLook {
    /// In words, with what to do.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Closed(path, why) => format!(
                "{} cannot be looked through for what programs must not see ({why}); make it readable again \
                 (`chmod u+rwx`), or name another folder",
                path.display()
            ),
            Self::Cut(path) => format!(
                "the granted folders hold more files, or lie deeper, than can be looked through for what programs must \
                 not see; it ended at {}: remove what a program made there, or name a smaller folder as the workspace",
                shortened(path)
            ),
        }
    }
}

/// A path that a message can hold.
fn shortened(path: &Path) -> String {
    path.display().to_string().chars().take(300).collect()
}

/// Whether a name is that of our own folder, on any disk.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(OURS)
}

/// Which one it is; `None` if it is gone.
pub(super) fn which(met: &Met<'_>) -> Option<Which> {
    let found = statat(met.folder, met.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// The same by its path.
pub(super) fn which_at(path: &Path) -> Option<Which> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_lies_below_the_top_is_found_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = &dir.path().canonicalize().unwrap();
        for folder in [".git/hooks", "a/b/.git/hooks", "c", "outside", "a/.Bowline", "elsewhere/hooks", "d"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [".env", "a/.env", "c/.git", "a/b/.git/.env", ".git/.env"] {
            fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("c/loop")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("d/.git")).unwrap();
        let mut nested = Nested::below(root, &StopFlag::default()).unwrap();
        nested.repositories.sort();
        nested.secrets.sort();
        assert_eq!(nested.repositories, [root.join("a/b/.git"), root.join("c/.git"), root.join("elsewhere")]);
        assert_eq!(nested.secrets, [root.join("a/.env"), root.join("a/b/.git/.env")]);
        assert_eq!(
            nested.homes.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(),
            [root.join("a/.Bowline")]
        );
    }

    #[test]
    fn more_than_can_be_held_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=FOUND_MAX {
            let folder = dir.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(".env"), "x").unwrap();
        }
        let root = dir.path().canonicalize().unwrap();
        assert!(Nested::below(&root, &StopFlag::default()).unwrap().count() > FOUND_MAX);
    }
}
