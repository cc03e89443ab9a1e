//! What must be kept from programs below the top of a granted folder: the `.git`
//! of other repositories, whose hooks run, and `.env` files.
//!
//! The tree is looked through level by level, so that what lies near is found in
//! any case; links are not followed. A program does not run where there is more than
//! is looked through: whoever makes that many files could hide one among them.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::background::StopFlag;

/// Most files and folders that are looked at below one granted folder.
const ENTRIES_MAX: usize = 1_000_000;

/// Deepest folder that is entered.
const DEPTH_MAX: usize = 64;

/// Most that is kept; a program with more around it does not run.
pub(super) const FOUND_MAX: usize = 128;

/// What was found, each with its whole path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Nested {
    /// Repositories: read-only.
    pub(super) repositories: Vec<PathBuf>,
    /// Secrets: hidden.
    pub(super) secrets: Vec<PathBuf>,
    /// There was more than is looked through.
    pub(super) is_cut: bool,
}

impl Nested {
    /// Looks below a folder, not at what is in the folder itself. Blocks.
    pub(super) fn below(root: &Path, stop: &StopFlag) -> Self {
        let mut nested = Self::default();
        let mut entries = 0_usize;
        let mut folders = VecDeque::from([(root.to_owned(), 0_usize)]);
        while let Some((folder, depth)) = folders.pop_front() {
            if stop.is_set() || nested.count() > FOUND_MAX {
                break;
            }
            // What we cannot read here, programs cannot either.
            let Ok(listed) = fs::read_dir(&folder) else { continue };
            for entry in listed.flatten() {
                entries += 1;
                if entries > ENTRIES_MAX {
                    nested.is_cut = true;
                    return nested;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let (name, path) = (entry.file_name(), entry.path());
                if name == ".git" {
                    // A link cannot be held; what it leads to is not below it.
                    if depth > 0 && !kind.is_symlink() {
                        nested.repositories.push(path);
                    }
                } else if name == ".env" {
                    if depth > 0 {
                        nested.secrets.push(path);
                    }
                } else if kind.is_dir() {
                    nested.is_cut |= depth == DEPTH_MAX;
                    if depth < DEPTH_MAX {
                        folders.push_back((path, depth + 1));
                    }
                }
            }
        }
        nested
    }

    pub(super) fn count(&self) -> usize {
        self.repositories.len() + self.secrets.len()
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.secrets.extend(other.secrets);
        self.is_cut |= other.is_cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_the_top_is_found_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in [".git/hooks", "a/b/.git/hooks", "c", "outside"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [".env", "a/.env", "c/.git", "a/b/.git/.env"] {
            fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("c/loop")).unwrap();
        let mut nested = Nested::below(root, &StopFlag::default());
        nested.repositories.sort();
        assert_eq!(nested.repositories, [root.join("a/b/.git"), root.join("c/.git")]);
        assert_eq!(nested.secrets, [root.join("a/.env")]);
    }

    #[test]
    fn more_than_can_be_held_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=FOUND_MAX {
            let folder = dir.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(".env"), "x").unwrap();
        }
        assert!(Nested::below(dir.path(), &StopFlag::default()).count() > FOUND_MAX);
    }
}
