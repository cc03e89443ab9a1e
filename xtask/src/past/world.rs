//! The fixed place a home is recorded in and unpacked to.
//!
//! A journal holds the absolute path of its workspace, so a home is at home in one place
//! only. Whoever holds a [`World`] has that place alone, locked against every other process
//! of the machine; it is empty when it is taken and gone when it is given back.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::PLACE;

/// Text in files and steps that stands for the place.
const MARK: &str = "{WORLD}";

/// One home's place, and the right to use it.
pub struct World {
    path: PathBuf,
    _lock: File,
}

impl World {
    /// Waits for the place, and empties it.
    pub fn take(set: &str, name: &str) -> Result<Self> {
        let folder = Path::new(PLACE).join(set);
        for made in [Path::new(PLACE), &folder] {
            make(made)?;
        }
        let lock = folder.join(format!("{name}.lock"));
        let lock = File::create(&lock).with_context(|| format!("cannot make {}", lock.display()))?;
        lock.lock().with_context(|| format!("cannot lock the place of {name}"))?;
        let world = Self { path: folder.join(name), _lock: lock };
        world.wipe()?;
        make(&world.path)?;
        Ok(world)
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The home in it.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Writes files, over those that are there.
    pub fn write(&self, files: &BTreeMap<String, String>) -> Result<()> {
        for (name, text) in files {
            let path = self.path.join(name);
            let folder = path.parent().unwrap_or(&self.path);
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(&path, self.fill(text)).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// A text with the place in it.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace(MARK, &self.path.display().to_string())
    }

    /// Writes all of it to an archive. `tar` and `gzip` are wherever a shell is.
    pub(super) fn pack(&self, archive: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.args(["--use-compress-program", "gzip -9 -n", "--directory"]).arg(&self.path);
        // The lock of a worker that is gone says nothing.
        tar.args(["--exclude=./home/worker.lock", "--exclude=*.db-shm", "--file"]).arg(archive).arg(".");
        done(&mut tar, "tar")
    }

    /// Fills the empty place from an archive.
    pub fn unpack(&self, archive: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--gzip", "--same-permissions", "--no-same-owner", "--directory"]);
        done(tar.arg(&self.path).arg("--file").arg(archive), "tar")
    }

    /// A copy of the home, for programs that must leave this one as it is.
    pub(super) fn copy_of_home(&self) -> Result<PathBuf> {
        let copy = self.path.with_extension("look");
        remove(&copy)?;
        done(Command::new("cp").arg("-a").arg(self.home()).arg(&copy), "cp")?;
        Ok(copy)
    }

    fn wipe(&self) -> Result<()> {
        remove(&self.path.with_extension("look"))?;
        remove(&self.path)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The next one to take the place empties it, too.
        let _ = self.wipe();
    }
}

/// A folder for this user alone. One that somebody else made is none of ours.
fn make(path: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("cannot make {}", path.display()))?,
    }
    let found = path.symlink_metadata()?;
    let us = fs::metadata("/proc/self")?.uid();
    ensure!(
        found.is_dir() && found.uid() == us,
        "{} is not a folder of this user: remove it, since homes of the past are unpacked there",
        path.display()
    );
    Ok(())
}

/// Removes a folder with everything in it, also what may not be written.
fn remove(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    unlock(path)?;
    fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// Lets folders be emptied that a test made read-only.
fn unlock(folder: &Path) -> Result<()> {
    if !folder.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        unlock(&entry?.path())?;
    }
    Ok(())
}

fn done(command: &mut Command, what: &str) -> Result<()> {
    let ran = command.output().with_context(|| format!("cannot start {what}"))?;
    if !ran.status.success() {
        bail!("{what} ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_packed_and_unpacked_as_it_was_and_gone_afterwards() {
        let archives = tempfile::tempdir().unwrap();
        let archive = archives.path().join("a.tar.gz");
        let world = World::take("test", "packed").unwrap();
        let files =
            [("task/at".to_owned(), "{WORLD}/x".to_owned()), ("home/kept".to_owned(), "k".to_owned())];
        world.write(&files.into()).unwrap();
        fs::set_permissions(world.home(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(world.home().join("worker.lock"), "1").unwrap();
        world.pack(&archive).unwrap();
        let path = world.path().to_owned();
        drop(world);
        assert!(!path.exists());
        let again = World::take("test", "packed").unwrap();
        again.unpack(&archive).unwrap();
        assert_eq!(fs::read_to_string(path.join("task/at")).unwrap(), format!("{}/x", path.display()));
        assert_eq!(fs::metadata(again.home()).unwrap().mode() & 0o777, 0o700);
        assert!(!again.home().join("worker.lock").exists());
        fs::set_permissions(again.home(), fs::Permissions::from_mode(0o500)).unwrap();
        drop(again);
        assert!(!path.exists(), "also what may not be written is removed");
    }

    #[test]
    fn two_who_want_the_same_place_have_it_one_after_the_other() {
        let together = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let world = World::take("test", "shared").unwrap();
                    let before = together.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(before, 0);
                    world.write(&[("a".to_owned(), String::new())].into()).unwrap();
                    together.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                });
            }
        });
    }
}
