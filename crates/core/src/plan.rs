//! The plan of a run: sub-tasks and what each must wait for.
//!
//! A [`Plan`] can only be made by [`Plan::new`], which refuses what could never
//! finish; so a plan that exists has an order, and a sub-task that is not done is
//! either ready, running or behind one that is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::SubtaskId;

/// Most sub-tasks in one plan.
pub const SUBTASKS_MAX: usize = 256;

/// One node of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// Its name in the plan.
    pub id: SubtaskId,
    /// What it must achieve.
    pub goal: String,
    /// What must be done before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SubtaskId>,
}

/// Sub-tasks in an order in which they could be done one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Subtask>", into = "Vec<Subtask>")]
pub struct Plan {
    subtasks: Vec<Subtask>,
}

/// Why sub-tasks are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// Nothing to do.
    #[error("a plan needs at least one sub-task")]
    Empty,
    /// Over the cap.
    #[error("a plan of {count} sub-tasks is over the cap of {SUBTASKS_MAX}")]
    TooMany {
        /// How many there were.
        count: usize,
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
    /// Sub-tasks that wait for each other.
    #[error("sub-tasks wait for each other: {}", list(.among))]
    Cycle {
        /// Those on or behind the cycle.
        among: Vec<SubtaskId>,
    },
}

fn list(ids: &[SubtaskId]) -> String {
    ids.iter().map(SubtaskId::as_str).collect::<Vec<_>>().join(", ")
}

impl Plan {
    /// Orders the sub-tasks (those given first come first where they may).
    pub fn new(subtasks: Vec<Subtask>) -> Result<Self, BadPlan> {
        if subtasks.is_empty() {
            return Err(BadPlan::Empty);
        }
        if subtasks.len() > SUBTASKS_MAX {
            return Err(BadPlan::TooMany { count: subtasks.len() });
        }
        let mut names = BTreeSet::new();
        for subtask in &subtasks {
            if !names.insert(&subtask.id) {
                return Err(BadPlan::Twice { id: subtask.id.clone() });
            }
        }
        for subtask in &subtasks {
            if let Some(missing) = subtask.after.iter().find(|id| !names.contains(id)) {
                return Err(BadPlan::Dangling { id: subtask.id.clone(), missing: missing.clone() });
            }
        }
        Ok(Self { subtasks: order(subtasks)? })
    }

    /// The sub-tasks, dependencies first.
    #[must_use]
    pub fn subtasks(&self) -> &[Subtask] {
        &self.subtasks
    }

    /// The sub-task of that name.
    #[must_use]
    pub fn get(&self, id: &SubtaskId) -> Option<&Subtask> {
        self.subtasks.iter().find(|subtask| subtask.id == *id)
    }

    /// The sub-tasks nobody waits for: their outputs are the run's output.
    #[must_use]
    pub fn last(&self) -> Vec<&SubtaskId> {
        let awaited: BTreeSet<_> = self.subtasks.iter().flat_map(|subtask| &subtask.after).collect();
        self.subtasks.iter().map(|subtask| &subtask.id).filter(|id| !awaited.contains(id)).collect()
    }
}

fn order(subtasks: Vec<Subtask>) -> Result<Vec<Subtask>, BadPlan> {
    let mut waiting: BTreeMap<usize, Subtask> = subtasks.into_iter().enumerate().collect();
    let mut done = BTreeSet::new();
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let free = waiting.iter().find(|(_, subtask)| subtask.after.iter().all(|id| done.contains(id)));
        let Some((&place, _)) = free else {
            return Err(BadPlan::Cycle { among: waiting.into_values().map(|subtask| subtask.id).collect() });
        };
        if let Some(subtask) = waiting.remove(&place) {
            done.insert(subtask.id.clone());
            ordered.push(subtask);
        }
    }
    Ok(ordered)
}

impl TryFrom<Vec<Subtask>> for Plan {
    type Error = BadPlan;
    fn try_from(subtasks: Vec<Subtask>) -> Result<Self, BadPlan> {
        Self::new(subtasks)
    }
}

impl From<Plan> for Vec<Subtask> {
    fn from(plan: Plan) -> Self {
        plan.subtasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rows: &[(&str, &[&str])]) -> Result<Vec<String>, String> {
        let id = |raw: &str| SubtaskId::parse(raw).unwrap();
        let subtasks = rows
            .iter()
            .map(|(name, after)| Subtask {
                id: id(name),
                goal: String::new(),
                after: after.iter().map(|raw| id(raw)).collect(),
            })
            .collect();
        Plan::new(subtasks)
            .map(|plan| plan.subtasks().iter().map(|subtask| subtask.id.to_string()).collect())
            .map_err(|bad| bad.to_string())
    }

    #[test]
    fn dependencies_come_first_and_given_order_is_kept() {
        assert_eq!(plan(&[("c", &["a", "b"]), ("b", &[]), ("a", &[])]).unwrap(), ["b", "a", "c"]);
    }

    #[test]
    fn what_could_never_finish_is_refused_with_the_place() {
        assert_eq!(plan(&[]).unwrap_err(), "a plan needs at least one sub-task");
        assert_eq!(plan(&[("a", &[]), ("a", &[])]).unwrap_err(), "two sub-tasks are called a");
        assert_eq!(plan(&[("a", &["z"])]).unwrap_err(), "sub-task a waits for z, which is not in the plan");
        assert_eq!(
            plan(&[("x", &[]), ("a", &["b"]), ("b", &["a"])]).unwrap_err(),
            "sub-tasks wait for each other: a, b"
        );
        assert!(plan(&[("a", &["a"])]).unwrap_err().contains("wait for each other"));
    }

    #[test]
    fn the_last_subtasks_are_those_nobody_waits_for() {
        let id = |raw: &str| SubtaskId::parse(raw).unwrap();
        let node = |raw: &str, after: Vec<SubtaskId>| Subtask { id: id(raw), goal: String::new(), after };
        let plan =
            Plan::new(vec![node("a", vec![]), node("b", vec![id("a")]), node("c", vec![id("a")])]).unwrap();
        assert_eq!(plan.last(), [&id("b"), &id("c")]);
    }
}
