//! One pass from a task to nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::{Effect, World, of_tasks};
use super::name::{Names, joined, word};
use super::{Misfit, NoPlan, TASKS_DEPTH_MAX, TRIES_MAX, Unfit};
use crate::id::SubtaskId;
use crate::plan::graph::{Graph, Reach};
use crate::plan::method::{Library, Method, STEPS_MAX, Sequence, Step};
use crate::plan::{AFTER_MAX, BRANCHES_MAX, Branch, Choice, Fact, NODES_MAX, Node, Rule, Subtask};

// The steps of one method are ordered by one sweep.
const _: () = assert!(STEPS_MAX <= Reach::BLOCK);

/// The nodes of a plan for the task, with choices within at most so many choices.
pub(super) fn expand(
    library: &Library,
    start: &str,
    given: &BTreeSet<Fact>,
    choices_max: usize,
) -> Result<Vec<Node>, NoPlan> {
    let mut pass = Pass {
        library,
        tasks: of_tasks(library),
        names: Names::default(),
        stack: Vec::new(),
        tries: 0,
        choices: 0,
        choices_max,
    };
    let no_values = BTreeMap::new();
    let place = Place { way: "", word: &word(start), after: &[] };
    pass.task((start, &no_values), &World::new(given), &place).map(|part| part.nodes)
}

/// Where nodes go.
struct Place<'p> {
    /// The way to the list they are in, as the beginning of their names.
    way: &'p str,
    /// What stands for them in that list.
    word: &'p str,
    /// What those wait for that wait for nothing else.
    after: &'p [SubtaskId],
}

/// What becomes of a task or a step.
#[derive(Default)]
struct Part<'l> {
    nodes: Vec<Node>,
    /// What others wait for.
    last: Vec<SubtaskId>,
    effect: Effect<'l>,
}

type Values = BTreeMap<String, String>;

struct Pass<'l> {
    library: &'l Library,
    /// What each task may change.
    tasks: BTreeMap<&'l str, Effect<'l>>,
    names: Names,
    /// The tasks it is in, and how things stood.
    stack: Vec<(String, Values, World<'l>)>,
    tries: usize,
    /// How many choices it is in.
    choices: usize,
    choices_max: usize,
}

impl<'l> Pass<'l> {
    fn task(
        &mut self,
        (task, values): (&str, &Values),
        world: &World<'l>,
        place: &Place<'_>,
    ) -> Result<Part<'l>, NoPlan> {
        let methods = self.library.of(task);
        if methods.is_empty() {
            let nearest = self.library.nearest(task).map(str::to_owned);
            return Err(NoPlan::Unknown { task: task.to_owned(), nearest });
        }
        let mut tried = Vec::new();
        let here = (task.to_owned(), values.clone(), world.clone());
        let unfit = if self.stack.contains(&here) {
            Some(Unfit::LeadsBack { task: task.to_owned() })
        } else {
            (self.stack.len() >= TASKS_DEPTH_MAX).then_some(Unfit::TooDeep)
        };
        if let Some(why) = unfit {
            tried.push(Misfit { method: methods.first().map(|it| it.name.clone()).unwrap_or_default(), why });
            return Err(NoPlan::NothingFits { task: task.to_owned(), tried });
        }
        let fits = |method: &&&'l Method| match unfit_in(method, world) {
            Some(why) => {
                tried.push(Misfit { method: method.name.clone(), why });
                false
            }
            None => true,
        };
        let fitting: Vec<&'l Method> = methods.iter().filter(fits).copied().collect();
        self.stack.push(here);
        let part = self.choose(values, &fitting, place, &mut tried);
        self.stack.pop();
        part?.ok_or_else(|| NoPlan::NothingFits { task: task.to_owned(), tried })
    }

    /// The first method that works, or a choice between those that do.
    fn choose(
        &mut self,
        values: &Values,
        fitting: &[&'l Method],
        place: &Place<'_>,
        tried: &mut Vec<Misfit>,
    ) -> Result<Option<Part<'l>>, NoPlan> {
        if fitting.len() < 2 || self.choices >= self.choices_max {
            for method in fitting {
                // At the top the task's own name would be in every name.
                let way = if place.way.is_empty() && self.stack.len() == 1 {
                    String::new()
                } else {
                    joined(place.way, place.word)
                };
                if let Some(part) = self.attempt((method, values), (&way, place.after), tried)? {
                    return Ok(Some(part));
                }
            }
            return Ok(None);
        }
        let mark = self.names.count();
        let id = self.names.give(place.way, place.word);
        self.choices += 1;
        let branches = self.branches((&id, values), fitting, tried);
        self.choices -= 1;
        let mut branches = branches?;
        if branches.is_empty() {
            self.names.forget(mark);
            return Ok(None);
        }
        if branches.len() > 1 {
            return Ok(Some(one_of(id, place.after, branches)));
        }
        // No choice after all: the nodes of the one method take the place of the task.
        let mut only = branches.pop().map(|(_, part)| part);
        for node in only.iter_mut().flat_map(|part| &mut part.nodes) {
            wait_for(node, place.after);
        }
        Ok(only)
    }

    fn branches(
        &mut self,
        (id, values): (&SubtaskId, &Values),
        fitting: &[&'l Method],
        tried: &mut Vec<Misfit>,
    ) -> Result<Vec<(&'l Method, Part<'l>)>, NoPlan> {
        let mut branches = Vec::new();
        for method in fitting {
            if branches.len() == BRANCHES_MAX {
                break;
            }
            let way = joined(id.as_str(), &word(&method.name));
            if let Some(part) = self.attempt((method, values), (&way, &[]), tried)? {
                branches.push((*method, part));
            }
        }
        Ok(branches)
    }

    /// What a method makes; `None` if a task in it has no method that fits.
    fn attempt(
        &mut self,
        (method, values): (&'l Method, &Values),
        (way, after): (&str, &[SubtaskId]),
        tried: &mut Vec<Misfit>,
    ) -> Result<Option<Part<'l>>, NoPlan> {
        self.tries += 1;
        if self.tries > TRIES_MAX {
            return Err(NoPlan::TooLarge { task: method.task.clone() });
        }
        let mark = self.names.count();
        match self.method((method, values), way, after) {
            Ok(part) => Ok(Some(part)),
            Err((step, no)) if no.is_local() => {
                self.names.forget(mark);
                let why = Unfit::Step { step, why: Box::new(no.brief()) };
                tried.push(Misfit { method: method.name.clone(), why });
                Ok(None)
            }
            Err((_, no)) => Err(no),
        }
    }

    fn method(
        &mut self,
        (method, values): (&'l Method, &Values),
        way: &str,
        after: &[SubtaskId],
    ) -> Result<Part<'l>, (String, NoPlan)> {
        let steps = Steps::new(method);
        let mut parts: Vec<Part<'l>> = (0..method.steps.len()).map(|_| Part::default()).collect();
        let mut whole = Part::default();
        for &step in &steps.order {
            let Some(what) = method.steps.get(step) else { continue };
            let id = || what.id().to_string();
            let waits = waits(&steps, step, &parts, after);
            if waits.len() > AFTER_MAX {
                return Err((id(), NoPlan::TooWide { task: method.task.clone(), count: waits.len() }));
            }
            let mut part = match what {
                Step::Subtask(subtask) => self.subtask(subtask, values, way, waits),
                Step::Task(inner) => {
                    let world = self.world_at(method, &steps, step, &parts);
                    let with: Values =
                        inner.with.iter().map(|(key, value)| (key.clone(), filled(value, values))).collect();
                    let place = Place { way, word: inner.id.as_str(), after: &waits };
                    self.task((&inner.task, &with), &world, &place).map_err(|no| (id(), no))?
                }
            };
            if self.names.count() > NODES_MAX {
                return Err((id(), NoPlan::TooLarge { task: method.task.clone() }));
            }
            whole.nodes.append(&mut part.nodes);
            whole.effect.then(&part.effect);
            if let Some(slot) = parts.get_mut(step) {
                *slot = part;
            }
        }
        steps.each_unordered(|one, other| {
            if let (Some(one), Some(other)) = (parts.get(one), parts.get(other)) {
                whole.effect.unordered(&one.effect, &other.effect);
            }
        });
        let ends = parts.iter().enumerate().filter(|(step, _)| steps.graph.after(*step).is_empty());
        whole.last = ends.flat_map(|(_, part)| part.last.iter().cloned()).collect();
        Ok(whole)
    }

    fn subtask(
        &mut self,
        subtask: &'l Subtask,
        values: &Values,
        way: &str,
        after: Vec<SubtaskId>,
    ) -> Part<'l> {
        let id = self.names.give(way, subtask.id.as_str());
        let goal = filled(&subtask.goal, values);
        let node = Subtask { id: id.clone(), goal, after, ..subtask.clone() };
        Part { nodes: vec![node.into()], last: vec![id], effect: Effect::of(subtask) }
    }

    /// What is known before a step: what came before has happened, what may come at
    /// the same time may have.
    fn world_at(&self, method: &'l Method, steps: &Steps, step: usize, parts: &[Part<'l>]) -> World<'l> {
        let mut world = self.stack.last().map(|(_, _, world)| world.clone()).unwrap_or_default();
        for &other in &steps.order {
            if steps.is_before(other, step)
                && let Some(part) = parts.get(other)
            {
                world.after(&part.effect);
            }
        }
        // Among those before it, order may be open too.
        steps.each_unordered(|one, other| {
            let (Some(of_one), Some(of_other)) = (parts.get(one), parts.get(other)) else { return };
            if steps.is_before(one, step) && steps.is_before(other, step) {
                let mut doubt = Effect::default();
                doubt.unordered(&of_one.effect, &of_other.effect);
                world.beside(&doubt);
            }
        });
        for (other, what) in method.steps.iter().enumerate() {
            if other == step || steps.is_before(other, step) || steps.is_before(step, other) {
                continue;
            }
            match what {
                Step::Subtask(subtask) => world.beside(&Effect::of(subtask)),
                Step::Task(inner) => {
                    self.tasks.get(inner.task.as_str()).into_iter().for_each(|effect| world.beside(effect));
                }
            }
        }
        world
    }
}

/// Why a method does not fit as things stand.
fn unfit_in(method: &Method, world: &World<'_>) -> Option<Unfit> {
    let lacks = method.when.iter().find(|fact| !world.certain.contains(fact));
    if let Some(fact) = lacks {
        return Some(Unfit::Lacks { fact: fact.clone() });
    }
    let forbids = method.unless.iter().find(|fact| world.possible.contains(fact));
    forbids.map(|fact| Unfit::Forbids { fact: fact.clone() })
}

fn one_of<'l>(id: SubtaskId, after: &[SubtaskId], parts: Vec<(&Method, Part<'l>)>) -> Part<'l> {
    let mut effect: Option<Effect<'l>> = None;
    let mut branches = Vec::new();
    for (method, part) in parts {
        match &mut effect {
            Some(effect) => effect.or(&part.effect),
            None => effect = Some(part.effect),
        }
        branches.push(Branch { name: method.name.clone(), nodes: part.nodes });
    }
    let last = vec![id.clone()];
    let choice = Choice { id, after: after.to_vec(), priority: 0, rule: Rule::FirstThatWorks, branches };
    Part { nodes: vec![choice.into()], last, effect: effect.unwrap_or_default() }
}

/// Lets a node that waits for nothing wait for these.
fn wait_for(node: &mut Node, firsts: &[SubtaskId]) {
    let after = match node {
        Node::Subtask(subtask) => &mut subtask.after,
        Node::Choice(choice) => &mut choice.after,
    };
    if after.is_empty() {
        after.extend_from_slice(firsts);
    }
}

/// What a step waits for: the last of the steps before it, or what its method waits for.
fn waits(steps: &Steps, step: usize, parts: &[Part<'_>], after: &[SubtaskId]) -> Vec<SubtaskId> {
    let mut waits: Vec<SubtaskId> = Vec::new();
    let mut seen = BTreeSet::new();
    for &first in steps.graph.before(step) {
        for id in parts.get(first).into_iter().flat_map(|part| &part.last) {
            if seen.insert(id) {
                waits.push(id.clone());
            }
        }
    }
    if waits.is_empty() { after.to_vec() } else { waits }
}

/// The text with every `{name}` that has a value replaced, once.
fn filled(text: &str, values: &Values) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        filled.push_str(before);
        match from.split_once('}').and_then(|(name, after)| Some((values.get(name)?, after))) {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = from;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// The steps of a method and their order.
struct Steps {
    graph: Graph,
    order: Vec<usize>,
    reach: Reach,
    is_total: bool,
}

impl Steps {
    fn new(method: &Method) -> Self {
        let graph = Graph::new(method.steps.len(), &method.waits());
        // A library holds no circle.
        let order = graph.order().unwrap_or_default();
        let all: Vec<usize> = (0..method.steps.len()).collect();
        let reach = Reach::of(&graph, &order, &all);
        Self { graph, order, reach, is_total: method.ordering == Sequence::Total }
    }

    fn is_before(&self, first: usize, then: usize) -> bool {
        let row = self.reach.rows.get(first);
        row.and_then(|row| row.get(then / 64)).is_some_and(|word| word >> (then % 64) & 1 == 1)
    }

    fn each_unordered(&self, mut tell: impl FnMut(usize, usize)) {
        if self.is_total {
            return;
        }
        for one in 0..self.graph.len() {
            for other in one + 1..self.graph.len() {
                if !self.is_before(one, other) && !self.is_before(other, one) {
                    tell(one, other);
                }
            }
        }
    }
}
