//! In what programs run: a cage around the workspace, or nothing where the task
//! says so in as many words.
//!
//! [`Cages`] finds the machine's cage, `grant` decides what a program gets, and
//! [`Outlet`] is the way to the hosts a run may reach. Where there is no cage
//! nothing runs, and the reason says what to do; a cage that could not be found
//! just now is not taken for a machine without one.

mod cages;
mod grant;
mod homes;
mod outlet;
mod secrets;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_cage::{Caged, Outside};
use bowline_core::agent::server::{self, Server};
use bowline_core::event::Confinement;
use bowline_core::task;
use bowline_core::task::Task;
use bowline_core::undo::How;

use crate::background;
use crate::reach::Reach;
use grant::Surroundings;

pub use cages::{Cages, NoCage};
pub(crate) use grant::{Author, Wish};
pub(crate) use homes::Sweep;
pub use outlet::Outlet;

/// Our own folder: cannot be opened where it is, and cannot be made.
const OURS: &str = ".bowline";

/// Longest time for making a cage ready.
const READY_MAX: Duration = Duration::from_secs(30);

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
        /// Where in the workspace programs of the model's choice may write; `None`: anywhere.
        narrow: Option<Vec<String>>,
        /// Where there is no cage: refused, or run without.
        missing: Missing,
        /// The way to what they may reach; `None`: no network.
        outlet: Option<Outlet>,
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
    /// As the task wants it, with the network of its run. A tier that promises what
    /// only a cage can hold is never without one.
    #[must_use]
    pub fn of(task: &Task, cages: &Cages, reach: &Reach) -> Self {
        let caged = |read: &[String], write: &[String], missing| Self::Caged {
            cages: cages.for_one_run(written(task, write)),
            read: read.iter().map(PathBuf::from).collect(),
            write: write.iter().map(PathBuf::from).collect(),
            narrow: narrow(task),
            missing,
            outlet: Outlet::of(reach),
        };
        match &task.sandbox {
            task::Sandbox::Cage { read, write } => caged(read, write, Missing::Refuse),
            task::Sandbox::IfAvailable | task::Sandbox::None if task.privacy.needs_a_cage() => {
                caged(&[], &[], Missing::Refuse)
            }
            task::Sandbox::IfAvailable => caged(&[], &[], Missing::RunWithout),
            task::Sandbox::None => Self::Off,
        }
    }

    /// In what programs run here and now; the error is why that cannot be said.
    pub async fn confinement(&self) -> Result<Confinement, NoCage> {
        match self {
            Self::Off => Ok(Confinement::Uncaged),
            Self::Caged { missing: Missing::Refuse, .. } => Ok(Confinement::Caged),
            Self::Caged { cages, missing: Missing::RunWithout, .. } => match cages.cage().await {
                Ok(_) => Ok(Confinement::Caged),
                Err(missing) if missing.passing => Err(missing),
                Err(_) => Ok(Confinement::Uncaged),
            },
        }
    }

    /// Where programs that run outside a cage are looked for, such as the git of a workspace.
    pub(crate) fn outside(&self, folder: &Path) -> Outside {
        let outside = match self {
            Self::Off => Outside::here(),
            Self::Caged { cages, .. } => cages.outside(),
        };
        outside.without(folder)
    }

    /// What programs may write besides the workspace.
    pub(crate) fn also_written(&self) -> &[PathBuf] {
        match self {
            Self::Off => &[],
            Self::Caged { write, .. } => write,
        }
    }

    /// Ends the network of the programs and waits until nothing goes through it any
    /// more. For all clones.
    pub async fn close(&self) {
        match self {
            Self::Off => {}
            Self::Caged { outlet, cages, .. } => {
                if let Some(outlet) = outlet {
                    outlet.close().await;
                }
                cages.homes().after_all().await;
            }
        }
    }
}

/// Where programs of a task write.
fn written(task: &Task, write: &[String]) -> Vec<PathBuf> {
    std::iter::once(&task.workspace.path).chain(write).map(PathBuf::from).collect()
}

/// The parts of the workspace that the task's agent may write, if not all of it.
fn narrow(task: &Task) -> Option<Vec<String>> {
    let granted = &task.agent.as_ref()?.capabilities.file_write;
    (!granted.is_whole()).then(|| granted.0.clone())
}

/// Whether a task has programs run: tools that are programs, checks, or servers.
#[must_use]
pub fn runs_programs(task: &Task) -> bool {
    let is_program = |choice: &task::ToolChoice| choice.command.is_some() || choice.name == "run_command";
    let is_command = |check: &bowline_core::quality::Check| check.how.program().is_some();
    let is_started = |server: &Server| matches!(server.how, server::Reach::Stdio { .. });
    let starts_servers = task.agent.as_ref().is_some_and(|agent| agent.servers.iter().any(is_started));
    let is_undone_so = |choice: &task::ToolChoice| {
        choice.undo.as_ref().is_some_and(|undo| matches!(undo.how, How::Command { .. }))
    };
    let tools = task.tools.iter().any(|choice| is_program(choice) || is_undone_so(choice));
    let by_task = task.on_alert.is_some() || task.memory.is_some();
    starts_servers || tools || task.checks.iter().any(is_command) || by_task
}

/// The program in its cage, not started yet.
pub(crate) async fn caged(
    cages: &Cages,
    mut wish: Wish,
    outlet: Option<&Outlet>,
) -> Result<(Caged, Sweep), String> {
    let cage = cages.cage().await.map_err(|missing| format!("{}; {}", missing.what, missing.remedy))?;
    let proxy = match outlet {
        Some(outlet) => Some(outlet.socket().await?),
        None => None,
    };
    if outlet.is_some_and(Outlet::grants_loopback) {
        // What is granted there is behind the proxy, not on the loopback of the cage.
        wish.variables.extend(["no_proxy", "NO_PROXY"].map(|name| (name.to_owned(), "localhost".to_owned())));
    }
    let kept = cages.kept().to_vec();
    let homes = cages.homes().clone();
    let work = move |stop: &background::StopFlag| {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let mut sweep = homes.before(&grant::writable(&wish), &kept, stop)?;
        let around = Surroundings { kept: &kept, home, proxy };
        let mut granted = grant::grant(&wish, &around, stop)?;
        if sweep.early(&granted.hidden, stop)? {
            granted = grant::grant(&wish, &around, stop)?;
        }
        grant::out_of_reach(cage.bubblewrap(), &granted.write)?;
        let caged = cage.command(&granted, &wish.argv, &wish.folder);
        let mut caged = caged.map_err(|refused| format!("{refused}; {}", refused.remedy()))?;
        if stop.is_set() {
            // It will not be started, so nothing leans on its stand-ins.
            caged.hold.gone();
        }
        Ok((caged, sweep))
    };
    background::run(READY_MAX, work).await.map_err(|not_done| not_done.message(READY_MAX))?
}

#[cfg(test)]
mod tests {
    use bowline_core::task::parse;
    use serde_json::json;

    use super::*;

    #[test]
    fn git_is_not_taken_from_where_programs_of_the_run_write() {
        let Ok(git) = Outside::here().find("git") else { return };
        let folder = git.parent().unwrap().display().to_string();
        let elsewhere = tempfile::tempdir().unwrap();
        let elsewhere = elsewhere.path().display().to_string();
        let sandbox = |workspace: &str, write: &str, cage: bool| {
            let mut raw = json!({
                "goal": "x", "model": "a:b", "workspace": {"path": workspace}, "sandbox": {"write": [write]},
            });
            if !cage {
                raw["sandbox"] = json!("none");
            }
            Sandbox::of(&parse(&raw).unwrap(), &Cages::default(), &Reach::nothing())
        };
        let found = |sandbox: &Sandbox, at: &str| sandbox.outside(Path::new(at)).find("git");
        assert_eq!(found(&sandbox(&elsewhere, &elsewhere, true), &elsewhere).unwrap(), git);
        for (workspace, write, at) in [
            (&elsewhere, &folder, &elsewhere),
            (&folder, &elsewhere, &elsewhere),
            (&elsewhere, &elsewhere, &folder),
        ] {
            // There may be a second one elsewhere.
            assert_ne!(
                found(&sandbox(workspace, write, true), at),
                Ok(git.clone()),
                "{workspace} {write} {at}"
            );
        }
        let uncaged = sandbox(&elsewhere, &elsewhere, false);
        assert_ne!(found(&uncaged, &folder), Ok(git.clone()), "in its own workspace");
        let keeping = Cages::default().keeping(Path::new(&folder));
        assert_ne!(keeping.outside().find("git"), Ok(git), "in the home of the runs");
    }
}
