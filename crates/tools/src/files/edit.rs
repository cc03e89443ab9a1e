//! `edit_file`: one exact piece of text is replaced by another.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{typed, write};
use crate::{CallContext, PreparedWrite, Tool, ToolOutput};

/// Most places named when a text is found more than once.
const PLACES_TOLD: usize = 5;

pub(crate) const DESCRIPTION: &str = "Change a part of a text file of the workspace: `old` is replaced by `new`. \
`old` must be copied exactly from the file, white space included, and must occur once; add lines around it until it \
does, or set `all` to replace every occurrence.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
            "old": {"type": "string", "minLength": 1, "description": "The exact text to replace."},
            "new": {"type": "string", "description": "The text to put in its place."},
            "all": {"type": "boolean", "description": "Replace every occurrence. Default: false."}
        },
        "required": ["path", "old", "new"],
        "additionalProperties": false
    })
}

pub(crate) struct EditFile {
    spec: ToolSpec,
}

impl EditFile {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        let args: Args = typed(args.clone())?;
        write::prepare(ctx, args.path.clone(), move |before| edited(before, &args)).await.map(Some)
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let args: Args = match typed(args) {
            Ok(args) => args,
            Err(problem) => return ToolOutput::error(problem),
        };
        write::write(ctx, &self.spec, args.path.clone(), move |before| edited(before, &args)).await
    }
}

fn edited(before: Option<&[u8]>, args: &Args) -> Result<Vec<u8>, String> {
    let path = &args.path;
    let bytes = before.ok_or_else(|| format!("there is no {path} to edit; make it with write_file"))?;
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{path} is not a text file in UTF-8"))?;
    if args.old.is_empty() {
        return Err("`old` is empty".to_owned());
    }
    if args.old == args.new {
        return Err("`old` and `new` are the same: there is nothing to change".to_owned());
    }
    let places: Vec<usize> = text.match_indices(&args.old).map(|(at, _)| at).collect();
    match (places.len(), args.all) {
        (0, _) => Err(not_found(text, args)),
        (1, _) | (_, true) => Ok(text.replace(&args.old, &args.new).into_bytes()),
        (count, false) => {
            let lines: Vec<_> =
                places.iter().take(PLACES_TOLD).map(|at| line_of(text, *at).to_string()).collect();
            let more = if count > PLACES_TOLD { ", ..." } else { "" };
            Err(format!(
                "`old` occurs {count} times in {path} (lines {}{more}); add lines around it, or set `all`",
                lines.join(", ")
            ))
        }
    }
}

/// Why a text was not found, as far as it can be seen.
fn not_found(text: &str, args: &Args) -> String {
    let path = &args.path;
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&args.old) {
        return format!("`old` is in {path} with other line ends: its lines end in \\r\\n");
    }
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = squeezed(&args.old);
    if !wanted.is_empty() && squeezed(text).contains(&wanted) {
        return format!("`old` is in {path} with other white space; copy it exactly from read_file");
    }
    format!("`old` is not in {path}; read the file and copy the text exactly")
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
