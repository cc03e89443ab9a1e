//! Doing a plan on facts alone: sub-tasks one after the other as written, every branch
//! of a choice from the same beginning. After a choice holds what holds after each of
//! its branches.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::SubtaskId;
use crate::plan::{Choice, Fact, Node, Plan, Rule, Subtask};

/// Needs that do not hold when their sub-task starts.
pub(super) fn unmet<'p>(plan: &'p Plan, given: &'p BTreeSet<Fact>) -> Vec<(&'p SubtaskId, &'p Fact)> {
    let mut simulation = Simulation { held: given.iter().collect(), changes: Vec::new(), unmet: Vec::new() };
    simulation.list(plan.nodes());
    simulation.unmet
}

struct Simulation<'p> {
    held: BTreeSet<&'p Fact>,
    /// What was changed, and whether it held before, so that a branch can be undone.
    changes: Vec<(&'p Fact, bool)>,
    unmet: Vec<(&'p SubtaskId, &'p Fact)>,
}

impl<'p> Simulation<'p> {
    fn list(&mut self, nodes: &'p [Node]) {
        for node in nodes {
            match node {
                Node::Subtask(subtask) => self.subtask(subtask),
                Node::Choice(choice) => self.choice(choice),
            }
        }
    }

    fn subtask(&mut self, subtask: &'p Subtask) {
        let missing = subtask.needs.iter().filter(|fact| !self.held.contains(fact));
        self.unmet.extend(missing.map(|fact| (&subtask.id, fact)));
        subtask.breaks.iter().for_each(|fact| self.change(fact, false));
        subtask.makes.iter().for_each(|fact| self.change(fact, true));
    }

    fn change(&mut self, fact: &'p Fact, holds: bool) {
        let held = if holds { !self.held.insert(fact) } else { self.held.remove(fact) };
        if held != holds {
            self.changes.push((fact, held));
        }
    }

    fn choice(&mut self, choice: &'p Choice) {
        let mark = self.changes.len();
        let mut ends: Vec<BTreeMap<&'p Fact, bool>> = Vec::new();
        for branch in &choice.branches {
            self.list(&branch.nodes);
            let touched = self.changes.iter().skip(mark);
            ends.push(touched.map(|&(fact, _)| (fact, self.held.contains(fact))).collect());
            for (fact, held) in self.changes.drain(mark..).rev() {
                if held {
                    self.held.insert(fact)
                } else {
                    self.held.remove(fact)
                };
            }
        }
        if matches!(choice.rule, Rule::When(_)) && choice.branches.len() < 2 {
            ends.push(BTreeMap::new());
        }
        let touched: BTreeSet<&'p Fact> = ends.iter().flat_map(|end| end.keys().copied()).collect();
        for fact in touched {
            let before = self.held.contains(fact);
            let holds = ends.iter().all(|end| end.get(fact).copied().unwrap_or(before));
            self.change(fact, holds);
        }
    }
}
