//! `run_command`: the model runs a program in the workspace.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ended, Program};
use crate::files::typed;
use crate::sandbox::Author;
use crate::{CallContext, Tool, ToolOutput};

/// The tool.
pub(crate) struct RunCommand {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    argv: Vec<String>,
    #[serde(default)]
    stdin: String,
}

impl RunCommand {
    pub(crate) const DESCRIPTION: &str = "Run a program in the workspace and read what it prints and its exit code. \
There is no shell: give the program and each argument as an item of `argv`. Nothing it starts goes on after it exits.";

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1,
                    "description": "The program and its arguments, as in [\"python3\", \"-m\", \"unittest\"]."},
                "stdin": {"type": "string", "description": "What the program reads on its standard input. Default: nothing."}
            },
            "required": ["argv"],
            "additionalProperties": false
        })
    }

    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let args: Args = match typed(args) {
            Ok(args) => args,
            Err(problem) => return ToolOutput::error(problem),
        };
        let program = Program {
            argv: &args.argv,
            author: Author::Model,
            folder: ctx.workspace.root(),
            sandbox: &ctx.sandbox,
            is_own_tool: false,
            variables: Vec::new(),
            input: args.stdin.into_bytes(),
            limit: ctx.timeout,
        };
        let ran = match program.run().await {
            Ok(ran) => ran,
            Err(why) => return why.into(),
        };
        let text = ran.transcript(ctx.timeout);
        match ran.ended {
            Ended::Exited(0) => ToolOutput::ok(text),
            Ended::Exited(_) | Ended::Killed(_) => ToolOutput::error(text),
            Ended::TimedOut | Ended::Lost => ToolOutput::timed_out(self.spec.repeat, text),
        }
    }
}
