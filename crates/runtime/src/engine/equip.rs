//! What a run is worked on with: workspace, tools, servers, secrets, network. Found
//! when a task is submitted, so that it is refused then, and again when it is taken up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::quality::CheckHow;
use bowline_core::run::Run;
use bowline_core::task::{self, Task, WorkspaceMode};
use bowline_core::tool::ToolSpec;
use bowline_mcp::Servers;
use bowline_tools::{
    BadTools, Missing, NoCage, Reach, Registry, Sandbox, Secrets, Workspace, check, compensate, copy_tree,
    evidence, isolation, runs_programs,
};

use super::{Inner, undo};
use crate::aside;
use crate::cast::Models;
use crate::error::EngineError;
use crate::hands::Hands;
use crate::judge::Judge;
use crate::servers::{self, Connections};
use crate::texts::Texts;

impl Inner {
    pub(super) async fn refuse_what_cannot_work(&self, task: &Task) -> Result<(), EngineError> {
        for check in &task.checks {
            if let CheckHow::Schema(schema) = &check.how {
                check::validate_schema(schema).map_err(|message| EngineError::Task {
                    what: format!("the schema of check {:?} is no JSON Schema: {message}", check.name),
                    remedy: "mend the schema in the task file".into(),
                })?;
            }
            if let CheckHow::Assert(stated) = &check.how {
                check::validate_assertion(stated).map_err(|message| EngineError::Task {
                    what: format!("check {:?} cannot be made: {message}", check.name),
                    remedy: "mend the pattern in the task file".into(),
                })?;
            }
        }
        if task.workspace.mode != WorkspaceMode::InPlace && self.home.is_none() {
            return Err(EngineError::Task {
                what: "the task wants a copy of its workspace, and this engine has no home to put it in"
                    .into(),
                remedy: "give the engine a home, or set workspace.mode to \"in-place\"".into(),
            });
        }
        let reach = reach_of(task)?;
        if runs_programs(task) {
            self.refuse_without_cage(task, &reach).await?;
        }
        let workspace = Workspace::open(Path::new(&task.workspace.path))?;
        for path in &task.evidence {
            evidence::read(&workspace, path).await.map_err(|message| EngineError::Task {
                what: format!("evidence {path:?}: {message}"),
                remedy: "correct the path in `evidence`, relative to the workspace".into(),
            })?;
        }
        Ok(())
    }

    /// Programs run in a cage, or where the task says that they need none.
    async fn refuse_without_cage(&self, task: &Task, reach: &Reach) -> Result<(), EngineError> {
        let missing = |missing: NoCage| EngineError::Task { what: missing.what, remedy: missing.remedy };
        if task.sandbox == task::Sandbox::None && task.privacy.needs_a_cage() {
            return Err(EngineError::Task {
                what: format!(
                    "programs without a sandbox can reach any host, and privacy is {:?}",
                    task.privacy.word()
                ),
                remedy: "leave `sandbox = \"none\"` out, or choose privacy = \"standard\"".into(),
            });
        }
        match Sandbox::of(task, &self.cages, reach) {
            Sandbox::Off => Ok(()),
            Sandbox::Caged { cages, missing: Missing::Refuse, .. } => {
                cages.cage().await.map(drop).map_err(missing)
            }
            sandbox @ Sandbox::Caged { missing: Missing::RunWithout, .. } => {
                sandbox.confinement().await.map(drop).map_err(missing)
            }
        }
    }

    /// The folder a run works in; a copy is made once, whole or not at all.
    pub(super) async fn workspace(&self, run: &Run) -> Result<Workspace, EngineError> {
        let given = Path::new(&run.task.workspace.path);
        let opened = match (run.task.workspace.mode, &self.home) {
            (WorkspaceMode::InPlace, _) | (WorkspaceMode::Copy | WorkspaceMode::Isolated, None) => {
                Workspace::open(given)?
            }
            (mode @ (WorkspaceMode::Copy | WorkspaceMode::Isolated), Some(home)) => {
                let copy = home.join("workspaces").join(run.id.as_str());
                if run.ending().is_some() && !copy.exists() {
                    return Err(EngineError::Task {
                        what: format!("the copy that run {} worked on is gone", run.id),
                        remedy: "nothing can be done about it any more; what was not applied is lost".into(),
                    });
                }
                let base = self.base(&run.id).unwrap_or_default();
                if mode == WorkspaceMode::Isolated {
                    let sandbox = Sandbox::of(&run.task, &self.cages, &Reach::nothing());
                    isolation::prepare(given, &copy, &base, &sandbox).await.map_err(no_copy)?;
                } else {
                    copy_tree(given, &copy, &base).await?;
                }
                Workspace::open(&copy)?
            }
        };
        let is_narrow =
            run.task.agent.as_ref().is_some_and(|agent| !agent.capabilities.has_whole_workspace());
        Ok(if is_narrow { opened.without_links()? } else { opened })
    }

    /// What a run is worked on with, and the servers it must let go afterwards. What
    /// is in the way is told without the run's secrets.
    pub(super) async fn hands(&self, run: &Run, epoch: u64) -> Result<(Hands, Connections), EngineError> {
        let secrets = secrets(&run.task).await?;
        let equipped = self.equip(run, epoch, secrets.clone()).await;
        equipped.map_err(|error| masked(error, &secrets))
    }

    async fn equip(
        &self,
        run: &Run,
        epoch: u64,
        secrets: Secrets,
    ) -> Result<(Hands, Connections), EngineError> {
        let reach = reach_of(&run.task)?;
        let sandbox = Sandbox::of(&run.task, &self.cages, &reach);
        let programs = match runs_programs(&run.task).then(|| sandbox.clone()) {
            // What cannot be said now is said by the first program, which does not run.
            Some(sandbox) => sandbox.confinement().await.ok(),
            None => None,
        };
        let workspace = self.workspace(run).await?;
        let mut registry = Registry::as_submitted(&run.task.tools, &self.tools, &run.tools)?;
        if run.is_being_promoted() && !run.is_being_landed() {
            self.has_taker(run)?;
        }
        // Whoever undoes asks no model, and no server that has no part in it.
        let is_undo = run.has_afterwork();
        let models = Arc::new(if is_undo {
            Models::only(&run.task, Arc::new(undo::NoModel))
        } else {
            Models::of(self.models.as_ref(), &run.task)?
        });
        let secrets = secrets.hiding(models.secrets());
        let servers = self.servers(workspace.root(), sandbox.clone(), &reach);
        let connections = if is_undo && !undo::needs_servers(run) {
            Connections::default()
        } else {
            Connections::open(&run.task, servers.as_ref()).await?
        };
        if let Err(error) = connections.add_to(&mut registry, &run.task, Some(&run.tools)) {
            connections.close().await;
            return Err(error);
        }
        let hands = Hands {
            run: run.id.clone(),
            task: run.task.clone(),
            epoch,
            store: self.store.clone(),
            registry: Arc::new(registry),
            inference: aside::of(&run.task, models.own()),
            judge: Arc::new(Judge::new(run.task.clone(), secrets.clone())),
            secrets,
            workspace,
            sandbox,
            reach,
            models,
            programs,
            base: self.base(&run.id),
            promote: self.promote.clone(),
            results: self.home.as_ref().map(|home| home.join("results")),
            texts: Texts::new(self.store.clone()),
            clock: self.clock.clone(),
            hub: self.hub.clone(),
        };
        Ok((hands, connections))
    }

    /// The servers of a task, where this engine has a home for approvals.
    fn servers(&self, folder: &Path, sandbox: Sandbox, reach: &Reach) -> Option<Servers> {
        self.home.as_ref().map(|home| servers::of(home, folder, sandbox, reach))
    }

    /// Where servers are started to learn their tools: a run that works on a copy does
    /// not touch the original, and neither do its servers.
    fn looking_place(&self, task: &Task) -> Result<PathBuf, EngineError> {
        match (task.workspace.mode, &self.home) {
            (WorkspaceMode::InPlace, _) | (WorkspaceMode::Copy | WorkspaceMode::Isolated, None) => {
                Ok(PathBuf::from(&task.workspace.path))
            }
            (WorkspaceMode::Copy | WorkspaceMode::Isolated, Some(home)) => {
                let place = home.join("servers");
                let mut builder = std::fs::DirBuilder::new();
                std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
                builder.recursive(true).create(&place).map_err(|error| EngineError::Task {
                    what: format!("cannot make {}: {error}", place.display()),
                    remedy: "check the rights of the engine's home, and whether its disk has room".into(),
                })?;
                Ok(place)
            }
        }
    }

    /// The tools a new run gets: those the task names, and those of the agent's servers.
    /// Nothing a server says of them brings a secret into the journal.
    pub(super) async fn tools_of(&self, task: &Task) -> Result<Vec<ToolSpec>, EngineError> {
        let secrets = secrets(task).await?;
        let found = self.tools_found(task).await.map_err(|error| masked(error, &secrets))?;
        Ok(found.into_iter().map(|spec| without_secrets(spec, &secrets)).collect())
    }

    async fn tools_found(&self, task: &Task) -> Result<Vec<ToolSpec>, EngineError> {
        let mut registry = Registry::with_own(&task.tools, &self.tools)?;
        let reach = reach_of(task)?;
        let sandbox = Sandbox::of(task, &self.cages, &reach);
        let servers = self.servers(&self.looking_place(task)?, sandbox.clone(), &reach);
        let connections = Connections::open(task, servers.as_ref()).await?;
        let added = connections.add_to(&mut registry, task, None);
        connections.close().await;
        sandbox.close().await;
        added?;
        if let Some((name, by)) = compensate::missing_tools(&registry).into_iter().next() {
            return Err(BadTools::NoUndoTool { name, by }.into());
        }
        registry.check_substitutes(&task.tools)?;
        Ok(registry.specs())
    }
}

/// The secrets of a task's agent and of its servers, read now. Those of the servers
/// are hidden everywhere, and given to nobody but their server.
pub(super) async fn secrets(task: &Task) -> Result<Secrets, EngineError> {
    let Some(agent) = &task.agent else { return Ok(Secrets::default()) };
    let (places, servers) = (agent.secrets.clone(), agent.servers.clone());
    let read = tokio::task::spawn_blocking(move || {
        let own = Secrets::read(&places)
            .map_err(|bad| EngineError::Task { what: bad.to_string(), remedy: bad.remedy })?;
        let mut hidden = Vec::new();
        for server in &servers {
            hidden.extend(bowline_mcp::secrets_of(server).map_err(servers::unusable)?);
        }
        Ok(own.hiding(hidden))
    });
    read.await.map_err(|_| EngineError::Task {
        what: "the agent's secrets could not be read".into(),
        remedy: "try again".into(),
    })?
}

/// An error that may be shown and written down.
fn masked(error: EngineError, secrets: &Secrets) -> EngineError {
    match error {
        EngineError::Task { what, remedy } => {
            let hide = |text| secrets.mask().hide(text).text;
            EngineError::Task { what: hide(what), remedy: hide(remedy) }
        }
        EngineError::Store(_)
        | EngineError::Append(_)
        | EngineError::Model(_)
        | EngineError::Tools(_)
        | EngineError::ChangedSince { .. }
        | EngineError::Copy(_)
        | EngineError::Scope(_)
        | EngineError::NoBeginning { .. }
        | EngineError::OutOfStep { .. }
        | EngineError::BrokeDown { .. }
        | EngineError::ShutDown { .. }
        | EngineError::Queue { .. }
        | EngineError::Workspace(_) => error,
    }
}

/// A tool as it may be journalled and told to a model.
fn without_secrets(spec: ToolSpec, secrets: &Secrets) -> ToolSpec {
    let description = secrets.mask().hide(spec.description).text;
    let schema = spec.schema.to_string();
    let hidden = secrets.mask().hide(schema.clone()).text;
    let schema =
        if hidden == schema { spec.schema } else { serde_json::from_str(&hidden).unwrap_or_default() };
    ToolSpec { description, schema, ..spec }
}

/// Why a run has no copy to work on.
fn no_copy(error: isolation::NoCopy) -> EngineError {
    match error {
        isolation::NoCopy::Copy(error) => error.into(),
        isolation::NoCopy::Base(bad) => {
            EngineError::Task { what: bad.to_string(), remedy: bad.remedy().into() }
        }
    }
}

/// What a task may reach, or what is wrong with how it says so.
pub(crate) fn reach_of(task: &Task) -> Result<Reach, EngineError> {
    Reach::of(task)
        .map_err(|bad| EngineError::Task { what: bad.to_string(), remedy: bad.remedy().to_string() })
}
