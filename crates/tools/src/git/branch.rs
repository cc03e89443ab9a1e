//! `git_branch`: makes a branch. Nothing is checked out.
//!
//! Undone, the branch does not exist, provided that it is where the call left it and
//! nobody works on it.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Made, NotDone, Repository, find, in_time};
use crate::files::typed;
use crate::{CallContext, Probed, Tool, ToolOutput};

pub(crate) const DESCRIPTION: &str = "Make a branch in the repository of the workspace. Nothing is checked out and no \
file changes: use git_commit with `branch` to put something on it.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What the branch is called."},
            "from": {"type": "string", "minLength": 1, "maxLength": 200,
                "description": "The branch or commit it begins at. Default: what is checked out."}
        },
        "required": ["name"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
struct Args {
    name: String,
    from: Option<String>,
}

/// The tool.
pub(crate) struct GitBranch {
    spec: ToolSpec,
}

impl GitBranch {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for GitBranch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        match typed::<Args>(args) {
            Ok(args) => in_time(ctx, self.spec.repeat, make(&args, ctx)).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }

    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        match typed::<Made<Args>>(args) {
            Ok(made) => in_time(ctx, self.spec.repeat, take_back(&made, ctx)).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }

    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        let Ok(args) = typed::<Args>(args) else { return Probed::Unknown };
        let looked = async {
            let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
            find::branch(&repository, &reference(&args.name), &ctx.key.to_string()).await
        };
        match tokio::time::timeout(ctx.timeout, looked).await {
            Ok(Ok(Some(commit))) => Probed::Happened(told(&args.name, &commit)),
            Ok(Ok(None)) => Probed::DidNotHappen,
            Ok(Err(_)) | Err(_) => Probed::Unknown,
        }
    }
}

fn reference(name: &str) -> String {
    format!("refs/heads/{name}")
}

fn told(name: &str, commit: &str) -> String {
    json!({ "branch": name, "commit": commit }).to_string()
}

async fn make(args: &Args, ctx: &CallContext) -> Result<String, NotDone> {
    let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
    let (name, key) = (reference(&args.name), ctx.key.to_string());
    if !repository.ask(&["check-ref-format", "--branch", &args.name]).await?.is_yes {
        return Err(NotDone::refused(
            format!("{:?} is no name for a branch", args.name),
            "use letters, digits, - and /",
        ));
    }
    if let Some(there) = repository.commit_at(&name).await? {
        return match find::branch(&repository, &name, &key).await? {
            // An earlier attempt of this call made it.
            Some(commit) => Ok(told(&args.name, &commit)),
            None => Err(NotDone::refused(
                format!("there is a branch {} already, at {there}", args.name),
                "choose another name",
            )),
        };
    }
    let from = args.from.as_deref().unwrap_or("HEAD");
    let commit = repository.commit_at(from).await?.ok_or_else(|| {
        NotDone::refused(
            format!("{from:?} is no branch or commit"),
            "name one that is there, or commit first",
        )
    })?;
    repository.move_ref(&name, (None, Some(&commit)), &find::begun(&key)).await?;
    Ok(told(&args.name, &commit))
}

async fn take_back(made: &Made<Args>, ctx: &CallContext) -> Result<String, NotDone> {
    let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
    let (short, name) = (&made.args.name, reference(&made.args.name));
    let Some(there) = repository.commit_at(&name).await? else {
        return Ok(format!("there is no branch {short}"));
    };
    let known = made.result.as_ref().and_then(|result| Some(result.get("commit")?.as_str()?.to_owned()));
    let left = match find::branch(&repository, &name, &made.key).await? {
        Some(commit) => commit,
        // Its log of moves may be switched off or gone; whoever made it told where.
        None => match known {
            Some(commit) => commit,
            None => return Ok(format!("the branch {short} is not the run's")),
        },
    };
    if there != left {
        return Err(NotDone::refused(
            format!("the branch {short} was left at {left} and is at {there} now, so it stays"),
            "delete it yourself once nobody needs what is on it, or move it back and undo again",
        ));
    }
    if repository.checked_out().await? == name {
        return Err(NotDone::refused(
            format!("the branch {short} is checked out, so it stays"),
            "check another one out and undo again",
        ));
    }
    repository.move_ref(&name, (Some(&left), None), "bowline: taken back").await?;
    Ok(format!("the branch {short} is gone"))
}
