//! Lines about what a run changed: in its files, and how it is applied or undone.

use bowline_core::event::{LandOutcome, MovedOn, Seen};
use bowline_core::id::{ActionId, RunId, ToolName};
use bowline_core::provenance::Digest;
use bowline_core::undo::Undo;
use bowline_core::view;
use serde::Serialize;

/// A file a run changed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Changed<'a> {
    /// Whose work.
    pub run: &'a RunId,
    /// The file.
    pub path: &'a str,
    /// What became of it.
    pub change: ChangeWord,
    /// What was there; `null`: nothing.
    pub before: Option<Seen>,
    /// What is there afterwards; `null`: nothing.
    pub after: Option<Seen>,
    /// The difference, line by line; `null` where a side is no text or is not known any more.
    pub diff: Option<String>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeWord {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It is another one.
    Edited,
}

impl ChangeWord {
    /// As it is printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Edited => "edited",
        }
    }
}

/// What would be applied.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ApplyPlan<'a> {
    /// Whose changes.
    pub run: &'a RunId,
    /// How many files.
    pub files: usize,
    /// Files that somebody changed meanwhile.
    pub moved: &'a [MovedOn],
}

/// What became of applying.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Applied<'a> {
    /// Whose changes.
    pub run: &'a RunId,
    /// How it went; `null`: interrupted.
    pub outcome: Option<&'a LandOutcome>,
    /// The code the program ends with.
    pub exit: u8,
}

/// A call that would be undone.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct UndoStep<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// Which.
    pub action: ActionId,
    /// Its tool.
    pub tool: &'a ToolName,
    /// How.
    pub undo: UndoWay<'a>,
}

/// How a call is undone.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(untagged)]
pub enum UndoWay<'a> {
    /// What its tool declares is done.
    Call {
        /// What.
        call: &'a Undo,
        /// Whether the call is known to have happened.
        is_known: bool,
    },
    /// Changes that were applied are taken back, all of them or none.
    Landing {
        /// How many files.
        files: u32,
        /// Files that somebody changed since.
        moved: &'a [MovedOn],
    },
    /// Its file is put back.
    File {
        /// The file.
        path: &'a str,
        /// Hash of what was there; `null`: nothing.
        was: Option<Digest>,
        /// Hash of what the call wrote; `null`: it deleted it.
        wrote: Option<Digest>,
        /// What is there now.
        now: Now,
        /// How that stands to the call.
        standing: Standing,
    },
}

/// What is at a place now: `null` for nothing, a hash for a file, or that it is something else.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NowThere"))]
#[serde(untagged)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// A file with this hash.
    File(Digest),
    /// No file.
    Else(SomethingElse),
}

/// The word for what is no file.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SomethingElse {
    /// A folder, a link, a device.
    #[serde(rename = "something else")]
    SomethingElse,
}

/// How a file stands to the call that wrote it.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FileStanding"))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As the call left it.
    AsLeft,
    /// As before the call.
    AsBefore,
    /// Somebody changed it since.
    Changed,
}

/// A call that nothing undoes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NotUndoable<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// Which.
    pub action: ActionId,
    /// Its tool.
    pub tool: &'a ToolName,
    /// Nothing.
    pub undo: (),
}

/// What became of undoing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct UndoneRun<'a> {
    /// Whose calls.
    pub run: &'a RunId,
    /// Each call that was to be undone.
    pub undone: Vec<UndoneCall<'a>>,
    /// Nothing is left to do.
    pub finished: bool,
    /// The code the program ends with.
    pub exit: u8,
}

/// What became of one call.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct UndoneCall<'a> {
    /// Which.
    pub action: ActionId,
    /// How it went.
    pub outcome: &'a view::Undone,
}
