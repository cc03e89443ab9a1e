//! What is said of a journal that was brought back from a backup: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use crate::id::Millis;

/// A journal that may have gone on elsewhere. Whoever does not know these words must not go on
/// with it, so they are events of their own, which an earlier build refuses to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromBackup {
    /// It was brought back. Nothing of it is started until a person takes it up here.
    Restored {
        /// Who brought it back.
        by: String,
        /// When the backup was made: what was done since, elsewhere, is not known.
        made_at: Millis,
    },
    /// A person takes it up here. A call that must not be made twice is in doubt before it is
    /// made, since it may have been made elsewhere.
    TakenUp {
        /// Who.
        by: String,
    },
}
