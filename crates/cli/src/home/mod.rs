//! Where runs are kept, whose that place is, and how a store there is opened.
//!
//! `--home`, then `BOWLINE_HOME`, then the project of the working directory
//! (its `.bowline` folder), then the user's data folder. The runs of a home are
//! carried out with the rights of whoever resumes them, so a home must belong to the
//! caller ([`owner`]), and one that was only found by walking up from the working directory
//! must be one the caller has made or adopted ([`register`]).
//!
//! A place that is not trusted is neither opened nor changed.

mod owner;
mod register;
mod tighten;

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline::{Engine, Patience};
use bowline_cage::Outside;
use bowline_store::migrations::VERSION;
use bowline_store::{OpenError, Role, SqliteStore, Upgrade};

use crate::error::CliError;
use crate::models::Models;
use crate::render::upgrade::Upgrading;
use owner::Distrust;
use register::Register;
pub(crate) use tighten::Tightened;

/// The folder of a project that holds its runs.
const FOLDER: &str = ".bowline";

/// A folder with a store, copies of workspaces, and results.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    path: PathBuf,
    origin: Origin,
    /// The homes this user has made; `None`: there is no data folder to keep them in.
    register: Option<Register>,
    /// `bowline` as it must be called to come here again.
    program: String,
}

/// How we came to a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Somebody named it, or it is the user's data folder.
    Named,
    /// It was there, above the working directory.
    Found,
    /// It is to be made in the repository of the working directory.
    New,
}

impl Home {
    /// Finds the place; makes nothing, and believes nothing yet.
    pub(crate) fn find(given: Option<PathBuf>) -> Result<Self, CliError> {
        let here = env::current_dir().map_err(CliError::io("find", "the working directory"))?;
        let data = data_folder();
        let register = data.as_deref().map(Register::below);
        let at = |path: PathBuf, origin: Origin| Self {
            path,
            origin,
            register: register.clone(),
            program: "bowline".into(),
        };
        if let Some(given) = given {
            let program = format!("bowline --home {}", given.display());
            return Ok(Self { program, ..at(here.join(given), Origin::Named) });
        }
        if let Some(named) = env::var_os("BOWLINE_HOME").filter(|set| !set.is_empty()) {
            return Ok(at(here.join(named), Origin::Named));
        }
        if let Some((path, origin)) = project(&here, register.as_ref()) {
            return Ok(at(path, origin));
        }
        match data {
            Some(data) => Ok(at(data.join("bowline"), Origin::Named)),
            None => Err(CliError::refused(
                "there is no place to keep runs: no project here and no home folder",
                "set BOWLINE_HOME, or use --home DIR",
            )),
        }
    }

    /// The home in a folder that is about to be adopted.
    pub(crate) fn to_adopt(folder: &Path) -> Result<Self, CliError> {
        let real = folder.canonicalize().map_err(CliError::io("find", folder))?;
        let inner = real.join(FOLDER);
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let path = if inner.is_dir() && !is_link(&inner) { inner } else { real };
        if path.file_name().is_none_or(|name| name != FOLDER) {
            return Err(CliError::refused(
                format!("there is no {FOLDER} folder in {}", folder.display()),
                "name the project whose runs shall be adopted",
            ));
        }
        let register = data_folder().as_deref().map(Register::below);
        Ok(Self { path, origin: Origin::Named, register, program: "bowline".into() })
    }

    /// The home in a folder that was named.
    pub(crate) fn at(folder: &Path) -> Result<Self, CliError> {
        let path = std::path::absolute(folder).map_err(CliError::io("find", folder))?;
        // What is not there yet is named by where it will be.
        let real = path.parent().and_then(|parent| parent.canonicalize().ok());
        let path = real.zip(path.file_name()).map_or(path.clone(), |(parent, name)| parent.join(name));
        let program = format!("bowline --home {}", path.display());
        Ok(Self { path, origin: Origin::Named, register: None, program })
    }

    /// Takes a home that others made as this user's own.
    pub(crate) fn adopt(&self) -> Result<(), CliError> {
        self.trusted()?;
        let register = self.register.as_ref().ok_or_else(no_data_folder)?;
        register.adopt(&self.path).map_err(CliError::io("adopt", &self.path))
    }

    /// Whether this user has made or adopted it.
    pub(crate) fn is_known(&self) -> bool {
        self.register.as_ref().is_some_and(|register| register.knows(&self.path))
    }

    /// Refuses a place that somebody else may have filled.
    pub(crate) fn trusted(&self) -> Result<(), CliError> {
        let distrusted = |found: Distrust| CliError::refused(found.what(&self.path), found.remedy());
        let examine = || owner::examine(&self.path).and_then(|()| owner::examine_inside(&self.path));
        if self.origin != Origin::Found {
            return examine().map_err(distrusted);
        }
        let shown = self.path.display();
        if self.path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(CliError::refused(
                format!("the home {shown} is not used: it is a link, and was only found"),
                "name the place it leads to with `--home DIR`, if it is yours",
            ));
        }
        examine().map_err(distrusted)?;
        if self.register.is_none() {
            return Err(no_data_folder());
        }
        if self.is_known() {
            return Ok(());
        }
        let project = self.path.parent().unwrap_or(&self.path).display();
        Err(CliError::refused(
            format!(
                "the home {shown} is not used: you have neither made nor adopted it, and its runs would run as you"
            ),
            format!(
                "`bowline adopt {project}` shows its runs and takes them over (also after a move or an upgrade); \
                 `--home DIR` names another place"
            ),
        ))
    }

    /// Takes from others what they may do with the files of this home.
    pub(crate) fn tighten(&self) -> io::Result<Tightened> {
        tighten::tighten(&self.path)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where programs that Bowline itself starts outside a cage are looked for.
    pub(crate) fn outside(&self) -> Outside {
        Outside::here().without_home(&self.path)
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

    /// Refuses a home whose store is gone: an empty one would be made in its place, and what
    /// is left of its runs taken for rubbish.
    fn has_not_lost_its_store(&self) -> Result<(), CliError> {
        let is_empty = fs::metadata(self.database()).map_or(true, |found| found.len() == 0);
        let has_any = |folder: &PathBuf| fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some());
        let left = [self.results(), self.workspaces(), self.bases()].into_iter().find(has_any);
        match left.filter(|_| is_empty) {
            None => Ok(()),
            Some(left) => Err(CliError::refused(
                format!("{} is gone or empty, and {} is not", self.database().display(), left.display()),
                "restore it from a backup, with its -wal file if there is one; to begin anew, move the folder away",
            )),
        }
    }

    /// Opens the store to work on runs, making it on first use.
    pub(crate) fn work(&self, patience: Patience) -> Result<Engine, CliError> {
        self.make()?;
        self.trusted()?;
        self.has_not_lost_its_store()?;
        let store = self.open_to_work(true)?;
        Ok(self.engine(store, patience))
    }

    /// Brings the store to today's version.
    pub(crate) fn bring_up(&self, copy: bool) -> Result<(), CliError> {
        self.trusted()?;
        self.has_not_lost_its_store()?;
        Ok(self.open_to_work(copy).map(drop)?)
    }

    fn open_to_work(&self, copy: bool) -> Result<SqliteStore, OpenError> {
        let upgrading = Upgrading::new();
        let tell = &mut |progress: bowline_store::Progress<'_>| upgrading.tell(progress);
        SqliteStore::open_with(&self.path, Role::Worker, Upgrade { copy, tell })
    }

    /// The same, unless another process works here.
    pub(crate) fn work_if_free(&self) -> Result<Option<Engine>, CliError> {
        self.trusted()?;
        self.has_not_lost_its_store()?;
        match self.open_to_work(true) {
            Ok(store) => Ok(Some(self.engine(store, Patience::LeaveWhenWaiting))),
            Err(OpenError::InUse { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store to look and to leave messages, beside a worker.
    pub(crate) fn observe(&self) -> Result<Engine, CliError> {
        self.trusted()?;
        self.has_not_lost_its_store()?;
        if !self.has_store() {
            return Err(CliError::refused(
                format!("there are no runs in {}", self.path.display()),
                "start one with `bowline run TASK`, or name another place with `--home DIR`",
            ));
        }
        let store = SqliteStore::open(&self.path, Role::Observer)?;
        Ok(self.engine(store, Patience::LeaveWhenWaiting))
    }

    /// The same, for what a store of an earlier version has no place for: it is brought to
    /// today's first, unless somebody works here.
    pub(crate) fn observe_current(&self) -> Result<Engine, CliError> {
        let engine = self.observe()?;
        if engine.store().version() == VERSION {
            return Ok(engine);
        }
        drop(engine);
        self.bring_up(true)?;
        self.observe()
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

    /// Makes the folder, if it is not there: for this user alone, and known as theirs.
    pub(crate) fn make(&self) -> Result<(), CliError> {
        self.trusted()?;
        if self.path.is_dir() {
            return Ok(());
        }
        let failed = || CliError::io("make", &self.path);
        let is_ours_by_name = self.path.file_name().is_some_and(|name| name == FOLDER);
        match &self.register {
            Some(register) if is_ours_by_name => {
                self.path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed())?;
                register.make(&self.path).map_err(failed())
            }
            None if self.origin == Origin::New => Err(no_data_folder()),
            _ => DirBuilder::new().recursive(true).mode(0o700).create(&self.path).map_err(failed()),
        }
    }
}

/// Where this user's own things are kept.
fn data_folder() -> Option<PathBuf> {
    let set = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".local/share"));
    set.or_else(home)
}

fn no_data_folder() -> CliError {
    CliError::refused(
        "there is no folder in which to keep which homes are yours",
        "set HOME or XDG_DATA_HOME, or name the place of runs with --home DIR",
    )
}

/// The home of the project a folder belongs to: the nearest one above, or a new one in the
/// nearest repository. One that nobody knows does not reach into a repository below it.
fn project(here: &Path, register: Option<&Register>) -> Option<(PathBuf, Origin)> {
    let mut repository = None;
    for folder in here.ancestors() {
        let home = folder.join(FOLDER);
        let is_there = home.symlink_metadata().is_ok_and(|found| found.is_dir() || found.is_symlink());
        let is_home = is_there && register.is_none_or(|register| !register.lies_in(&home));
        let is_known = || register.is_some_and(|register| register.knows(&home));
        if is_home && (repository.is_none() || is_known()) {
            return Some((home, Origin::Found));
        }
        if repository.is_none() && folder.join(".git").symlink_metadata().is_ok() {
            repository = Some(folder);
        }
    }
    repository.map(|folder| (folder.join(FOLDER), Origin::New))
}

/// Who gives answers from this terminal.
pub(crate) fn person() -> String {
    let known = ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let name = known.map(|name| name.trim().to_owned()).find(|name| !name.is_empty());
    name.map_or_else(|| "somebody".into(), |name| name.chars().filter(|c| !c.is_control()).take(64).collect())
}
