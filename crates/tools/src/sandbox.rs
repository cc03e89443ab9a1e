//! In what programs run: a cage around the workspace, or nothing where the task
//! says so in as many words.
//!
//! The cage is looked for when the first program needs it, and once. What a
//! program is granted is decided here and nowhere else; where there is no cage
//! nothing runs, and the reason says what to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cage::{Cage, Caged, Grant, Launcher};
use bowline_core::task;
use bowline_core::task::Task;

use crate::background;

/// Read-only for programs inside the workspace, also where it is not there yet.
const PROTECTED: [&str; 3] = [".git", ".agent", ".mcp.json"];

/// Secrets: there, but programs cannot open it.
const HIDDEN: &str = ".env";

/// Our own folder: cannot be opened where it is, and cannot be made.
const OURS: &str = ".bowline";

/// Looking for a cage tries it; a machine that takes longer has none.
const FIND_MAX: Duration = Duration::from_secs(30);

/// Where cages come from. Cheap to clone; all clones look once.
#[derive(Clone, Debug, Default)]
pub struct Cages {
    launcher: Option<Launcher>,
    found: Arc<OnceLock<Result<Cage, NoCage>>>,
}

/// Why there is no cage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct NoCage {
    /// What is missing.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Cages {
    /// Cages whose first process is this program.
    #[must_use]
    pub fn with(launcher: Launcher) -> Self {
        Self { launcher: Some(launcher), found: Arc::default() }
    }

    /// The cage of this machine, looked for at the first call.
    pub async fn cage(&self) -> Result<Cage, NoCage> {
        let cages = self.clone();
        let found = background::run(FIND_MAX, move |_| cages.found.get_or_init(|| cages.find()).clone());
        found.await.unwrap_or_else(|not_done| Err(no_cage(not_done.message(FIND_MAX), "try again")))
    }

    fn find(&self) -> Result<Cage, NoCage> {
        let Some(launcher) = self.launcher.clone() else {
            return Err(no_cage(
                "sandbox missing: nobody told this engine how to start one",
                "give it a launcher",
            ));
        };
        Cage::find(launcher).map_err(|missing| no_cage(missing.to_string(), missing.remedy()))
    }
}

fn no_cage(what: impl Into<String>, remedy: &str) -> NoCage {
    let remedy = format!(
        "{remedy}; or write sandbox = \"none\" into the task, if its programs may do what you may do"
    );
    NoCage { what: what.into(), remedy }
}

/// In what the programs of one run run.
#[derive(Clone, Debug)]
pub enum Sandbox {
    /// In nothing: they may do what we may do.
    Off,
    /// In a cage around the workspace.
    Caged {
        /// Where it comes from.
        cages: Cages,
        /// What they may also read.
        read: Vec<PathBuf>,
        /// What they may also write.
        write: Vec<PathBuf>,
        /// Where there is no cage: refused, or run without.
        missing: Missing,
    },
}

/// What becomes of a program where there is no cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It does not run.
    Refuse,
    /// It may do what we may do.
    RunWithout,
}

impl Sandbox {
    /// As the task wants it.
    #[must_use]
    pub fn of(task: &Task, cages: &Cages) -> Self {
        match &task.sandbox {
            task::Sandbox::None => Self::Off,
            task::Sandbox::Cage { read, write } => Self::Caged {
                cages: cages.clone(),
                read: read.iter().map(PathBuf::from).collect(),
                write: write.iter().map(PathBuf::from).collect(),
                missing: Missing::Refuse,
            },
            task::Sandbox::IfAvailable => Self::Caged {
                cages: cages.clone(),
                read: Vec::new(),
                write: Vec::new(),
                missing: Missing::RunWithout,
            },
        }
    }
}

/// Whether a task has programs run: tools that are programs, or checks.
#[must_use]
pub fn runs_programs(task: &Task) -> bool {
    use bowline_core::quality::CheckHow;
    let is_program = |choice: &task::ToolChoice| choice.command.is_some() || choice.name == "run_command";
    let is_command = |check: &bowline_core::quality::Check| match check.how {
        CheckHow::Command { .. } => true,
        CheckHow::Schema(_) => false,
    };
    task.tools.iter().any(is_program) || task.checks.iter().any(is_command)
}

/// Who wrote a command down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The task: the files it names are granted for reading.
    Task,
    /// The model: it names what it likes.
    Model,
}

/// What a program needs of a cage.
pub(crate) struct Wish<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) author: Author,
    pub(crate) folder: &'a Path,
    pub(crate) variables: &'a [(&'a str, String)],
}

/// The program in its cage, not started yet.
pub(crate) async fn caged(
    cages: &Cages,
    wish: &Wish<'_>,
    read: &[PathBuf],
    write: &[PathBuf],
) -> Result<Caged, String> {
    let cage = cages.cage().await.map_err(|missing| format!("{}; {}", missing.what, missing.remedy))?;
    let grant = grant(wish, read, write);
    cage.command(&grant, wish.argv, wish.folder).map_err(|refused| format!("{refused}; {}", refused.remedy()))
}

/// The real path of a file, unless it, or a link to it, lies where programs write.
fn pinned(word: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let lies_in = word.parent()?.canonicalize().ok()?;
    if is_below(&lies_in, writable) {
        return None;
    }
    word.canonicalize().ok()
}

fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    roots
        .iter()
        .any(|root| path.starts_with(root) || root.canonicalize().is_ok_and(|real| path.starts_with(real)))
}

fn grant(wish: &Wish<'_>, read: &[PathBuf], write: &[PathBuf]) -> Grant {
    let ours = PathBuf::from(OURS);
    let (mut protected, mut hidden): (Vec<PathBuf>, Vec<PathBuf>) =
        (PROTECTED.iter().map(PathBuf::from).collect(), vec![HIDDEN.into()]);
    if wish.folder.join(&ours).exists() { &mut hidden } else { &mut protected }.push(ours);
    let mut writable = vec![wish.folder.to_owned()];
    writable.extend_from_slice(write);
    let mut read = read.to_vec();
    if wish.author == Author::Task {
        let named = wish.argv.iter().map(Path::new).filter(|word| word.is_absolute() && word.is_file());
        // A program of the system is there anyway.
        let own = named.filter(|word| !word.starts_with("/usr") && !word.starts_with("/bin"));
        read.extend(own.filter_map(|word| pinned(word, &writable)));
    }
    // What lies where programs write they see anyway, and could replace by a link.
    read.retain(|path| !is_below(path, &writable));
    let env = wish.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Grant { read, write: writable, protected, hidden, env: env.collect(), ..Grant::default() }
}
