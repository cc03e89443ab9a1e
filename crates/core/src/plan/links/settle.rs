//! Choosing a maker for every need, and order against every threat.
//!
//! One attempt chooses makers, adds the order they ask for, and goes through the
//! threats, last need first, so that order added for a late one covers earlier ones.
//! Where the plan leaves both sides open the given order decides, which contradicts
//! itself nowhere. An attempt that gets stuck on a need says so; the next tries
//! another maker for it, then settles it first, and at last gives it up as a problem.

use std::collections::{BTreeMap, BTreeSet};

use super::closure::Closure;
use super::facts::Facts;
use super::{Link, Links, Ordering, Trouble, Why};
use crate::id::SubtaskId;
use crate::plan::flat::{Flat, Kinship};
use crate::plan::graph::{Graph, at};

/// Attempts before needs that get stuck are given up at once.
const ATTEMPTS_MAX: usize = 32;
/// Makers of one fact that are considered for one need.
const MAKERS_MAX: usize = 32;
/// Vertices looked at to find out whether one need's maker is waited for anyway.
const VISITS_MAX: usize = 64;
/// Pairs and words of bits looked at, over all attempts.
const WORK_MAX: usize = 40_000_000;

/// A fact that a sub-task needs.
#[derive(Clone, Copy, Debug)]
struct Need {
    vertex: usize,
    fact: usize,
}

/// What was learned from attempts that got stuck.
#[derive(Default)]
struct Lessons {
    /// Makers not to choose for a need; `None`: the beginning.
    avoid: BTreeSet<(usize, Option<usize>)>,
    /// Needs to settle before all others.
    first: Vec<usize>,
    /// Needs that cannot be met safely, and who threatens them.
    lost: BTreeMap<usize, usize>,
    attempts: usize,
    work: usize,
}

impl Lessons {
    /// Whether a need that gets stuck is worth another attempt.
    fn is_patient(&self) -> bool {
        self.attempts < ATTEMPTS_MAX && self.work < WORK_MAX
    }
}

/// A need that no order protects from this breaker.
struct Stuck {
    need: usize,
    breaker: usize,
}

pub(super) struct Settling<'f, 'a> {
    flat: &'f Flat<'a>,
    facts: &'f Facts<'a>,
    rank: Vec<usize>,
    /// For each fact its makers, by rank.
    makers: Vec<Vec<usize>>,
    needs: Vec<Need>,
    /// Needs whose maker is beyond doubt, with it.
    plain: Vec<(Need, Option<usize>)>,
    /// Order that those ask for: maker, one in need, and the fact.
    plain_supplies: Vec<(usize, usize, usize)>,
    /// The vertices the other needs are about, and their order in the plan.
    vertices: Vec<usize>,
    given_order: Closure,
}

/// How a fact that nobody breaks comes to be there.
enum Plain {
    /// Its maker is waited for anyway.
    Waited(usize),
    /// It holds from the beginning.
    Given,
    /// Its maker must come first.
    Supplies(usize),
}

/// What one attempt adds.
#[derive(Default)]
struct Attempt {
    makers: Vec<Option<usize>>,
    /// Vertices of which the first comes before the second, and for which need.
    supplies: Vec<(usize, usize, usize)>,
    protects: Vec<(usize, usize, usize)>,
    entangled: Vec<usize>,
}

impl<'f, 'a> Settling<'f, 'a> {
    pub(super) fn new(flat: &'f Flat<'a>, facts: &'f Facts<'a>, relaxed: super::relaxed::Relaxed) -> Self {
        let rank = relaxed.rank;
        let unmet: BTreeSet<_> = relaxed.unmet.into_iter().collect();
        let mut makers = facts.makers.clone();
        makers.iter_mut().for_each(|makers| makers.sort_unstable_by_key(|&maker| at(&rank, maker)));
        let mut settling = Self {
            flat,
            facts,
            rank,
            makers,
            needs: Vec::new(),
            plain: Vec::new(),
            plain_supplies: Vec::new(),
            vertices: Vec::new(),
            given_order: Closure::default(),
        };
        for (vertex, _) in flat.subtasks() {
            let own: BTreeSet<usize> = facts.needs.get(vertex).into_iter().flatten().copied().collect();
            for fact in own.into_iter().filter(|&fact| !unmet.contains(&(vertex, fact))) {
                let need = Need { vertex, fact };
                match settling.plain_maker(need) {
                    Some(Plain::Waited(maker)) => settling.plain.push((need, Some(maker))),
                    Some(Plain::Given) => settling.plain.push((need, None)),
                    Some(Plain::Supplies(maker)) => {
                        settling.plain.push((need, Some(maker)));
                        settling.plain_supplies.push((maker, vertex, fact));
                    }
                    None => settling.needs.push(need),
                }
            }
        }
        settling.vertices = settling.involved();
        settling.given_order = Closure::new(flat, &flat.graph, &flat.order, &settling.vertices);
        settling
    }

    /// Who makes a fact that nobody breaks, if that is soon found out. Such a fact needs
    /// no protection, so the nearest maker before it is as good as any.
    fn plain_maker(&self, need: Need) -> Option<Plain> {
        if self.facts.breakers.get(need.fact).is_some_and(|breakers| !breakers.is_empty()) {
            return None;
        }
        let home = self.scope(need.vertex);
        let is_maker = |vertex: usize| {
            self.facts.makes.get(vertex).is_some_and(|makes| makes.contains(&need.fact))
                && self.flat.is_inside(home, self.scope(vertex))
        };
        let mut open = vec![need.vertex];
        let mut visits = 0;
        while let Some(vertex) = open.pop() {
            for &first in self.flat.graph.before(vertex) {
                if is_maker(first) {
                    return Some(Plain::Waited(first));
                }
                visits += 1;
                // What is in a choice may not be done; what it waits for is.
                open.push(self.start(first));
            }
            if visits > VISITS_MAX {
                return at(&self.facts.given, need.fact).then_some(Plain::Given);
            }
        }
        if at(&self.facts.given, need.fact) {
            return Some(Plain::Given);
        }
        let makers = self.makers.get(need.fact).map(Vec::as_slice).unwrap_or_default();
        let split = makers.partition_point(|&maker| at(&self.rank, maker) < at(&self.rank, need.vertex));
        let mut earlier = makers.iter().take(split).rev().copied();
        earlier.find(|&maker| is_maker(maker)).map(Plain::Supplies)
    }

    /// Every vertex whose place matters to a need that is not plain.
    fn involved(&self) -> Vec<usize> {
        let mut involved = BTreeSet::new();
        let facts: BTreeSet<usize> = self.needs.iter().map(|need| need.fact).collect();
        for fact in facts {
            let of = |list: &'f [Vec<usize>]| list.get(fact).into_iter().flatten().copied();
            for vertex in
                of(&self.facts.makers).chain(of(&self.facts.needers)).chain(of(&self.facts.breakers))
            {
                let mut entry = self.flat.owner_of(vertex);
                while let Some(found) = entry {
                    involved.extend([found.start, found.end]);
                    entry = self.flat.choice_of(found.scope);
                }
            }
        }
        involved.into_iter().collect()
    }

    pub(super) fn settle(self) -> Links {
        let mut lessons = Lessons::default();
        loop {
            match self.attempt(&mut lessons) {
                Ok(attempt) => return self.told(&attempt, &lessons),
                Err(stuck) => self.learn(&stuck, &mut lessons),
            }
        }
    }

    fn learn(&self, stuck: &Stuck, lessons: &mut Lessons) {
        lessons.attempts += 1;
        let Some(&need) = self.needs.get(stuck.need) else { return };
        let patient = lessons.is_patient();
        let tried = self.chosen(stuck.need, need, lessons);
        if patient && let Some(tried) = tried {
            lessons.avoid.insert((stuck.need, tried));
            if self.chosen(stuck.need, need, lessons).is_some() {
                return;
            }
        }
        lessons.avoid.retain(|(avoiding, _)| *avoiding != stuck.need);
        if patient && !lessons.first.contains(&stuck.need) {
            lessons.first.push(stuck.need);
            return;
        }
        lessons.lost.insert(stuck.need, stuck.breaker);
    }

    fn attempt(&self, lessons: &mut Lessons) -> Result<Attempt, Stuck> {
        let mut attempt = Attempt::default();
        for (place, &need) in self.needs.iter().enumerate() {
            let maker = self.chosen(place, need, lessons).flatten();
            attempt.makers.push(maker);
            if let Some(maker) = maker
                && !self.given_order.is_before(maker, need.vertex)
            {
                attempt.supplies.push((maker, need.vertex, place));
            }
        }
        let mut order = self.supplied(&attempt, lessons)?;
        let mut turns: Vec<usize> = (0..self.needs.len()).collect();
        turns.sort_by_key(|&place| {
            let rank = self.needs.get(place).map_or(0, |need| at(&self.rank, need.vertex));
            (!lessons.first.contains(&place), std::cmp::Reverse(rank))
        });
        for place in turns {
            self.protect(place, &mut attempt, &mut order, lessons)?;
        }
        Ok(attempt)
    }

    /// The order of the plan and of the makers that were chosen.
    fn supplied(&self, attempt: &Attempt, lessons: &mut Lessons) -> Result<Closure, Stuck> {
        let plain = self.plain_supplies.iter();
        if attempt.supplies.is_empty() && self.plain_supplies.is_empty() || self.needs.is_empty() {
            return Ok(self.given_order.clone());
        }
        let more = attempt.supplies.iter().chain(plain).map(|&(from, to, _)| (from, to));
        let edges: Vec<_> = self.flat.edges.iter().copied().chain(more).collect();
        let graph = Graph::new(self.flat.graph.len(), &edges);
        lessons.work += edges.len() * self.vertices.len().div_ceil(64);
        match graph.order() {
            Ok(order) => Ok(Closure::new(self.flat, &graph, &order, &self.vertices)),
            Err(circular) => {
                let in_circle = |vertex: usize| circular.0.binary_search(&vertex).is_ok();
                let runs_back = |&&(from, to, _): &&(usize, usize, usize)| {
                    in_circle(from) && in_circle(to) && at(&self.rank, from) > at(&self.rank, to)
                };
                let culprit = attempt.supplies.iter().find(runs_back).or(attempt.supplies.first());
                let &(from, _, need) = culprit.ok_or(Stuck { need: 0, breaker: 0 })?;
                Err(Stuck { need, breaker: from })
            }
        }
    }

    /// Keeps everybody who breaks the fact of a need away from it.
    fn protect(
        &self,
        place: usize,
        attempt: &mut Attempt,
        order: &mut Closure,
        lessons: &mut Lessons,
    ) -> Result<(), Stuck> {
        let Some(need) = self.needs.get(place) else { return Ok(()) };
        if lessons.lost.contains_key(&place) {
            return Ok(());
        }
        let maker = attempt.makers.get(place).copied().flatten();
        let breakers = self.facts.breakers.get(need.fact).map(Vec::as_slice).unwrap_or_default();
        lessons.work += breakers.len() + std::mem::take(&mut order.work);
        for &breaker in breakers {
            if !self.threatens(breaker, maker, need.vertex, order) {
                continue;
            }
            if lessons.work > WORK_MAX {
                attempt.entangled.push(place);
                return Ok(());
            }
            let earlier = maker.and_then(|maker| self.may_put(breaker, self.start(maker), order));
            let later = self.may_put(need.vertex, breaker, order);
            let is_written_earlier =
                maker.is_some_and(|maker| at(&self.rank, breaker) < at(&self.rank, maker));
            let put = if is_written_earlier { earlier.or(later) } else { later.or(earlier) };
            let Some((first, then)) = put else {
                if lessons.is_patient() {
                    return Err(Stuck { need: place, breaker });
                }
                lessons.lost.insert(place, breaker);
                return Ok(());
            };
            order.put(first, then, self.flat.span(self.scope(then)));
            attempt.protects.push((first, then, place));
        }
        Ok(())
    }

    /// Whether the breaker may run between the maker and the one in need.
    fn threatens(&self, breaker: usize, maker: Option<usize>, vertex: usize, order: &Closure) -> bool {
        let home = self.scope(breaker);
        let apart = |other: usize| self.flat.kinship(home, self.scope(other)) == Kinship::Exclusive;
        if breaker == vertex || apart(vertex) || order.is_before(vertex, breaker) {
            return false;
        }
        let Some(maker) = maker else { return true };
        // What is in the choice that makes the fact was weighed when it was found to.
        let is_within = self.start(maker) != maker
            && self.flat.owner_of(maker).is_some_and(|choice| self.is_part(breaker, choice.start));
        !(is_within || apart(maker) || order.is_before(breaker, self.start(maker)))
    }

    fn is_part(&self, vertex: usize, choice_start: usize) -> bool {
        let mut scope = self.scope(vertex);
        while let Some(choice) = self.flat.choice_of(scope) {
            if choice.start == choice_start {
                return true;
            }
            scope = choice.scope;
        }
        false
    }

    /// The pair to put in order so that one vertex is over before another begins: the
    /// choice it is in waits with it, unless the other is in that choice too.
    fn may_put(&self, first: usize, then: usize, order: &Closure) -> Option<(usize, usize)> {
        let Kinship::Within(scope) = self.flat.kinship(self.scope(first), self.scope(then)) else {
            return None;
        };
        let lifted = self.flat.lifted(*self.flat.owner.get(first)?, scope);
        let end = self.flat.entries.get(lifted)?.end;
        (end != then && !order.leads(then, end)).then_some((end, then))
    }

    /// The maker a need gets: `None` if there is none left to try.
    fn chosen(&self, place: usize, need: Need, lessons: &Lessons) -> Option<Option<usize>> {
        let home = self.scope(need.vertex);
        let makers = self.makers.get(need.fact).map(Vec::as_slice).unwrap_or_default();
        let split = makers.partition_point(|&maker| at(&self.rank, maker) < at(&self.rank, need.vertex));
        let (earlier, later) = makers.split_at_checked(split).unwrap_or_default();
        let fits = |maker: &usize| {
            *maker != need.vertex
                && self.flat.is_inside(home, self.scope(*maker))
                && !self.given_order.leads(need.vertex, *maker)
                && !lessons.avoid.contains(&(place, Some(*maker)))
        };
        let nearest: Vec<usize> = earlier.iter().rev().copied().filter(fits).take(MAKERS_MAX).collect();
        let waited = nearest.iter().copied().find(|&maker| self.given_order.is_before(maker, need.vertex));
        if let Some(maker) = waited {
            return Some(Some(maker));
        }
        if at(&self.facts.given, need.fact) && !lessons.avoid.contains(&(place, None)) {
            return Some(None);
        }
        // Only makers that come later in the given order can end in a circle.
        let late = || later.iter().copied().find(fits).filter(|_| lessons.is_patient());
        nearest.first().copied().or_else(late).map(Some)
    }

    fn scope(&self, vertex: usize) -> usize {
        self.flat.owner_of(vertex).map_or(0, |entry| entry.scope)
    }

    fn start(&self, vertex: usize) -> usize {
        self.flat.owner_of(vertex).map_or(vertex, |entry| entry.start)
    }

    fn id(&self, vertex: usize) -> Option<SubtaskId> {
        self.flat.owner_of(vertex).map(|entry| entry.node.id().clone())
    }

    fn link(&self, need: Need, maker: Option<usize>) -> Option<Link> {
        let fact = (*self.facts.names.get(need.fact)?).clone();
        Some(Link { fact, from: maker.and_then(|maker| self.id(maker)), to: self.id(need.vertex)? })
    }

    /// What was settled, in names.
    fn told(&self, attempt: &Attempt, lessons: &Lessons) -> Links {
        let link_of = |place: usize| {
            let maker = attempt.makers.get(place).copied().flatten();
            self.needs.get(place).and_then(|&need| self.link(need, maker))
        };
        let ordering = |first: usize, then: usize, why: Why| {
            Some(Ordering { first: self.id(first)?, then: self.id(then)?, why })
        };
        let mut problems: Vec<Trouble> = Vec::new();
        for (&place, &breaker) in &lessons.lost {
            let link = link_of(place).zip(self.id(breaker));
            problems.extend(link.map(|(link, by)| Trouble::Threatened { link, by }));
        }
        let entangled = attempt.entangled.iter().filter_map(|&place| link_of(place));
        problems.extend(entangled.map(|Link { fact, to: id, .. }| Trouble::TooEntangled { id, fact }));
        let bad: BTreeSet<usize> =
            lessons.lost.keys().copied().chain(attempt.entangled.iter().copied()).collect();
        let plain = self.plain.iter().filter_map(|&(need, maker)| self.link(need, maker));
        let settled = (0..self.needs.len()).filter(|place| !bad.contains(place)).filter_map(link_of);
        let mut links: Vec<Link> = plain.chain(settled).collect();
        links.sort();
        let supplies = attempt.supplies.iter().filter_map(|&(first, then, place)| {
            let fact = link_of(place)?.fact;
            ordering(first, then, Why::Supplies { fact })
        });
        let plain_supplies = self.plain_supplies.iter().filter_map(|&(first, then, fact)| {
            let fact = (*self.facts.names.get(fact)?).clone();
            ordering(first, then, Why::Supplies { fact })
        });
        let supplies = plain_supplies.chain(supplies);
        let protects = attempt
            .protects
            .iter()
            .filter_map(|&(first, then, place)| ordering(first, then, Why::Protects(link_of(place)?)));
        Links { links, orderings: supplies.chain(protects).collect(), problems }
    }
}
