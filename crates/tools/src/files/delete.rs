//! `delete_file`: a file is removed, and comes back if the run fails.

use async_trait::async_trait;
use bowline_core::message::Payload;
use bowline_core::tool::{Departure, FileImage, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{given_back, in_words, typed};
use crate::workspace::{Current, MissingParents};
use crate::{CallContext, PreparedWrite, Tool, ToolOutput, Workspace, background};

pub(crate) const DESCRIPTION: &str =
    "Delete a file of the workspace. Folders, links and files of more than 8 MiB are not deleted.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

pub(crate) struct DeleteFile {
    spec: ToolSpec,
}

impl DeleteFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: String,
}

#[async_trait]
impl Tool for DeleteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let Args { path } = typed(args.clone())?;
        let workspace = ctx.workspace.clone();
        let work = move |_: &background::StopFlag| look(&workspace, &path).map(Some);
        background::run(ctx.timeout, work).await.map_err(|not_done| not_done.message(ctx.timeout))?
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let (workspace, image) = (ctx.workspace.clone(), ctx.image.clone());
        let work = move |_: &background::StopFlag| {
            let Args { path } = typed(args)?;
            delete(&workspace, image.as_ref(), &path)
        };
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

fn look(workspace: &Workspace, path: &str) -> Result<PreparedWrite, String> {
    let path = workspace.resolve(path).map_err(in_words)?;
    let place = workspace.place(&path, MissingParents::Leave).map_err(in_words)?;
    let current = match place {
        Some(place) => place.current().map_err(in_words)?,
        None => None,
    };
    let current = current.ok_or_else(|| format!("there is no {} to delete", path.as_str()))?;
    Ok(PreparedWrite {
        path: path.as_str().to_owned(),
        departure: Some(Departure::Deleted { mode: current.permissions() }),
        before: Some(current.bytes),
        after: Vec::new(),
        new_folder: None,
    })
}

fn delete(workspace: &Workspace, image: Option<&FileImage>, path: &str) -> Result<String, String> {
    let path = workspace.resolve(path).map_err(in_words)?;
    let name = path.as_str();
    if image.is_some_and(|image| image.path != name) {
        return Err(format!("{name} is not the file this call was prepared for"));
    }
    let place = workspace.place(&path, MissingParents::Leave).map_err(in_words)?;
    let current = match &place {
        Some(place) => place.current().map_err(in_words)?,
        None => None,
    };
    let (Some(place), Some(current)) = (place, current) else {
        // With an image it was there when the call was prepared.
        return match image {
            Some(_) => Ok(format!("{name} is gone: it was already deleted")),
            None => Err(format!("there is no {name} to delete")),
        };
    };
    let before = image.map(|image| image.before.as_ref().map(Payload::digest));
    if before.is_some_and(|before| before != Some(Current::digest(&current))) {
        return Err(format!(
            "{name} was changed meanwhile by somebody else and was left alone; read it again"
        ));
    }
    place.remove().map_err(in_words)?;
    Ok(format!("deleted {name}, {} bytes", current.bytes.len()))
}
