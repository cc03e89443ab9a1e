//! `[planning]`: where the plan of a task comes from.

use serde::{Deserialize, Serialize};

use super::field::Table;
use super::limits::Bound;

/// The keys of `[planning]`.
pub(super) const KEYS: [&str; 2] = ["by", "replans"];

/// How often the model plans anew what failed, where the task does not say.
const REPLANS: u32 = 2;
/// Most often.
const REPLANS_MAX: u64 = 16;

/// Where the plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planning {
    /// Who makes it.
    pub by: Planner,
    /// How often the model plans anew what failed.
    pub replans: u32,
}

/// Who makes a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Planner {
    /// The task brings it, or needs none. The default.
    #[default]
    Task,
    /// The model, when the run begins.
    Model,
}

impl Default for Planning {
    fn default() -> Self {
        Self { by: Planner::default(), replans: REPLANS }
    }
}

impl Planning {
    /// Nothing about it was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads `[planning]` beside the rest of a task.
pub(super) fn read(top: &Table<'_>, table: Option<Table<'_>>) -> Planning {
    let mut planning = Planning::default();
    let Some(table) = table else { return planning };
    let planners = [("task", Planner::Task), ("model", Planner::Model)];
    if let Some(by) = table.get("by").and_then(|field| field.one_of(&planners)) {
        planning.by = by;
    }
    let bound = Bound::count("replans", 0, REPLANS_MAX);
    let replans = table.get("replans").and_then(|field| field.amount(&bound));
    if let Some(replans) = replans.and_then(|count| u32::try_from(count).ok()) {
        planning.replans = replans;
    }
    match (planning.by, top.get("plan"), table.get("replans")) {
        (Planner::Model, Some(plan), _) => {
            plan.wrong(
                "the model is asked for the plan, and here is one",
                "leave out `plan`, or planning.by",
            );
        }
        (Planner::Task, _, Some(replans)) => replans.wrong(
            "only a plan that the model made is made anew by it",
            "leave it out, or write by = \"model\"",
        ),
        (Planner::Model, None, _) | (Planner::Task, _, None) => {}
    }
    planning
}
