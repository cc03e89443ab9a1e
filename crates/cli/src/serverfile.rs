//! The servers an agent's manifest declares, and the surroundings it gives them.

use bowline::agent_servers;
use bowline_core::agent::{self, server::Server};
use bowline_mcp::Servers;
use bowline_tools::Cages;
use serde_json::json;

use crate::command::Desk;
use crate::error::CliError;
use crate::manifest;
use crate::mcp_args::McpPlace;

/// What a manifest says about servers.
pub(crate) struct ServerFile {
    /// The servers.
    pub(crate) servers: Vec<Server>,
    /// Where they run, how they are reached, and what was agreed to.
    pub(crate) reached: Servers,
}

impl ServerFile {
    /// Reads the manifest, and gives its servers what a task of the agent would.
    pub(crate) fn read(desk: &Desk<'_>, place: &McpPlace) -> Result<Self, CliError> {
        desk.home.make()?;
        let manifest = manifest::load(desk.screen, &place.agent)?;
        let folder = std::path::absolute(&place.workspace).map_err(CliError::io("find", &place.workspace))?;
        // No model is asked: there is nothing to do but look.
        let task = json!({
            "goal": "Look at servers",
            "model": "scripted:none",
            "workspace": { "path": folder.display().to_string() },
        });
        let bad = |bad| CliError::Manifest { path: place.agent.clone(), bad };
        let task = agent::outfit(&task, &manifest).map_err(bad)?;
        let cages = crate::cage::launcher().map(Cages::with).unwrap_or_default().keeping(desk.home.path());
        let reached = agent_servers(desk.home.path(), &task, &cages)?;
        Ok(Self { servers: manifest.agent.servers, reached })
    }

    /// The server of that name.
    pub(crate) fn named(&self, name: &str) -> Result<&Server, CliError> {
        let found = self.servers.iter().find(|server| server.name.as_str() == name);
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        found.ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            CliError::refused(
                format!("there is no server {name:?} in that file"),
                format!("the servers are: {}", names.join(", ")),
            )
        })
    }
}
