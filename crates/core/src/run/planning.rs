//! Planning: takes the plan of the task, or makes the plan of one sub-task.
//!
//! Contract out: [`Event::Planned`]. A task without a plan pays no model call.

use super::decide::Draft;
use crate::event::{CONTRACT, Event};
use crate::id::SubtaskId;
use crate::plan::{Plan, Subtask};
use crate::provenance::Digest;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let given = draft.run.task.plan.clone();
    let Some(plan) = given.or_else(|| whole(&draft.run.task.goal)) else { return false };
    let json = serde_json::to_vec(&plan).unwrap_or_default();
    draft.push(Event::Planned { contract: CONTRACT, plan, sha256: Digest::of(&json) });
    true
}

/// The plan of a task that wants none.
fn whole(goal: &str) -> Option<Plan> {
    let id = SubtaskId::parse("main").ok()?;
    Plan::new(vec![Subtask::new(id, goal).into()]).ok()
}
