//! `move_file`: a file gets another name or folder, and comes back if the run fails.
//!
//! A move is one step of the file system: the file is here or there, never in
//! both places or in none. Nothing is ever replaced by it.

use async_trait::async_trait;
use bowline_core::message::Payload;
use bowline_core::tool::{Departure, FileImage, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{given_back, in_words, typed};
use crate::workspace::{Current, InsidePath, MissingParents, PathError, Place};
use crate::{CallContext, PreparedWrite, Tool, ToolOutput, Workspace, background};

pub(crate) const DESCRIPTION: &str = "Move or rename a file of the workspace. Missing folders are made. Nothing may be \
at the new place. Folders, links and files of more than 8 MiB are not moved.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "from": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
            "to": {"type": "string", "minLength": 1, "description": "Its new path, name included."}
        },
        "required": ["from", "to"],
        "additionalProperties": false
    })
}

pub(crate) struct MoveFile {
    spec: ToolSpec,
}

impl MoveFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    from: String,
    to: String,
}

#[async_trait]
impl Tool for MoveFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let args: Args = typed(args.clone())?;
        let workspace = ctx.workspace.clone();
        let work = move |_: &background::StopFlag| look(&workspace, &args).map(Some);
        background::run(ctx.timeout, work).await.map_err(|not_done| not_done.message(ctx.timeout))?
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let (workspace, image) = (ctx.workspace.clone(), ctx.image.clone());
        let work = move |_: &background::StopFlag| relocate(&workspace, image.as_ref(), &typed(args)?);
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

fn look(workspace: &Workspace, args: &Args) -> Result<PreparedWrite, String> {
    let mut ends = Ends::find(workspace, args)?;
    let source = ends.source.take().ok_or_else(|| format!("there is no {} to move", ends.from.as_str()))?;
    ends.vacant()?;
    let new_folder = workspace.first_missing_folder(&ends.to).map_err(in_words)?;
    Ok(PreparedWrite {
        path: ends.from.as_str().to_owned(),
        before: Some(source.1.bytes.clone()),
        after: source.1.bytes,
        new_folder,
        departure: Some(Departure::Moved { to: ends.to.as_str().to_owned() }),
    })
}

fn relocate(workspace: &Workspace, image: Option<&FileImage>, args: &Args) -> Result<String, String> {
    let mut ends = Ends::find(workspace, args)?;
    let (from, to) = (ends.from.as_str().to_owned(), ends.to.as_str().to_owned());
    if image.is_some_and(|image| image.path != from || image.moved_to() != Some(&to)) {
        return Err(format!("{from} and {to} are not the files this call was prepared for"));
    }
    let Some((place, current)) = ends.source.take() else {
        let there = ends.target.as_ref().map(Current::digest);
        return match image {
            Some(image) if there == Some(image.after) => Ok(format!("{to} is there: it was already moved")),
            Some(_) => Err(format!("{from} was moved or changed meanwhile by somebody else")),
            None => Err(format!("there is no {from} to move")),
        };
    };
    ends.vacant()?;
    let before = image.map(|image| image.before.as_ref().map(Payload::digest));
    if before.is_some_and(|before| before != Some(current.digest())) {
        return Err(format!(
            "{from} was changed meanwhile by somebody else and was left alone; read it again"
        ));
    }
    let target = workspace.place(&ends.to, MissingParents::Create).map_err(in_words)?;
    let target = target.ok_or_else(|| format!("the folder of {to} is gone"))?;
    place.move_to(&target).map_err(in_words)?;
    Ok(format!("moved {from} to {to}"))
}

/// Both ends of a move, as they are now.
struct Ends {
    from: InsidePath,
    to: InsidePath,
    source: Option<(Place, Current)>,
    target: Option<Current>,
}

impl Ends {
    fn find(workspace: &Workspace, args: &Args) -> Result<Self, String> {
        let from = workspace.resolve(&args.from).map_err(in_words)?;
        let to = workspace.resolve(&args.to).map_err(in_words)?;
        if from == to {
            return Err("`from` and `to` are the same file".to_owned());
        }
        let place = |path: &InsidePath| workspace.place(path, MissingParents::Leave).map_err(in_words);
        let source = match place(&from)? {
            Some(place) => place.current().map_err(in_words)?.map(|current| (place, current)),
            None => None,
        };
        let target = match place(&to)? {
            // Whatever it is, it is in the way.
            Some(place) => place.current().map_err(|error| match error {
                PathError::NotAFile { .. } => format!("there is a folder at {} already", to.as_str()),
                other => in_words(other),
            })?,
            None => None,
        };
        Ok(Self { from, to, source, target })
    }

    fn vacant(&self) -> Result<(), String> {
        match self.target {
            None => Ok(()),
            Some(_) => {
                Err(format!("there is a file at {} already; nothing is replaced by a move", self.to.as_str()))
            }
        }
    }
}
