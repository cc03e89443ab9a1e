//! From a task nobody can do directly to a plan, by methods.
//!
//! Of the methods whose circumstances fit, the cheapest that leads to sub-tasks is
//! taken. Where several do, they become the branches of a choice, cheapest first, so
//! that a run can fall back; where one does, its steps take the place of the task, and
//! whoever waits for the task waits for the last of them.
//!
//! Circumstances are judged by what is sure to hold at that place: what holds from the
//! beginning and what steps before have changed; a step that may run at the same time
//! makes what it touches unsure. What is unsure satisfies neither `when` nor `unless`.
//!
//! Whatever comes out is accepted by [`Plan::new`](super::Plan::new). Depth, size and
//! work are capped; where fall-backs would make a plan too large the deepest are left
//! out, and the result says so.

mod effect;
mod expand;
mod name;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;

use super::method::Library;
use super::{AFTER_MAX, DEPTH_MAX, Fact, NODES_MAX, Node};

/// Tasks within tasks, at most.
pub const TASKS_DEPTH_MAX: usize = 64;
/// Methods tried for one plan, those that lead nowhere included.
pub const TRIES_MAX: usize = 200_000;

/// What methods make of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decomposed {
    /// The nodes of a plan.
    pub nodes: Vec<Node>,
    /// Set where the plan would have been too large: choices within so many choices
    /// were not made, and the cheapest method was taken instead.
    pub fallbacks_within: Option<usize>,
}

/// Why methods make no plan of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum NoPlan {
    /// Nobody has a method for it.
    #[error("no method is for {task:?}")]
    Unknown {
        /// The task.
        task: String,
        /// One that has methods and looks much like it.
        nearest: Option<String>,
    },
    /// No method fits.
    #[error("no method of {task:?} fits: {}", misfits(.tried))]
    NothingFits {
        /// The task.
        task: String,
        /// Every method of it, and why not.
        tried: Vec<Misfit>,
    },
    /// Over a cap.
    #[error("{task:?} becomes more than {NODES_MAX} nodes, or takes more than {TRIES_MAX} tries")]
    TooLarge {
        /// The task that was at it.
        task: String,
    },
    /// Too many to wait for.
    #[error("a step of {task:?} would wait for {count} others; {AFTER_MAX} is the most")]
    TooWide {
        /// The task whose step it is.
        task: String,
        /// For how many.
        count: usize,
    },
}

/// A method that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// The method.
    pub method: String,
    /// Why not.
    pub why: Unfit,
}

/// Why a method does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// A fact does not hold for sure.
    #[error("{:?} is not sure to hold", .fact.as_str())]
    Lacks {
        /// The fact.
        fact: Fact,
    },
    /// A fact may hold.
    #[error("{:?} may hold", .fact.as_str())]
    Forbids {
        /// The fact.
        fact: Fact,
    },
    /// A task among its steps has no method that fits.
    #[error("step {step}: {why}")]
    Step {
        /// The step.
        step: String,
        /// Why not.
        why: Box<NoPlan>,
    },
    /// It asks for the task it is for, with nothing changed.
    #[error("it leads back to {task:?} with nothing changed")]
    LeadsBack {
        /// The task.
        task: String,
    },
    /// Too many tasks within tasks.
    #[error("it goes deeper than {TASKS_DEPTH_MAX} tasks within tasks")]
    TooDeep,
}

impl NoPlan {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unknown { nearest: Some(near), .. } => format!("did you mean {near:?}?"),
            Self::Unknown { task, nearest: None } => format!("add a method with task = {task:?}"),
            Self::NothingFits { task, .. } => {
                format!("add a method of {task:?} that always fits, or give the facts it needs")
            }
            Self::TooLarge { .. } => "let methods do more in one sub-task".into(),
            Self::TooWide { .. } => "end the task that is waited for with one sub-task".into(),
        }
    }

    /// With one reason instead of all, for a reason within a reason.
    fn brief(mut self) -> Self {
        if let Self::NothingFits { tried, .. } = &mut self {
            tried.truncate(1);
        }
        self
    }

    /// Whether another method might do better.
    fn is_local(&self) -> bool {
        match self {
            Self::Unknown { .. } | Self::NothingFits { .. } => true,
            Self::TooLarge { .. } | Self::TooWide { .. } => false,
        }
    }
}

fn misfits(tried: &[Misfit]) -> String {
    tried.iter().map(|it| format!("{:?} because {}", it.method, it.why)).collect::<Vec<_>>().join("; ")
}

/// Makes a plan of a task, given what holds from the beginning.
pub fn decompose(library: &Library, start: &str, given: &BTreeSet<Fact>) -> Result<Decomposed, NoPlan> {
    let mut within = DEPTH_MAX;
    loop {
        match expand::expand(library, start, given, within) {
            Ok(nodes) => {
                let fallbacks_within = (within < DEPTH_MAX).then_some(within);
                return Ok(Decomposed { nodes, fallbacks_within });
            }
            Err(NoPlan::TooLarge { .. }) if within > 0 => within /= 4,
            Err(no) => return Err(no),
        }
    }
}
