//! What the core knows of a tool: what it is called, what it may do to the
//! world, and what may be done when nobody knows whether it happened.
//!
//! The shell owns the implementations; a run carries the [`ToolSpec`]s it was
//! submitted with, so a later build cannot change the rules of a running run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::guard::Effect;
use crate::id::ToolName;
use crate::message::Payload;
use crate::provenance::Digest;
use crate::undo::Undo;

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    /// Looks only; may run beside anything.
    Read,
    /// Changes files of the workspace, and prepares an image to undo it.
    Write,
    /// Runs something whose changes are not known beforehand.
    Exec,
}

/// May this call be made again when we do not know whether it happened?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Twice is as good as once.
    Freely,
    /// The other side removes duplicates by the idempotency key.
    WithSameKey,
    /// Never by itself: probe, or ask a person.
    Never,
}

/// Must a person agree before each call?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// The call waits for a person.
    Ask,
    /// The task says it may go ahead.
    NotNeeded,
}

/// What can be done about a call once it has happened, least to most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Nothing need be: it only looks.
    Pure,
    /// It can be undone.
    Reversible,
    /// It stays, and another call makes up for it.
    Compensable,
    /// Nothing can.
    Irreversible,
}

impl Class {
    /// The word of task files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Reversible => "reversible",
            Self::Compensable => "compensable",
            Self::Irreversible => "irreversible",
        }
    }
}

/// How a tool is called: how often, how many at once, at what price. What is left
/// out has the default of [`ToolSpec`]'s method of that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Invocation {
    /// What can be done about a call once it has happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Attempts at one call that meets passing trouble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Calls of it that may be out at once in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// The most one attempt costs, in micro-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The most the model reads of one output, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

impl Invocation {
    /// Nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What this leaves out, the other says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            class: self.class.or(other.class),
            attempts: self.attempts.or(other.attempts),
            at_once: self.at_once.or(other.at_once),
            cost_micros: self.cost_micros.or(other.cost_micros),
            output_bytes: self.output_bytes.or(other.output_bytes),
        }
    }
}

/// Attempts at a call unless its tool or task says otherwise.
pub const ATTEMPTS: u32 = 3;
/// Most attempts anybody may ask for.
pub const ATTEMPTS_MAX: u32 = 10;
/// Calls of one tool that are out at once unless its tool or task says otherwise.
pub const AT_ONCE: u32 = 8;
/// Most calls of one tool that anybody may want out at once.
pub const AT_ONCE_MAX: u32 = 64;
/// What the model reads of one output unless the tool or task says otherwise.
pub const OUTPUT_BYTES: u64 = 16 * 1024;

/// A tool as a run knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: ToolName,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// What it does to the world.
    pub touch: Touch,
    /// What to do when in doubt.
    pub repeat: Repeat,
    /// Whether a person is asked first.
    pub consent: Consent,
    /// Whether the shell can find out if a call happened.
    #[serde(default)]
    pub probes: bool,
    /// After this long the call is ended.
    pub timeout_ms: u64,
    /// What repeating a call means; `None`: judged by what it touches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// What an agent must be granted to use it; `None`: that the tool is named is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Need>,
    /// What it tells is the workspace's own, which whoever wrote the task vouches for; not
    /// where it can reach hosts. A model is shown it as it is, without a fence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    /// How it is called.
    #[serde(default, skip_serializing_if = "Invocation::is_default")]
    pub invocation: Invocation,
    /// How a call that happened is undone; `None`: by its image, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<Undo>>,
}

impl ToolSpec {
    /// What can be done about a call once it has happened. Undeclared, a look is pure
    /// and a file write reversible, since its image is kept; anything else is
    /// irreversible, unless its author lets it be repeated or says how it is undone.
    #[must_use]
    pub fn class(&self) -> Class {
        self.invocation.class.unwrap_or(match (self.touch, self.repeat) {
            (Touch::Read, _) => Class::Pure,
            (Touch::Write, _) => Class::Reversible,
            (Touch::Exec, _) if self.undo.is_some() => Class::Compensable,
            (Touch::Exec, Repeat::Freely | Repeat::WithSameKey) => Class::Compensable,
            (Touch::Exec, Repeat::Never) => Class::Irreversible,
        })
    }

    /// It gets one attempt, whatever is said about attempts.
    #[must_use]
    pub fn is_tried_once(&self) -> bool {
        self.repeat == Repeat::Never || self.class() == Class::Irreversible
    }

    /// Attempts at one call that meets passing trouble.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        let attempts = self.invocation.attempts.unwrap_or(ATTEMPTS).clamp(1, ATTEMPTS_MAX);
        if self.is_tried_once() { 1 } else { attempts }
    }

    /// Calls of it that may be out at once in a run.
    #[must_use]
    pub fn at_once(&self) -> u32 {
        self.invocation.at_once.unwrap_or(AT_ONCE).clamp(1, AT_ONCE_MAX)
    }

    /// Each attempt asks the run's model, and is paid for like a step.
    #[must_use]
    pub fn asks_model(&self) -> bool {
        self.needs == Some(Need::Inference)
    }

    /// The most one attempt costs, in micro-dollars.
    #[must_use]
    pub fn cost_micros(&self) -> u64 {
        self.invocation.cost_micros.unwrap_or(0)
    }

    /// The most the model reads of one output, in bytes.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.invocation.output_bytes.unwrap_or(OUTPUT_BYTES)
    }
}

/// A capability that a tool uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Need {
    /// Reads the files its `path` names.
    FileRead,
    /// Writes the files its `path`, `from` and `to` name.
    FileWrite,
    /// Runs the program that is first in its `argv`.
    Shell,
    /// Reaches hosts.
    Network,
    /// Reads the file its `file` names, or reaches the host of its `url`.
    Watch,
    /// Asks the run's model a question; tokens and money are set aside for each attempt.
    Inference,
    /// Calls a tool of a server.
    Mcp {
        /// The server.
        server: String,
        /// The tool, as the server names it.
        tool: String,
    },
}

/// How a file looks before and after a call that writes it.
///
/// Made by the shell just before the intent is journalled, so that the bytes to
/// restore are durable before the file changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileImage {
    /// Path below the workspace.
    pub path: String,
    /// Content before; `None` when there was no file.
    pub before: Option<Payload>,
    /// Hash of the content after; the call is done exactly when it is there.
    pub after: Digest,
    /// The topmost folder that the call makes for the file, below the workspace;
    /// `None` when its folder was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_folder: Option<String>,
    /// How the file leaves its place; `None` when it stays there. `after` is then
    /// the hash of what was moved, or of nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Departure>,
}

/// How a file leaves its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Departure {
    /// It is gone.
    Deleted {
        /// The permission bits it had, which come back with it.
        mode: u32,
    },
    /// It is in another place, with the same content. Nothing was there before.
    Moved {
        /// Path below the workspace.
        to: String,
    },
}

impl FileImage {
    /// Where the call leaves something, and the hash of what; no hash where it
    /// leaves nothing.
    #[must_use]
    pub fn result(&self) -> (&str, Option<Digest>) {
        match &self.departure {
            None => (&self.path, Some(self.after)),
            Some(Departure::Deleted { .. }) => (&self.path, None),
            Some(Departure::Moved { to }) => (to, Some(self.after)),
        }
    }

    /// The place a file is moved to.
    #[must_use]
    pub fn moved_to(&self) -> Option<&str> {
        match &self.departure {
            Some(Departure::Moved { to }) => Some(to),
            Some(Departure::Deleted { .. }) | None => None,
        }
    }
}
