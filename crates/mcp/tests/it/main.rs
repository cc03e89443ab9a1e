//! The client against servers that behave badly.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on shall fail at that line"
)]

mod pinning;
mod pipes;
mod web;
mod webserver;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bowline_core::agent::server::{Reach, Server, ServerName};
use bowline_core::id::{ActionId, RunId};
use bowline_core::provenance::Digest;
use bowline_mcp::{Connected, FirstUse, McpError, Servers, Surroundings};
use bowline_tools::{CallContext, Sandbox, Tool, ToolOutput, Workspace};
use serde_json::{Value, json};

/// A folder with a server in it.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn log(&self) -> PathBuf {
        self.work().join("double.log")
    }

    fn servers(&self) -> Servers {
        self.servers_in(Sandbox::Off)
    }

    fn servers_in(&self, sandbox: Sandbox) -> Servers {
        let around = Surroundings { folder: self.work(), sandbox, network: None };
        Servers::new(&self.folder.path().join("home"), around)
    }

    fn double(&self, mode: &str) -> Server {
        let argv =
            [example("double").to_str().unwrap(), mode, self.log().to_str().unwrap()].map(str::to_owned);
        let how = Reach::Stdio { argv: argv.to_vec(), env: BTreeMap::new() };
        Server::new(ServerName::parse("double").unwrap(), how)
    }

    async fn connect(&self, mode: &str) -> Result<Connected, McpError> {
        self.servers().connect(&self.double(mode), FirstUse::Pin).await
    }

    /// What the server was sent, message by message.
    fn sent(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn calls_sent(&self, tool: &str) -> Vec<Value> {
        let calls = |message: &Value| message["method"] == "tools/call" && message["params"]["name"] == tool;
        self.sent().into_iter().filter(calls).collect()
    }

    fn ctx(&self, timeout: Duration) -> CallContext {
        CallContext {
            workspace: Workspace::open(&self.work()).unwrap(),
            sandbox: Sandbox::Off,
            secrets: Default::default(),
            reach: bowline_tools::Reach::nothing(),
            inference: Default::default(),
            run: RunId::parse("run-1").unwrap(),
            action: ActionId { step: 3, index: 1 },
            key: Digest::of(b"key"),
            epoch: 1,
            attempt: 1,
            image: None,
            timeout,
        }
    }

    async fn call(&self, connected: &Connected, tool: &str) -> ToolOutput {
        self.call_with(connected, tool, json!({"text": "hello"}), Duration::from_secs(20)).await
    }

    async fn call_with(&self, connected: &Connected, tool: &str, args: Value, max: Duration) -> ToolOutput {
        find(connected, tool).run(args, &self.ctx(max)).await
    }
}

fn find(connected: &Connected, tool: &str) -> Arc<dyn Tool> {
    let name = format!("{}.{tool}", connected.server);
    let found = connected.tools().into_iter().find(|tool| tool.spec().name.as_str() == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// A program that is built beside the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).map(Path::to_owned).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{} is built by `cargo test` without a target, or by `--examples`",
        path.display()
    );
    path
}
