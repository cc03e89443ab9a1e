//! The cage git runs in: it reads the workspace and writes its own folder, reaches nothing,
//! and cannot change what runs the next time somebody uses the repository.
//!
//! Git runs none of the programs that settings name, so this wall is the second one. A
//! machine that has no cage has only the first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use bowline_cage::{Cage, Grant, Hold, Report};
use tokio::process::Command;

use super::NotDone;
use super::repository::Question;
use crate::program::git;
use crate::{Sandbox, background};

/// Longest time for making a cage ready.
const READY_MAX: Duration = Duration::from_secs(30);

/// Of git's folder: read when it runs, and never git's to change for us.
const KEPT: [&str; 8] = [
    "hooks",
    "config",
    "config.worktree",
    "info",
    "commondir",
    "gitdir",
    "modules",
    "objects/info/alternates",
];

/// Where programs of a system are, which every cage sees.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/nix/store", "/gnu/store"];

/// Most folders with objects of other repositories.
const ALTERNATES_MAX: usize = 16;

/// A cage for git in one repository.
pub(super) struct Room {
    cage: Cage,
    git: PathBuf,
    folder: PathBuf,
    grant: Grant,
}

impl Room {
    /// The cage of a run for the git of its workspace, whose own folders are `places`. `None`
    /// where the run, or the machine, has none.
    pub(super) async fn of(
        sandbox: &Sandbox,
        folder: &Path,
        places: [PathBuf; 2],
        files: &[PathBuf],
    ) -> Result<Option<Self>, NotDone> {
        let Sandbox::Caged { cages, .. } = sandbox else { return Ok(None) };
        let cage = match cages.cage().await {
            Ok(cage) => cage,
            Err(missing) if missing.passing => return Err(NotDone::Trouble(missing.what)),
            Err(_) => return Ok(None),
        };
        let system = |git: &PathBuf| SYSTEM.iter().any(|top| git.starts_with(top));
        let found = sandbox.outside(folder).find("git").ok();
        let Some(git) = found.and_then(|git| git.canonicalize().ok()).filter(system) else { return Ok(None) };
        let (folder, files) = (folder.to_owned(), files.to_vec());
        let planned = background::run(READY_MAX, move |_| {
            let grant = grant(&folder, places, files);
            Self { cage, git, folder, grant }
        });
        Ok(Some(planned.await.map_err(|late| NotDone::Trouble(late.message(READY_MAX)))?))
    }

    /// A question in the cage, not asked yet.
    pub(super) async fn command(
        &self,
        settings: impl Iterator<Item = &String>,
        question: &Question<'_>,
    ) -> Result<(Command, Hold), NotDone> {
        let mut argv: Vec<OsString> = vec![self.git.clone().into()];
        let all = git::SETTINGS.iter().map(|setting| (*setting).to_owned()).chain(settings.cloned());
        argv.extend(all.flat_map(|setting| [OsString::from("-c"), setting.into()]));
        argv.extend(question.words.iter().map(OsString::from));
        let mut grant = self.grant.clone();
        let variables = git::SWITCHES.iter().chain(question.variables);
        grant.env.extend(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let (cage, folder) = (self.cage.clone(), self.folder.clone());
        let made = background::run(READY_MAX, move |_| cage.command(&grant, &argv, &folder));
        let made = made.await.map_err(|late| NotDone::Trouble(late.message(READY_MAX)))?;
        let caged = made.map_err(|refused| NotDone::NoGit(format!("{refused}; {}", refused.remedy())))?;
        let mut command = Command::from(caged.command);
        command.kill_on_drop(true);
        crate::program::tie(&mut command);
        Ok((command, caged.hold))
    }
}

/// What git gets. Blocks.
fn grant(folder: &Path, places: [PathBuf; 2], files: Vec<PathBuf>) -> Grant {
    let mut write: Vec<PathBuf> = places.iter().filter_map(|place| place.canonicalize().ok()).collect();
    write.dedup();
    let mut read = vec![folder.to_owned()];
    read.extend(files);
    for place in &write {
        read.extend(alternates(&place.join("objects")));
    }
    // What is not there is left to be missing: git would trip over a stand-in.
    let kept = write.iter().flat_map(|place| KEPT.iter().map(move |name| place.join(name)));
    let protected = kept.filter(|path| path.exists() && !path.is_symlink()).collect();
    Grant { read, write, protected, ..Grant::default() }
}

/// Folders with objects that this one borrows.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut open = vec![objects.to_owned()];
    while let Some(next) = open.pop() {
        let listed = std::fs::read_to_string(next.join("info/alternates")).unwrap_or_default();
        let lines = listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for path in lines.filter_map(|line| next.join(line).canonicalize().ok()) {
            if found.len() < ALTERNATES_MAX && !found.contains(&path) {
                found.push(path.clone());
                open.push(path);
            }
        }
    }
    found
}

/// Lets the cage go, and says so if it never stood.
pub(super) fn settled(hold: Option<Hold>, ended: &ExitStatus, said: &str) -> Result<(), NotDone> {
    let Some(mut hold) = hold else { return Ok(()) };
    hold.end();
    if ended.code().is_some() {
        hold.gone();
    }
    match hold.report() {
        Report::Started | Report::Starting => Ok(()),
        Report::NoCage => Err(NotDone::NoGit(format!("the sandbox did not come up: {said}"))),
        Report::Refused(why) | Report::NoProgram(why) => {
            Err(NotDone::NoGit(format!("the sandbox did not come up: {why}")))
        }
        Report::Exceeded(limit) => Err(NotDone::NoGit(format!("it was ended: {limit}"))),
    }
}
