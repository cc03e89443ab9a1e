//! Folders of our own name that programs make: taken away, and told.
//!
//! A name cannot be forbidden at any depth while a program runs, so its folders are looked
//! through when it has ended, and once more before the next program starts. What was there
//! before the first program of the run stays. What is new under our name, of any kind,
//! gets another name beside it: nothing is lost, and nobody takes it for ours.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_cage::tree::{Go, Look, Met, Opened};
use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use super::secrets::{Which, is_ours, which, which_at};
use crate::background::{self, StopFlag};

/// Longest time for one look.
const LOOK_MAX: Duration = Duration::from_secs(60);
/// Names that are tried.
const NAMES_MAX: u32 = 64;
/// Most that are told of.
const TOLD_MAX: usize = 16;

/// What lay under our name in a folder before any program of the run ran there.
#[derive(Clone, Debug, Default)]
pub(super) struct Homes(Arc<Mutex<HashMap<PathBuf, HashSet<Which>>>>);

/// What is looked through when a program has ended.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    homes: Homes,
    roots: Vec<PathBuf>,
    /// What was taken away before it started.
    told: Vec<String>,
}

impl Homes {
    /// What is to be done after a program that may write these folders. The first time, what
    /// is there is taken down; `kept` are folders of our own. Blocks.
    pub(super) fn before(
        &self,
        roots: &[PathBuf],
        kept: &[PathBuf],
        stop: &StopFlag,
    ) -> Result<Sweep, String> {
        for root in roots {
            if !self.lock().contains_key(root) {
                let mut found = found(root, stop)?;
                found.extend(kept.iter().filter_map(|folder| which_at(&folder.canonicalize().ok()?)));
                self.lock().insert(root.clone(), found);
            }
        }
        Ok(Sweep { homes: self.clone(), roots: roots.to_vec(), told: Vec::new() })
    }

    /// Looks once more through every folder that a program of the run could write.
    pub(super) async fn after_all(&self) {
        let roots = self.lock().keys().cloned().collect();
        let sweep = Sweep { homes: self.clone(), roots, told: Vec::new() };
        sweep.after().await;
    }

    fn known(&self, root: &Path) -> HashSet<Which> {
        self.lock().get(root).cloned().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, HashSet<Which>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sweep {
    /// Takes away what an earlier program left under our name among these paths; whether
    /// there was anything. Blocks.
    pub(super) fn early(&mut self, hidden: &[PathBuf], stop: &StopFlag) -> Result<bool, String> {
        let named = hidden.iter().filter(|path| path.is_absolute() && path.file_name().is_some_and(is_ours));
        let named: Vec<&PathBuf> = named.collect();
        let mut was_any = false;
        for root in &self.roots {
            let known = self.homes.known(root);
            let below = named.iter().filter(|path| path.starts_with(root));
            if below.filter_map(|path| which_at(path)).any(|one| !known.contains(&one)) {
                self.told.extend(take_away(root, &known, stop)?);
                was_any = true;
            }
        }
        Ok(was_any)
    }

    /// Takes away what the program made under our name; what to tell about it.
    pub(crate) async fn after(self) -> Vec<String> {
        let work = move |stop: &StopFlag| {
            let mut told = self.told;
            for root in &self.roots {
                match take_away(root, &self.homes.known(root), stop) {
                    Ok(taken) => told.extend(taken),
                    Err(why) => told.push(format!("[bowline: {why}]")),
                }
            }
            told.truncate(TOLD_MAX);
            told
        };
        background::run(LOOK_MAX, work)
            .await
            .unwrap_or_else(|late| vec![format!("[bowline: {}]", late.message(LOOK_MAX))])
    }
}

/// What lies under our name.
fn found(root: &Path, stop: &StopFlag) -> Result<HashSet<Which>, String> {
    let mut found = HashSet::new();
    visit(root, stop, |met| found.extend(which(met)))?;
    Ok(found)
}

/// Renames what lies under our name and is not known.
fn take_away(root: &Path, known: &HashSet<Which>, stop: &StopFlag) -> Result<Vec<String>, String> {
    let mut taken = Vec::new();
    let mut stays = None;
    visit(root, stop, |met| {
        let Some(one) = which(met).filter(|one| !known.contains(one)) else { return };
        if met.depth == 0 && is_stand_in(met) {
            return;
        }
        match rename(met, one) {
            Ok(name) => taken.push(format!(
                "[bowline: a program made {}, which only Bowline may; it is called {} now]",
                met.path.display(),
                name.display()
            )),
            Err(Errno::NOENT) => {}
            Err(why) => {
                stays = Some(format!(
                    "a program made {}, which only Bowline may, and it cannot be taken away ({why}); remove it",
                    met.path.display()
                ));
            }
        }
    })?;
    stays.map_or(Ok(taken), Err)
}

fn visit(root: &Path, stop: &StopFlag, mut met_ours: impl FnMut(&Met<'_>)) -> Result<(), String> {
    let is_over = || stop.is_set();
    let unseen = Look { opens: true, is_over: &is_over }.through(root, |met| {
        if is_ours(met.name) {
            met_ours(met);
            return Go::Past;
        }
        Go::In
    });
    match unseen {
        Ok(unseen) => match unseen.cut {
            Some(place) => Err(super::secrets::NoLook::Cut(place).message()),
            None => Ok(()),
        },
        Err(Errno::NOTDIR | Errno::NOENT) => Ok(()),
        Err(why) => Err(super::secrets::NoLook::Closed(root.to_owned(), why).message()),
    }
}

/// An empty folder that nobody can write, as a cage puts there while it stands.
fn is_stand_in(met: &Met<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = openat(met.folder, met.name, flags, Mode::empty()) else { return false };
    bowline_cage::is_stand_in(&folder)
}

fn rename(met: &Met<'_>, which: Which) -> Result<OsString, Errno> {
    let mut widened: Option<Opened> = None;
    for number in 0..NAMES_MAX {
        let name = OsString::from(format!("not-bowline-{:x}-{number}", which.1));
        match renameat_with(met.folder, met.name, met.folder, &name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(Errno::ACCESS | Errno::PERM) if widened.is_none() => {
                let folder = openat(met.folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
                widened = Some(Opened::open(folder?)?);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn what_is_new_under_our_name_is_taken_away_and_what_was_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("old/.bowline")).unwrap();
        let homes = Homes::default();
        let sweep = homes.before(std::slice::from_ref(&root), &[], &StopFlag::default()).unwrap();
        fs::create_dir_all(root.join("a/.bowline/runs")).unwrap();
        fs::create_dir_all(root.join("b")).unwrap();
        fs::write(root.join("b/.BOWLINE"), "").unwrap();
        std::os::unix::fs::symlink("/", root.join("old/.bowlinE")).unwrap();
        let told = sweep.after().await;
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().any(|line| line.contains("a/.bowline, which only Bowline may")), "{told:?}");
        for gone in ["a/.bowline", "b/.BOWLINE", "old/.bowlinE"] {
            assert!(root.join(gone).symlink_metadata().is_err(), "{gone}");
        }
        assert!(root.join("old/.bowline").is_dir());
    }

    #[tokio::test]
    async fn what_a_program_left_when_it_was_killed_is_taken_away_before_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let homes = Homes::default();
        drop(homes.before(std::slice::from_ref(&root), &[], &StopFlag::default()).unwrap());
        fs::create_dir_all(root.join("a/.bowline")).unwrap();
        let mut next = homes.before(std::slice::from_ref(&root), &[], &StopFlag::default()).unwrap();
        assert!(next.early(&[root.join("a/.bowline")], &StopFlag::default()).unwrap());
        assert!(!root.join("a/.bowline").exists());
        assert_eq!(next.after().await.len(), 1, "and the next program's output tells");
    }
}
