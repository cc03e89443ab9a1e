//! The built-in tools: their names, their rules, and how they are made.

mod edit;
mod list;
mod read;
mod search;
mod write;

use std::sync::Arc;

use bowline_core::event::Outcome;
use bowline_core::id::ToolName;
use bowline_core::input::Returned;
use bowline_core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline_core::untrusted::escape_line;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::background::NotDone;
use crate::program::RunCommand;
use crate::workspace::PathError;
use crate::{CallContext, Tool, ToolOutput};

const FILE_TOOL_MS: u64 = 120_000;
const COMMAND_MS: u64 = 30_000;

/// The tools that come with Bowline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    ReadFile,
    WriteFile,
    EditFile,
    ListFiles,
    SearchFiles,
    RunCommand,
}

impl BuiltIn {
    const ALL: [Self; 6] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::ListFiles,
        Self::SearchFiles,
        Self::RunCommand,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::ListFiles => "list_files",
            Self::SearchFiles => "search_files",
            Self::RunCommand => "run_command",
        }
    }

    pub(crate) fn names() -> Vec<&'static str> {
        Self::ALL.into_iter().map(Self::name).collect()
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|built_in| built_in.name() == name)
    }

    /// Its own rules, before a task changes them.
    pub(crate) fn spec(self, name: ToolName) -> ToolSpec {
        let (description, schema, touch) = match self {
            Self::ReadFile => (read::DESCRIPTION, read::schema(), Touch::Read),
            Self::WriteFile => (write::DESCRIPTION, write::schema(), Touch::Write),
            Self::EditFile => (edit::DESCRIPTION, edit::schema(), Touch::Write),
            Self::ListFiles => (list::DESCRIPTION, list::schema(), Touch::Read),
            Self::SearchFiles => (search::DESCRIPTION, search::schema(), Touch::Read),
            Self::RunCommand => (RunCommand::DESCRIPTION, RunCommand::schema(), Touch::Exec),
        };
        let (repeat, consent, timeout_ms) = match touch {
            Touch::Read | Touch::Write => (Repeat::Freely, Consent::NotNeeded, FILE_TOOL_MS),
            Touch::Exec => (Repeat::Never, Consent::Ask, COMMAND_MS),
        };
        let description = description.to_owned();
        ToolSpec {
            name,
            description,
            schema,
            touch,
            repeat,
            consent,
            probes: false,
            timeout_ms,
            effect: None,
            invocation: Default::default(),
        }
    }

    /// The tool, under these rules.
    pub(crate) fn tool(self, spec: ToolSpec) -> Arc<dyn Tool> {
        match self {
            Self::ReadFile => Arc::new(read::ReadFile::new(spec)),
            Self::WriteFile => Arc::new(write::WriteFile::new(spec)),
            Self::EditFile => Arc::new(edit::EditFile::new(spec)),
            Self::ListFiles => Arc::new(list::ListFiles::new(spec)),
            Self::SearchFiles => Arc::new(search::SearchFiles::new(spec)),
            Self::RunCommand => Arc::new(RunCommand::new(spec)),
        }
    }
}

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
            ToolOutput { how, text: NotDone::Broke.message(ctx.timeout) }
        }
    }
}

/// The first bytes tell: text has no NUL.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// Paths are of the model's making, and people read them too.
fn in_words(error: PathError) -> String {
    escape_line(&error.to_string())
}
