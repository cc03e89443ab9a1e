//! The tools through their public face, on real files and real processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on shall fail at that line"
)]

mod checks;
mod copies;
mod departures;
mod escapes;
mod files;
mod git;
mod leftovers;
mod patches;
mod pauses;
mod programs;
mod registry;
mod undo;
mod verification;
mod web;
mod writes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use bowline_core::event::Outcome;
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Returned;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::task::{CommandTool, ToolChoice};
use bowline_core::tool::FileImage;
use bowline_tools::{
    CallContext, InsidePath, PreparedWrite, Reach, Registry, Sandbox, ToolOutput, Workspace,
};
use serde_json::Value;

const OK: Returned = Returned::Known(Outcome::Ok);
const ERROR: Returned = Returned::Known(Outcome::Error);

/// A workspace with nothing else in its directory, and a secret beside it.
struct Yard {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

impl Yard {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        let workspace = Workspace::open(&dir.path().join("work")).unwrap();
        Self { dir, workspace }
    }

    fn root(&self) -> &Path {
        self.workspace.root()
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    fn inside(&self, path: &str) -> InsidePath {
        self.workspace.resolve(path).unwrap()
    }

    fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.root().join(path)).unwrap();
    }

    fn ctx(&self) -> CallContext {
        CallContext {
            workspace: self.workspace.clone(),
            sandbox: Sandbox::Off,
            secrets: Default::default(),
            reach: Reach::nothing(),
            inference: Default::default(),
            run: RunId::parse("run-1").unwrap(),
            action: ActionId { step: 1, index: 0 },
            key: Digest::of(b"key"),
            epoch: 7,
            attempt: 1,
            image: None,
            timeout: Duration::from_secs(60),
        }
    }

    /// Runs a built-in tool on arguments that fit its schema.
    async fn call(&self, tool: &str, args: Value) -> ToolOutput {
        self.call_in(&self.ctx(), tool, args).await
    }

    async fn call_in(&self, ctx: &CallContext, tool: &str, args: Value) -> ToolOutput {
        let registry = Registry::new(&[choice(tool)]).unwrap();
        let (tool, args) = registry.examine(tool, &args.to_string()).unwrap();
        tool.run(args, ctx).await
    }

    async fn prepare(&self, tool: &str, args: Value) -> Result<PreparedWrite, String> {
        let registry = Registry::new(&[choice(tool)]).unwrap();
        let (tool, args) = registry.examine(tool, &args.to_string()).unwrap();
        Ok(tool.prepare(&args, &self.ctx()).await?.expect("a tool that writes"))
    }
}

fn choice(name: &str) -> ToolChoice {
    ToolChoice {
        name: name.to_owned(),
        command: None,
        consent: None,
        repeat: None,
        timeout_ms: None,
        effect: None,
        invocation: Default::default(),
        undo: None,
        substitute: None,
    }
}

fn command_choice(name: &str, argv: &[&str]) -> ToolChoice {
    let command = CommandTool {
        argv: strings(argv),
        description: "a test".to_owned(),
        schema: serde_json::json!({"type": "object"}),
        probe: None,
        secrets: Vec::new(),
    };
    ToolChoice { command: Some(command), ..choice(name) }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

/// The image the shell journals for a prepared write.
fn image(prepared: &PreparedWrite) -> FileImage {
    FileImage {
        path: prepared.path.clone(),
        before: prepared.before.clone().map(|bytes| Payload::keep_bytes(bytes, &mut Vec::new())),
        after: Digest::of(&prepared.after),
        new_folder: prepared.new_folder.clone(),
        departure: prepared.departure.clone(),
    }
}
