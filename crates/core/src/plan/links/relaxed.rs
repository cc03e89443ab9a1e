//! An order in which every need has been met by somebody before, as far as that goes.
//!
//! What is broken on the way does not count against it, which is why the order can be
//! found without trying twice; but whoever would break what others still wait for is
//! held back as long as anything else can be done, so that most often nothing is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::facts::Facts;
use crate::plan::flat::{Flat, Kinship};
use crate::plan::graph::{at, set};

/// Looks at others that holding back may take.
const LOOKS_MAX: usize = 2_000_000;

/// The order, and what it could not meet.
pub(super) struct Relaxed {
    /// The place of each vertex.
    pub(super) rank: Vec<usize>,
    /// Sub-tasks and facts they need that nobody can have made before.
    pub(super) unmet: Vec<(usize, usize)>,
}

pub(super) fn order(flat: &Flat<'_>, facts: &Facts<'_>) -> Relaxed {
    let mut sweep = Sweep::new(flat, facts);
    while let Some(vertex) = sweep.next() {
        sweep.place(vertex);
    }
    sweep.finish()
}

struct Sweep<'f, 'a> {
    flat: &'f Flat<'a>,
    facts: &'f Facts<'a>,
    /// What each vertex still waits for: vertices and facts.
    missing: Vec<usize>,
    /// For each fact, who needs it and has not got it.
    hungry: Vec<Vec<usize>>,
    ready: BinaryHeap<Reverse<usize>>,
    held_back: Vec<usize>,
    rank: Vec<usize>,
    placed: usize,
    looks: usize,
    /// The facts each vertex breaks, for those that break any.
    breaks: Vec<Vec<usize>>,
}

impl<'f, 'a> Sweep<'f, 'a> {
    fn new(flat: &'f Flat<'a>, facts: &'f Facts<'a>) -> Self {
        let count = flat.graph.len();
        let mut missing: Vec<usize> = (0..count).map(|vertex| flat.graph.before(vertex).len()).collect();
        let mut hungry = vec![Vec::new(); facts.names.len()];
        let mut breaks = vec![Vec::new(); count];
        for (fact, needers) in facts.needers.iter().enumerate() {
            if at(&facts.given, fact) {
                continue;
            }
            for &needer in needers {
                if let Some(missing) = missing.get_mut(needer) {
                    *missing += 1;
                }
            }
            set(&mut hungry, fact, needers.clone());
        }
        for (fact, breakers) in facts.breakers.iter().enumerate() {
            for &breaker in breakers {
                breaks.get_mut(breaker).into_iter().for_each(|breaks| breaks.push(fact));
            }
        }
        let ready = (0..count).filter(|&vertex| at(&missing, vertex) == 0).map(Reverse).collect();
        let (held_back, rank) = (Vec::new(), vec![usize::MAX; count]);
        Self { flat, facts, missing, hungry, ready, held_back, rank, placed: 0, looks: 0, breaks }
    }

    fn next(&mut self) -> Option<usize> {
        while let Some(Reverse(vertex)) = self.ready.pop() {
            if !self.does_harm(vertex) {
                return Some(vertex);
            }
            self.held_back.push(vertex);
        }
        let held = std::mem::take(&mut self.held_back);
        let pick = held.iter().position(|&vertex| !self.does_harm(vertex)).unwrap_or(0);
        let vertex = held.get(pick).copied();
        self.held_back = held;
        if vertex.is_some() {
            self.held_back.remove(pick);
        }
        vertex
    }

    /// Whether somebody who is not done needs what it breaks, and could still have it.
    fn does_harm(&mut self, vertex: usize) -> bool {
        let scope = self.flat.owner_of(vertex).map_or(0, |entry| entry.scope);
        let mut looks = self.looks;
        let breaks = self.breaks.get(vertex).map(Vec::as_slice).unwrap_or_default();
        let harms = breaks.iter().any(|&fact| {
            let needers = self.facts.needers.get(fact).map(Vec::as_slice).unwrap_or_default();
            needers.iter().any(|&needer| {
                looks += 1;
                let waits = at(&self.rank, needer) == usize::MAX && needer != vertex;
                let home = self.flat.owner_of(needer).map_or(0, |entry| entry.scope);
                waits && looks < LOOKS_MAX && self.flat.kinship(scope, home) != Kinship::Exclusive
            })
        });
        self.looks = looks;
        harms && looks < LOOKS_MAX
    }

    fn place(&mut self, vertex: usize) {
        set(&mut self.rank, vertex, self.placed);
        self.placed += 1;
        for &next in self.flat.graph.after(vertex) {
            self.release(next);
        }
        let home = self.flat.owner_of(vertex).map_or(0, |entry| entry.scope);
        let makes = self.facts.makes.get(vertex).map(Vec::as_slice).unwrap_or_default();
        for &fact in makes {
            let Some(hungry) = self.hungry.get_mut(fact) else { continue };
            let all = std::mem::take(hungry);
            let (fed, still): (Vec<_>, Vec<_>) = all.into_iter().partition(|&needer| {
                let theirs = self.flat.owner_of(needer).map_or(0, |entry| entry.scope);
                needer != vertex && self.flat.is_inside(theirs, home)
            });
            set(&mut self.hungry, fact, still);
            fed.into_iter().for_each(|needer| self.release(needer));
        }
    }

    fn release(&mut self, vertex: usize) {
        if let Some(missing) = self.missing.get_mut(vertex) {
            *missing = missing.saturating_sub(1);
            if *missing == 0 && at(&self.rank, vertex) == usize::MAX {
                self.ready.push(Reverse(vertex));
            }
        }
    }

    /// What could not be placed comes last, as written, so that the rest can be judged.
    fn finish(mut self) -> Relaxed {
        let mut unmet = Vec::new();
        for (fact, hungry) in self.hungry.iter().enumerate() {
            unmet.extend(hungry.iter().map(|&vertex| (vertex, fact)));
        }
        unmet.sort_unstable();
        for vertex in self.flat.order.clone() {
            if at(&self.rank, vertex) == usize::MAX {
                set(&mut self.rank, vertex, self.placed);
                self.placed += 1;
            }
        }
        // A need of one that waits for another unmet need may well be met; only what
        // nobody placed before is told.
        unmet.retain(|&(vertex, fact)| !self.is_met(vertex, fact));
        Relaxed { rank: self.rank, unmet }
    }

    fn is_met(&self, vertex: usize, fact: usize) -> bool {
        let home = self.flat.owner_of(vertex).map_or(0, |entry| entry.scope);
        let makers = self.facts.makers.get(fact).map(Vec::as_slice).unwrap_or_default();
        makers.iter().any(|&maker| {
            let theirs = self.flat.owner_of(maker).map_or(0, |entry| entry.scope);
            maker != vertex
                && at(&self.rank, maker) < at(&self.rank, vertex)
                && self.flat.is_inside(home, theirs)
        })
    }
}
