//! The plan by numbers: where each node is, who waits for whom, what is started first.
//!
//! Nodes are numbered as they stand in the ordered plan, each choice before what is in
//! it, so that whatever a node waits for, and whatever its choices wait for, has a
//! smaller number. Made from an ordered plan and never changed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::downstream;
use super::node::{Node, Rule};
use crate::id::SubtaskId;

/// The plan by numbers.
#[derive(Default)]
pub(super) struct Index {
    names: BTreeMap<SubtaskId, u32>,
    spots: Vec<Spot>,
    /// Who waits for each node itself.
    next: Lists,
    /// How many sub-tasks cannot start before each node is over.
    downstream: Vec<u32>,
    /// Sub-tasks in the order they are started when all may start.
    by_rank: Vec<u32>,
}

/// Where a node is.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// The choice it is in.
    pub parent: Option<u32>,
    /// Which branch of it.
    pub branch: u32,
    /// Its place in the list of nodes.
    pub position: u32,
    /// The number after the last node in it.
    pub end: u32,
    /// How many different nodes it waits for itself.
    pub waits: u32,
    /// What it is.
    pub kind: Kind,
    /// Its priority and those of the choices it is in.
    pub priority: i32,
}

/// What a node is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A sub-task.
    Subtask {
        /// Its place among all sub-tasks when all may start.
        rank: u32,
    },
    /// A choice that tries its branches in turn.
    FirstThatWorks {
        /// How many it has.
        branches: u32,
    },
    /// A choice by a condition.
    When {
        /// How many branches it has.
        branches: u32,
    },
}

impl Kind {
    fn of(node: &Node) -> Self {
        match node {
            Node::Subtask(_) => Self::Subtask { rank: 0 },
            Node::Choice(choice) => {
                let branches = number(choice.branches.len());
                match choice.rule {
                    Rule::FirstThatWorks => Self::FirstThatWorks { branches },
                    Rule::When(_) => Self::When { branches },
                }
            }
        }
    }
}

impl Index {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut index = Self::default();
        let mut flat = Vec::new();
        index.list(nodes, (None, 0), 0, &mut flat);
        let waits: Vec<Vec<u32>> = flat.iter().map(|node| index.awaited(node)).collect();
        for (spot, waits) in index.spots.iter_mut().zip(&waits) {
            spot.waits = number(waits.len());
        }
        index.next = Lists::turned(&waits);
        index.downstream = downstream::counts(&index);
        index.rank(&flat);
        index
    }

    fn list<'n>(
        &mut self,
        nodes: &'n [Node],
        (parent, branch): (Option<u32>, u32),
        priority: i32,
        flat: &mut Vec<&'n Node>,
    ) {
        for (position, node) in (0..).zip(nodes) {
            let this = number(self.spots.len());
            let priority = priority.saturating_add(node.priority());
            self.names.insert(node.id().clone(), this);
            self.spots.push(Spot {
                parent,
                branch,
                position,
                end: this + 1,
                waits: 0,
                kind: Kind::of(node),
                priority,
            });
            flat.push(node);
            for (branch, inside) in (0..).zip(node.branches()) {
                self.list(&inside.nodes, (Some(this), branch), priority, flat);
            }
            let end = number(self.spots.len());
            if let Some(spot) = self.spots.get_mut(at(this)) {
                spot.end = end;
            }
        }
    }

    fn awaited(&self, node: &Node) -> Vec<u32> {
        let mut waits: Vec<u32> = node.waits().filter_map(|id| self.number(id)).collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    }

    fn rank(&mut self, flat: &[&Node]) {
        let is_subtask = |node: &Node| matches!(node, Node::Subtask(_));
        let numbers = (0..).zip(flat).filter(|(_, node)| is_subtask(node)).map(|(this, _)| this);
        self.by_rank = numbers.collect();
        let mut by_rank = std::mem::take(&mut self.by_rank);
        by_rank.sort_by_key(|&this| {
            let priority = self.spot(this).map_or(0, |spot| spot.priority);
            (Reverse(priority), Reverse(self.downstream(this)), this)
        });
        for (rank, &this) in (0..).zip(&by_rank) {
            if let Some(spot) = self.spots.get_mut(at(this)) {
                spot.kind = Kind::Subtask { rank };
            }
        }
        self.by_rank = by_rank;
    }

    pub(super) fn len(&self) -> u32 {
        number(self.spots.len())
    }

    pub(super) fn number(&self, id: &SubtaskId) -> Option<u32> {
        self.names.get(id).copied()
    }

    pub(super) fn spot(&self, this: u32) -> Option<&Spot> {
        self.spots.get(at(this))
    }

    pub(super) fn next(&self, this: u32) -> &[u32] {
        self.next.get(this)
    }

    pub(super) fn downstream(&self, this: u32) -> u32 {
        self.downstream.get(at(this)).copied().unwrap_or_default()
    }

    pub(super) fn ranked(&self, rank: u32) -> Option<u32> {
        self.by_rank.get(at(rank)).copied()
    }

    /// The nodes outside all branches.
    pub(super) fn top(&self) -> impl Iterator<Item = u32> {
        self.list_from(0, self.len())
    }

    /// The nodes of a branch.
    pub(super) fn branch(&self, choice: u32, branch: u32) -> impl Iterator<Item = u32> {
        let end = self.spot(choice).map_or(0, |spot| spot.end);
        let of = move |this: &u32| self.spot(*this).map(|spot| spot.branch);
        self.list_from(choice + 1, end)
            .skip_while(move |this| of(this).is_some_and(|found| found < branch))
            .take_while(move |this| of(this) == Some(branch))
    }

    /// From a node to the one beside it, over what is in it.
    fn list_from(&self, first: u32, end: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |&this| self.spot(this).map(|spot| spot.end))
            .take_while(move |this| *this < end)
    }

    /// The choices around a node, innermost first, each with the branch the node is in.
    pub(super) fn around(&self, this: u32) -> impl Iterator<Item = (u32, u32)> {
        let out = |this: u32| self.spot(this).and_then(|spot| Some((spot.parent?, spot.branch)));
        std::iter::successors(out(this), move |&(choice, _)| out(choice))
    }

    /// How many sub-tasks there are.
    pub(super) fn subtasks(&self) -> usize {
        self.by_rank.len()
    }
}

/// Lists of numbers, one for each node, in one piece of memory.
#[derive(Default)]
struct Lists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From whom each waits for to who waits for each.
    fn turned(waits: &[Vec<u32>]) -> Self {
        let mut starts = vec![0_u32; waits.len() + 1];
        for &awaited in waits.iter().flatten() {
            if let Some(count) = starts.get_mut(at(awaited) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut items = vec![0; at(sum)];
        for (this, waits) in (0..).zip(waits) {
            for &awaited in waits {
                let Some(start) = starts.get_mut(at(awaited)) else { continue };
                if let Some(slot) = items.get_mut(at(*start)) {
                    *slot = this;
                }
                *start += 1;
            }
        }
        starts.pop();
        Self { ends: starts, items }
    }

    fn get(&self, this: u32) -> &[u32] {
        let end = |this: u32| self.ends.get(at(this)).copied().unwrap_or_default();
        let start = this.checked_sub(1).map_or(0, end);
        self.items.get(at(start)..at(end(this))).unwrap_or_default()
    }
}

/// A count as a number of the plan, which has far fewer nodes than fit.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A number as a place in a list.
pub(super) fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
