//! Plans made up for tests, and ways through them.

use std::collections::BTreeSet;

use super::flat::Flat;
use super::graph::Graph;
use super::{Branch, Choice, Condition, Fact, Node, Plan, Rule, Subtask, Test};
use crate::id::SubtaskId;

/// Chance for tests: the same seed draws the same.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

pub(crate) fn id(raw: &str) -> SubtaskId {
    SubtaskId::parse(raw).unwrap()
}

pub(crate) fn fact(raw: &str) -> Fact {
    Fact::parse(raw).unwrap()
}

pub(crate) fn facts(raw: &[&str]) -> BTreeSet<Fact> {
    raw.iter().map(|raw| fact(raw)).collect()
}

/// A sub-task from a few words: `b after a, c needs x makes y breaks z uses t takes 5 costs 10 optional`.
pub(crate) fn subtask(words: &str) -> Subtask {
    let mut words = words.split_whitespace();
    let mut made = Subtask::new(id(words.next().unwrap()), "do it");
    let mut mode = "";
    for word in words {
        let name = word.trim_end_matches(',');
        match (mode, name) {
            (_, "after" | "needs" | "makes" | "breaks" | "uses" | "takes" | "costs" | "rank") => mode = name,
            (_, "optional") => made.optional = true,
            ("after", _) => made.after.push(id(name)),
            ("needs", _) => made.needs.push(fact(name)),
            ("makes", _) => made.makes.push(fact(name)),
            ("breaks", _) => made.breaks.push(fact(name)),
            ("uses", _) => made.uses.push(crate::id::ToolName::parse(name).unwrap()),
            ("takes", _) => made.seconds = Some(name.parse().unwrap()),
            ("costs", _) => made.tokens = Some(name.parse().unwrap()),
            ("rank", _) => made.priority = name.parse().unwrap(),
            _ => panic!("{word}"),
        }
    }
    made
}

pub(crate) fn node(words: &str) -> Node {
    subtask(words).into()
}

/// A plain plan, one sub-task a line.
pub(crate) fn plan(lines: &str) -> Plan {
    Plan::new(lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(node).collect()).unwrap()
}

/// A choice that falls back, one list of sub-tasks a branch.
pub(crate) fn choice(name: &str, branches: &[&[&str]]) -> Node {
    let branch =
        |nodes: &&[&str]| Branch { name: String::new(), nodes: nodes.iter().map(|it| node(it)).collect() };
    let branches = branches.iter().map(branch).collect();
    Choice { id: id(name), after: Vec::new(), priority: 0, rule: Rule::FirstThatWorks, branches }.into()
}

/// A plan of chance: nested choices, facts few enough to collide.
pub(crate) fn any_plan(dice: &mut Dice, size: usize) -> Plan {
    let mut next = 0;
    let nodes = any_nodes(dice, size, &mut Vec::new(), (&mut next, 0));
    Plan::new(nodes).unwrap()
}

fn any_nodes(
    dice: &mut Dice,
    size: usize,
    around: &mut Vec<SubtaskId>,
    (next, depth): (&mut usize, usize),
) -> Vec<Node> {
    let outside = around.len();
    let mut nodes = Vec::new();
    for _ in 0..size.max(1) {
        let name = id(&format!("n{next}"));
        *next += 1;
        let mut after: Vec<SubtaskId> = Vec::new();
        for _ in 0..dice.below(3) {
            if !around.is_empty() {
                let pick = around[dice.below(around.len())].clone();
                if !after.contains(&pick) {
                    after.push(pick);
                }
            }
        }
        if depth < 3 && dice.one_in(5) {
            let conditional = around.get(dice.below(around.len())).filter(|_| dice.one_in(2)).cloned();
            let count = 1 + dice.below(if conditional.is_some() { 2 } else { 3 });
            let mut branches = Vec::new();
            for _ in 0..count {
                let size = 1 + dice.below(3);
                let nodes = any_nodes(dice, size, around, (next, depth + 1));
                branches.push(Branch { name: String::new(), nodes });
            }
            let rule = conditional.map_or(Rule::FirstThatWorks, |of| {
                Rule::When(Condition { of, test: Test::Is("yes".into()) })
            });
            nodes.push(Choice { id: name.clone(), after, priority: 0, rule, branches }.into());
        } else {
            let mut made = Subtask { after, ..Subtask::new(name.clone(), "do it") };
            colour(dice, &mut made);
            nodes.push(made.into());
        }
        around.push(name);
    }
    around.truncate(outside);
    nodes
}

fn colour(dice: &mut Dice, made: &mut Subtask) {
    let any = |dice: &mut Dice| fact(["x", "y", "z", "w"][dice.below(4)]);
    if dice.one_in(2) {
        made.makes.push(any(dice));
    }
    if dice.one_in(3) {
        made.needs.push(any(dice));
    }
    if dice.one_in(5) {
        made.breaks.push(any(dice));
    }
    made.optional = dice.one_in(3);
    made.priority = dice.below(3) as i32;
    made.seconds = Some(dice.below(50) as u64);
    made.tokens = Some(dice.below(1000) as u64);
}

/// One way through a plan: branches and order by chance.
pub(crate) fn walk<'p>(plan: &'p Plan, dice: &mut Dice) -> Vec<&'p Subtask> {
    let flat = Flat::new(plan);
    let picks: Vec<usize> = flat
        .entries
        .iter()
        .map(|entry| match entry.node {
            // A condition without a second branch may do nothing.
            Node::Choice(Choice { rule: Rule::When(_), .. }) => dice.below(2),
            Node::Choice(choice) => dice.below(choice.branches.len()),
            Node::Subtask(_) => 0,
        })
        .collect();
    let (graph, done) = flat.course(|choice| picks[choice]);
    any_order(&graph, dice)
        .into_iter()
        .filter(|vertex| done.contains(vertex))
        .map(|vertex| match flat.owner_of(vertex).unwrap().node {
            Node::Subtask(subtask) => subtask,
            Node::Choice(_) => unreachable!(),
        })
        .collect()
}

fn any_order(graph: &Graph, dice: &mut Dice) -> Vec<usize> {
    let mut missing: Vec<usize> = (0..graph.len()).map(|vertex| graph.before(vertex).len()).collect();
    let mut free: Vec<usize> = (0..graph.len()).filter(|&vertex| missing[vertex] == 0).collect();
    let mut order = Vec::new();
    while !free.is_empty() {
        let vertex = free.swap_remove(dice.below(free.len()));
        order.push(vertex);
        for &next in graph.after(vertex) {
            missing[next] -= 1;
            if missing[next] == 0 {
                free.push(next);
            }
        }
    }
    order
}

/// The first need that does not hold on the way.
pub(crate) fn unmet_on(way: &[&Subtask], given: &BTreeSet<Fact>) -> Option<String> {
    let mut held = given.clone();
    for subtask in way {
        if let Some(missing) = subtask.needs.iter().find(|fact| !held.contains(*fact)) {
            return Some(format!("{} needs {missing}", subtask.id));
        }
        held.retain(|fact| !subtask.breaks.contains(fact));
        held.extend(subtask.makes.iter().cloned());
    }
    None
}
