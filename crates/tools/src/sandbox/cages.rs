//! Where cages come from: looked for when the first program needs one, and not
//! again once it is clear whether there is one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_cage::{Cage, Launcher, Missing};

use super::homes::Homes;
use crate::background;

/// Looking for a cage tries it; a machine that takes longer has none at the moment.
const FIND_MAX: Duration = Duration::from_secs(60);

/// Where cages come from. Cheap to clone; all clones look once.
#[derive(Clone, Debug, Default)]
pub struct Cages {
    launcher: Option<Launcher>,
    /// What is known for good: a cage, or that there is none.
    found: Arc<Mutex<Option<Result<Cage, NoCage>>>>,
    kept: Vec<PathBuf>,
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

    /// The same for one run, which remembers what lay under our name before its programs ran.
    pub(super) fn for_one_run(&self) -> Self {
        Self { homes: Homes::default(), ..self.clone() }
    }

    /// What lay under our name before programs ran.
    pub(super) fn homes(&self) -> &Homes {
        &self.homes
    }

    fn look(&self) -> Result<Cage, NoCage> {
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return known.clone();
        }
        let found = self.find();
        if found.as_ref().map_or_else(|missing| !missing.passing, |_| true) {
            *known = Some(found.clone());
        }
        found
    }

    fn find(&self) -> Result<Cage, NoCage> {
        let Some(launcher) = self.launcher.clone() else {
            let what = "sandbox missing: nobody told this engine how to start one";
            return Err(no_cage(what, "give it a launcher", false));
        };
        Cage::find(launcher)
            .map_err(|missing: Missing| no_cage(missing.to_string(), missing.remedy(), missing.may_pass()))
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
    async fn a_lack_that_is_for_good_is_looked_for_once() {
        let cages = Cages::default();
        let missing = cages.cage().await.unwrap_err();
        assert!(!missing.passing && missing.remedy.contains("sandbox = \"none\""));
        assert!(cages.found.lock().unwrap().is_some());
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
            assert!(cages.found.lock().unwrap().is_none());
        }
    }
}
