//! `list_files`: what is in a folder, sorted.

use std::ops::ControlFlow;

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{given_back, in_words, typed};
use crate::background::{self, StopFlag};
use crate::workspace::{Kind, Walk};
use crate::{CallContext, Tool, ToolOutput, Workspace};

const DEPTH_DEFAULT: usize = 3;
const DEPTH_MAX: usize = 20;
const ENTRIES_MAX: usize = 1000;
pub(super) const SKIPPED: &[&str] = &[".git", ".bowline"];

pub(crate) const DESCRIPTION: &str = "List the files and folders of the workspace, sorted, one per line. Folders end \
in /, links show where they lead. .git is left out.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The folder to list. Default: the workspace."},
            "depth": {"type": "integer", "minimum": 1, "maximum": DEPTH_MAX,
                "description": "How many levels of folders to show. Default: 3."}
        },
        "additionalProperties": false
    })
}

pub(crate) struct ListFiles {
    spec: ToolSpec,
}

impl ListFiles {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    depth: Option<usize>,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let workspace = ctx.workspace.clone();
        let work = move |stop: &StopFlag| list(&workspace, &typed(args)?, stop);
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

fn list(workspace: &Workspace, args: &Args, stop: &StopFlag) -> Result<String, String> {
    let start = workspace.resolve(args.path.as_deref().unwrap_or(".")).map_err(in_words)?;
    let depth = args.depth.unwrap_or(DEPTH_DEFAULT).clamp(1, DEPTH_MAX);
    let mut lines = Vec::new();
    let mut more = false;
    let walk = Walk { depth, skip: SKIPPED, stop };
    let visited = walk.visit(workspace, &start, |found| {
        if lines.len() == ENTRIES_MAX {
            more = true;
            return ControlFlow::Break(());
        }
        let path = match start.as_str() {
            "." => found.path.display().to_string(),
            folder => format!("{folder}/{}", found.path.display()),
        };
        lines.push(match &found.kind {
            Kind::File => path,
            Kind::Directory => format!("{path}/"),
            Kind::Link(target) => format!("{path} -> {}", target.display()),
            Kind::Special => format!("{path} (not a regular file)"),
            Kind::Unreadable(errno) => format!("{path} ({})", std::io::Error::from(*errno)),
        });
        ControlFlow::Continue(())
    });
    visited.map_err(in_words)?;
    if lines.is_empty() {
        return Ok(format!("[{} is empty]", start.as_str()));
    }
    if more {
        lines.push(format!(
            "[there is more: only the first {ENTRIES_MAX} are shown; list a folder of it, or less deep]"
        ));
    }
    Ok(lines.join("\n"))
}
