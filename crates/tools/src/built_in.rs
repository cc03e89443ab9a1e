//! The tools that come with Bowline: their names, their rules, how they are made.
//!
//! What a tool does is in its own module; here stands what it may do to the world
//! and what may be done when nobody knows whether it did.

use std::sync::Arc;

use bowline_core::guard::Effect;
use bowline_core::id::ToolName;
use bowline_core::tool::{Consent, Need, Repeat, ToolSpec, Touch};
use bowline_core::undo::Undo;
use serde_json::Value;

use crate::Tool;
use crate::ask::{ASK_MS, AskModel};
use crate::files::{delete, edit, glob, list, patch, read, relocate, search, write};
use crate::git;
use crate::note::Note;
use crate::pause::{PAUSE_MS, Wait, WaitFor};
use crate::program::RunCommand;
use crate::web::{self, Fetch, HttpRequest};

const FILE_TOOL_MS: u64 = 120_000;
const COMMAND_MS: u64 = 30_000;
const HTTP_MS: u64 = 30_000;

/// The tools that come with Bowline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    ReadFile,
    WriteFile,
    EditFile,
    PatchFile,
    DeleteFile,
    MoveFile,
    ListFiles,
    GlobFiles,
    SearchFiles,
    GitBranch,
    GitCommit,
    RunCommand,
    Fetch,
    HttpRequest,
    Note,
    Wait,
    WaitFor,
    AskModel,
}

/// What a tool is told about, takes, and does to the world.
type About = (&'static str, Value, Touch);

impl BuiltIn {
    const ALL: [Self; 18] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::PatchFile,
        Self::DeleteFile,
        Self::MoveFile,
        Self::ListFiles,
        Self::GlobFiles,
        Self::SearchFiles,
        Self::GitBranch,
        Self::GitCommit,
        Self::RunCommand,
        Self::Fetch,
        Self::HttpRequest,
        Self::Note,
        Self::Wait,
        Self::WaitFor,
        Self::AskModel,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::PatchFile => "patch_file",
            Self::DeleteFile => "delete_file",
            Self::MoveFile => "move_file",
            Self::ListFiles => "list_files",
            Self::GlobFiles => "glob_files",
            Self::SearchFiles => "search_files",
            Self::GitBranch => "git_branch",
            Self::GitCommit => "git_commit",
            Self::RunCommand => "run_command",
            Self::Fetch => "fetch",
            Self::HttpRequest => "http_request",
            Self::Note => "note",
            Self::Wait => "wait",
            Self::WaitFor => "wait_for",
            Self::AskModel => "ask_model",
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
        let (description, schema, touch) = self.about();
        let undo = self.undo();
        let (repeat, consent) = match touch {
            Touch::Read | Touch::Write => (Repeat::Freely, Consent::NotNeeded),
            // It finds by its key what an earlier attempt made, and takes it back.
            Touch::Exec if undo.is_some() => (Repeat::WithSameKey, Consent::NotNeeded),
            Touch::Exec => (Repeat::Never, Consent::Ask),
        };
        ToolSpec {
            name,
            description: description.to_owned(),
            schema,
            touch,
            repeat,
            consent,
            probes: undo.is_some(),
            timeout_ms: self.timeout_ms(),
            effect: self.effect(),
            needs: self.need(),
            given: self.is_about_the_workspace(),
            invocation: Default::default(),
            undo,
        }
    }

    /// How a call of it is undone, where it leaves no image of a file.
    fn undo(self) -> Option<Box<Undo>> {
        matches!(self, Self::GitBranch | Self::GitCommit).then(|| Box::new(git::undo()))
    }

    /// What it tells is of the workspace, or our own words.
    fn is_about_the_workspace(self) -> bool {
        match self {
            Self::ReadFile
            | Self::WriteFile
            | Self::EditFile
            | Self::PatchFile
            | Self::DeleteFile
            | Self::MoveFile
            | Self::ListFiles
            | Self::GlobFiles
            | Self::SearchFiles
            | Self::GitBranch
            | Self::GitCommit
            | Self::RunCommand
            | Self::Note
            | Self::Wait => true,
            Self::Fetch | Self::HttpRequest | Self::WaitFor | Self::AskModel => false,
        }
    }

    /// What an agent must be granted to use it.
    fn need(self) -> Option<Need> {
        match self {
            Self::ReadFile | Self::ListFiles | Self::GlobFiles | Self::SearchFiles => Some(Need::FileRead),
            Self::WriteFile
            | Self::EditFile
            | Self::PatchFile
            | Self::DeleteFile
            | Self::MoveFile
            | Self::GitBranch
            | Self::GitCommit => Some(Need::FileWrite),
            Self::RunCommand => Some(Need::Shell),
            Self::Fetch | Self::HttpRequest => Some(Need::Network),
            Self::WaitFor => Some(Need::Watch),
            Self::AskModel => Some(Need::Inference),
            Self::Note | Self::Wait => None,
        }
    }

    fn about(self) -> About {
        match self {
            Self::ReadFile => (read::DESCRIPTION, read::schema(), Touch::Read),
            Self::WriteFile => (write::DESCRIPTION, write::schema(), Touch::Write),
            Self::EditFile => (edit::DESCRIPTION, edit::schema(), Touch::Write),
            Self::PatchFile => (patch::DESCRIPTION, patch::schema(), Touch::Write),
            Self::DeleteFile => (delete::DESCRIPTION, delete::schema(), Touch::Write),
            Self::MoveFile => (relocate::DESCRIPTION, relocate::schema(), Touch::Write),
            Self::ListFiles => (list::DESCRIPTION, list::schema(), Touch::Read),
            Self::GlobFiles => (glob::DESCRIPTION, glob::schema(), Touch::Read),
            Self::SearchFiles => (search::DESCRIPTION, search::schema(), Touch::Read),
            Self::GitBranch => (git::branch::DESCRIPTION, git::branch::schema(), Touch::Exec),
            Self::GitCommit => (git::commit::DESCRIPTION, git::commit::schema(), Touch::Exec),
            Self::RunCommand => (RunCommand::DESCRIPTION, RunCommand::schema(), Touch::Exec),
            Self::Fetch => (web::FETCH, web::fetch_schema(), Touch::Read),
            Self::HttpRequest => (web::REQUEST, web::request_schema(), Touch::Exec),
            Self::Note => (Note::DESCRIPTION, Note::schema(), Touch::Read),
            Self::Wait => (Wait::DESCRIPTION, Wait::schema(), Touch::Read),
            Self::WaitFor => (WaitFor::DESCRIPTION, WaitFor::schema(), Touch::Read),
            Self::AskModel => (AskModel::DESCRIPTION, AskModel::schema(), Touch::Read),
        }
    }

    fn timeout_ms(self) -> u64 {
        match self {
            Self::ReadFile
            | Self::WriteFile
            | Self::EditFile
            | Self::PatchFile
            | Self::DeleteFile
            | Self::MoveFile
            | Self::ListFiles
            | Self::GlobFiles
            | Self::SearchFiles
            | Self::Note => FILE_TOOL_MS,
            Self::GitBranch | Self::GitCommit => git::GIT_MS,
            Self::RunCommand => COMMAND_MS,
            Self::Fetch | Self::HttpRequest => HTTP_MS,
            Self::Wait | Self::WaitFor => PAUSE_MS,
            Self::AskModel => ASK_MS,
        }
    }

    /// What repeating a call means, where that does not follow from what it touches.
    fn effect(self) -> Option<Effect> {
        match self {
            Self::Wait | Self::WaitFor => Some(Effect::Poll),
            Self::HttpRequest => Some(Effect::Exec),
            Self::ReadFile
            | Self::WriteFile
            | Self::EditFile
            | Self::PatchFile
            | Self::DeleteFile
            | Self::MoveFile
            | Self::ListFiles
            | Self::GlobFiles
            | Self::SearchFiles
            | Self::GitBranch
            | Self::GitCommit
            | Self::RunCommand
            | Self::Fetch
            | Self::Note
            | Self::AskModel => None,
        }
    }

    /// The tool, under these rules.
    pub(crate) fn tool(self, spec: ToolSpec) -> Arc<dyn Tool> {
        match self {
            Self::ReadFile => Arc::new(read::ReadFile::new(spec)),
            Self::WriteFile => Arc::new(write::WriteFile::new(spec)),
            Self::EditFile => Arc::new(edit::EditFile::new(spec)),
            Self::PatchFile => Arc::new(patch::PatchFile::new(spec)),
            Self::DeleteFile => Arc::new(delete::DeleteFile::new(spec)),
            Self::MoveFile => Arc::new(relocate::MoveFile::new(spec)),
            Self::ListFiles => Arc::new(list::ListFiles::new(spec)),
            Self::GlobFiles => Arc::new(glob::GlobFiles::new(spec)),
            Self::SearchFiles => Arc::new(search::SearchFiles::new(spec)),
            Self::GitBranch => Arc::new(git::branch::GitBranch::new(spec)),
            Self::GitCommit => Arc::new(git::commit::GitCommit::new(spec)),
            Self::RunCommand => Arc::new(RunCommand::new(spec)),
            Self::Fetch => Arc::new(Fetch::new(spec)),
            Self::HttpRequest => Arc::new(HttpRequest::new(spec)),
            Self::Note => Arc::new(Note::new(spec)),
            Self::Wait => Arc::new(Wait::new(spec)),
            Self::WaitFor => Arc::new(WaitFor::new(spec)),
            Self::AskModel => Arc::new(AskModel::new(spec)),
        }
    }
}
