//! The words of `bowline mcp`.

use std::path::PathBuf;

use clap::{Args as Words, Subcommand};

/// What to do with servers of tools.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Tell what was agreed to, without reaching any server
    List(McpListArgs),
    /// Reach servers and tell what they offer now
    Test(McpTestArgs),
    /// Read what a server offers now, and agree to it
    Approve(McpApproveArgs),
}

impl McpCommand {
    /// Whether the output is for machines.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(args) => args.json,
            Self::Test(args) => args.json,
            Self::Approve(_) => false,
        }
    }
}

#[derive(Debug, Words)]
pub(crate) struct McpListArgs {
    #[command(flatten)]
    pub(crate) place: McpPlace,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct McpTestArgs {
    /// Only this server
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) place: McpPlace,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct McpApproveArgs {
    /// Which server
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) place: McpPlace,
    /// Agree without being asked, to what is shown
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Whose servers, and where they run.
#[derive(Debug, Words)]
pub(crate) struct McpPlace {
    /// The manifest of the agent that has the servers
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: PathBuf,
    /// The folder they run in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
}
