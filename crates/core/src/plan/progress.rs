//! Where the work on a plan stands: what may start, what is decided, what is over.
//!
//! A [`Progress`] belongs to the [`Plan`] it was begun with and is told what happens;
//! it never looks at the whole plan again. A completion touches the nodes that wait for
//! it and those it lets begin, so that a whole run touches each node and each wait once.
//! What is told about a node that is unknown, not at work or in a branch that was given
//! up changes nothing: a late answer of an abandoned sub-task is no fault.

mod bits;
mod carry;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::bits::Bits;
use self::standing::{Standing, Standings};
use super::index::{Index, Kind, at};
use super::{Choice, Node, Plan, Subtask};
use crate::id::SubtaskId;

/// Where the work on a plan stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    standings: Standings,
    /// For each node: how many of those it waits for itself are not over.
    waits: Vec<u32>,
    /// The branches that choices have taken.
    taken: BTreeMap<u32, Taken>,
    /// Sub-tasks that may start, by rank.
    ready: Bits,
    /// Choices that wait for somebody to decide them.
    undecided: Bits,
    /// How many nodes outside all branches are not over.
    open: u32,
}

/// The branch a choice has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    branch: u32,
    /// How many nodes of it are not over.
    left: u32,
}

/// What the failure of a sub-task led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A choice around it gave up a branch and took the next.
    FellBack {
        /// The innermost choice that had a branch left.
        choice: SubtaskId,
        /// The branch that was given up.
        from: u32,
        /// The branch that is taken now.
        to: u32,
    },
    /// There is no other way on: the plan cannot be finished.
    Fatal,
    /// Nobody waited for it: it is unknown, not at work, or in a branch that was given up.
    Unwanted,
}

impl Progress {
    /// Nothing is done yet.
    #[must_use]
    pub fn begin(plan: &Plan) -> Self {
        let index = &*plan.index;
        let waits = (0..index.len()).filter_map(|this| index.spot(this)).map(|spot| spot.waits).collect();
        let mut progress = Self {
            standings: Standings::new(index.len()),
            waits,
            taken: BTreeMap::new(),
            ready: Bits::default(),
            undecided: Bits::default(),
            open: 0,
        };
        progress.open = progress.admit(index, index.top());
        progress
    }

    /// The best sub-task that may start: highest priority, then most sub-tasks behind
    /// it, then first in the plan.
    #[must_use]
    pub fn next<'p>(&self, plan: &'p Plan) -> Option<&'p Subtask> {
        match plan.numbered(plan.index.ranked(self.ready.first()?)?)? {
            Node::Subtask(subtask) => Some(subtask),
            Node::Choice(_) => None,
        }
    }

    /// A choice with a condition whose turn has come and whose branch is not chosen yet.
    #[must_use]
    pub fn undecided<'p>(&self, plan: &'p Plan) -> Option<&'p Choice> {
        match plan.numbered(self.undecided.first()?)? {
            Node::Choice(choice) => Some(choice),
            Node::Subtask(_) => None,
        }
    }

    /// Takes this branch of an undecided choice; `None`: nothing is done in it.
    pub fn choose(&mut self, plan: &Plan, choice: &SubtaskId, branch: Option<u32>) {
        let index = &*plan.index;
        let Some(this) = index.number(choice) else { return };
        let Some(Kind::When { branches }) = index.spot(this).map(|spot| spot.kind) else { return };
        if self.standings.get(this) != Standing::Ready || branch.is_some_and(|branch| branch >= branches) {
            return;
        }
        self.undecided.clear(this);
        match branch {
            Some(branch) => self.take(index, this, branch),
            None => self.over(index, this),
        }
    }

    /// A sub-task that might start has started.
    pub fn started(&mut self, plan: &Plan, id: &SubtaskId) {
        let Some((this, rank)) = subtask(plan, id) else { return };
        if self.standings.get(this) == Standing::Ready {
            self.ready.clear(rank);
            self.standings.set(this, Standing::Running);
        }
    }

    /// A sub-task has delivered.
    pub fn finished(&mut self, plan: &Plan, id: &SubtaskId) {
        let Some((this, rank)) = subtask(plan, id) else { return };
        if self.standings.get(this).is_at_work() {
            self.ready.clear(rank);
            self.over(&plan.index, this);
        }
    }

    /// A sub-task has failed for good: the innermost choice that can, tries its next branch.
    pub fn failed(&mut self, plan: &Plan, id: &SubtaskId) -> Failed {
        let Some((this, rank)) = subtask(plan, id) else { return Failed::Unwanted };
        if !self.standings.get(this).is_at_work() {
            return Failed::Unwanted;
        }
        let index = &*plan.index;
        let found = index.around(this).find_map(|(choice, _)| {
            let taken = self.taken.get(&choice)?;
            let Kind::FirstThatWorks { branches } = index.spot(choice)?.kind else { return None };
            let next = taken.branch.checked_add(1).filter(|next| *next < branches)?;
            Some((choice, taken.branch, next))
        });
        let named =
            found.and_then(|(choice, from, to)| Some((choice, plan.numbered(choice)?.id(), from, to)));
        let Some((choice, id, from, to)) = named else {
            self.ready.clear(rank);
            self.standings.set(this, Standing::Failed);
            return Failed::Fatal;
        };
        self.abandon(index, choice, from);
        self.take(index, choice, to);
        Failed::FellBack { choice: id.clone(), from, to }
    }

    /// Whether a node is in a branch that failed or that nobody will take any more: it
    /// must not start, and what it delivers is not wanted.
    #[must_use]
    pub fn abandoned(&self, plan: &Plan, id: &SubtaskId) -> bool {
        let index = &*plan.index;
        let Some(this) = index.number(id) else { return false };
        index.around(this).any(|(choice, branch)| {
            let is_over = self.standings.get(choice) == Standing::Done;
            let is_when = index.spot(choice).is_some_and(|spot| matches!(spot.kind, Kind::When { .. }));
            match self.taken.get(&choice) {
                Some(taken) => branch < taken.branch || (branch > taken.branch && (is_over || is_when)),
                None => is_over,
            }
        })
    }

    /// Whether a node is over.
    #[must_use]
    pub fn is_done(&self, plan: &Plan, id: &SubtaskId) -> bool {
        plan.index.number(id).is_some_and(|this| self.standings.get(this) == Standing::Done)
    }

    /// Whether everything is done.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open == 0
    }

    /// The branch a choice has taken, the last one if there were several. A choice in
    /// which nothing is done has none.
    #[must_use]
    pub fn chosen(&self, plan: &Plan, choice: &SubtaskId) -> Option<u32> {
        self.taken.get(&plan.index.number(choice)?).map(|taken| taken.branch)
    }

    /// The sub-tasks whose outputs stand for a node: itself, or for a choice the last
    /// ones of the branch it has taken. None for a choice that has taken none.
    #[must_use]
    pub fn outputs_of<'p>(&self, plan: &'p Plan, id: &SubtaskId) -> Vec<&'p SubtaskId> {
        let mut found = Vec::new();
        if let Some(this) = plan.index.number(id) {
            self.gather(plan, this, &mut found);
        }
        found
    }

    fn gather<'p>(&self, plan: &'p Plan, this: u32, found: &mut Vec<&'p SubtaskId>) {
        let index = &*plan.index;
        match index.spot(this).map(|spot| spot.kind) {
            Some(Kind::Subtask { .. }) => found.extend(plan.numbered(this).map(Node::id)),
            Some(Kind::FirstThatWorks { .. } | Kind::When { .. }) => {
                let Some(taken) = self.taken.get(&this) else { return };
                let last = index.branch(this, taken.branch).filter(|&inner| index.next(inner).is_empty());
                last.for_each(|inner| self.gather(plan, inner, found));
            }
            None => {}
        }
    }

    /// The turn of these nodes may come now. Says how many they are.
    fn admit(&mut self, index: &Index, nodes: impl Iterator<Item = u32>) -> u32 {
        let mut count = 0;
        for this in nodes {
            count += 1;
            self.standings.set(this, Standing::Waiting);
            if self.waits.get(at(this)).is_some_and(|waits| *waits == 0) {
                self.turn(index, this);
            }
        }
        count
    }

    /// Nothing holds this node back any more.
    fn turn(&mut self, index: &Index, this: u32) {
        #[cfg(test)]
        tests::visit();
        let Some(spot) = index.spot(this) else { return };
        self.standings.set(this, Standing::Ready);
        match spot.kind {
            Kind::Subtask { rank } => self.ready.set(rank),
            Kind::When { .. } => self.undecided.set(this),
            Kind::FirstThatWorks { .. } => self.take(index, this, 0),
        }
    }

    fn take(&mut self, index: &Index, choice: u32, branch: u32) {
        self.standings.set(choice, Standing::Running);
        let left = self.admit(index, index.branch(choice, branch));
        self.taken.insert(choice, Taken { branch, left });
    }

    fn over(&mut self, index: &Index, this: u32) {
        self.standings.set(this, Standing::Done);
        for &next in index.next(this) {
            #[cfg(test)]
            tests::visit();
            let Some(waits) = self.waits.get_mut(at(next)) else { continue };
            *waits = waits.saturating_sub(1);
            if *waits == 0 && self.standings.get(next) == Standing::Waiting {
                self.turn(index, next);
            }
        }
        let Some(parent) = index.spot(this).and_then(|spot| spot.parent) else {
            self.open = self.open.saturating_sub(1);
            return;
        };
        let Some(taken) = self.taken.get_mut(&parent) else { return };
        taken.left = taken.left.saturating_sub(1);
        if taken.left == 0 {
            self.over(index, parent);
        }
    }

    /// Gives up everything in a branch that is not done.
    fn abandon(&mut self, index: &Index, choice: u32, branch: u32) {
        for top in index.branch(choice, branch) {
            let end = index.spot(top).map_or(top, |spot| spot.end);
            for this in top..end {
                if let Some(Kind::Subtask { rank }) = index.spot(this).map(|spot| spot.kind) {
                    self.ready.clear(rank);
                }
                self.undecided.clear(this);
                if self.standings.get(this) != Standing::Done {
                    self.standings.set(this, Standing::Abandoned);
                }
            }
        }
    }
}

fn subtask(plan: &Plan, id: &SubtaskId) -> Option<(u32, u32)> {
    let this = plan.index.number(id)?;
    match plan.index.spot(this)?.kind {
        Kind::Subtask { rank } => Some((this, rank)),
        Kind::FirstThatWorks { .. } | Kind::When { .. } => None,
    }
}
