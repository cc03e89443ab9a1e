//! The servers a file declares, and the surroundings it gives them.
//!
//! A TOML, YAML or JSON file with `[[mcp]]` tables. Paths in it are relative to
//! the file. Nothing is opened here but the file itself.

use std::path::{Path, PathBuf};

use bowline_core::agent::server::Server;
use bowline_mcp::{Network, Surroundings};
use bowline_net::{Gate, Policy, Tier, Trust, Waits};
use bowline_tools::{Cages, Missing, Sandbox};
use serde::Deserialize;

use crate::error::CliError;
use crate::taskfile;

/// What a file says about servers.
#[derive(Debug)]
pub(crate) struct ServerFile {
    /// The servers.
    pub(crate) servers: Vec<Server>,
    file: Declared,
    base: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Declared {
    #[serde(default)]
    mcp: Vec<Server>,
    /// Where servers run; the file's folder when left out.
    workspace: Option<PathBuf>,
    /// `none`: outside any cage.
    #[serde(default)]
    sandbox: Cage,
    /// What they may also read.
    #[serde(default)]
    read: Vec<PathBuf>,
    /// What they may also write.
    #[serde(default)]
    write: Vec<PathBuf>,
    /// Which hosts servers may be reached at.
    #[serde(default)]
    allowed_hosts: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Cage {
    #[default]
    Cage,
    None,
}

impl ServerFile {
    /// Reads the file; the first thing that is wrong with a server is told.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let raw = taskfile::parse_file(path)?;
        let bad = |error: serde_json::Error| {
            CliError::refused(
                format!("{} declares no servers that can be used: {error}", path.display()),
                "see docs/mcp.md for how servers are declared",
            )
        };
        let mut file: Declared = serde_json::from_value(raw).map_err(bad)?;
        let servers = std::mem::take(&mut file.mcp);
        for (at, server) in servers.iter().enumerate() {
            server.check().map_err(|bad| CliError::refused(bad.to_string(), bad.remedy()))?;
            if servers.iter().take(at).any(|other| other.name == server.name) {
                let what = format!("{} declares two servers called {}", path.display(), server.name);
                return Err(CliError::refused(what, "name each server once"));
            }
        }
        let base = std::path::absolute(path).map_err(CliError::io("find", path))?;
        let base = base.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { servers, file, base })
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

    /// Where and in what they run, and how they are reached.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, CliError> {
        let absolute = |paths: &[PathBuf]| paths.iter().map(|path| self.base.join(path)).collect();
        let folder =
            self.file.workspace.as_ref().map_or_else(|| self.base.clone(), |path| self.base.join(path));
        let sandbox = match self.file.sandbox {
            Cage::None => Sandbox::Off,
            Cage::Cage => Sandbox::Caged {
                cages: crate::cage::launcher().map(Cages::with).unwrap_or_default(),
                read: absolute(&self.file.read),
                write: absolute(&self.file.write),
                missing: Missing::Refuse,
            },
        };
        Ok(Surroundings { folder, sandbox, network: self.network()? })
    }

    fn network(&self) -> Result<Option<Network>, CliError> {
        if self.file.allowed_hosts.is_empty() {
            return Ok(None);
        }
        let policy = Policy::new(Tier::Private, &self.file.allowed_hosts)
            .map_err(|bad| CliError::refused(bad.to_string(), bad.remedy()))?;
        let gate = Gate::open(policy, Waits::default())
            .map_err(|refused| CliError::refused(refused.to_string(), refused.remedy()))?;
        Ok(Some(Network { gate, trust: Trust::public() }))
    }
}
