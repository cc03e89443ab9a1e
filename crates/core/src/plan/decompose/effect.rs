//! What is known to hold, and what doing something changes about that.
//!
//! Both come in two strengths: what holds for sure and what may hold; what is changed
//! for sure and what may be. A fact of neither set does not hold.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::method::{Library, Method, Step};
use crate::plan::{Fact, Subtask};

type Set<'l> = BTreeSet<&'l Fact>;

/// What is known of the facts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct World<'l> {
    pub(super) certain: Set<'l>,
    pub(super) possible: Set<'l>,
}

/// What doing something changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect<'l> {
    makes: Set<'l>,
    may_make: Set<'l>,
    breaks: Set<'l>,
    may_break: Set<'l>,
}

impl<'l> World<'l> {
    pub(super) fn new(given: &'l BTreeSet<Fact>) -> Self {
        Self { certain: given.iter().collect(), possible: given.iter().collect() }
    }

    /// After something was done.
    pub(super) fn after(&mut self, effect: &Effect<'l>) {
        self.certain.retain(|fact| !effect.may_break.contains(fact));
        self.certain.extend(&effect.makes);
        self.possible.retain(|fact| !effect.breaks.contains(fact));
        self.possible.extend(&effect.may_make);
    }

    /// While something may be done at any moment.
    pub(super) fn beside(&mut self, effect: &Effect<'l>) {
        self.certain.retain(|fact| !effect.may_break.contains(fact));
        self.possible.extend(&effect.may_make);
    }
}

impl<'l> Effect<'l> {
    pub(super) fn of(subtask: &'l Subtask) -> Self {
        let makes: Set<'l> = subtask.makes.iter().collect();
        let breaks: Set<'l> = subtask.breaks.iter().filter(|fact| !makes.contains(fact)).collect();
        Self { may_make: makes.clone(), makes, may_break: breaks.clone(), breaks }
    }

    fn is_empty(&self) -> bool {
        self.may_make.is_empty() && self.may_break.is_empty()
    }

    /// First this, then the other.
    pub(super) fn then(&mut self, next: &Self) {
        if next.is_empty() {
            return;
        }
        self.makes.retain(|fact| !next.may_break.contains(fact));
        self.may_make.retain(|fact| !next.breaks.contains(fact));
        self.breaks.retain(|fact| !next.may_make.contains(fact));
        self.may_break.retain(|fact| !next.makes.contains(fact));
        self.makes.extend(&next.makes);
        self.may_make.extend(&next.may_make);
        self.breaks.extend(&next.breaks);
        self.may_break.extend(&next.may_break);
    }

    /// Two parts of it may come in either order.
    pub(super) fn unordered(&mut self, one: &Self, other: &Self) {
        let doubtful = |one: &Self, other: &Self| -> Vec<&'l Fact> {
            one.may_make.intersection(&other.may_break).copied().collect()
        };
        for fact in doubtful(one, other).into_iter().chain(doubtful(other, one)) {
            self.makes.remove(fact);
            self.breaks.remove(fact);
            self.may_make.insert(fact);
            self.may_break.insert(fact);
        }
    }

    /// Either this or the other.
    pub(super) fn or(&mut self, other: &Self) {
        self.makes.retain(|fact| other.makes.contains(fact));
        self.breaks.retain(|fact| other.breaks.contains(fact));
        self.may_make.extend(&other.may_make);
        self.may_break.extend(&other.may_break);
    }
}

/// What each task may change, by whatever methods.
pub(super) fn of_tasks(library: &Library) -> BTreeMap<&str, Effect<'_>> {
    let mut effects: BTreeMap<&str, Effect<'_>> = BTreeMap::new();
    loop {
        let mut is_changed = false;
        for method in library.methods() {
            let more = anything(method, &effects);
            let effect = effects.entry(&method.task).or_default();
            let before = (effect.may_make.len(), effect.may_break.len());
            effect.may_make.extend(more.may_make);
            effect.may_break.extend(more.may_break);
            is_changed |= before != (effect.may_make.len(), effect.may_break.len());
        }
        if !is_changed {
            return effects;
        }
    }
}

fn anything<'l>(method: &'l Method, effects: &BTreeMap<&str, Effect<'l>>) -> Effect<'l> {
    let mut any = Effect::default();
    for step in &method.steps {
        match step {
            Step::Subtask(subtask) => {
                any.may_make.extend(&subtask.makes);
                any.may_break.extend(&subtask.breaks);
            }
            Step::Task(step) => {
                if let Some(effect) = effects.get(step.task.as_str()) {
                    any.may_make.extend(&effect.may_make);
                    any.may_break.extend(&effect.may_break);
                }
            }
        }
    }
    any
}
