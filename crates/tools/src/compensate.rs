//! The undo of one call: by a program, by another tool, or by the tool itself.
//!
//! What undoes a call may be done twice, so an attempt of which nobody knows how it went
//! is trouble and no doubt. A probe is asked first: what is undone already stays so.

use bowline_core::event::Outcome;
use bowline_core::input::{Compensation, Returned};
use bowline_core::undo::{How, Look, Made, Undo, fill, fill_words};

use crate::program::{Ended, NotStarted, Program, Ran};
use crate::sandbox::Author;
use crate::{CallContext, Registry, ToolOutput};

/// A program exits so when it did not do its work, and may be able to later.
const EXIT_UNAVAILABLE: i32 = 69;
/// A program exits so when it cannot tell whether it did its work.
const EXIT_UNKNOWN: i32 = 75;

/// Undoes a call of a tool. `ctx` has the key of the undo; `secrets` are those the tool's
/// programs get.
pub async fn compensate(
    registry: &Registry,
    (tool, secrets): (&str, &[String]),
    undo: &Undo,
    made: &Made<'_>,
    ctx: &CallContext,
) -> Compensation {
    if is_undone(registry, secrets, undo, made, ctx).await {
        return Compensation::WasAsBefore;
    }
    let args = match undo.args_for(made) {
        Ok(args) => args,
        Err(unfilled) => return Compensation::Impossible(unfilled.to_string()),
    };
    match &undo.how {
        How::Command { argv, .. } => match fill_words(argv, made) {
            Ok(argv) => of_program(run(&argv, secrets, args.to_string(), made, ctx).await, ctx),
            Err(unfilled) => Compensation::Impossible(unfilled.to_string()),
        },
        How::Tool { name, .. } => match registry.examine(name, &args.to_string()) {
            Ok((tool, args)) => of_output(tool.run(args, ctx).await),
            Err(problem) => Compensation::Failed(format!("{problem:?}")),
        },
        How::Own => match registry.get(tool) {
            Some(tool) => of_output(tool.undo(args, ctx).await),
            None => Compensation::Failed(format!("there is no tool {tool} here")),
        },
    }
}

/// Runs a command of the task that is told something on its standard input, of an alert or
/// of what was committed; why it did not work, if it did not.
pub async fn tell(argv: &[String], input: String, ctx: &CallContext) -> Option<String> {
    let program = Program {
        argv,
        author: Author::Task,
        folder: ctx.workspace.root(),
        sandbox: &ctx.sandbox,
        is_own_tool: true,
        variables: variables(ctx),
        input: input.into_bytes(),
        limit: ctx.timeout,
    };
    match program.run().await {
        Ok(Ran { ended: Ended::Exited(0), .. }) => None,
        Ok(ran) => Some(ran.transcript(ctx.timeout)),
        Err(why) => Some(why.message()),
    }
}

async fn is_undone(
    registry: &Registry,
    secrets: &[String],
    undo: &Undo,
    made: &Made<'_>,
    ctx: &CallContext,
) -> bool {
    match &undo.how {
        How::Command { probe: Some(probe), .. } => {
            // What the probe needs may not be known of the call: then it cannot tell.
            let (Ok(argv), Ok(args)) = (fill_words(probe, made), undo.args_for(made)) else { return false };
            let ran = run(&argv, secrets, args.to_string(), made, ctx).await;
            matches!(ran, Ok(Ran { ended: Ended::Exited(0), .. }))
        }
        How::Tool { probe: Some(look), .. } => looks_undone(registry, look, made, ctx).await,
        How::Command { probe: None, .. } | How::Tool { probe: None, .. } | How::Own => false,
    }
}

async fn looks_undone(registry: &Registry, look: &Look, made: &Made<'_>, ctx: &CallContext) -> bool {
    let Ok(args) = fill(&look.args, made) else { return false };
    let Ok((tool, args)) = registry.examine(&look.tool, &args.to_string()) else { return false };
    let output = tool.run(args, ctx).await;
    output.how == Returned::Known(Outcome::Ok) && look.test.holds(&output.text)
}

async fn run(
    argv: &[String],
    secrets: &[String],
    input: String,
    made: &Made<'_>,
    ctx: &CallContext,
) -> Result<Ran, NotStarted> {
    let mut variables = variables(ctx);
    variables.push(("BOWLINE_UNDOES".to_owned(), made.key.to_string()));
    for name in secrets {
        let value = ctx.secrets.value(name).ok_or_else(|| format!("the agent has no secret {name}"))?;
        variables.push((name.clone(), value.to_owned()));
    }
    let program = Program {
        argv,
        author: Author::Task,
        folder: ctx.workspace.root(),
        sandbox: &ctx.sandbox,
        is_own_tool: true,
        variables,
        input: input.into_bytes(),
        limit: ctx.timeout,
    };
    program.run().await
}

fn variables(ctx: &CallContext) -> Vec<(String, String)> {
    vec![
        ("BOWLINE_KEY".to_owned(), ctx.key.to_string()),
        ("BOWLINE_RUN".to_owned(), ctx.run.to_string()),
        ("BOWLINE_ACTION".to_owned(), ctx.action.to_string()),
        ("BOWLINE_EPOCH".to_owned(), ctx.epoch.to_string()),
        ("BOWLINE_ATTEMPT".to_owned(), ctx.attempt.to_string()),
    ]
}

fn of_program(ran: Result<Ran, NotStarted>, ctx: &CallContext) -> Compensation {
    let trouble = |message| Compensation::Trouble { message, retry_after_ms: None };
    let ran = match ran {
        Ok(ran) => ran,
        Err(NotStarted::Passing(message)) => return trouble(message),
        Err(NotStarted::Lasting(message)) => return Compensation::Failed(message),
    };
    match ran.ended {
        Ended::Exited(0) => Compensation::Done,
        Ended::Exited(EXIT_UNAVAILABLE | EXIT_UNKNOWN) | Ended::Killed(_) | Ended::TimedOut | Ended::Lost => {
            trouble(ran.transcript(ctx.timeout))
        }
        Ended::Exited(_) => Compensation::Failed(ran.transcript(ctx.timeout)),
    }
}

fn of_output(output: ToolOutput) -> Compensation {
    let message = output.text;
    match output.how {
        Returned::Known(Outcome::Ok) => Compensation::Done,
        Returned::Known(Outcome::Error | Outcome::Cancelled) => Compensation::Failed(message),
        Returned::Trouble { retry_after_ms } => Compensation::Trouble { message, retry_after_ms },
        Returned::Known(Outcome::TimedOut | Outcome::Unavailable) | Returned::Unknown => {
            Compensation::Trouble { message, retry_after_ms: None }
        }
    }
}

/// The tools that undos of these tools need and that are not among them.
#[must_use]
pub fn missing_tools(registry: &Registry) -> Vec<(String, String)> {
    let specs = registry.specs();
    let needed = specs.iter().filter_map(|spec| Some((spec, spec.undo.as_deref()?)));
    let needed = needed.flat_map(|(spec, undo)| undo.tools().map(move |name| (spec, name)));
    let missing = needed.filter(|(_, name)| registry.get(name).is_none());
    missing.map(|(spec, name)| (spec.name.to_string(), name.to_owned())).collect()
}
