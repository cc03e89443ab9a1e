//! Where runs are kept, and how a store there is opened.
//!
//! `--home`, then `BOWLINE_HOME`, then the project of the working directory
//! (its `.bowline` folder), then the user's data folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline::{Engine, Patience};
use bowline_store::{OpenError, Role, SqliteStore};

use crate::error::CliError;
use crate::models::Models;

/// The folder of a project that holds its runs.
const FOLDER: &str = ".bowline";

/// A folder with a store, copies of workspaces, and results.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    path: PathBuf,
    /// A folder of ours inside somebody's project: kept out of their commits.
    in_project: bool,
    /// `bowline` as it must be called to come here again.
    program: String,
}

impl Home {
    /// Finds the place; makes nothing.
    pub(crate) fn find(given: Option<PathBuf>) -> Result<Self, CliError> {
        let here = env::current_dir().map_err(CliError::io("find", "the working directory"))?;
        let at = |path: PathBuf, in_project: bool| Self { path, in_project, program: "bowline".into() };
        if let Some(given) = given {
            let program = format!("bowline --home {}", given.display());
            return Ok(Self { program, ..at(here.join(given), false) });
        }
        if let Some(named) = env::var_os("BOWLINE_HOME").filter(|set| !set.is_empty()) {
            return Ok(at(here.join(named), false));
        }
        if let Some(project) = project(&here) {
            return Ok(at(project.join(FOLDER), true));
        }
        let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let data = data.or_else(|| env::home_dir().map(|home| home.join(".local/share")));
        match data {
            Some(data) => Ok(at(data.join("bowline"), false)),
            None => Err(CliError::refused(
                "there is no place to keep runs: no project here and no home folder",
                "set BOWLINE_HOME, or use --home DIR",
            )),
        }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How to call the program so that it looks here, for commands we suggest.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The store's database.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("store.db")
    }

    /// Copies of workspaces, by run.
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.path.join("workspaces")
    }

    /// What copies of workspaces began with, by run.
    pub(crate) fn bases(&self) -> PathBuf {
        self.path.join("bases")
    }

    /// Results, by run.
    pub(crate) fn results(&self) -> PathBuf {
        self.path.join("results")
    }

    /// Whether anything was ever run here.
    pub(crate) fn has_store(&self) -> bool {
        self.database().exists()
    }

    /// Opens the store to work on runs, making it on first use.
    pub(crate) fn work(&self, patience: Patience) -> Result<Engine, CliError> {
        self.make()?;
        let store = SqliteStore::open(&self.path, Role::Worker)?;
        Ok(self.engine(store, patience))
    }

    /// The same, unless another process works here.
    pub(crate) fn work_if_free(&self) -> Result<Option<Engine>, CliError> {
        match SqliteStore::open(&self.path, Role::Worker) {
            Ok(store) => Ok(Some(self.engine(store, Patience::LeaveWhenWaiting))),
            Err(OpenError::InUse { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store to look and to leave messages, beside a worker.
    pub(crate) fn observe(&self) -> Result<Engine, CliError> {
        if !self.has_store() {
            return Err(CliError::refused(
                format!("there are no runs in {}", self.path.display()),
                "start one with `bowline run TASK`, or name another place with `--home DIR`",
            ));
        }
        let store = SqliteStore::open(&self.path, Role::Observer)?;
        Ok(self.engine(store, Patience::LeaveWhenWaiting))
    }

    /// Whether the process that last worked here is there still. For people to
    /// look at: a number may have been given to another process since.
    pub(crate) fn worker_is_alive(&self) -> bool {
        let said = fs::read_to_string(self.path.join("worker.lock")).unwrap_or_default();
        let pid = said.trim().parse().ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    fn engine(&self, store: SqliteStore, patience: Patience) -> Engine {
        let models = Arc::new(Models::default());
        let builder = Engine::builder(Arc::new(store)).home(&self.path).models(models).patience(patience);
        // Whoever cannot name itself cannot cage either, and says so when a task needs it.
        match crate::cage::launcher() {
            Ok(launcher) => builder.launcher(launcher).build(),
            Err(_) => builder.build(),
        }
    }

    /// Makes the folder, if it is not there.
    pub(crate) fn make(&self) -> Result<(), CliError> {
        fs::create_dir_all(&self.path).map_err(CliError::io("make", &self.path))?;
        let ignore = self.path.join(".gitignore");
        if self.in_project && !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(CliError::io("write", &ignore))?;
        }
        Ok(())
    }
}

/// The project a folder belongs to: the nearest ancestor that has runs already,
/// or else the nearest that is a repository.
fn project(here: &Path) -> Option<&Path> {
    let has_runs = here.ancestors().find(|folder| folder.join(FOLDER).is_dir());
    has_runs.or_else(|| here.ancestors().find(|folder| folder.join(".git").exists()))
}

/// Who gives answers from this terminal.
pub(crate) fn person() -> String {
    let known = ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let name = known.map(|name| name.trim().to_owned()).find(|name| !name.is_empty());
    name.map_or_else(|| "somebody".into(), |name| name.chars().filter(|c| !c.is_control()).take(64).collect())
}
