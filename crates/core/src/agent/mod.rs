//! The agent: who works on a task, and what it may touch.
//!
//! A manifest is read by [`parse`] into an [`Agent`], which travels in the task
//! and so in the first event of a run: what an agent may do cannot change under a
//! run that exists. [`overlay`] lays a manifest over the one it extends, [`outfit`]
//! gives a task what its agent brings, [`explain`] says all of it in words.
//!
//! Whether a single call is allowed is [`crate::policy`]'s to say. Nothing here
//! opens a file, and nothing here holds the value of a secret: only where it is.

mod capability;
mod explain;
mod mcp;
mod outfit;
mod parse;
pub mod privacy;
pub mod server;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use capability::{Beyond, Capabilities, McpGrant, Paths, Programs, covers};
pub use explain::explain;
pub use outfit::{beyond, outfit, overlay};
pub use parse::{Manifest, parse};
pub use privacy::Privacy;

use server::Server;

use crate::provenance::{Digest, canonical_value};

/// Most secrets of an agent.
pub const SECRETS_MAX: usize = 64;

/// Who works on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What people call it.
    pub name: String,
    /// Which of its versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How far what it knows may go.
    #[serde(default)]
    pub privacy: Privacy,
    /// What it may touch.
    pub capabilities: Capabilities,
    /// Servers whose tools it may call, as far as `capabilities.mcp` grants them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// What happens to calls that are not simply fine.
    #[serde(default)]
    pub gates: Gates,
    /// Where its secrets are, by the name programs know them by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretRef>,
}

impl Agent {
    /// The hash of everything that decides what it may do: an approval is bound to it.
    #[must_use]
    pub fn policy(&self) -> Digest {
        let json = serde_json::to_value(self).unwrap_or_default();
        Digest::of_parts(&[b"policy", canonical_value(&json).as_bytes()])
    }
}

/// What happens to calls that are not simply fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// An argument that only untrusted text has named.
    pub tainted: Gate,
    /// A secret in the arguments.
    pub secrets: Gate,
    /// A path or a program that no capability covers.
    pub out_of_policy: Gate,
}

impl Default for Gates {
    fn default() -> Self {
        Self { tainted: Gate::Ask, secrets: Gate::Ask, out_of_policy: Gate::Refuse }
    }
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// It waits for a person.
    Ask,
    /// It is not made.
    Refuse,
    /// It is made. Must be spelled out.
    Allow,
}

/// Where a secret is. Its value is read when a run is worked on, and masked in
/// everything the run stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SecretRef {
    /// In this variable of the engine's environment.
    Env(String),
    /// In this file, without its last line end.
    File(String),
}
