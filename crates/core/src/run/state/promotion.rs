//! Where handing a committed output on stands.

use serde::{Deserialize, Serialize};

use super::UndoAttempt;
use crate::event::PromotionOutcome;
use crate::provenance::Digest;

/// An output that is handed on to whoever keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The same for every attempt.
    pub key: Digest,
    /// The attempt that is out, or when the next one is made.
    pub attempt: Option<UndoAttempt>,
    /// What came of it; `None` while it is under way.
    pub outcome: Option<PromotionOutcome>,
}
