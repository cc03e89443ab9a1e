//! What is left out of a plan that is too dear or too long.
//!
//! Only optional sub-tasks that nobody who stays waits for, and none that is the last
//! in its list. What takes longer than there is goes first; then, while the whole is
//! too dear, the lowest priority, the dearest among equals, the later written among
//! those. Nothing is left out for a goal that leaving out cannot reach.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::flat::Flat;
use super::graph::{at, set};
use super::links::Link;
use super::measure::{Estimates, Schedule};
use super::{Branch, Choice, Node, Plan};
use crate::id::SubtaskId;

/// Vertices and edges that shortening may look at.
const WORK_MAX: usize = 4_000_000;

/// A sub-task that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pruned {
    /// Which.
    pub id: SubtaskId,
    /// What there was too little of.
    pub short_of: Short,
    /// What leaving it out saves, by its estimates.
    pub tokens: u64,
    /// The same in seconds.
    pub seconds: u64,
}

/// What there was too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Short {
    /// Tokens.
    Tokens,
    /// Time.
    Time,
}

/// What there is; `None`: as much as wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Seconds.
    pub seconds: Option<u64>,
}

/// What the whole plan uses up, by the dearest branch of every choice.
#[must_use]
pub fn tokens_of(plan: &Plan, estimates: &Estimates) -> u64 {
    list_tokens(plan.nodes(), estimates)
}

fn list_tokens(nodes: &[Node], estimates: &Estimates) -> u64 {
    let of = |node: &Node| match node {
        Node::Subtask(subtask) => estimates.tokens_of(subtask),
        Node::Choice(choice) => {
            choice.branches.iter().map(|branch| list_tokens(&branch.nodes, estimates)).max().unwrap_or(0)
        }
    };
    nodes.iter().map(of).fold(0, u64::saturating_add)
}

/// The plan without what must be left out to fit, and what that is. A link counts like
/// a wait: who makes what a sub-task that stays needs stays too.
#[must_use]
pub fn prune(plan: Plan, links: &[Link], left: &Left, estimates: &Estimates) -> (Plan, Vec<Pruned>) {
    let short_of_tokens = left.tokens.is_some_and(|most| tokens_of(&plan, estimates) > most);
    let flat = Flat::new(&plan);
    let short_of_time = left.seconds.is_some_and(|most| Schedule::new(&flat, estimates).total > most);
    if !short_of_tokens && !short_of_time {
        drop(flat);
        return (plan, Vec::new());
    }
    let mut shears = Shears::new(&flat, links, estimates);
    if let Some(most) = left.seconds {
        shears.shorten(most);
    }
    if let Some(most) = left.tokens {
        shears.cheapen(most);
    }
    let pruned = shears.told();
    let gone: BTreeSet<SubtaskId> = pruned.iter().map(|it| it.id.clone()).collect();
    drop(flat);
    if gone.is_empty() {
        return (plan, pruned);
    }
    let kept = without(plan.nodes(), &gone);
    // Nobody who stays waits for what is gone, and no list is empty.
    match Plan::new(kept) {
        Ok(shorter) => (shorter, pruned),
        Err(_) => (plan, Vec::new()),
    }
}

fn without(nodes: &[Node], gone: &BTreeSet<SubtaskId>) -> Vec<Node> {
    let kept = nodes.iter().filter(|node| !gone.contains(node.id()));
    kept.map(|node| match node {
        Node::Subtask(subtask) => subtask.clone().into(),
        Node::Choice(choice) => {
            let branch =
                |held: &Branch| Branch { name: held.name.clone(), nodes: without(&held.nodes, gone) };
            Choice { branches: choice.branches.iter().map(branch).collect(), ..choice.clone() }.into()
        }
    })
    .collect()
}

struct Shears<'f, 'a> {
    flat: &'f Flat<'a>,
    estimates: &'f Estimates,
    /// For each entry: how many that stay wait for it, and for whom it waits.
    waited: Vec<usize>,
    waits: Vec<Vec<usize>>,
    /// How many stay in each list.
    members: Vec<usize>,
    gone: Vec<bool>,
    told: Vec<(usize, Short)>,
}

impl<'f, 'a> Shears<'f, 'a> {
    fn new(flat: &'f Flat<'a>, links: &[Link], estimates: &'f Estimates) -> Self {
        let count = flat.entries.len();
        let places: BTreeMap<&SubtaskId, usize> =
            flat.entries.iter().enumerate().map(|(place, entry)| (entry.node.id(), place)).collect();
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (place, entry) in flat.entries.iter().enumerate() {
            pairs.extend(entry.node.waits().filter_map(|id| places.get(id)).map(|&first| (place, first)));
        }
        let linked =
            links.iter().filter_map(|link| Some((*places.get(&link.to)?, *places.get(link.from.as_ref()?)?)));
        pairs.extend(linked);
        let mut shears = Self {
            flat,
            estimates,
            waited: vec![0; count],
            waits: vec![Vec::new(); count],
            members: vec![0; flat.scopes.len()],
            gone: vec![false; count],
            told: Vec::new(),
        };
        for (place, first) in pairs {
            shears.waits.get_mut(place).into_iter().for_each(|waits| waits.push(first));
            shears.waited.get_mut(first).into_iter().for_each(|waited| *waited += 1);
        }
        // Who waits for a choice has its facts from the makers inside it, all of them.
        for link in links {
            let maker = link.from.as_ref().and_then(|from| places.get(from)).copied();
            shears.keep_inside(maker, &link.fact);
        }
        for entry in &flat.entries {
            shears.members.get_mut(entry.scope).into_iter().for_each(|members| *members += 1);
        }
        shears
    }

    /// Whoever makes the fact within a choice that is relied on for it stays.
    fn keep_inside(&mut self, choice: Option<usize>, fact: &super::Fact) {
        let Some(choice) = choice.and_then(|place| self.flat.entries.get(place)) else { return };
        if choice.start == choice.end {
            return;
        }
        for place in choice.start..=choice.end {
            let Some(&entry) = self.flat.owner.get(place) else { continue };
            let makes = match self.flat.entries.get(entry).map(|entry| entry.node) {
                Some(Node::Subtask(subtask)) => subtask.makes.contains(fact),
                Some(Node::Choice(_)) | None => false,
            };
            if makes && let Some(waited) = self.waited.get_mut(entry) {
                *waited += 1;
            }
        }
    }

    /// Whether it may go now.
    fn may_go(&self, place: usize) -> bool {
        let Some(entry) = self.flat.entries.get(place) else { return false };
        let is_optional = match entry.node {
            Node::Subtask(subtask) => subtask.optional,
            Node::Choice(_) => false,
        };
        is_optional
            && !at(&self.gone, place)
            && at(&self.waited, place) == 0
            && at(&self.members, entry.scope) > 1
    }

    /// Leaves it out; those who may go because of that.
    fn cut(&mut self, place: usize, short_of: Short) -> Vec<usize> {
        set(&mut self.gone, place, true);
        self.told.push((place, short_of));
        if let Some(entry) = self.flat.entries.get(place)
            && let Some(members) = self.members.get_mut(entry.scope)
        {
            *members -= 1;
        }
        let waits = self.waits.get(place).cloned().unwrap_or_default();
        for &first in &waits {
            self.waited.get_mut(first).into_iter().for_each(|waited| *waited = waited.saturating_sub(1));
        }
        waits.into_iter().filter(|&first| self.may_go(first)).collect()
    }

    /// Leaves out what ends too late, if everything that does may go; nothing else.
    fn shorten(&mut self, most: u64) {
        let (gone, waited, members, told) =
            (self.gone.clone(), self.waited.clone(), self.members.clone(), self.told.len());
        let mut work = 0;
        loop {
            let schedule = self.schedule();
            work += self.flat.edges.len() + self.flat.owner.len();
            if schedule.total <= most {
                return;
            }
            let late = |place: &usize| {
                let end = self.flat.entries.get(*place).map_or(0, |entry| schedule.end(entry.start));
                end > most && self.may_go(*place)
            };
            let mut late: Vec<usize> = (0..self.flat.entries.len()).filter(late).collect();
            // In a branch the end is that of the choice, however early the sub-task ends.
            if late.is_empty() {
                late = self.critical(&schedule);
            }
            if late.is_empty() || work > WORK_MAX {
                (self.gone, self.waited, self.members) = (gone, waited, members);
                self.told.truncate(told);
                return;
            }
            for place in late {
                if self.may_go(place) {
                    self.cut(place, Short::Time);
                }
            }
        }
    }

    /// The one to leave out among those on a longest path.
    fn critical(&self, schedule: &Schedule) -> Vec<usize> {
        let on_path = (0..self.flat.entries.len()).filter(|&place| {
            let vertex = self.flat.entries.get(place).map_or(0, |entry| entry.start);
            self.may_go(place) && schedule.slack(vertex) == 0 && at(&schedule.seconds, vertex) > 0
        });
        on_path.min_by_key(|&place| self.turn(place, Short::Time)).into_iter().collect()
    }

    fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::seconds(self.flat, self.estimates);
        for (place, entry) in self.flat.entries.iter().enumerate() {
            if at(&self.gone, place) {
                set(&mut schedule, entry.start, 0);
            }
        }
        // Nobody who stays waits for what is gone, so taking no time is as good as gone,
        // but for what it waited for itself, which ends before it would.
        Schedule::of_graph(self.flat, schedule)
    }

    /// Lowest priority first, then dearest, then latest written.
    fn turn(&self, place: usize, short_of: Short) -> (i32, std::cmp::Reverse<u64>, std::cmp::Reverse<usize>) {
        let (priority, cost) = match self.flat.entries.get(place).map(|entry| entry.node) {
            Some(Node::Subtask(subtask)) => (
                subtask.priority,
                match short_of {
                    Short::Tokens => self.estimates.tokens_of(subtask),
                    Short::Time => self.estimates.seconds_of(subtask),
                },
            ),
            Some(Node::Choice(_)) | None => (i32::MAX, 0),
        };
        (priority, std::cmp::Reverse(cost), std::cmp::Reverse(place))
    }

    /// Leaves out one after the other until the whole is cheap enough; nothing, if it
    /// never is.
    fn cheapen(&mut self, most: u64) {
        let told = self.told.len();
        let before = (self.gone.clone(), self.waited.clone(), self.members.clone());
        let mut purse = Purse::new(self.flat, self.estimates, &self.gone);
        let mut turns: BTreeSet<_> = (0..self.flat.entries.len())
            .filter(|&place| self.may_go(place))
            .map(|place| (self.turn(place, Short::Tokens), place))
            .collect();
        while purse.total() > most {
            let Some((_, place)) = turns.pop_first() else {
                (self.gone, self.waited, self.members) = before;
                self.told.truncate(told);
                return;
            };
            if !self.may_go(place) || !purse.saves(self.flat, place) {
                continue;
            }
            let freed = self.cut(place, Short::Tokens);
            purse.spare(self.flat, place);
            turns.extend(freed.into_iter().map(|first| (self.turn(first, Short::Tokens), first)));
        }
    }

    fn told(&self) -> Vec<Pruned> {
        let row = |&(place, short_of): &(usize, Short)| match self.flat.entries.get(place)?.node {
            Node::Subtask(subtask) => Some(Pruned {
                id: subtask.id.clone(),
                short_of,
                tokens: self.estimates.tokens_of(subtask),
                seconds: self.estimates.seconds_of(subtask),
            }),
            Node::Choice(_) => None,
        };
        self.told.iter().filter_map(row).collect()
    }
}

/// What every list of nodes uses up, kept while sub-tasks go.
struct Purse {
    /// By list; a choice counts with its dearest branch.
    sums: Vec<u64>,
    own: Vec<u64>,
    scopes_of: Vec<Vec<usize>>,
}

impl Purse {
    fn new(flat: &Flat<'_>, estimates: &Estimates, gone: &[bool]) -> Self {
        let mut scopes_of = vec![Vec::new(); flat.entries.len()];
        for (place, scope) in flat.scopes.iter().enumerate().skip(1) {
            scopes_of
                .get_mut(scope.choice)
                .into_iter()
                .for_each(|scopes: &mut Vec<usize>| scopes.push(place));
        }
        let mut purse =
            Self { sums: vec![0; flat.scopes.len()], own: vec![0; flat.entries.len()], scopes_of };
        for (place, entry) in flat.entries.iter().enumerate().rev() {
            let own = match entry.node {
                Node::Subtask(_) if at(gone, place) => 0,
                Node::Subtask(subtask) => estimates.tokens_of(subtask),
                Node::Choice(_) => purse.dearest(place),
            };
            set(&mut purse.own, place, own);
            let sum = at(&purse.sums, entry.scope).saturating_add(own);
            set(&mut purse.sums, entry.scope, sum);
        }
        purse
    }

    fn total(&self) -> u64 {
        at(&self.sums, 0)
    }

    fn dearest(&self, choice: usize) -> u64 {
        let scopes = self.scopes_of.get(choice).map(Vec::as_slice).unwrap_or_default();
        scopes.iter().map(|&scope| at(&self.sums, scope)).max().unwrap_or(0)
    }

    /// Whether leaving it out makes the whole cheaper: not in a branch that is cheaper
    /// than another anyway.
    fn saves(&self, flat: &Flat<'_>, place: usize) -> bool {
        let mut scope = flat.entries.get(place).map_or(0, |entry| entry.scope);
        while scope != 0 {
            let held = at(&flat.scopes, scope);
            if at(&self.sums, scope) < self.dearest(held.choice) {
                return false;
            }
            scope = held.parent;
        }
        at(&self.own, place) > 0
    }

    fn spare(&mut self, flat: &Flat<'_>, place: usize) {
        let (mut place, mut own) = (place, 0);
        while let Some(entry) = flat.entries.get(place) {
            let sum = at(&self.sums, entry.scope).saturating_sub(at(&self.own, place)).saturating_add(own);
            set(&mut self.own, place, own);
            set(&mut self.sums, entry.scope, sum);
            if entry.scope == 0 {
                return;
            }
            place = at(&flat.scopes, entry.scope).choice;
            own = self.dearest(place);
        }
    }
}
