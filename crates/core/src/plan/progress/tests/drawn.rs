//! Plans that chance made, worked on in an order that chance made.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::{Failed, Progress};
use crate::id::SubtaskId;
use crate::plan::tests::id;
use crate::plan::{Branch, Choice, Condition, Node, Plan, Rule, Subtask, Test};

/// Chance: a list of numbers, then zeros.
struct Draws<'d>(std::slice::Iter<'d, u8>);

impl Draws<'_> {
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % end
    }
}

/// A list of nodes that may wait for earlier ones of it and for those known outside.
fn nodes(draws: &mut Draws<'_>, depth: usize, outside: &[SubtaskId], count: &mut usize) -> Vec<Node> {
    let mut known = outside.to_vec();
    let mut list = Vec::new();
    for _ in 0..=draws.below(4) {
        *count += 1;
        let name = id(&format!("n{count}"));
        let mut after: Vec<_> = (0..draws.below(3)).filter_map(|_| one(draws, &known)).collect();
        after.dedup();
        let node = if depth < 3 && draws.below(3) == 0 {
            Node::Choice(choice(draws, depth, (name.clone(), after), &known, count))
        } else {
            let priority = i32::try_from(draws.below(3)).unwrap();
            Node::Subtask(Subtask { after, priority, ..Subtask::new(name.clone(), "") })
        };
        known.push(name);
        list.push(node);
    }
    if draws.below(2) == 1 {
        list.reverse();
    }
    list
}

fn choice(
    draws: &mut Draws<'_>,
    depth: usize,
    (id, after): (SubtaskId, Vec<SubtaskId>),
    known: &[SubtaskId],
    count: &mut usize,
) -> Choice {
    let of = one(draws, known).filter(|_| draws.below(2) == 1);
    let most = if of.is_some() { 2 } else { 3 };
    let rule = of.map_or(Rule::FirstThatWorks, |of| Rule::When(Condition { of, test: Test::Is("x".into()) }));
    let branch = |nodes| Branch { name: String::new(), nodes };
    let branches = (0..=draws.below(most)).map(|_| branch(nodes(draws, depth + 1, known, count))).collect();
    Choice { id, after, priority: 0, rule, branches }
}

fn one(draws: &mut Draws<'_>, known: &[SubtaskId]) -> Option<SubtaskId> {
    (!known.is_empty()).then(|| known[draws.below(known.len())].clone())
}

fn drawn(draws: &[u8]) -> Plan {
    let plan = nodes(&mut Draws(draws.iter()), 0, &[], &mut 0);
    Plan::new(plan).expect("nodes that wait for earlier ones are a plan")
}

/// Work on a plan, and what a plain reading of the rules says about it.
struct Work<'p> {
    plan: &'p Plan,
    progress: Progress,
    running: Vec<SubtaskId>,
    started: BTreeSet<SubtaskId>,
    finished: BTreeSet<SubtaskId>,
    left_out: BTreeSet<SubtaskId>,
}

#[derive(Debug, PartialEq)]
enum End {
    Over,
    Fatal,
}

impl<'p> Work<'p> {
    fn on(plan: &'p Plan) -> Self {
        Self {
            plan,
            progress: Progress::begin(plan),
            running: Vec::new(),
            started: BTreeSet::new(),
            finished: BTreeSet::new(),
            left_out: BTreeSet::new(),
        }
    }

    /// Whether a node is over, as the rules say it.
    fn is_over(&self, node: &Node) -> bool {
        match node {
            Node::Subtask(subtask) => self.finished.contains(&subtask.id),
            Node::Choice(choice) => match self.progress.chosen(self.plan, &choice.id) {
                Some(branch) => choice.branches[branch as usize].nodes.iter().all(|node| self.is_over(node)),
                None => self.left_out.contains(&choice.id),
            },
        }
    }

    /// A sub-task starts only in a taken branch, when all it waits for is over.
    fn may_start(&self, id: &SubtaskId) -> bool {
        let node = self.plan.node(id).unwrap();
        let waits = node.waits().all(|before| self.is_over(self.plan.node(before).unwrap()));
        waits
            && self.plan.parent(id).is_none_or(|(choice, branch)| {
                self.progress.chosen(self.plan, &choice.id) == Some(branch) && self.may_start(&choice.id)
            })
    }

    fn start(&mut self, id: &SubtaskId) {
        assert!(self.may_start(id), "{id} must not start");
        assert!(self.started.insert(id.clone()), "{id} started twice");
        self.progress.started(self.plan, id);
        self.running.push(id.clone());
    }

    fn fail(&mut self, id: &SubtaskId) -> Option<End> {
        let expected = self.way_back(id);
        let failed = self.progress.failed(self.plan, id);
        assert_eq!(failed, expected);
        let plan = self.plan;
        self.running.retain(|id| !self.progress.abandoned(plan, id));
        (failed == Failed::Fatal).then_some(End::Fatal)
    }

    /// Where the failure of a sub-task leads, as the rules say it.
    fn way_back(&self, id: &SubtaskId) -> Failed {
        let Some((choice, branch)) = self.plan.parent(id) else { return Failed::Fatal };
        if choice.rule == Rule::FirstThatWorks && (branch as usize) + 1 < choice.branches.len() {
            return Failed::FellBack { choice: choice.id.clone(), from: branch, to: branch + 1 };
        }
        self.way_back(&choice.id)
    }

    fn decide(&mut self, choice: &Choice, draw: usize) {
        let branch = [Some(0), Some(1), None][draw % 3].filter(|branch| *branch < choice.branches.len());
        self.progress.choose(self.plan, &choice.id, branch.map(|branch| u32::try_from(branch).unwrap()));
        if branch.is_none() {
            self.left_out.insert(choice.id.clone());
        }
    }

    /// What changes nothing, and a journal in between.
    fn disturb(&mut self) {
        let before = self.progress.clone();
        let idle = |id: &SubtaskId| !self.running.contains(id) && !self.may_start(id);
        let mut idle: Vec<_> =
            self.plan.subtasks().into_iter().map(|subtask| subtask.id.clone()).filter(idle).collect();
        idle.push(id("nobody"));
        for id in &idle {
            self.progress.started(self.plan, id);
            self.progress.finished(self.plan, id);
            assert_eq!(self.progress.failed(self.plan, id), Failed::Unwanted);
            self.progress.choose(self.plan, id, None);
        }
        assert_eq!(self.progress, before);
        let json = serde_json::to_string(&self.progress).unwrap();
        self.progress = serde_json::from_str(&json).unwrap();
        assert_eq!(self.progress, before);
    }

    /// Works until nothing is left; one draw in `fails` is a failure.
    fn run(
        &mut self,
        draws: &mut Draws<'_>,
        fails: Option<usize>,
        decide: impl Fn(&SubtaskId) -> usize,
    ) -> End {
        loop {
            if let Some(choice) = self.progress.undecided(self.plan) {
                assert!(self.may_start(&choice.id));
                self.decide(choice, decide(&choice.id));
                continue;
            }
            self.disturb();
            let next = self.progress.next(self.plan).map(|subtask| subtask.id.clone());
            if let Some(next) = next.filter(|_| self.running.is_empty() || draws.below(2) == 0) {
                self.start(&next);
            } else if !self.running.is_empty() {
                let ended = self.running.remove(draws.below(self.running.len()));
                if fails.is_some_and(|fails| draws.below(fails) == 1) {
                    if let Some(end) = self.fail(&ended) {
                        return end;
                    }
                } else {
                    self.progress.finished(self.plan, &ended);
                    self.finished.insert(ended);
                }
            } else {
                assert!(self.progress.is_over(), "stalled: {:?}", self.progress);
                assert!(self.plan.nodes().iter().all(|node| self.is_over(node)));
                return End::Over;
            }
            assert_eq!(self.progress.is_over(), self.plan.nodes().iter().all(|node| self.is_over(node)));
        }
    }
}

fn chance(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

proptest! {
    #[test]
    fn work_keeps_to_the_rules_never_stalls_and_falls_back_in_order(
        shape in chance(200), order in chance(300), decisions in chance(16),
    ) {
        let plan = drawn(&shape);
        let decide = |id: &SubtaskId| {
            let place = id.as_str().bytes().map(usize::from).sum::<usize>() % 16;
            usize::from(decisions.get(place).copied().unwrap_or(0))
        };
        Work::on(&plan).run(&mut Draws(order.iter()), Some(4), decide);
    }

    #[test]
    fn without_failures_the_order_of_completion_does_not_change_what_is_done(
        shape in chance(200), one in chance(200), other in chance(200), salt in any::<u8>(),
    ) {
        let plan = drawn(&shape);
        let decide = |id: &SubtaskId| id.as_str().bytes().map(usize::from).sum::<usize>() + usize::from(salt);
        let done = |order: &[u8]| {
            let mut work = Work::on(&plan);
            assert_eq!(work.run(&mut Draws(order.iter()), None, decide), End::Over);
            (work.finished, work.progress)
        };
        prop_assert_eq!(done(&one), done(&other));
    }

    #[test]
    fn the_flattened_order_of_a_plan_is_one_it_could_be_done_in(shape in chance(200)) {
        let plan = drawn(&shape);
        let mut seen = BTreeSet::new();
        fn walk(nodes: &[Node], seen: &mut BTreeSet<SubtaskId>) {
            for node in nodes {
                assert!(node.waits().all(|before| seen.contains(before)), "{}", node.id());
                node.branches().iter().for_each(|branch| walk(&branch.nodes, seen));
                seen.insert(node.id().clone());
            }
        }
        walk(plan.nodes(), &mut seen);
        prop_assert_eq!(seen.len(), plan.size());
        let again: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(again, plan);
    }

    #[test]
    fn what_waits_behind_a_node_is_what_a_plain_search_finds(shape in chance(200)) {
        let plan = drawn(&shape);
        for subtask in plan.subtasks() {
            prop_assert_eq!(plan.downstream(&subtask.id) as usize, behind(&plan, &subtask.id).len());
        }
    }
}

/// Sub-tasks that cannot start before a node is over, by searching until nothing is new.
fn behind(plan: &Plan, from: &SubtaskId) -> BTreeSet<SubtaskId> {
    let mut over = BTreeSet::from([from.clone()]);
    let mut found = BTreeSet::new();
    loop {
        let mut grown = over.clone();
        for id in &over {
            grown.extend(plan.parent(id).map(|(choice, _)| choice.id.clone()));
        }
        for subtask in plan.subtasks() {
            let mut around = std::iter::successors(Some(&subtask.id), |inner| {
                plan.parent(inner).map(|(outer, _)| &outer.id)
            });
            let waits = around.any(|id| plan.node(id).unwrap().waits().any(|before| over.contains(before)));
            if waits {
                found.insert(subtask.id.clone());
                grown.insert(subtask.id.clone());
            }
        }
        if grown == over {
            return found;
        }
        over = grown;
    }
}
