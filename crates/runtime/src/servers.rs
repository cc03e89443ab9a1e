//! Servers of an agent: reached for as long as a run is worked on, their tools among
//! the run's. Which of them an agent may call is the policy's to say; nothing that
//! no person has approved is used.

use std::path::Path;

use bowline_core::agent::server::{Reach as Way, Server};
use bowline_core::policy;
use bowline_core::task::Task;
use bowline_core::tool::ToolSpec;
use bowline_mcp::{Connected, FirstUse, McpError, Network, Servers, Surroundings};
use bowline_net::Trust;
use bowline_tools::{Cages, Reach, Registry, Sandbox};

use crate::engine::equip::reach_of;
use crate::error::EngineError;

/// Connections to the servers of one run.
#[derive(Default)]
pub(crate) struct Connections(Vec<Connected>);

impl Connections {
    /// Reaches every server of the task's agent; all of them or none.
    pub(crate) async fn open(task: &Task, servers: Option<&Servers>) -> Result<Self, EngineError> {
        let declared = task.agent.iter().flat_map(|agent| &agent.servers);
        let mut open = Self::default();
        for server in declared {
            match connect(task, servers, server).await {
                Ok(connected) => open.0.push(connected),
                Err(error) => {
                    open.close().await;
                    return Err(error);
                }
            }
        }
        Ok(open)
    }

    /// Adds the tools that the agent is granted to those of a run; of a run that is
    /// under way, those it was submitted with.
    pub(crate) fn add_to(
        &self,
        registry: &mut Registry,
        task: &Task,
        submitted: Option<&[ToolSpec]>,
    ) -> Result<(), EngineError> {
        let Some(agent) = &task.agent else { return Ok(()) };
        for tool in self.0.iter().flat_map(Connected::tools) {
            let spec = tool.spec();
            let is_granted = policy::objection(agent, spec, &serde_json::Value::Null).is_none();
            let known = submitted.map(|specs| specs.iter().find(|known| known.name == spec.name));
            match known {
                _ if !is_granted => {}
                None => registry.add(tool)?,
                // By the rules it was submitted with, whatever the server says by now.
                Some(Some(known)) => registry.add(tool.under(known).unwrap_or(tool))?,
                Some(None) => {}
            }
        }
        Ok(())
    }

    /// Lets every server go.
    pub(crate) async fn close(self) {
        for connected in self.0 {
            connected.close().await;
        }
    }
}

async fn connect(task: &Task, servers: Option<&Servers>, server: &Server) -> Result<Connected, EngineError> {
    let is_remote = matches!(server.how, Way::Http { .. });
    if is_remote && !task.privacy.lets_out() {
        return Err(EngineError::Task {
            what: format!("the run is sovereign, and the server {} is not on this machine", server.name),
            remedy: "use a server that is started here, or another privacy tier".into(),
        });
    }
    let Some(servers) = servers else {
        return Err(EngineError::Task {
            what: format!(
                "the agent has the server {}, and this engine has no home for approvals",
                server.name
            ),
            remedy: "give the engine a home".into(),
        });
    };
    servers.connect(server, FirstUse::Refuse).await.map_err(unusable)
}

/// A server that cannot be used, as an error of the engine.
pub(crate) fn unusable(error: McpError) -> EngineError {
    EngineError::Task { what: error.to_string(), remedy: error.remedy().to_string() }
}

/// Where the servers of a task run and how they are reached.
pub(crate) fn of(home: &Path, folder: &Path, sandbox: Sandbox, reach: &Reach) -> Servers {
    let network = reach.gate().map(|gate| Network { gate: gate.clone(), trust: Trust::public() });
    Servers::new(home, Surroundings { folder: folder.to_owned(), sandbox, network })
}

/// The servers of a task's agent, to look at and to approve, with the approvals in
/// this engine's home.
pub fn agent_servers(home: &Path, task: &Task, cages: &Cages) -> Result<Servers, EngineError> {
    let reach = reach_of(task)?;
    let sandbox = Sandbox::of(task, cages, &reach);
    Ok(of(home, Path::new(&task.workspace.path), sandbox, &reach))
}
