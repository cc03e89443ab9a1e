//! What a run waits for.

use serde::Serialize;

use crate::event::{Doubt, Subject};
use crate::id::{ActionId, Millis, ToolName};
use crate::provenance::Digest;

/// What only a person can move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It was brought back from a backup: somebody must take it up here.
    Restored {
        /// When the backup was made.
        made_at: Millis,
    },
    /// Somebody paused it.
    Paused,
    /// A question is open.
    Approval {
        /// About what.
        subject: Subject,
        /// Hash of what is asked about.
        binds: Digest,
        /// Until when.
        expires_at: Millis,
    },
    /// A call is in doubt.
    InDoubt {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// The attempt nobody knows about.
        attempt: u32,
        /// How it came to this.
        why: Doubt,
    },
}
