//! How long a plan takes at least, what it hangs on, and how much room it leaves.
//!
//! Durations are estimates of the plan, or [`Estimates`] where it makes none. A choice
//! takes as long as its longest branch. What is counted rather than timed (orders,
//! things at once) follows one course through the plan, which each field names.
//! Nothing here changes a plan.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::flat::Flat;
use super::flexibility::{Flexibility, flexibility};
use super::graph::{Graph, at, set};
use super::width::{Width, width};
use super::{Plan, Subtask};
use crate::id::SubtaskId;

/// What a sub-task is taken to need where the plan does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimates {
    /// Seconds.
    pub seconds: u64,
    /// Tokens.
    pub tokens: u64,
}

impl Default for Estimates {
    /// A minute and eight thousand tokens: a few short replies.
    fn default() -> Self {
        Self { seconds: 60, tokens: 8000 }
    }
}

impl Estimates {
    /// How long a sub-task takes.
    #[must_use]
    pub fn seconds_of(&self, subtask: &Subtask) -> u64 {
        subtask.seconds.unwrap_or(self.seconds)
    }

    /// What a sub-task uses up.
    #[must_use]
    pub fn tokens_of(&self, subtask: &Subtask) -> u64 {
        subtask.tokens.unwrap_or(self.tokens)
    }
}

/// A plan, measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// The least time the whole plan takes, however much is done at once.
    pub critical_seconds: u64,
    /// The sub-tasks of which each delay delays the whole: the first such path.
    pub critical_path: Vec<SubtaskId>,
    /// Every sub-task, as written.
    pub subtasks: Vec<Measured>,
    /// The orders in which it could be done when every choice takes its first branch.
    pub flexibility: Flexibility,
    /// How many sub-tasks may run at once when every choice takes its widest branch.
    pub width: Width,
}

/// One sub-task, measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Which.
    pub id: SubtaskId,
    /// How long it takes.
    pub seconds: u64,
    /// When it starts at the earliest, in seconds from the beginning.
    pub starts: u64,
    /// By how many seconds it may start later without delaying the whole.
    pub slack: u64,
    /// How many sub-tasks come after it, at once or later.
    pub downstream: u32,
}

/// Measures a plan.
#[must_use]
pub fn measure(plan: &Plan, estimates: &Estimates) -> Measure {
    let flat = Flat::new(plan);
    let schedule = Schedule::new(&flat, estimates);
    let row = |(vertex, subtask): (usize, &Subtask)| Measured {
        id: subtask.id.clone(),
        seconds: at(&schedule.seconds, vertex),
        starts: at(&schedule.starts, vertex),
        slack: schedule.slack(vertex),
        downstream: plan.downstream(&subtask.id),
    };
    let (course, counted) = flat.course(|_| 0);
    Measure {
        critical_seconds: schedule.total,
        critical_path: schedule.path(&flat).into_iter().cloned().collect(),
        subtasks: flat.subtasks().map(row).collect(),
        flexibility: flexibility(&course, &counted),
        width: width(&flat),
    }
}

/// Earliest and latest starts of every vertex.
pub(crate) struct Schedule {
    pub(crate) seconds: Vec<u64>,
    pub(crate) starts: Vec<u64>,
    latest: Vec<u64>,
    pub(crate) total: u64,
}

impl Schedule {
    pub(crate) fn new(flat: &Flat<'_>, estimates: &Estimates) -> Self {
        Self::of_graph(flat, Self::seconds(flat, estimates))
    }

    /// How long every vertex takes.
    pub(crate) fn seconds(flat: &Flat<'_>, estimates: &Estimates) -> Vec<u64> {
        let mut seconds = vec![0; flat.owner.len()];
        for (vertex, subtask) in flat.subtasks() {
            set(&mut seconds, vertex, estimates.seconds_of(subtask));
        }
        seconds
    }

    /// With other durations than the estimates.
    pub(crate) fn of_graph(flat: &Flat<'_>, seconds: Vec<u64>) -> Self {
        Self::of(&flat.graph, &flat.order, seconds)
    }

    fn of(graph: &Graph, order: &[usize], seconds: Vec<u64>) -> Self {
        let mut starts = vec![0; graph.len()];
        let ends = |starts: &[u64], vertex: usize| at(starts, vertex).saturating_add(at(&seconds, vertex));
        let mut total = 0;
        for &vertex in order {
            let start = graph.before(vertex).iter().map(|&first| ends(&starts, first)).max();
            set(&mut starts, vertex, start.unwrap_or(0));
            total = total.max(ends(&starts, vertex));
        }
        let mut latest = vec![0; graph.len()];
        for &vertex in order.iter().rev() {
            let end = graph.after(vertex).iter().map(|&next| at(&latest, next)).min();
            let start = end.unwrap_or(total).saturating_sub(at(&seconds, vertex));
            set(&mut latest, vertex, start);
        }
        Self { seconds, starts, latest, total }
    }

    /// When a vertex is over at the earliest.
    pub(crate) fn end(&self, vertex: usize) -> u64 {
        at(&self.starts, vertex).saturating_add(at(&self.seconds, vertex))
    }

    /// By how much a vertex may start later without delaying the whole.
    pub(crate) fn slack(&self, vertex: usize) -> u64 {
        at(&self.latest, vertex).saturating_sub(at(&self.starts, vertex))
    }

    /// The sub-tasks of one longest path, first to last.
    pub(crate) fn path<'a>(&self, flat: &Flat<'a>) -> Vec<&'a SubtaskId> {
        let is_last = |vertex: &usize| self.end(*vertex) == self.total;
        let mut vertex = (0..flat.graph.len()).find(is_last);
        let mut path = Vec::new();
        while let Some(here) = vertex {
            path.extend(flat.owner_of(here).filter(|entry| entry.start == entry.end));
            let start = at(&self.starts, here);
            vertex = flat.graph.before(here).iter().copied().filter(|&first| self.end(first) == start).min();
        }
        path.into_iter().rev().map(|entry| entry.node.id()).collect()
    }
}
