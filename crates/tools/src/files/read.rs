//! `read_file`: the text of a file, or some lines of it.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{given_back, in_words, is_binary, typed};
use crate::workspace::FILE_BYTES_MAX;
use crate::{CallContext, Tool, ToolOutput, Workspace, background};

pub(crate) const DESCRIPTION: &str = "Read a text file of the workspace. Returns the text exactly as it is in the \
file, so parts of it can be used as `old` of edit_file. Long output is cut in the middle: read a long file in parts \
with `from_line` and `lines`.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
            "from_line": {"type": "integer", "minimum": 1, "description": "First line to read, counted from 1. Default: 1."},
            "lines": {"type": "integer", "minimum": 1, "description": "How many lines to read. Default: to the end."}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

pub(crate) struct ReadFile {
    spec: ToolSpec,
}

impl ReadFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: String,
    from_line: Option<usize>,
    lines: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let workspace = ctx.workspace.clone();
        let work = move |_: &background::StopFlag| read(&workspace, &typed(args)?);
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

fn read(workspace: &Workspace, args: &Args) -> Result<String, String> {
    let path = workspace.resolve(&args.path).map_err(in_words)?;
    let bytes = workspace.read(&path, FILE_BYTES_MAX).map_err(in_words)?;
    if is_binary(&bytes) {
        return Err(format!("{} is a binary file of {} bytes", path.as_str(), bytes.len()));
    }
    let text = String::from_utf8_lossy(&bytes);
    if args.from_line.is_none() && args.lines.is_none() {
        return Ok(text.into_owned());
    }
    some_lines(&text, args.from_line.unwrap_or(1).max(1), args.lines.unwrap_or(usize::MAX))
}

fn some_lines(text: &str, first: usize, count: usize) -> Result<String, String> {
    let total = text.split_inclusive('\n').count();
    if first > total {
        return Err(format!("there is no line {first}: the file has {total} lines"));
    }
    let mut part: String = text.split_inclusive('\n').skip(first - 1).take(count).collect();
    let last = first.saturating_add(count.saturating_sub(1)).min(total);
    if first > 1 || last < total {
        if !part.ends_with('\n') {
            part.push('\n');
        }
        part.push_str(&format!("[lines {first} to {last} of {total}]"));
    }
    Ok(part)
}
