//! `write_file`, and what all writing tools share: the image decides.
//!
//! With a journalled image a write is idempotent: the file has the content after
//! already (done), has the content before (write), or was changed by somebody
//! else meanwhile (an error, and the file stays as it is).

use async_trait::async_trait;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::tool::{FileImage, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{given_back, in_words, typed};
use crate::workspace::{Current, FILE_BYTES_MAX, MissingParents, TempName};
use crate::{CallContext, PreparedWrite, Tool, ToolOutput, Workspace, background};

pub(crate) const DESCRIPTION: &str = "Write a file of the workspace: make it, or replace all of its content. Missing \
folders are made. To change a part of a file, use edit_file.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
            "content": {"type": "string", "description": "The whole new content of the file."}
        },
        "required": ["path", "content"],
        "additionalProperties": false
    })
}

pub(crate) struct WriteFile {
    spec: ToolSpec,
}

impl WriteFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let args: Args = typed(args.clone())?;
        prepare(ctx, args.path.clone(), move |_| Ok(args.content.into_bytes())).await.map(Some)
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let args: Args = match typed(args) {
            Ok(args) => args,
            Err(problem) => return ToolOutput::error(problem),
        };
        write(ctx, &self.spec, args.path.clone(), move |_| Ok(args.content.into_bytes())).await
    }
}

/// What is there and what would be there, changing nothing.
pub(super) async fn prepare(
    ctx: &CallContext,
    path: String,
    change: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String> + Send + 'static,
) -> Result<PreparedWrite, String> {
    let workspace = ctx.workspace.clone();
    let work = move |_: &background::StopFlag| {
        let path = workspace.resolve(&path).map_err(in_words)?;
        let place = workspace.place(&path, MissingParents::Leave).map_err(in_words)?;
        let (before, new_folder) = match place {
            Some(place) => (place.current().map_err(in_words)?.map(|current| current.bytes), None),
            None => (None, workspace.first_missing_folder(&path).map_err(in_words)?),
        };
        let after = within_cap(change(before.as_deref())?)?;
        Ok(PreparedWrite { path: path.as_str().to_owned(), before, after, new_folder, departure: None })
    };
    background::run(ctx.timeout, work).await.map_err(|not_done| not_done.message(ctx.timeout))?
}

/// Makes the change, unless the image says it is made or cannot be.
pub(super) async fn write(
    ctx: &CallContext,
    spec: &ToolSpec,
    path: String,
    change: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String> + Send + 'static,
) -> ToolOutput {
    let (workspace, image) = (ctx.workspace.clone(), ctx.image.clone());
    let temp = TempName::for_call(&ctx.key, ctx.attempt);
    let work = move |_: &background::StopFlag| apply(&workspace, image.as_ref(), &temp, &path, change);
    given_back(background::run(ctx.timeout, work).await, spec, ctx)
}

fn apply(
    workspace: &Workspace,
    image: Option<&FileImage>,
    temp: &TempName,
    path: &str,
    change: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String>,
) -> Result<String, String> {
    let path = workspace.resolve(path).map_err(in_words)?;
    let name = path.as_str();
    if image.is_some_and(|image| image.path != name) {
        return Err(format!("{name} is not the file this call was prepared for"));
    }
    // Nothing is made, not even a folder, before it is clear that the write will be.
    let place = workspace.place(&path, MissingParents::Leave).map_err(in_words)?;
    let current = match &place {
        Some(place) => place.current().map_err(in_words)?,
        None => None,
    };
    if let Some(image) = image {
        match standing(image, current.as_ref()) {
            Standing::Before => {}
            Standing::After => return Ok(format!("{name} has this content: the write was already applied")),
            Standing::Neither => {
                return Err(format!(
                    "{name} was changed meanwhile by somebody else and was left alone; read it again"
                ));
            }
        }
    }
    let before = current.as_ref().map(|current| current.bytes.as_slice());
    let after = within_cap(change(before)?)?;
    if image.is_some_and(|image| image.after != Digest::of(&after)) {
        return Err(format!("the change of {name} is not the one this call was prepared for"));
    }
    let place = match place {
        Some(place) => place,
        None => workspace
            .place(&path, MissingParents::Create)
            .map_err(in_words)?
            .ok_or_else(|| format!("the folder of {name} is gone"))?,
    };
    place.replace(&after, temp).map_err(in_words)?;
    let verb = if before.is_some() { "changed" } else { "made" };
    Ok(format!("{verb} {name}, {} bytes", after.len()))
}

enum Standing {
    Before,
    After,
    Neither,
}

fn standing(image: &FileImage, current: Option<&Current>) -> Standing {
    let now = current.map(Current::digest);
    if now == Some(image.after) {
        Standing::After
    } else if now == image.before.as_ref().map(Payload::digest) {
        Standing::Before
    } else {
        Standing::Neither
    }
}

fn within_cap(after: Vec<u8>) -> Result<Vec<u8>, String> {
    if after.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("the file would have {} bytes; the most is {FILE_BYTES_MAX}", after.len()));
    }
    Ok(after)
}
