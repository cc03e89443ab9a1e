//! Where bringing a run's changes home stands.

use serde::{Deserialize, Serialize};

use crate::event::{Changes, LandOutcome};
use crate::id::ActionId;

/// The step of a run that is not a call of a model: bringing its changes home.
pub const LANDING: ActionId = ActionId { step: 0, index: 0 };

/// What a run that works apart changed, and whether the folder has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landing {
    /// The changes, once they were looked for.
    pub changes: Option<Changes>,
    /// They shall be brought home, and that is not over.
    pub wanted: bool,
    /// What came of the last attempt.
    pub outcome: Option<LandOutcome>,
}

impl Landing {
    /// Nothing was ever done about it.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}
