//! A plan as one graph: every sub-task a vertex, every choice a beginning and an end.
//!
//! Whatever is in a branch comes between the two; so the longest way through the
//! graph goes through the longest branch of each choice. Vertices are numbered as the
//! plan is written. Built once, never changed.

use std::collections::BTreeMap;

use super::graph::{Graph, at};
use super::{Node, Plan, Subtask};
use crate::id::SubtaskId;

/// A plan, flattened.
pub(crate) struct Flat<'a> {
    /// Sub-tasks and choices, each before what is in it.
    pub(crate) entries: Vec<Entry<'a>>,
    /// Lists of nodes; the first is the top of the plan.
    pub(crate) scopes: Vec<Scope>,
    /// Which entry a vertex belongs to.
    pub(crate) owner: Vec<usize>,
    pub(crate) graph: Graph,
    /// A topological order of the vertices. Empty if there is none, which the plan
    /// itself rules out.
    pub(crate) order: Vec<usize>,
    pub(crate) edges: Vec<(usize, usize)>,
    by_id: BTreeMap<&'a SubtaskId, usize>,
}

/// One node of the plan.
pub(crate) struct Entry<'a> {
    pub(crate) node: &'a Node,
    pub(crate) scope: usize,
    /// The vertex that waits for what the node waits for.
    pub(crate) start: usize,
    /// The vertex that others wait for. A sub-task's only vertex is both.
    pub(crate) end: usize,
}

/// One list of nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope {
    /// The list its choice is in; of the top, the top.
    pub(crate) parent: usize,
    /// The entry of its choice.
    pub(crate) choice: usize,
    /// Which branch of it.
    pub(crate) branch: usize,
    pub(crate) depth: usize,
    /// Its first and last vertex; between them is what is in it, however deep.
    span: (usize, usize),
}

/// How two lists of nodes stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinship {
    /// Both are in this list, however deep.
    Within(usize),
    /// They are in two branches of one choice: only one of them is done.
    Exclusive,
}

impl<'a> Flat<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let mut flat = Self {
            entries: Vec::new(),
            scopes: vec![Scope::default()],
            owner: Vec::new(),
            graph: Graph::default(),
            order: Vec::new(),
            edges: Vec::new(),
            by_id: BTreeMap::new(),
        };
        flat.add(plan.nodes(), 0);
        flat.by_id = flat.entries.iter().enumerate().map(|(place, it)| (it.node.id(), place)).collect();
        flat.edges = flat.edges();
        flat.graph = Graph::new(flat.owner.len(), &flat.edges);
        // Dependencies are written first, so most often the numbers are an order already.
        flat.order = if flat.edges.iter().all(|(from, to)| from < to) {
            (0..flat.owner.len()).collect()
        } else {
            flat.graph.order().unwrap_or_default()
        };
        flat
    }

    /// Recursion is as deep as the plan nests, which is capped.
    fn add(&mut self, nodes: &'a [Node], scope: usize) {
        for node in nodes {
            let (entry, start) = (self.entries.len(), self.owner.len());
            self.owner.push(entry);
            self.entries.push(Entry { node, scope, start, end: start });
            let Node::Choice(choice) = node else { continue };
            let depth = at(&self.scopes, scope).depth + 1;
            for (branch, held) in choice.branches.iter().enumerate() {
                let (place, first) = (self.scopes.len(), self.owner.len());
                self.scopes.push(Scope { parent: scope, choice: entry, branch, depth, span: (first, first) });
                self.add(&held.nodes, place);
                let last = self.owner.len().saturating_sub(1);
                if let Some(scope) = self.scopes.get_mut(place) {
                    scope.span = (first, last);
                }
            }
            let end = self.owner.len();
            self.owner.push(entry);
            if let Some(entry) = self.entries.get_mut(entry) {
                entry.end = end;
            }
        }
    }

    fn edges(&self) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        for entry in &self.entries {
            let ends = entry.node.waits().filter_map(|id| self.entry(id)).map(|first| first.end);
            edges.extend(ends.map(|end| (end, entry.start)));
            if entry.start != entry.end {
                edges.push((entry.start, entry.end));
            }
            if let Some(choice) = self.choice_of(entry.scope) {
                edges.push((choice.start, entry.start));
                edges.push((entry.end, choice.end));
            }
        }
        edges
    }

    /// The first and last vertex of a list, however deep.
    pub(crate) fn span(&self, scope: usize) -> (usize, usize) {
        if scope == 0 { (0, usize::MAX) } else { at(&self.scopes, scope).span }
    }

    /// The entry of that name.
    pub(crate) fn entry(&self, id: &SubtaskId) -> Option<&Entry<'a>> {
        self.entries.get(*self.by_id.get(id)?)
    }

    /// The choice a list of nodes is a branch of; none of the top.
    pub(crate) fn choice_of(&self, scope: usize) -> Option<&Entry<'a>> {
        if scope == 0 { None } else { self.entries.get(at(&self.scopes, scope).choice) }
    }

    /// The entry a vertex belongs to.
    pub(crate) fn owner_of(&self, vertex: usize) -> Option<&Entry<'a>> {
        self.entries.get(*self.owner.get(vertex)?)
    }

    /// The sub-tasks with their vertices, as written.
    pub(crate) fn subtasks(&self) -> impl Iterator<Item = (usize, &'a Subtask)> {
        self.entries.iter().filter_map(|entry| match entry.node {
            Node::Subtask(subtask) => Some((entry.start, subtask)),
            Node::Choice(_) => None,
        })
    }

    /// How two lists stand to each other.
    pub(crate) fn kinship(&self, one: usize, other: usize) -> Kinship {
        let (mut one, mut other) = (one, other);
        while one != other {
            let (of_one, of_other) = (at(&self.scopes, one), at(&self.scopes, other));
            if of_one.choice == of_other.choice && one != 0 && other != 0 {
                return Kinship::Exclusive;
            }
            if of_one.depth >= of_other.depth {
                one = of_one.parent;
            }
            if of_other.depth >= of_one.depth {
                other = of_other.parent;
            }
        }
        Kinship::Within(one)
    }

    /// Whether a list is the other, or is in a branch of something in it.
    pub(crate) fn is_inside(&self, inner: usize, outer: usize) -> bool {
        self.kinship(inner, outer) == Kinship::Within(outer)
    }

    /// The entry of that list which the entry is, or is in.
    pub(crate) fn lifted(&self, entry: usize, scope: usize) -> usize {
        let mut entry = entry;
        while let Some(found) = self.entries.get(entry) {
            if found.scope == scope || found.scope == 0 {
                break;
            }
            entry = at(&self.scopes, found.scope).choice;
        }
        entry
    }

    /// The graph of what is done when every choice takes the branch that is picked,
    /// and the vertices of its sub-tasks.
    pub(crate) fn course(&self, pick: impl Fn(usize) -> usize) -> (Graph, Vec<usize>) {
        let mut taken = vec![true; self.scopes.len()];
        for (place, scope) in self.scopes.iter().enumerate().skip(1) {
            let is_taken = at(&taken, scope.parent) && scope.branch == pick(scope.choice);
            if let Some(taken) = taken.get_mut(place) {
                *taken = is_taken;
            }
        }
        let is_done = |vertex: usize| self.owner_of(vertex).is_some_and(|entry| at(&taken, entry.scope));
        let edges: Vec<_> =
            self.edges.iter().copied().filter(|&(from, to)| is_done(from) && is_done(to)).collect();
        let done = self.subtasks().map(|(vertex, _)| vertex).filter(|&vertex| is_done(vertex)).collect();
        (Graph::new(self.owner.len(), &edges), done)
    }
}
