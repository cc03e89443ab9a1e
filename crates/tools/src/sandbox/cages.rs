//! Where cages come from: bubblewrap is looked for each time, where no agent of the run can
//! have put it, and tried when it is needed first.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_cage::{Cage, Launcher, Missing, Outside};

use super::homes::Homes;
use crate::background;

/// Looking for a cage tries it; a machine that takes longer has none at the moment.
const FIND_MAX: Duration = Duration::from_secs(60);

/// Most bubblewraps whose trial is remembered; there is one, but for people who try things.
const TRIED_MAX: usize = 8;

/// A bubblewrap, and what came of its trial.
type Tried = (PathBuf, Result<Cage, NoCage>);

/// Where cages come from. Cheap to clone; all clones try a bubblewrap once.
#[derive(Clone, Debug, Default)]
pub struct Cages {
    launcher: Option<Launcher>,
    /// What is known for good of a bubblewrap: a cage, or that it makes none.
    tried: Arc<Mutex<Vec<Tried>>>,
    kept: Vec<PathBuf>,
    /// Where the programs of the run write.
    written: Vec<PathBuf>,
    homes: Homes,
}

/// Why there is no cage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct NoCage {
    /// What is missing.
    pub what: String,
    /// What to do.
    pub remedy: String,
    /// Whether it may be there the next time: the machine was busy, or short of
    /// something. Nobody may take that for a machine without a cage.
    pub passing: bool,
}

impl Cages {
    /// Cages whose first process is this program.
    #[must_use]
    pub fn with(launcher: Launcher) -> Self {
        Self { launcher: Some(launcher), ..Self::default() }
    }

    /// The same, keeping a folder of ours from every program: they can neither open
    /// nor move it, wherever it lies.
    #[must_use]
    pub fn keeping(mut self, folder: &Path) -> Self {
        self.kept.push(folder.to_owned());
        self
    }

    /// The cage of this machine, looked for until it is clear.
    pub async fn cage(&self) -> Result<Cage, NoCage> {
        let cages = self.clone();
        let found = background::run(FIND_MAX, move |_| cages.look()).await;
        found.unwrap_or_else(|not_done| Err(no_cage(not_done.message(FIND_MAX), "try again", true)))
    }

    /// Folders of ours.
    pub(super) fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// The same for one run, which remembers what lay under our name before its programs ran,
    /// and starts nothing from where they write.
    pub(super) fn for_one_run(&self, written: Vec<PathBuf>) -> Self {
        Self { homes: Homes::default(), written, ..self.clone() }
    }

    /// Where programs that run outside a cage are looked for.
    pub(super) fn outside(&self) -> Outside {
        let outside = self.kept.iter().fold(Outside::here(), |outside, home| outside.without_home(home));
        self.written.iter().fold(outside, |outside, folder| outside.without(folder))
    }

    /// What lay under our name before programs ran.
    pub(super) fn homes(&self) -> &Homes {
        &self.homes
    }

    fn look(&self) -> Result<Cage, NoCage> {
        let missing = |missing: Missing| no_cage(missing.to_string(), missing.remedy(), missing.may_pass());
        let Some(launcher) = self.launcher.clone() else {
            let what = "sandbox missing: nobody told this engine how to start one";
            return Err(no_cage(what, "give it a launcher", false));
        };
        let bubblewrap = Cage::look(&self.outside()).map_err(missing)?;
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = tried.iter().find(|(path, _)| *path == bubblewrap) {
            return known.clone();
        }
        let found = Cage::tried(launcher, bubblewrap.clone()).map_err(missing);
        if found.as_ref().map_or_else(|missing| !missing.passing, |_| true) && tried.len() < TRIED_MAX {
            tried.push((bubblewrap, found.clone()));
        }
        found
    }
}

fn no_cage(what: impl Into<String>, remedy: &str, passing: bool) -> NoCage {
    let remedy = format!(
        "{remedy}; or write sandbox = \"none\" into the task, if its programs may do what you may do"
    );
    NoCage { what: what.into(), remedy, passing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(program: &Path) -> Launcher {
        Launcher { program: program.to_owned(), args: Vec::new() }
    }

    #[tokio::test]
    async fn an_engine_without_a_launcher_has_no_cage() {
        let missing = Cages::default().cage().await.unwrap_err();
        assert!(!missing.passing && missing.remedy.contains("sandbox = \"none\""));
    }

    #[tokio::test]
    async fn a_bubblewrap_is_tried_once() {
        let program = std::env::current_exe().unwrap();
        let cages = Cages::with(launcher(&program)).for_one_run(vec!["/nowhere/of/ours".into()]);
        let Ok(bubblewrap) = Cage::look(&cages.outside()) else { return };
        let known: Result<Cage, NoCage> = Err(no_cage("it was tried before", "", false));
        cages.tried.lock().unwrap().push((bubblewrap, known));
        assert_eq!(cages.cage().await.unwrap_err().what, "it was tried before");
        // A run that writes where it lies does not get it, tried or not.
        let writes_there =
            cages.for_one_run(std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect());
        let missing = writes_there.cage().await.unwrap_err();
        assert!(missing.what.contains("was passed over") && missing.passing, "{missing}");
    }

    #[tokio::test]
    async fn trouble_that_may_pass_is_not_kept() {
        // No launcher can be started from a folder: the trial fails in a way nobody foresaw.
        let folder = tempfile::tempdir().unwrap();
        let cages = Cages::with(launcher(folder.path()));
        let missing = cages.cage().await.unwrap_err();
        // Without bubblewrap on this machine there is no trial, and that is for good.
        if missing.what.contains("trial") {
            assert!(missing.passing, "{missing}");
            assert!(cages.tried.lock().unwrap().is_empty());
        }
    }
}
