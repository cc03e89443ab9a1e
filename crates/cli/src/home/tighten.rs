//! Homes of earlier versions could be read by everybody: what others may do with
//! them is taken away. The files inside copies of workspaces keep their modes, which
//! belong to the work; nobody gets to them through the folder above.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Most files that are looked at.
const FILES_MAX: usize = 1_000_000;
/// What anybody but the owner may do.
const OTHERS: u32 = 0o077;
/// Changing something, by anybody but the owner.
const OTHERS_WRITE: u32 = 0o022;

/// What was changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tightened {
    /// Files and folders that others could see.
    pub(crate) seen: usize,
    /// Those of them that others could change.
    pub(crate) writable: usize,
}

/// Closes a home, and everything in it that is ours, to others.
pub(super) fn tighten(home: &Path) -> io::Result<Tightened> {
    let mut tightened = Tightened::default();
    let mut folders = vec![home.to_owned()];
    let mut looked_at = 0;
    close(home, &mut tightened)?;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            looked_at += 1;
            if looked_at > FILES_MAX {
                return Ok(tightened);
            }
            if close(&path, &mut tightened)? && !is_copies(home, &path) {
                folders.push(path);
            }
        }
    }
    Ok(tightened)
}

fn is_copies(home: &Path, path: &Path) -> bool {
    path == PathBuf::from(home).join("workspaces")
}

/// Whether it is a folder to look into.
fn close(path: &Path, tightened: &mut Tightened) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    if found.is_symlink() || found.uid() != geteuid().as_raw() {
        return Ok(false);
    }
    let mode = found.permissions().mode();
    if mode & OTHERS != 0 {
        fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))?;
        tightened.seen += 1;
        tightened.writable += usize::from(mode & OTHERS_WRITE != 0);
    }
    Ok(found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_could_see_is_closed_and_copies_keep_their_modes() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("workspaces/r")).unwrap();
        for (name, mode) in [("store.db", 0o644), ("results", 0o600), ("workspaces/r/run.sh", 0o755)] {
            fs::write(home.join(name), "x").unwrap();
            fs::set_permissions(home.join(name), Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&home, Permissions::from_mode(0o775)).unwrap();
        let tightened = tighten(&home).unwrap();
        assert_eq!(tightened.writable, 1);
        let mode = |name: &str| fs::metadata(home.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode(""), mode("store.db"), mode("workspaces"), mode("workspaces/r/run.sh")],
            [0o700, 0o600, 0o700, 0o755]
        );
        assert_eq!(tighten(&home).unwrap(), Tightened::default());
    }
}
