//! Plans and what becomes of them, in words.

use super::{finding_line, first_line};
use crate::event::{Event, SubtaskFailure, WayOn};
use crate::id::SubtaskId;
use crate::plan::Plan;

/// One line about a plan as it begins.
pub(super) fn made_line(plan: &Plan, pruned: &[SubtaskId]) -> String {
    let count = match plan.subtasks().len() {
        1 => "one sub-task".to_owned(),
        several => format!("{several} sub-tasks"),
    };
    let names: Vec<&str> = pruned.iter().map(SubtaskId::as_str).collect();
    let without = if names.is_empty() {
        String::new()
    } else {
        format!(", without {} to fit the budget", names.join(", "))
    };
    format!("planned: {count}{without}")
}

/// One line about a plan that is carried out, chosen in, fallen back from or changed.
pub(super) fn line(event: &Event) -> String {
    if let Event::BranchChosen { choice, holds, branch } = event {
        let word = if *holds { "holds" } else { "does not hold" };
        let then = branch.map_or("nothing is done".into(), |branch| format!("takes branch {}", branch + 1));
        return format!("{choice}: its condition {word}, {then}");
    }
    if let Event::SubtaskFailed { subtask, why, then } = event {
        let then = match then {
            WayOn::FallsBack { choice, from, to } => {
                format!("{choice} falls back from branch {} to branch {}", from + 1, to + 1)
            }
            WayOn::PlansAnew => "another way is planned".into(),
        };
        return format!("{subtask} failed ({}): {then}", subtask_failure(why));
    }
    if let Event::SubtaskDropped { subtask } = event {
        return format!("{subtask} closed: it is not wanted any more");
    }
    let Event::Replanned { instead_of, plan, .. } = event else { return String::new() };
    format!("planned anew in the place of {instead_of}: {} nodes now", plan.size())
}

/// Why a sub-task failed, in words.
pub(crate) fn subtask_failure(why: &SubtaskFailure) -> String {
    match why {
        SubtaskFailure::GaveUp { message } => format!("gave up: {}", first_line(message)),
        SubtaskFailure::ModelRefused { message } => format!("the model refused: {}", first_line(message)),
        SubtaskFailure::Truncated { in_a_row } => format!("{in_a_row} replies in a row were cut off"),
        SubtaskFailure::Looping(why) => format!("going in circles: {}", finding_line(why)),
    }
}
