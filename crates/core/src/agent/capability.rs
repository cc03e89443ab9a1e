//! The lattice of capabilities: what is granted, what covers what, and whether a
//! child's are within its parent's.
//!
//! A grant is a list, never a pattern language: a path grants the folder below it,
//! a program its name, so that the file cage and the process cage can hold exactly
//! what is written here.

use serde::{Deserialize, Serialize};

/// What an agent may touch. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "snake_case", deny_unknown_fields)]
pub struct Capabilities {
    /// Paths of the workspace it may read.
    pub file_read: Paths,
    /// Paths of the workspace it may write.
    pub file_write: Paths,
    /// Programs it may run.
    pub shell: Programs,
    /// Hosts it may reach, as patterns of the network gate.
    pub network: Vec<String>,
    /// Tools of servers it may call.
    pub mcp: Vec<McpGrant>,
    /// Whether it may ask a model a side question.
    pub inference: bool,
    /// Levels of agents it may start below itself.
    pub spawn: u32,
}

/// Paths below a workspace; each grants what is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Paths(pub Vec<String>);

/// Names of programs, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Programs {
    /// Every program the machine has.
    Any,
    /// These.
    Named(Vec<String>),
}

impl Default for Programs {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

/// Tools of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct McpGrant {
    /// The server, as the manifest names it.
    pub server: String,
    /// The tool; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// Something a child asks for and its parent does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the capability {capability} of the parent does not cover {what}")]
pub struct Beyond {
    /// Which capability.
    pub capability: &'static str,
    /// What it does not cover.
    pub what: String,
}

impl Capabilities {
    /// Whether these are a subset of a parent's. A child of an agent that may start
    /// children is one level deeper, so it may start fewer.
    pub fn within(&self, parent: &Self) -> Result<(), Beyond> {
        let beyond = |capability, what: &str| Err(Beyond { capability, what: what.into() });
        if let Some(path) = self.file_read.0.iter().find(|path| !parent.file_read.covers(path)) {
            return beyond("file_read", path);
        }
        if let Some(path) = self.file_write.0.iter().find(|path| !parent.file_write.covers(path)) {
            return beyond("file_write", path);
        }
        if let Some(program) = self.shell.beyond(&parent.shell) {
            return beyond("shell", program);
        }
        if let Some(host) = self.network.iter().find(|host| !parent.network.contains(host)) {
            return beyond("network", host);
        }
        if let Some(grant) = self.mcp.iter().find(|grant| !parent.mcp.iter().any(|wider| wider.covers(grant)))
        {
            return beyond("mcp", &grant.to_string());
        }
        if self.inference && !parent.inference {
            return beyond("inference", "side questions");
        }
        if self.spawn > 0 && self.spawn >= parent.spawn {
            return beyond("spawn", &format!("{} levels below a child", self.spawn));
        }
        Ok(())
    }
}

impl Capabilities {
    /// Whether every file of the workspace may be read and written.
    #[must_use]
    pub fn has_whole_workspace(&self) -> bool {
        self.file_read.is_whole() && self.file_write.is_whole()
    }
}

impl Paths {
    /// Whether a path is granted.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.0.iter().any(|grant| covers(grant, path))
    }

    /// Whether the whole workspace is granted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.covers(".")
    }
}

impl Programs {
    /// Whether a program is granted, by the name it is asked for.
    #[must_use]
    pub fn covers(&self, program: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Named(names) => names.iter().any(|name| name == program),
        }
    }

    /// Whether any is granted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }

    fn beyond<'a>(&'a self, parent: &Self) -> Option<&'a str> {
        match (self, parent) {
            (_, Self::Any) => None,
            (Self::Any, Self::Named(_)) => Some("every program"),
            (Self::Named(names), Self::Named(_)) => {
                names.iter().map(String::as_str).find(|name| !parent.covers(name))
            }
        }
    }
}

impl McpGrant {
    /// Whether this grants at least what the other does.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.server == other.server && (self.tool.is_none() || self.tool == other.tool)
    }
}

impl std::fmt::Display for McpGrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.server, self.tool.as_deref().unwrap_or("*"))
    }
}

/// Whether a granted path covers another one: it is the same or lies below. By
/// form alone; a path with `..` is covered by nothing.
#[must_use]
pub fn covers(grant: &str, path: &str) -> bool {
    let (Some(grant), Some(path)) = (parts(grant), parts(path)) else { return false };
    path.starts_with(&grant)
}

/// The names a path goes through; `None` for one that goes up or starts at the root.
fn parts(path: &str) -> Option<Vec<&str>> {
    if path.starts_with('/') {
        return None;
    }
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    names.iter().all(|name| *name != "..").then_some(names)
}
