//! Decomposing: the plan becomes units of work in an order that can be done.
//!
//! Contract out: [`Event::Decomposed`]. A [`crate::plan::Plan`] is ordered by
//! construction, so there is nothing left to refuse here.

use super::decide::Draft;
use crate::event::{CONTRACT, Event};

pub(super) fn proceed(draft: &mut Draft) -> bool {
    let Some(plan) = &draft.run.plan else { return false };
    let order = plan.subtasks().iter().map(|subtask| subtask.id.clone()).collect();
    draft.push(Event::Decomposed { contract: CONTRACT, order });
    true
}
