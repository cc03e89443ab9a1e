//! The tools that look at and change files, and what they share.

pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod glob;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod relocate;
pub(crate) mod search;
pub(crate) mod write;

use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::tool::{Repeat, ToolSpec};
use bowline_core::untrusted::escape_line;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::background::NotDone;
use crate::workspace::PathError;
use crate::{CallContext, ToolOutput};

/// Arguments as a tool reads them. They fit the schema already when they come
/// through the registry; a caller without one gets the same answer in words.
pub(crate) fn typed<T: DeserializeOwned>(args: Value) -> Result<T, String> {
    serde_json::from_value(args).map_err(|error| format!("the arguments cannot be used: {error}"))
}

/// From what file work came to, to what the tool gives back.
fn given_back(
    done: Result<Result<String, String>, NotDone>,
    spec: &ToolSpec,
    ctx: &CallContext,
) -> ToolOutput {
    match done {
        Ok(Ok(text)) => ToolOutput::ok(text),
        Ok(Err(text)) => ToolOutput::error(text),
        Err(NotDone::TimedOut) => ToolOutput::timed_out(spec.repeat, NotDone::TimedOut.message(ctx.timeout)),
        Err(NotDone::Broke) => {
            let how = match spec.repeat {
                Repeat::Freely | Repeat::WithSameKey => Returned::Known(Outcome::Error),
                Repeat::Never => Returned::Unknown,
            };
            ToolOutput { how, text: NotDone::Broke.message(ctx.timeout), spent: None }
        }
    }
}

/// The first bytes tell: text has no NUL.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// Paths are of the model's making, and people read them too.
pub(crate) fn in_words(error: PathError) -> String {
    escape_line(&error.to_string())
}
