//! Which sub-task makes what another needs, and the order that keeps it so.
//!
//! A *link* says that a fact a sub-task needs comes from a certain maker, or holds from
//! the beginning. A sub-task that breaks the fact and may run between the two is a
//! *threat*; it is put before the maker or after the one in need. Whatever order that
//! takes is told with its reason, and only order is added: nothing is left out, and
//! nothing is put in a circle.
//!
//! What a choice makes is what every branch of it makes. Sub-tasks in two branches of
//! one choice never meet. What a branch that failed has changed is not known here.
//!
//! The search is bounded: what is too entangled to be settled is a problem, not a wait.

mod closure;
mod facts;
mod relaxed;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::flat::Flat;
use super::{BadPlan, Branch, Choice, Fact, Node, Plan};
use crate::id::SubtaskId;
use crate::task::suggest;
use facts::Facts;
use settle::Settling;

/// Who makes what for whom, and the order that protects it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Links {
    /// One for every need that is met.
    pub links: Vec<Link>,
    /// The order to add to the plan.
    pub orderings: Vec<Ordering>,
    /// Needs that are not met, or not safely.
    pub problems: Vec<Trouble>,
}

/// A need and what meets it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// What is needed.
    pub fact: Fact,
    /// The sub-task or choice that makes it; `None`: it holds from the beginning.
    pub from: Option<SubtaskId>,
    /// The sub-task that needs it.
    pub to: SubtaskId,
}

/// One node that must come before another although the plan does not say so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ordering {
    /// What comes first.
    pub first: SubtaskId,
    /// What waits for it.
    pub then: SubtaskId,
    /// What for.
    pub why: Why,
}

/// What an order is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The first makes what the other needs.
    Supplies {
        /// What.
        fact: Fact,
    },
    /// One of the two would break what the link is about.
    Protects(Link),
}

/// A need that is not met, or not safely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// Nobody makes it.
    NobodyMakes {
        /// Who needs it.
        id: SubtaskId,
        /// What.
        fact: Fact,
        /// A fact somebody makes that looks much like it.
        nearest: Option<Fact>,
    },
    /// Somebody makes it, but only in some branch that may not be taken.
    OnlySometimes {
        /// Who needs it.
        id: SubtaskId,
        /// What.
        fact: Fact,
        /// Who makes it.
        by: SubtaskId,
    },
    /// Whoever makes it must wait for the one in need.
    OnlyLater {
        /// Who needs it.
        id: SubtaskId,
        /// What.
        fact: Fact,
        /// Who makes it.
        by: SubtaskId,
    },
    /// Somebody may break it in between, and no order prevents that.
    Threatened {
        /// What is threatened.
        link: Link,
        /// Who breaks it.
        by: SubtaskId,
    },
    /// It could not be settled within the bounds.
    TooEntangled {
        /// Who needs it.
        id: SubtaskId,
        /// What.
        fact: Fact,
    },
}

impl Trouble {
    /// The sub-task in need.
    #[must_use]
    pub fn id(&self) -> &SubtaskId {
        match self {
            Self::NobodyMakes { id, .. }
            | Self::OnlySometimes { id, .. }
            | Self::OnlyLater { id, .. }
            | Self::TooEntangled { id, .. } => id,
            Self::Threatened { link, .. } => &link.to,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NobodyMakes { nearest: Some(near), .. } => format!("did you mean {:?}?", near.as_str()),
            Self::NobodyMakes { fact, nearest: None, .. } => {
                let fact = fact.as_str();
                format!("add a sub-task that makes {fact:?}, or put it among the facts of the beginning")
            }
            Self::OnlySometimes { .. } => "make it in every branch of the choice, or before it".into(),
            Self::OnlyLater { by, .. } => format!("let {by} come first, or add another that makes it"),
            Self::Threatened { link, by } => match &link.from {
                Some(from) => {
                    format!("add a sub-task that makes it again after {by}, or let {by} come before {from}")
                }
                None => format!("add a sub-task that makes it again after {by}"),
            },
            Self::TooEntangled { .. } => "write the order down with `after`".into(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyMakes { id, fact, .. } => {
                write!(f, "{id} needs {:?}, which nobody makes", fact.as_str())
            }
            Self::OnlySometimes { id, fact, by } => {
                write!(
                    f,
                    "{id} needs {:?}, which {by} makes in a branch that may not be taken",
                    fact.as_str()
                )
            }
            Self::OnlyLater { id, fact, by } => {
                write!(f, "{id} needs {:?}, which {by} makes only after it", fact.as_str())
            }
            Self::Threatened { link: Link { fact, to, .. }, by } => {
                write!(f, "{to} needs {:?}, which {by} breaks before it", fact.as_str())
            }
            Self::TooEntangled { id, fact } => {
                write!(f, "who makes {:?} for {id} could not be settled within the bounds", fact.as_str())
            }
        }
    }
}

/// Finds the links of a plan, given what holds from the beginning.
#[must_use]
pub fn resolve(plan: &Plan, given: &BTreeSet<Fact>) -> Links {
    let flat = Flat::new(plan);
    let facts = Facts::new(&flat, given);
    if facts.needers.iter().all(Vec::is_empty) {
        return Links::default();
    }
    let relaxed = relaxed::order(&flat, &facts);
    let mut problems: Vec<Trouble> =
        relaxed.unmet.iter().filter_map(|&(vertex, fact)| unmet(&flat, &facts, vertex, fact)).collect();
    let mut links = Settling::new(&flat, &facts, relaxed).settle();
    problems.append(&mut links.problems);
    Links { problems, ..links }
}

/// Why a need is not met.
fn unmet(flat: &Flat<'_>, facts: &Facts<'_>, vertex: usize, fact: usize) -> Option<Trouble> {
    let entry = flat.owner_of(vertex)?;
    let id = entry.node.id().clone();
    let name = (*facts.names.get(fact)?).clone();
    let makers = facts.makers.get(fact)?;
    let others: Vec<_> =
        makers.iter().filter(|&&maker| maker != vertex).filter_map(|&maker| flat.owner_of(maker)).collect();
    let Some(any) = others.first() else {
        let known = facts.names.iter().zip(&facts.makers).zip(&facts.given);
        let known = known.filter(|((_, makers), given)| !makers.is_empty() || **given);
        let known = known.map(|((known, _), _)| known.as_str()).filter(|known| *known != name.as_str());
        let nearest = suggest::nearest(name.as_str(), known).and_then(|near| Fact::parse(near).ok());
        return Some(Trouble::NobodyMakes { id, fact: name, nearest });
    };
    match others.iter().find(|other| flat.is_inside(entry.scope, other.scope)) {
        Some(visible) => Some(Trouble::OnlyLater { id, fact: name, by: visible.node.id().clone() }),
        None => Some(Trouble::OnlySometimes { id, fact: name, by: any.node.id().clone() }),
    }
}

impl Links {
    /// The plan with the order added. Refused only where one node would have to wait
    /// for more others than a plan may hold.
    pub fn apply(&self, plan: Plan) -> Result<Plan, BadPlan> {
        if self.orderings.is_empty() {
            return Ok(plan);
        }
        let mut more: BTreeMap<&SubtaskId, Vec<&SubtaskId>> = BTreeMap::new();
        for ordering in &self.orderings {
            more.entry(&ordering.then).or_default().push(&ordering.first);
        }
        let mut nodes: Vec<Node> = plan.into();
        add_order(&mut nodes, &more);
        Plan::new(nodes)
    }
}

fn add_order(nodes: &mut [Node], more: &BTreeMap<&SubtaskId, Vec<&SubtaskId>>) {
    for node in nodes {
        let firsts = more.get(node.id()).map(Vec::as_slice).unwrap_or_default();
        let after = match node {
            Node::Subtask(subtask) => &mut subtask.after,
            Node::Choice(Choice { after, branches, .. }) => {
                branches.iter_mut().for_each(|Branch { nodes, .. }| add_order(nodes, more));
                after
            }
        };
        for first in firsts {
            if !after.contains(first) {
                after.push((*first).clone());
            }
        }
    }
}
