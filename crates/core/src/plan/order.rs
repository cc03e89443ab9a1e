//! Nodes as somebody gave them, judged and put in an order that can be done.
//!
//! Every list of nodes is ordered for itself. A node in a branch may wait for nodes
//! beside the choices it is in, so its wait counts, in the list of what it waits for,
//! as a wait of the choice it is in there; lists that each have an order make a tree
//! that has one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::bad::{BadPlan, PROBLEMS_MAX};
use super::node::{Choice, Node, Rule, Subtask, Test};
use super::{AFTER_MAX, BRANCHES_MAX, DEPTH_MAX, LIST_MAX, NODES_MAX, WHENS_MAX};
use crate::id::SubtaskId;

/// The same nodes, dependencies first; those given first come first where they may.
/// Else all that is wrong with them, up to a cap.
pub(super) fn ordered(nodes: Vec<Node>) -> Result<Vec<Node>, Vec<BadPlan>> {
    if nodes.is_empty() {
        return Err(vec![BadPlan::Empty]);
    }
    let mut survey = Survey::default();
    survey.list(&nodes, None, Nesting::default());
    if survey.places.len() > NODES_MAX {
        return Err(vec![BadPlan::TooMany { count: survey.places.len() }]);
    }
    let edges = survey.edges();
    let ranks = survey.ranks(edges);
    if !survey.problems.is_empty() {
        return Err(survey.problems);
    }
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

impl Nesting {
    fn inside(self, choice: &Choice) -> Self {
        let is_when = matches!(choice.rule, Rule::When(_));
        Self { choices: self.choices + 1, whens: self.whens + usize::from(is_when) }
    }
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
    problems: Vec<BadPlan>,
}

/// Who waits for whom within the lists.
struct Edges {
    open: Vec<u32>,
    next: Vec<Vec<usize>>,
}

impl<'n> Survey<'n> {
    fn list(&mut self, nodes: &'n [Node], owner: Option<usize>, depth: Nesting) {
        let list = self.lists.len();
        self.lists.push(List { owner, members: Vec::with_capacity(nodes.len()) });
        for node in nodes {
            let number = self.places.len();
            self.places.push(Place { node, list });
            if let Some(list) = self.lists.get_mut(list) {
                list.members.push(number);
            }
            match node {
                Node::Subtask(subtask) => self.note(long_lists(subtask)),
                Node::Choice(choice) => {
                    let depth = depth.inside(choice);
                    self.note(misshapen(choice, depth));
                    // Nobody looks further into what is too deep.
                    for branch in choice.branches.iter().filter(|_| depth.choices <= DEPTH_MAX) {
                        self.list(&branch.nodes, Some(number), depth);
                    }
                }
            }
        }
    }

    fn note(&mut self, bad: impl IntoIterator<Item = BadPlan>) {
        let room = PROBLEMS_MAX.saturating_sub(self.problems.len());
        self.problems.extend(bad.into_iter().take(room));
    }

    fn edges(&mut self) -> Edges {
        let names = self.names();
        let mut problems = Vec::new();
        let count = self.places.len();
        let mut edges = Edges { open: vec![0; count], next: vec![Vec::new(); count] };
        for (number, place) in self.places.iter().enumerate() {
            for awaited in place.node.waits() {
                let (waits, target) = match self.edge(number, awaited, &names) {
                    Ok(edge) => edge,
                    Err(bad) => {
                        problems.push(bad);
                        continue;
                    }
                };
                if let (Some(open), Some(next)) = (edges.open.get_mut(waits), edges.next.get_mut(target)) {
                    *open += 1;
                    next.push(waits);
                }
            }
        }
        self.note(problems);
        edges
    }

    /// Who waits for whom in the list of the one that is awaited.
    fn edge(
        &self,
        number: usize,
        awaited: &SubtaskId,
        names: &BTreeMap<&'n SubtaskId, usize>,
    ) -> Result<(usize, usize), BadPlan> {
        let id = || self.places.get(number).map_or(awaited, |place| place.node.id()).clone();
        let Some(&target) = names.get(awaited) else {
            return Err(BadPlan::Dangling { id: id(), missing: awaited.clone() });
        };
        let Some(waits) = self.stand_in(number, target) else {
            let choice = self.way_out(number, target).unwrap_or(awaited).clone();
            return Err(BadPlan::IntoBranch { id: id(), inside: awaited.clone(), choice });
        };
        if waits == target && number != target {
            return Err(BadPlan::Ancestor { id: id(), choice: awaited.clone() });
        }
        Ok((waits, target))
    }

    fn names(&mut self) -> BTreeMap<&'n SubtaskId, usize> {
        let mut names = BTreeMap::new();
        let mut twice = Vec::new();
        for (number, place) in self.places.iter().enumerate() {
            if names.insert(place.node.id(), number).is_some() {
                twice.push(BadPlan::Twice { id: place.node.id().clone() });
            }
        }
        self.note(twice);
        names
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
    fn ranks(&mut self, mut edges: Edges) -> Option<Vec<usize>> {
        let mut ranks = vec![0; self.places.len()];
        let mut is_ordered = true;
        let mut cycles = Vec::new();
        for list in &self.lists {
            let order = order(list, &mut edges);
            if order.len() < list.members.len() {
                cycles.push(self.cycle(list, &edges));
            }
            is_ordered &= order.is_sorted();
            for (rank, number) in order.into_iter().enumerate() {
                if let Some(slot) = ranks.get_mut(number) {
                    *slot = rank;
                }
            }
        }
        self.note(cycles);
        (!is_ordered).then_some(ranks)
    }

    fn cycle(&self, list: &List, edges: &Edges) -> BadPlan {
        let stuck = list.members.iter().filter(|number| !edges.is_free(**number));
        let stuck = stuck.filter_map(|&number| self.places.get(number));
        BadPlan::Cycle { among: stuck.map(|place| place.node.id().clone()).collect() }
    }
}

impl Edges {
    fn is_free(&self, number: usize) -> bool {
        self.open.get(number).is_some_and(|open| *open == 0)
    }
}

/// The members of a list, dependencies first; fewer than it has if some wait for each other.
fn order(list: &List, edges: &mut Edges) -> Vec<usize> {
    let free = list.members.iter().copied().filter(|number| edges.is_free(*number));
    let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
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
    order
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

fn long_lists(subtask: &Subtask) -> impl Iterator<Item = BadPlan> {
    let lists = [
        ("after", subtask.after.len(), AFTER_MAX),
        ("uses", subtask.uses.len(), LIST_MAX),
        ("needs", subtask.needs.len(), LIST_MAX),
        ("makes", subtask.makes.len(), LIST_MAX),
        ("breaks", subtask.breaks.len(), LIST_MAX),
    ];
    let long = lists.into_iter().filter(|(_, count, most)| count > most);
    long.map(|(list, count, _)| BadPlan::LongList { id: subtask.id.clone(), list, count })
}

/// What is wrong with a choice that lies so deep, looked at alone.
fn misshapen(choice: &Choice, depth: Nesting) -> Vec<BadPlan> {
    let id = || choice.id.clone();
    let mut bad = Vec::new();
    let (conditional, most) = match &choice.rule {
        Rule::FirstThatWorks => (false, BRANCHES_MAX),
        Rule::When(condition) => {
            if let Test::Json { at, .. } = &condition.test
                && !is_pointer(at)
            {
                bad.push(BadPlan::BadPointer { id: id(), at: at.chars().take(80).collect() });
            }
            (true, 2)
        }
    };
    if depth.choices > DEPTH_MAX {
        bad.push(BadPlan::TooDeep { id: id() });
    }
    if depth.whens > WHENS_MAX {
        bad.push(BadPlan::TooConditional { id: id() });
    }
    let count = choice.after.len();
    if count > AFTER_MAX {
        bad.push(BadPlan::LongList { id: id(), list: "after", count });
    }
    let count = choice.branches.len();
    if !(1..=most).contains(&count) {
        bad.push(BadPlan::Branches { id: id(), count, conditional });
    }
    let empty = (0..).zip(&choice.branches).filter(|(_, branch)| branch.nodes.is_empty());
    bad.extend(empty.map(|(branch, _)| BadPlan::EmptyBranch { id: id(), branch }));
    bad
}

/// RFC 6901: nothing, or parts that each follow a `/`, with `~` only as `~0` or `~1`.
pub(super) fn is_pointer(text: &str) -> bool {
    let is_escaped = |part: &str| part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.is_empty() || (text.starts_with('/') && is_escaped(text))
}
