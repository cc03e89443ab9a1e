//! What is said of bringing a run's changes home: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::message::Payload;
use crate::provenance::Digest;

/// What a run changed in the tree it worked on, against how that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// JSON: a list of [`Change`], sorted by path. The contents it names are stored with it.
    pub list: Payload,
    /// How many.
    pub files: u32,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Below the workspace.
    pub path: String,
    /// What was there; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Entry>,
    /// What is there now; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Entry>,
}

impl Change {
    /// The change that takes this one back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A regular file.
    File {
        /// Its bytes.
        content: Payload,
        /// Whether its owner may run it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        to: String,
    },
}

impl Entry {
    /// Enough of it to compare.
    #[must_use]
    pub fn seen(&self) -> Seen {
        match self {
            Self::File { content, executable } => {
                Seen::File { sha256: content.digest(), executable: *executable }
            }
            Self::Link { to } => Seen::Link { to: to.clone() },
        }
    }
}

/// What was seen at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Seen {
    /// Nothing.
    Nothing,
    /// A regular file.
    File {
        /// Hash of its bytes.
        sha256: Digest,
        /// Whether its owner may run it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        to: String,
    },
    /// A folder, something too large, or something that cannot be looked at.
    SomethingElse,
}

impl Seen {
    /// In a word or two.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Nothing => "not there".into(),
            Self::File { sha256, executable } => {
                format!("{}{}", sha256.short(), if *executable { ", executable" } else { "" })
            }
            Self::Link { to } => format!("a link to {to}"),
            Self::SomethingElse => "something else than a file".into(),
        }
    }
}

/// A path that is neither as the run found it nor as it wants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovedOn {
    /// Below the workspace.
    pub path: String,
    /// What the run found.
    pub was: Seen,
    /// What it made of it.
    pub wrote: Seen,
    /// What is there.
    pub now: Seen,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LandOutcome {
    /// Every change is there.
    Landed,
    /// Nothing was changed: these files moved on. At most [`NAMED_MAX`] are named.
    MovedOn(Vec<MovedOn>),
    /// Nothing was changed, for this reason.
    Not(String),
    /// It broke off and could not be taken back whole: trying again goes on with it.
    Torn(String),
}

/// Most files that are named as moved on.
pub const NAMED_MAX: usize = 20;
