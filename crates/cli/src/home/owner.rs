//! Whose a place is: a home is used only if nobody else could have put it there or can
//! change it. Every folder on the way is looked at, through links too.
//!
//! Nothing here is changed, and what cannot be examined is not trusted.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::process::geteuid;

/// Links that are followed on one way.
const LINKS_MAX: usize = 40;
/// Bits of a mode: others may write, the group may write, only owners may remove.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// Why a place is not used.
#[derive(Debug)]
pub(crate) enum Distrust {
    /// A part of the way, or the place itself, belongs to somebody else.
    Foreign { path: PathBuf, owner: u32 },
    /// Others can change what lies in a part of the way.
    Writable { path: PathBuf, by: &'static str },
    /// The way goes round in circles.
    Links { path: PathBuf },
    /// Something in the home is neither a file nor a folder, and would lead out of it.
    LeadsOut { path: PathBuf },
    /// It cannot be examined.
    Unknown { path: PathBuf, error: io::Error },
}

impl Distrust {
    /// What is wrong, of the place named.
    pub(crate) fn what(&self, home: &Path) -> String {
        let home = home.display();
        match self {
            Self::Foreign { path, owner } => {
                format!(
                    "the home {home} is not used: {} belongs to {}, not to you",
                    path.display(),
                    name_of(*owner)
                )
            }
            Self::Writable { path, by } => {
                format!(
                    "the home {home} is not used: {by} can write to {}, and so put runs of their own there",
                    path.display()
                )
            }
            Self::LeadsOut { path } => format!(
                "the home {home} is not used: {} is neither a file nor a folder, so what is written there may go elsewhere",
                path.display()
            ),
            Self::Links { path } => format!("the home {home} is not used: {} leads nowhere", path.display()),
            Self::Unknown { path, error } => {
                format!("the home {home} is not used: {} cannot be examined: {error}", path.display())
            }
        }
    }

    /// What to do about it.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Writable { path, .. } => {
                format!(
                    "`chmod go-w {}` if it is yours alone, or name a place of your own with `--home DIR`",
                    path.display()
                )
            }
            Self::LeadsOut { path } => {
                format!(
                    "look at {} and remove it; to keep runs elsewhere, name the place with `--home DIR`",
                    path.display()
                )
            }
            Self::Foreign { .. } | Self::Links { .. } | Self::Unknown { .. } => {
                "name a place of your own with `--home DIR`, or work as the user it belongs to".into()
            }
        }
    }
}

/// Whether nobody but the caller and root can change what lies at a path, or
/// would lie there. The place itself, where there is one, must be the caller's.
pub(super) fn examine(path: &Path) -> Result<(), Distrust> {
    let us = geteuid().as_raw();
    let mut at = PathBuf::from("/");
    judge(&at, &look(&at)?, us)?;
    let mut ahead: VecDeque<OsString> = parts(path);
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let found = match next.symlink_metadata() {
            Ok(found) => found,
            // What is not there yet is made by us, in a folder that was judged.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(error) => return Err(Distrust::Unknown { path: next, error }),
        };
        if found.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                return Err(Distrust::Links { path: next });
            }
            if !is_ours(found.uid(), us) {
                return Err(Distrust::Foreign { path: next, owner: found.uid() });
            }
            let target = fs::read_link(&next).map_err(|error| Distrust::Unknown { path: next, error })?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            parts(&target).into_iter().rev().for_each(|part| ahead.push_front(part));
            continue;
        }
        judge(&next, &found, us)?;
        at = next;
    }
    let found = look(&at)?;
    if found.uid() != us {
        return Err(Distrust::Foreign { path: at, owner: found.uid() });
    }
    // A sticky folder protects what others put there from us, not us from them.
    let shared = writers(&found, us).filter(|_| found.is_dir());
    shared.map_or(Ok(()), |by| Err(Distrust::Writable { path: at, by }))
}

/// Whether everything directly in a home is a file or a folder. Links in it were made by
/// whoever made the home, which may be a repository.
pub(super) fn examine_inside(home: &Path) -> Result<(), Distrust> {
    let unknown = |error| Distrust::Unknown { path: home.to_owned(), error };
    let entries = match fs::read_dir(home) {
        Ok(entries) => entries,
        // What is not there yet is made by us, or cannot be.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(unknown(error)),
    };
    for entry in entries {
        let entry = entry.map_err(unknown)?;
        let kind = entry.file_type().map_err(|error| Distrust::Unknown { path: entry.path(), error })?;
        if !(kind.is_file() || kind.is_dir()) {
            return Err(Distrust::LeadsOut { path: entry.path() });
        }
    }
    Ok(())
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).collect()
}

fn look(path: &Path) -> Result<Metadata, Distrust> {
    path.symlink_metadata().map_err(|error| Distrust::Unknown { path: path.to_owned(), error })
}

/// A part of the way.
fn judge(path: &Path, found: &Metadata, us: u32) -> Result<(), Distrust> {
    if !is_ours(found.uid(), us) {
        return Err(Distrust::Foreign { path: path.to_owned(), owner: found.uid() });
    }
    // In a sticky folder others can make new names, and cannot touch ours.
    let is_sticky = found.permissions().mode() & STICKY != 0;
    match writers(found, us).filter(|_| !is_sticky) {
        Some(by) => Err(Distrust::Writable { path: path.to_owned(), by }),
        None => Ok(()),
    }
}

fn is_ours(owner: u32, us: u32) -> bool {
    owner == us || owner == 0 || is_unmapped(owner)
}

/// In a container of an ordinary user, root of the machine has this number.
fn is_unmapped(owner: u32) -> bool {
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    let is_nobody = overflow.trim().parse() == Ok(owner);
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    is_nobody && !map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Who besides us can write, if anybody.
fn writers(found: &Metadata, us: u32) -> Option<&'static str> {
    let mode = found.permissions().mode();
    if mode & OTHERS_WRITE != 0 {
        return Some("everybody");
    }
    (mode & GROUP_WRITES != 0 && !is_private_group(found.gid(), us)).then_some("its group")
}

/// Whether a group is that of one user alone, as many systems give everybody one.
fn is_private_group(group: u32, us: u32) -> bool {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    group == 0 || is_private_in(&accounts, &groups, group, us)
}

fn is_private_in(accounts: &str, groups: &str, group: u32, us: u32) -> bool {
    let fields = |line: &str| -> Vec<String> { line.split(':').map(str::to_owned).collect() };
    let is = |field: Option<&String>, number: u32| field.is_some_and(|text| text.parse() == Ok(number));
    let accounts: Vec<Vec<String>> = accounts.lines().map(fields).collect();
    let Some(name) = accounts.iter().find(|line| is(line.get(2), us)).and_then(|line| line.first()) else {
        return false;
    };
    let shares = |line: &Vec<String>| is(line.get(3), group) && line.first() != Some(name);
    let entries: Vec<Vec<String>> =
        groups.lines().map(fields).filter(|line| is(line.get(2), group)).collect();
    let is_alone = |line: &Vec<String>| {
        let members = line.get(3).map_or("", String::as_str).split(',').filter(|member| !member.is_empty());
        line.first() == Some(name) && members.into_iter().all(|member| member == name.as_str())
    };
    !accounts.iter().any(shares) && !entries.is_empty() && entries.iter().all(is_alone)
}

/// A user as people know them.
fn name_of(owner: u32) -> String {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let name = line.into_iter().find(|line| line.get(2).is_some_and(|number| number.parse() == Ok(owner)));
    name.and_then(|line| line.first().map(|name| format!("{name} (user {owner})")))
        .unwrap_or_else(|| format!("user {owner}"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::symlink;

    use super::*;

    fn open_to(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_way_that_others_can_change_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("project/home");
        fs::create_dir_all(&home).unwrap();
        examine(&home).unwrap();
        open_to(&dir.path().join("project"), 0o777);
        assert!(matches!(examine(&home), Err(Distrust::Writable { by: "everybody", .. })));
        assert!(matches!(examine(&home.join("new")), Err(Distrust::Writable { .. })));
        open_to(&dir.path().join("project"), 0o1777);
        examine(&home).unwrap();
        // Sticky or not: in the home itself nobody else makes anything.
        open_to(&home, 0o1777);
        assert!(matches!(examine(&home), Err(Distrust::Writable { .. })));
    }

    #[test]
    fn the_way_behind_a_link_is_looked_at_too() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["open/home", "closed"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        symlink("../open/home", dir.path().join("closed/link")).unwrap();
        examine(&dir.path().join("closed/link")).unwrap();
        open_to(&dir.path().join("open"), 0o777);
        assert!(matches!(examine(&dir.path().join("closed/link")), Err(Distrust::Writable { .. })));
        symlink("round", dir.path().join("closed/round")).unwrap();
        assert!(matches!(examine(&dir.path().join("closed/round")), Err(Distrust::Links { .. })));
    }

    #[test]
    fn a_home_with_anything_but_files_and_folders_in_it_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        examine_inside(&home).unwrap();
        fs::create_dir_all(home.join("results")).unwrap();
        fs::write(home.join("store.db"), "").unwrap();
        examine_inside(&home).unwrap();
        symlink("../anywhere", home.join("worker.lock")).unwrap();
        let Err(found) = examine_inside(&home) else { panic!("a link was taken") };
        assert!(found.what(&home).contains("worker.lock"), "{}", found.what(&home));
        assert!(found.remedy().contains("worker.lock"), "{}", found.remedy());
    }

    #[test]
    fn a_group_of_one_is_private_and_no_other() {
        let accounts = "root:x:0:0::/:\nada:x:1000:1000::/:\nben:x:1001:1001::/:\n";
        let private = |accounts: &str, groups: &str, group| is_private_in(accounts, groups, group, 1000);
        assert!(private(accounts, "ada:x:1000:\n", 1000));
        assert!(private(accounts, "ada:x:1000:ada\n", 1000));
        assert!(!private(accounts, "ada:x:1000:ben\n", 1000), "ben is in it");
        assert!(!private(accounts, "team:x:1000:\n", 1000), "it is not ada's by name");
        assert!(!private(accounts, "ada:x:1000:\nteam:x:50:ada\n", 50));
        assert!(
            !private(&format!("{accounts}cy:x:1002:1000::/:\n"), "ada:x:1000:\n", 1000),
            "it is cy's first"
        );
        assert!(!private("", "", 1000), "nothing is known");
    }
}
