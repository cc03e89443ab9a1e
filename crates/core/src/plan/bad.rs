//! Why nodes are no plan.

use super::{AFTER_MAX, BRANCHES_MAX, DEPTH_MAX, LIST_MAX, NODES_MAX, WHENS_MAX};
use crate::id::SubtaskId;

/// Most problems that are told at once.
pub(super) const PROBLEMS_MAX: usize = 100;

/// Most names in one message.
const NAMES_MAX: usize = 12;

/// Why nodes are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// Nothing to do.
    #[error("a plan needs at least one sub-task")]
    Empty,
    /// Over the cap.
    #[error("a plan of {count} sub-tasks is over the cap of {NODES_MAX}")]
    TooMany {
        /// How many there were.
        count: usize,
    },
    /// Choices within choices within choices.
    #[error("choice {id} is nested deeper than {DEPTH_MAX} choices")]
    TooDeep {
        /// The first that is too deep.
        id: SubtaskId,
    },
    /// Conditions within conditions.
    #[error("choice {id} is the {}th condition within conditions; {WHENS_MAX} may be nested", WHENS_MAX + 1)]
    TooConditional {
        /// The first that is too deep.
        id: SubtaskId,
    },
    /// A choice between nothing, or between too much.
    #[error("choice {id} has {count} branches; it may have 1 to {}", if *.conditional { 2 } else { BRANCHES_MAX })]
    Branches {
        /// The choice.
        id: SubtaskId,
        /// How many it has.
        count: usize,
        /// Whether it asks a condition.
        conditional: bool,
    },
    /// A branch in which nothing is done.
    #[error("branch {branch} of choice {id} is empty")]
    EmptyBranch {
        /// The choice.
        id: SubtaskId,
        /// The place of the branch, from 0.
        branch: usize,
    },
    /// Too many entries of one list of a node.
    #[error(
        "`{list}` of {id} has {count} entries; it may have {}",
        if *.list == "after" { AFTER_MAX } else { LIST_MAX }
    )]
    LongList {
        /// The node.
        id: SubtaskId,
        /// Which list.
        list: &'static str,
        /// How many there were.
        count: usize,
    },
    /// A place that is no JSON pointer.
    #[error("{at:?} of choice {id} is no JSON pointer: write \"\" or \"/name/0\", with ~ as ~0 and / as ~1")]
    BadPointer {
        /// The choice.
        id: SubtaskId,
        /// What was given (shortened).
        at: String,
    },
    /// One name, two nodes.
    #[error("two sub-tasks are called {id}")]
    Twice {
        /// The name.
        id: SubtaskId,
    },
    /// A dependency on nothing.
    #[error("sub-task {id} waits for {missing}, which is not in the plan")]
    Dangling {
        /// Who waits.
        id: SubtaskId,
        /// For whom.
        missing: SubtaskId,
    },
    /// A dependency on what may never be done.
    #[error("sub-task {id} waits for {inside}, which is in a branch of {choice}; wait for {choice} instead")]
    IntoBranch {
        /// Who waits.
        id: SubtaskId,
        /// For whom.
        inside: SubtaskId,
        /// The choice it can wait for.
        choice: SubtaskId,
    },
    /// A dependency on the choice it is in itself.
    #[error("sub-task {id} waits for {choice}, which it is part of")]
    Ancestor {
        /// Who waits.
        id: SubtaskId,
        /// For whom.
        choice: SubtaskId,
    },
    /// Sub-tasks that wait for each other.
    #[error("sub-tasks wait for each other: {}", list(.among))]
    Cycle {
        /// Those on or behind the cycle, all of one list of nodes.
        among: Vec<SubtaskId>,
    },
}

impl BadPlan {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Empty => "give it a sub-task, or leave the plan out",
            Self::TooMany { .. } => "join sub-tasks, or make several tasks of it",
            Self::TooDeep { .. } | Self::TooConditional { .. } => "put the choice beside the one it is in",
            Self::Branches { .. } => "add branches or take some out",
            Self::EmptyBranch { .. } => "say what is done in it, or take it out",
            Self::LongList { .. } => "take some out",
            Self::BadPointer { .. } => "write the place as a JSON pointer",
            Self::Twice { .. } => "give one of them another id",
            Self::Dangling { .. } => "name a sub-task of the plan",
            Self::IntoBranch { .. } => "wait for the choice, which is over when the branch it took is",
            Self::Ancestor { .. } => {
                "take it out: what is in a choice waits for whatever the choice waits for"
            }
            Self::Cycle { .. } => "let one of them not wait",
        }
    }

    /// The node at fault, where it is one.
    #[must_use]
    pub fn node(&self) -> Option<&SubtaskId> {
        match self {
            Self::Empty | Self::TooMany { .. } => None,
            Self::TooDeep { id }
            | Self::TooConditional { id }
            | Self::Branches { id, .. }
            | Self::EmptyBranch { id, .. }
            | Self::LongList { id, .. }
            | Self::BadPointer { id, .. }
            | Self::Twice { id }
            | Self::Dangling { id, .. }
            | Self::IntoBranch { id, .. }
            | Self::Ancestor { id, .. } => Some(id),
            Self::Cycle { among } => among.first(),
        }
    }
}

fn list(ids: &[SubtaskId]) -> String {
    let names: Vec<_> = ids.iter().take(NAMES_MAX).map(SubtaskId::as_str).collect();
    let more = ids.len().saturating_sub(NAMES_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    names.join(", ") + &more
}
