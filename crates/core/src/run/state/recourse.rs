//! What a run remembers of what it tried beyond repair.

use serde::{Deserialize, Serialize};

use super::{RepairSpend, Run};
use crate::id::SubtaskId;

/// What was tried beyond repair, and from where repairs are counted since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recourses {
    /// The work was planned anew.
    pub redecomposed: bool,
    /// The parts that hold were taken for themselves.
    pub parted: bool,
    /// How often a person was asked about an output that could not be mended.
    pub asked: u32,
    /// What repairs had used before the last of these.
    pub base: RepairBase,
    /// Parts of the plan that the output is without.
    pub missing: Vec<SubtaskId>,
    /// Nodes that a person left out of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<SubtaskId>,
    /// Conversations that were begun for those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<SubtaskId>,
}

/// From where repairs are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairBase {
    /// Rounds.
    pub rounds: u32,
    /// Tokens, money and time.
    pub spend: RepairSpend,
}

impl Run {
    /// Rounds of repair since something beyond it was tried.
    #[must_use]
    pub fn repair_rounds(&self) -> u32 {
        self.spend.repairs.saturating_sub(self.recourse.base.rounds)
    }

    /// What repairs have used since something beyond them was tried.
    #[must_use]
    pub fn mended_for(&self) -> RepairSpend {
        let base = self.recourse.base.spend;
        RepairSpend {
            settled: self.repair_spend.settled.minus(base.settled),
            active_ms: self.repair_spend.active_ms.saturating_sub(base.active_ms),
        }
    }
}
