//! `patch_file`: a unified diff is applied to one file, all of it or nothing.

mod unified;

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{typed, write};
use crate::{CallContext, PreparedWrite, Tool, ToolOutput};

pub(crate) const DESCRIPTION: &str = "Change a text file of the workspace by a unified diff (@@ -1,3 +1,4 @@ and lines \
that begin with a space, - or +). Context and removed lines must be exactly those of the file; a hunk whose line numbers \
are off is found by its lines if they stand in one place only. All hunks are applied, or none. A file that does not \
exist is made by a diff that only adds.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
            "patch": {"type": "string", "minLength": 1, "description": "The unified diff, of this file alone."}
        },
        "required": ["path", "patch"],
        "additionalProperties": false
    })
}

pub(crate) struct PatchFile {
    spec: ToolSpec,
}

impl PatchFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: String,
    patch: String,
}

#[async_trait]
impl Tool for PatchFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let args: Args = typed(args.clone())?;
        write::prepare(ctx, args.path.clone(), move |before| patched(before, &args)).await.map(Some)
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let args: Args = match typed(args) {
            Ok(args) => args,
            Err(problem) => return ToolOutput::error(problem),
        };
        write::write(ctx, &self.spec, args.path.clone(), move |before| patched(before, &args)).await
    }
}

fn patched(before: Option<&[u8]>, args: &Args) -> Result<Vec<u8>, String> {
    let path = &args.path;
    let hunks = unified::parse(&args.patch)?;
    let text = match before {
        Some(bytes) => {
            std::str::from_utf8(bytes).map_err(|_| format!("{path} is not a text file in UTF-8"))?
        }
        None if hunks.iter().all(unified::Hunk::only_adds) => "",
        None => return Err(format!("there is no {path} to patch; make it with write_file")),
    };
    let after = unified::apply(text, &hunks).map_err(|misfit| format!("{path}: {misfit}"))?;
    if before.is_some() && after == text {
        return Err("the patch changes nothing".to_owned());
    }
    Ok(after.into_bytes())
}
