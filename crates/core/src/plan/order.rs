//! Nodes as somebody gave them, judged and put in an order that can be done.
//!
//! Every list of nodes is ordered for itself. A node in a branch may wait for nodes
//! beside the choices it is in, so its wait counts, in the list of what it waits for,
//! as a wait of the choice it is in there; lists that each have an order make a tree
//! that has one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::bad::BadPlan;
use super::node::{Choice, Node, Rule, Subtask, Test};
use super::{AFTER_MAX, BRANCHES_MAX, DEPTH_MAX, LIST_MAX, NODES_MAX, WHENS_MAX};
use crate::id::SubtaskId;

/// The same nodes, dependencies first; those given first come first where they may.
pub(super) fn ordered(nodes: Vec<Node>) -> Result<Vec<Node>, BadPlan> {
    if nodes.is_empty() {
        return Err(BadPlan::Empty);
    }
    let ranks = {
        let mut survey = Survey::default();
        survey.list(&nodes, None, Nesting::default())?;
        if survey.places.len() > NODES_MAX {
            return Err(BadPlan::TooMany { count: survey.places.len() });
        }
        let edges = survey.edges()?;
        survey.ranks(edges)?
    };
    Ok(match ranks {
        Some(ranks) => arranged(nodes, &mut ranks.into_iter()),
        None => nodes,
    })
}

/// How deep a list lies.
#[derive(Clone, Copy, Default)]
struct Nesting {
    choices: usize,
    whens: usize,
}

/// A node and the list it stands in.
struct Place<'n> {
    node: &'n Node,
    list: usize,
}

/// A list of nodes and the choice whose branch it is.
struct List {
    owner: Option<usize>,
    members: Vec<usize>,
}

/// All nodes in the order they were given, each choice before what is in it.
#[derive(Default)]
struct Survey<'n> {
    places: Vec<Place<'n>>,
    lists: Vec<List>,
}

/// Who waits for whom within the lists.
struct Edges {
    open: Vec<u32>,
    next: Vec<Vec<usize>>,
}

impl<'n> Survey<'n> {
    fn list(&mut self, nodes: &'n [Node], owner: Option<usize>, depth: Nesting) -> Result<(), BadPlan> {
        let list = self.lists.len();
        self.lists.push(List { owner, members: Vec::with_capacity(nodes.len()) });
        for node in nodes {
            let number = self.places.len();
            self.places.push(Place { node, list });
            if let Some(list) = self.lists.get_mut(list) {
                list.members.push(number);
            }
            match node {
                Node::Subtask(subtask) => short_lists(subtask)?,
                Node::Choice(choice) => {
                    let depth = admitted(choice, depth)?;
                    for branch in &choice.branches {
                        self.list(&branch.nodes, Some(number), depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn edges(&self) -> Result<Edges, BadPlan> {
        let names = self.names()?;
        let count = self.places.len();
        let mut edges = Edges { open: vec![0; count], next: vec![Vec::new(); count] };
        for (number, place) in self.places.iter().enumerate() {
            for awaited in place.node.waits() {
                let id = || place.node.id().clone();
                let Some(&target) = names.get(awaited) else {
                    return Err(BadPlan::Dangling { id: id(), missing: awaited.clone() });
                };
                let waits = self.stand_in(number, target);
                let Some(waits) = waits else {
                    let choice = self.way_out(number, target).unwrap_or(awaited).clone();
                    return Err(BadPlan::IntoBranch { id: id(), inside: awaited.clone(), choice });
                };
                if waits == target && number != target {
                    return Err(BadPlan::Ancestor { id: id(), choice: awaited.clone() });
                }
                if let (Some(open), Some(next)) = (edges.open.get_mut(waits), edges.next.get_mut(target)) {
                    *open += 1;
                    next.push(waits);
                }
            }
        }
        Ok(edges)
    }

    fn names(&self) -> Result<BTreeMap<&'n SubtaskId, usize>, BadPlan> {
        let mut names = BTreeMap::new();
        for (number, place) in self.places.iter().enumerate() {
            if names.insert(place.node.id(), number).is_some() {
                return Err(BadPlan::Twice { id: place.node.id().clone() });
            }
        }
        Ok(names)
    }

    fn list_of(&self, number: usize) -> Option<usize> {
        self.places.get(number).map(|place| place.list)
    }

    fn owner_of(&self, number: usize) -> Option<usize> {
        self.lists.get(self.list_of(number)?)?.owner
    }

    /// The node, or the choice around it, that stands in the list of the target.
    fn stand_in(&self, number: usize, target: usize) -> Option<usize> {
        let list = self.list_of(target)?;
        std::iter::successors(Some(number), |&inner| self.owner_of(inner))
            .find(|&around| self.list_of(around) == Some(list))
    }

    /// The choice around the target that the node could wait for.
    fn way_out(&self, number: usize, target: usize) -> Option<&'n SubtaskId> {
        std::iter::successors(Some(target), |&inner| self.owner_of(inner))
            .find(|&around| self.stand_in(number, around).is_some_and(|stand_in| stand_in != around))
            .or_else(|| std::iter::successors(Some(target), |&inner| self.owner_of(inner)).last())
            .and_then(|choice| self.places.get(choice))
            .map(|place| place.node.id())
    }

    /// The place of each node in its ordered list; `None` if all lists are ordered.
    fn ranks(&self, mut edges: Edges) -> Result<Option<Vec<usize>>, BadPlan> {
        let mut ranks = vec![0; self.places.len()];
        let mut is_ordered = true;
        for list in &self.lists {
            let order = self.order(list, &mut edges)?;
            is_ordered &= order.is_sorted();
            for (rank, number) in order.into_iter().enumerate() {
                if let Some(slot) = ranks.get_mut(number) {
                    *slot = rank;
                }
            }
        }
        Ok((!is_ordered).then_some(ranks))
    }

    fn order(&self, list: &List, edges: &mut Edges) -> Result<Vec<usize>, BadPlan> {
        let is_free = |number: &usize, open: &[u32]| open.get(*number).is_some_and(|open| *open == 0);
        let mut free: BinaryHeap<Reverse<usize>> =
            list.members.iter().filter(|number| is_free(number, &edges.open)).copied().map(Reverse).collect();
        let mut order = Vec::with_capacity(list.members.len());
        while let Some(Reverse(number)) = free.pop() {
            order.push(number);
            for &waits in edges.next.get(number).into_iter().flatten() {
                let Some(open) = edges.open.get_mut(waits) else { continue };
                *open -= 1;
                if *open == 0 {
                    free.push(Reverse(waits));
                }
            }
        }
        if order.len() < list.members.len() {
            let stuck = list.members.iter().filter(|number| !is_free(number, &edges.open));
            let stuck = stuck.filter_map(|&number| self.places.get(number));
            return Err(BadPlan::Cycle { among: stuck.map(|place| place.node.id().clone()).collect() });
        }
        Ok(order)
    }
}

/// Puts each list in its order. The ranks come in the order of the survey.
fn arranged(nodes: Vec<Node>, ranks: &mut impl Iterator<Item = usize>) -> Vec<Node> {
    let mut ranked: Vec<(usize, Node)> = Vec::with_capacity(nodes.len());
    for mut node in nodes {
        let rank = ranks.next().unwrap_or(usize::MAX);
        if let Node::Choice(choice) = &mut node {
            for branch in &mut choice.branches {
                branch.nodes = arranged(std::mem::take(&mut branch.nodes), ranks);
            }
        }
        ranked.push((rank, node));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, node)| node).collect()
}

fn short_lists(subtask: &Subtask) -> Result<(), BadPlan> {
    let lists = [
        ("after", subtask.after.len(), AFTER_MAX),
        ("uses", subtask.uses.len(), LIST_MAX),
        ("needs", subtask.needs.len(), LIST_MAX),
        ("makes", subtask.makes.len(), LIST_MAX),
        ("breaks", subtask.breaks.len(), LIST_MAX),
    ];
    match lists.into_iter().find(|(_, count, most)| count > most) {
        Some((list, count, _)) => Err(BadPlan::LongList { id: subtask.id.clone(), list, count }),
        None => Ok(()),
    }
}

/// Whether a choice is one for itself, and how deep its branches lie.
fn admitted(choice: &Choice, depth: Nesting) -> Result<Nesting, BadPlan> {
    let id = || choice.id.clone();
    let (is_when, most) = match &choice.rule {
        Rule::FirstThatWorks => (false, BRANCHES_MAX),
        Rule::When(condition) => {
            if let Test::Json { at, .. } = &condition.test
                && !is_pointer(at)
            {
                return Err(BadPlan::BadPointer { id: id(), at: at.chars().take(80).collect() });
            }
            (true, 2)
        }
    };
    let depth = Nesting { choices: depth.choices + 1, whens: depth.whens + usize::from(is_when) };
    if depth.choices > DEPTH_MAX {
        return Err(BadPlan::TooDeep { id: id() });
    }
    if depth.whens > WHENS_MAX {
        return Err(BadPlan::TooConditional { id: id() });
    }
    let count = choice.after.len();
    if count > AFTER_MAX {
        return Err(BadPlan::LongList { id: id(), list: "after", count });
    }
    let count = choice.branches.len();
    if !(1..=most).contains(&count) {
        return Err(BadPlan::Branches { id: id(), count, conditional: is_when });
    }
    match choice.branches.iter().position(|branch| branch.nodes.is_empty()) {
        Some(branch) => Err(BadPlan::EmptyBranch { id: id(), branch }),
        None => Ok(depth),
    }
}

/// RFC 6901: nothing, or parts that each follow a `/`, with `~` only as `~0` or `~1`.
pub(super) fn is_pointer(text: &str) -> bool {
    let is_escaped = |part: &str| part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.is_empty() || (text.starts_with('/') && is_escaped(text))
}
