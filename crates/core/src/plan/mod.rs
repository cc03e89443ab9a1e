//! The plan of a run: what is to be done, what each piece must wait for, and where
//! there are several ways on.
//!
//! A plan is a tree of [`Node`]s: sub-tasks, and choices between branches that are lists
//! of nodes again. A [`Plan`] can only be made by [`Plan::new`], which refuses what could
//! never finish; so a plan that exists has an order, and while it is not over something
//! in it is ready, running or to be decided.
//!
//! - Names are unique over the whole tree.
//! - A node may wait for nodes of its own list and for nodes beside the choices it is in,
//!   never for one inside a branch it is not in, nor for a choice it is part of.
//! - What is in a branch waits for whatever its choices wait for.
//! - A choice is over when a branch of it is over; its outputs are those of the last
//!   nodes of that branch.
//!
//! Nothing here runs a sub-task or looks at an output on its own.

mod bad;
pub mod decompose;
mod downstream;
pub mod draw;
pub mod feasible;
mod flat;
pub mod flexibility;
mod graph;
mod index;
pub mod links;
#[cfg(test)]
pub(crate) mod made;
pub mod measure;
pub mod method;
pub(crate) mod method_parse;
mod node;
mod order;
pub(crate) mod parse;
mod progress;
pub mod prune;
mod replace;
mod schema;
#[cfg(test)]
mod tests;
pub mod width;
mod without;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use bad::BadPlan;
use index::{Index, at};
pub(crate) use node::unfenced;
pub use node::{Branch, Choice, Condition, FACT_MAX, Fact, Node, Rule, Subtask, Test};
pub use parse::read;
pub use progress::{Failed, Progress};
pub use schema::{MODEL_DEPTH_MAX, schema};

use crate::id::SubtaskId;

/// Most nodes in one plan, those in branches included.
pub const NODES_MAX: usize = 10_000;
/// Most choices around one node.
pub const DEPTH_MAX: usize = 16;
/// Most choices with a condition around one node.
pub const WHENS_MAX: usize = 4;
/// Most branches of one choice.
pub const BRANCHES_MAX: usize = 16;
/// Most entries of each of `uses`, `needs`, `makes` and `breaks`.
pub const LIST_MAX: usize = 64;
/// Most nodes that one node waits for. Journals hold plans with as many.
pub const AFTER_MAX: usize = 256;

/// Nodes in an order in which they could be done one after the other.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<Node>", into = "Vec<Node>")]
pub struct Plan {
    nodes: Vec<Node>,
    index: Arc<Index>,
}

impl Plan {
    /// Orders the nodes (those given first come first where they may).
    pub fn new(nodes: Vec<Node>) -> Result<Self, BadPlan> {
        Self::judged(nodes).map_err(|bad| bad.into_iter().next().unwrap_or(BadPlan::Empty))
    }

    /// The same, with everything that is wrong, a hundred at most and never nothing.
    pub fn judged(nodes: Vec<Node>) -> Result<Self, Vec<BadPlan>> {
        let nodes = order::ordered(nodes)?;
        let index = Arc::new(Index::of(&nodes));
        Ok(Self { nodes, index })
    }

    /// The plan of a task that wants none: one sub-task, `main`.
    #[must_use]
    pub fn of_one(goal: &str) -> Option<Self> {
        let id = SubtaskId::parse("main").ok()?;
        Self::new(vec![Subtask::new(id, goal).into()]).ok()
    }

    /// The nodes outside all branches, dependencies first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes there are, those in branches included.
    #[must_use]
    pub fn size(&self) -> usize {
        at(self.index.len())
    }

    /// All sub-tasks, those in branches included, dependencies first.
    #[must_use]
    pub fn subtasks(&self) -> Vec<&Subtask> {
        let mut found = Vec::with_capacity(self.index.subtasks());
        gather(&self.nodes, &mut found);
        found
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, id: &SubtaskId) -> Option<&Node> {
        self.numbered(self.index.number(id)?)
    }

    /// The sub-task of that name.
    #[must_use]
    pub fn get(&self, id: &SubtaskId) -> Option<&Subtask> {
        match self.node(id)? {
            Node::Subtask(subtask) => Some(subtask),
            Node::Choice(_) => None,
        }
    }

    /// The choice of that name.
    #[must_use]
    pub fn choice(&self, id: &SubtaskId) -> Option<&Choice> {
        match self.node(id)? {
            Node::Choice(choice) => Some(choice),
            Node::Subtask(_) => None,
        }
    }

    /// The choice a node is in, and in which of its branches.
    #[must_use]
    pub fn parent(&self, id: &SubtaskId) -> Option<(&Choice, u32)> {
        let spot = self.index.spot(self.index.number(id)?)?;
        match self.numbered(spot.parent?)? {
            Node::Choice(choice) => Some((choice, spot.branch)),
            Node::Subtask(_) => None,
        }
    }

    /// The nodes outside all branches that nobody waits for: their outputs are the
    /// run's output.
    #[must_use]
    pub fn last(&self) -> Vec<&SubtaskId> {
        let last =
            self.nodes.iter().zip(self.index.top()).filter(|(_, this)| self.index.next(*this).is_empty());
        last.map(|(node, _)| node.id()).collect()
    }

    /// How many sub-tasks cannot start before this node is over. A branch that may never
    /// be taken counts like any other.
    #[must_use]
    pub fn downstream(&self, id: &SubtaskId) -> u32 {
        self.index.number(id).map_or(0, |this| self.index.downstream(this))
    }

    fn numbered(&self, this: u32) -> Option<&Node> {
        let spot = self.index.spot(this)?;
        let list = match spot.parent {
            None => &self.nodes,
            Some(parent) => &self.numbered(parent)?.branches().get(at(spot.branch))?.nodes,
        };
        list.get(at(spot.position))
    }
}

fn gather<'p>(nodes: &'p [Node], found: &mut Vec<&'p Subtask>) {
    for node in nodes {
        match node {
            Node::Subtask(subtask) => found.push(subtask),
            Node::Choice(choice) => choice.branches.iter().for_each(|branch| gather(&branch.nodes, found)),
        }
    }
}

/// The index follows from the nodes: it is neither shown nor compared.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.nodes).finish()
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl Eq for Plan {}

impl TryFrom<Vec<Node>> for Plan {
    type Error = BadPlan;
    fn try_from(nodes: Vec<Node>) -> Result<Self, BadPlan> {
        Self::new(nodes)
    }
}

impl From<Plan> for Vec<Node> {
    fn from(plan: Plan) -> Self {
        plan.nodes
    }
}
