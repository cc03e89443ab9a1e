//! Who makes, needs and breaks what, by number.
//!
//! A choice makes what every branch of it makes for sure: what one of its nodes makes
//! and nothing in the branch may break afterwards. One that may do nothing makes
//! nothing. What a branch breaks is counted with its sub-task, wherever that is.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::flat::Flat;
use crate::plan::graph::{at, set};
use crate::plan::{Choice, Fact, Node, Rule};

/// Vertices that a search for a way between two may look at, over all searches.
const VISITS_MAX: usize = 1_000_000;

/// The facts of a plan and the vertices that are about them.
pub(super) struct Facts<'a> {
    /// Every fact of the plan and of the beginning.
    pub(super) names: Vec<&'a Fact>,
    /// Whether it holds from the beginning.
    pub(super) given: Vec<bool>,
    /// Vertices after which it holds: sub-tasks, and ends of choices.
    pub(super) makers: Vec<Vec<usize>>,
    /// Sub-tasks before which it must hold.
    pub(super) needers: Vec<Vec<usize>>,
    /// Sub-tasks after which it does not hold.
    pub(super) breakers: Vec<Vec<usize>>,
    /// What each vertex needs, in the order of the plan.
    pub(super) needs: Vec<Vec<usize>>,
    /// What each vertex makes.
    pub(super) makes: Vec<Vec<usize>>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(flat: &Flat<'a>, given: &'a BTreeSet<Fact>) -> Self {
        let mut numbers: BTreeMap<&'a Fact, usize> = BTreeMap::new();
        let mut names = Vec::new();
        let mut number = |fact: &'a Fact| {
            *numbers.entry(fact).or_insert_with(|| {
                names.push(fact);
                names.len() - 1
            })
        };
        let mut pairs: [Vec<(usize, usize)>; 3] = Default::default();
        for (vertex, subtask) in flat.subtasks() {
            let [makes, needs, breaks] = &mut pairs;
            makes.extend(subtask.makes.iter().map(|fact| (number(fact), vertex)));
            needs.extend(subtask.needs.iter().map(|fact| (number(fact), vertex)));
            // Breaking comes before making: who does both leaves the fact standing.
            let broken = subtask.breaks.iter().filter(|fact| !subtask.makes.contains(fact));
            breaks.extend(broken.map(|fact| (number(fact), vertex)));
        }
        let held: Vec<usize> = given.iter().map(number).collect();
        let [makes, needs, breaks] = pairs;
        let vertices = flat.owner.len();
        let mut facts = Self {
            given: vec![false; names.len()],
            makers: grouped(names.len(), makes.iter().copied()),
            needers: grouped(names.len(), needs.iter().copied()),
            breakers: grouped(names.len(), breaks.iter().copied()),
            needs: grouped(vertices, needs.iter().map(|&(fact, vertex)| (vertex, fact))),
            makes: grouped(vertices, makes.iter().map(|&(fact, vertex)| (vertex, fact))),
            names,
        };
        held.into_iter().for_each(|fact| set(&mut facts.given, fact, true));
        facts.add_choices(flat);
        facts
    }

    /// What choices make for sure, inner ones first.
    fn add_choices(&mut self, flat: &Flat<'a>) {
        let mut made: Vec<Vec<(usize, usize)>> = vec![Vec::new(); flat.scopes.len()];
        let mut scopes_of: Vec<Vec<usize>> = vec![Vec::new(); flat.entries.len()];
        for (place, scope) in flat.scopes.iter().enumerate().skip(1) {
            if let Some(scopes) = scopes_of.get_mut(scope.choice) {
                scopes.push(place);
            }
        }
        let mut search = Search { visits: 0, seen: Vec::new() };
        for (place, entry) in flat.entries.iter().enumerate().rev() {
            let own: Vec<usize> = match entry.node {
                Node::Subtask(_) => self.makes.get(entry.end).cloned().unwrap_or_default(),
                Node::Choice(choice) => {
                    let scopes = scopes_of.get(place).map(Vec::as_slice).unwrap_or_default();
                    let own = self.of_choice(
                        flat,
                        choice,
                        &mut |scope| made.get_mut(scope).map(std::mem::take).unwrap_or_default(),
                        (scopes, &mut search),
                    );
                    for &fact in &own {
                        self.makers.get_mut(fact).into_iter().for_each(|makers| makers.push(entry.end));
                    }
                    set(&mut self.makes, entry.end, own.clone());
                    own
                }
            };
            if entry.scope != 0
                && let Some(made) = made.get_mut(entry.scope)
            {
                made.extend(own.into_iter().map(|fact| (fact, entry.end)));
            }
        }
    }

    fn of_choice(
        &self,
        flat: &Flat<'a>,
        choice: &Choice,
        made: &mut dyn FnMut(usize) -> Vec<(usize, usize)>,
        (scopes, search): (&[usize], &mut Search),
    ) -> Vec<usize> {
        let may_do_nothing = matches!(choice.rule, Rule::When(_)) && choice.branches.len() < 2;
        let mut common: Option<BTreeSet<usize>> = may_do_nothing.then(BTreeSet::new);
        for &scope in scopes {
            let sure: BTreeSet<usize> = made(scope)
                .into_iter()
                .filter(|&(fact, maker)| self.stands(flat, scope, (fact, maker), search))
                .map(|(fact, _)| fact)
                .collect();
            common = Some(match common {
                None => sure,
                Some(common) => common.intersection(&sure).copied().collect(),
            });
        }
        common.unwrap_or_default().into_iter().collect()
    }

    /// Whether nothing in a branch may break what the maker in it has made.
    fn stands(
        &self,
        flat: &Flat<'a>,
        scope: usize,
        (fact, maker): (usize, usize),
        search: &mut Search,
    ) -> bool {
        let breakers = self.breakers.get(fact).map(Vec::as_slice).unwrap_or_default();
        breakers.iter().all(|&breaker| {
            let home = flat.owner_of(breaker).map_or(0, |entry| entry.scope);
            let is_inside = flat.is_inside(home, scope);
            !is_inside || search.is_before(flat, breaker, maker)
        })
    }
}

/// The second of each pair, grouped by the first.
fn grouped(groups: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut grouped = vec![Vec::new(); groups];
    for (group, member) in pairs {
        if let Some(members) = grouped.get_mut(group) {
            members.push(member);
        }
    }
    grouped
}

/// Searches for a way, while there is patience left; after that there is none.
struct Search {
    visits: usize,
    seen: Vec<bool>,
}

impl Search {
    /// Whether one is before the other whatever branches are taken: a way through a
    /// branch that the first is not in does not count.
    fn is_before(&mut self, flat: &Flat<'_>, first: usize, then: usize) -> bool {
        self.seen.clear();
        self.seen.resize(flat.graph.len(), false);
        let mut open = vec![first];
        self.visits += flat.graph.len() / 64;
        while let Some(vertex) = open.pop() {
            self.visits += 1;
            if vertex == then {
                return true;
            }
            if self.visits > VISITS_MAX {
                return false;
            }
            for &next in flat.graph.after(vertex) {
                let is_way = flat.owner_of(next).is_some_and(|entry| {
                    let leaves = entry.end == next && entry.start < next;
                    !leaves || vertex == entry.start || (entry.start..next).contains(&first)
                });
                // Vertices are numbered as written, dependencies first.
                if is_way && next <= then && !at(&self.seen, next) {
                    set(&mut self.seen, next, true);
                    open.push(next);
                }
            }
        }
        false
    }
}
