//! What a run knows of having been brought back from a backup.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{ActionId, Millis};

/// A run that may have gone on elsewhere since a backup of it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// When the backup was made.
    pub made_at: Millis,
    /// Whether a person took the run up here.
    pub taken_up: bool,
    /// Calls of which somebody said since whether they happened.
    pub settled: BTreeSet<ActionId>,
}
