//! A tool of the task's own: a program that reads its arguments as JSON and
//! prints its result.

use async_trait::async_trait;
use bowline_core::id::ToolName;
use bowline_core::input::Returned;
use bowline_core::task::CommandTool;
use bowline_core::tool::{Consent, Repeat, ToolSpec, Touch};
use serde_json::Value;

use super::{Ended, NotStarted, Program, Ran};
use crate::sandbox::Author;
use crate::{CallContext, Probed, Tool, ToolOutput};

const COMMAND_TOOL_MS: u64 = 30_000;

/// A tool exits so when it did not do its work, and may be able to later (`EX_UNAVAILABLE`).
const EXIT_UNAVAILABLE: i32 = 69;
/// A tool exits so when it cannot tell whether it did its work (`EX_TEMPFAIL`).
const EXIT_UNKNOWN: i32 = 75;

/// The rules of such a tool, before the task changes them: the careful ones, for a
/// program of which nothing is known.
pub(crate) fn command_spec(name: ToolName, command: &CommandTool) -> ToolSpec {
    ToolSpec {
        name,
        description: command.description.clone(),
        schema: command.schema.clone(),
        touch: Touch::Exec,
        repeat: Repeat::Never,
        consent: Consent::Ask,
        probes: command.probe.is_some(),
        timeout_ms: COMMAND_TOOL_MS,
        effect: None,
        needs: None,
        given: false,
        invocation: Default::default(),
        undo: None,
    }
}

/// The tool.
pub(crate) struct CommandCall {
    spec: ToolSpec,
    command: CommandTool,
}

impl CommandCall {
    pub(crate) fn new(spec: ToolSpec, command: &CommandTool) -> Self {
        Self { spec, command: command.clone() }
    }

    async fn start(&self, argv: &[String], args: &Value, ctx: &CallContext) -> Result<Ran, NotStarted> {
        let mut variables = vec![
            ("BOWLINE_KEY".to_owned(), ctx.key.to_string()),
            ("BOWLINE_RUN".to_owned(), ctx.run.to_string()),
            ("BOWLINE_ACTION".to_owned(), ctx.action.to_string()),
            ("BOWLINE_EPOCH".to_owned(), ctx.epoch.to_string()),
            ("BOWLINE_ATTEMPT".to_owned(), ctx.attempt.to_string()),
        ];
        for name in &self.command.secrets {
            let value = ctx.secrets.value(name).ok_or_else(|| format!("the agent has no secret {name}"))?;
            variables.push((name.clone(), value.to_owned()));
        }
        let mut args = args.clone();
        args.sort_all_objects();
        let input = args.to_string().into_bytes();
        let program = Program {
            argv,
            author: Author::Task,
            folder: ctx.workspace.root(),
            sandbox: &ctx.sandbox,
            is_own_tool: true,
            variables,
            input,
            limit: ctx.timeout,
        };
        program.run().await
    }
}

#[async_trait]
impl Tool for CommandCall {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let ran = match self.start(&self.command.argv, &args, ctx).await {
            Ok(ran) => ran,
            Err(why) => return why.into(),
        };
        let text = ran.transcript(ctx.timeout);
        match ran.ended {
            Ended::Exited(0) => ToolOutput::ok(ran.answer()),
            Ended::Exited(EXIT_UNAVAILABLE) => ToolOutput::trouble(text, None),
            Ended::Killed(_) | Ended::Exited(EXIT_UNKNOWN) => {
                ToolOutput { how: Returned::Unknown, text, spent: None }
            }
            Ended::Exited(_) => ToolOutput::error(text),
            Ended::TimedOut | Ended::Lost => ToolOutput::timed_out(self.spec.repeat, text),
        }
    }

    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        let Some(probe) = &self.command.probe else { return Probed::Unknown };
        match self.start(probe, &args, ctx).await {
            Ok(Ran { ended: Ended::Exited(0), output, .. }) => Probed::Happened(output),
            Ok(Ran { ended: Ended::Exited(1), .. }) => Probed::DidNotHappen,
            Ok(_) | Err(_) => Probed::Unknown,
        }
    }
}
