//! The seven checks, what is left out, and that a valid plan works in every order.

use super::*;
use crate::plan::made::{Dice, any_plan, choice, facts, node, plan, unmet_on, walk};
use crate::plan::prune::Short;

struct Bench;

impl Tools for Bench {
    fn access(&self, tool: &ToolName) -> Access {
        match tool.as_str() {
            "read_file" => Access::Granted,
            "pay" => Access::AsksFirst,
            "shell" => Access::Denied { why: "the agent has no shell".into() },
            _ => Access::Missing,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["read_file", "pay", "shell"]
    }
}

fn judged(plan: &Plan, tokens: Option<u64>, seconds: Option<u64>, slots: usize) -> Feasibility {
    let none = BTreeSet::new();
    let estimates = Estimates::default();
    let left = Left { tokens, seconds };
    check(plan.clone(), &Circumstances { facts: &none, tools: &Bench, left, slots, estimates })
}

/// The findings of all checks.
fn told(found: &Feasibility) -> Vec<String> {
    let all = found.verdicts.iter();
    all.flat_map(|it| it.findings.iter().map(|finding| format!("{} {finding}", it.check.word()))).collect()
}

#[test]
fn a_plan_with_nothing_wrong_is_valid() {
    let found = judged(&plan("a makes x takes 5\nb after a needs x uses read_file"), None, None, 1);
    assert!(found.is_valid(), "{:?}", told(&found));
    assert_eq!(found.verdicts.iter().map(|it| it.check).collect::<Vec<_>>(), Check::ALL);
}

#[test]
fn a_tool_that_is_not_there_fails_with_the_nearest_name() {
    let found = judged(&plan("a uses read_fil"), None, None, 1);
    assert_eq!(told(&found), ["tools a: there is no tool read_fil; did you mean read_file?"]);
    assert!(!found.is_valid() && !found.is_blocked());
}

#[test]
fn a_tool_that_asks_blocks_and_one_that_is_denied_fails() {
    let asks = judged(&plan("a uses pay"), None, None, 1);
    assert!(asks.is_blocked() && !asks.is_valid());
    assert_eq!(asks.of(Check::Permissions).unwrap().stands, Stands::Blocked);
    let denied = judged(&plan("a uses shell, pay"), None, None, 1);
    assert!(!denied.is_blocked());
    assert!(told(&denied)[0].starts_with("permissions a: shell is denied: the agent has no shell"));
}

#[test]
fn needs_that_do_not_hold_fail_with_the_remedy() {
    let found = judged(&plan("a needs x"), None, None, 1);
    assert_eq!(
        told(&found),
        ["preconditions a: a needs \"x\", which nobody makes; add a sub-task that makes \"x\", or put it \
          among the facts of the beginning"]
    );
}

#[test]
fn tokens_are_those_of_the_dearest_branches() {
    let nodes = vec![node("a costs 10"), choice("c", &[&["b costs 100"], &["d costs 70", "e costs 50"]])];
    let plan = Plan::new(nodes).unwrap();
    assert!(judged(&plan, Some(130), None, 1).is_valid());
    let found = judged(&plan, Some(129), None, 1);
    assert!(told(&found)[0].starts_with("tokens plan: about 130 tokens are needed and 129 are left"));
}

#[test]
fn the_longest_path_must_fit_the_time() {
    let plan = plan("a takes 10\nb after a takes 20\nc takes 25");
    assert!(judged(&plan, None, Some(30), 2).is_valid());
    let found = judged(&plan, None, Some(29), 2);
    assert!(told(&found)[0].starts_with("latency b: the longest path of 2 sub-tasks takes 30 s and 29 s"));
}

#[test]
fn too_few_slots_for_the_time_fail_with_how_many_would_do() {
    let plan = plan("a takes 10\nb takes 10\nc takes 10\nd takes 10");
    assert!(judged(&plan, None, Some(20), 2).is_valid());
    let found = judged(&plan, None, Some(15), 2);
    assert_eq!(
        told(&found),
        [
            "concurrency plan: with 2 slots it takes about 20 s and 15 s are left; raise limits.parallel to at \
          least 4, or plan less"
        ]
    );
    assert!(told(&judged(&plan, None, None, 0))[0].contains("nothing may run"));
}

#[test]
fn optional_subtasks_are_left_out_lowest_priority_and_dearest_first() {
    let plan = plan(
        "a costs 100
         low costs 10 optional
         dear costs 50 rank 1 optional
         cheap costs 20 rank 1 optional
         held costs 500 rank -5 optional
         b after held costs 5",
    );
    let found = judged(&plan, Some(630), None, 1);
    let gone: Vec<_> = found.pruned.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(gone, ["low", "dear"]);
    assert!(found.is_valid() && found.pruned.iter().all(|it| it.short_of == Short::Tokens));
    // What leaving out cannot mend is left whole.
    let found = judged(&plan, Some(600), None, 1);
    assert!(found.pruned.is_empty() && !found.is_valid());
}

#[test]
fn what_ends_too_late_is_left_out_with_what_only_it_waits_for() {
    let plan =
        plan("a takes 10\nb after a takes 10 optional\nc after b takes 10 optional\nd takes 5 optional");
    let found = judged(&plan, None, Some(15), 9);
    let gone: Vec<_> = found.pruned.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(gone, ["c", "b"]);
    assert!(found.is_valid(), "{:?}", told(&found));
}

#[test]
fn who_makes_what_a_kept_subtask_needs_is_kept() {
    let plan = plan("make costs 90 makes x optional\nuse costs 10 needs x\nextra costs 10 rank 5 optional");
    let found = judged(&plan, Some(100), None, 1);
    let gone: Vec<_> = found.pruned.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(gone, ["extra"]);
}

#[test]
fn after_a_choice_holds_what_every_branch_leaves() {
    let both = vec![choice("c", &[&["a makes x"], &["b makes x, y"]]), node("use after c needs x")];
    assert!(judged(&Plan::new(both).unwrap(), None, None, 1).is_valid());
    let one = vec![choice("c", &[&["a makes x"], &["b makes y"]]), node("use after c needs y")];
    let one = Plan::new(one).unwrap();
    assert_eq!(simulate::unmet(&one, &BTreeSet::new()).len(), 1);
    assert!(!judged(&one, None, None, 1).is_valid());
}

#[test]
fn whatever_is_valid_holds_in_every_order_and_nothing_kept_misses_what_is_gone() {
    let mut pruned = 0;
    for seed in 0..500 {
        let dice = &mut Dice(seed);
        let size = 3 + dice.below(8);
        let plan = any_plan(dice, size);
        let given = facts(&["x", "y", "z", "w"]);
        let (tokens, seconds) = (dice.below(4000) as u64, dice.below(300) as u64);
        let left = Left { tokens: Some(tokens), seconds: Some(seconds) };
        let estimates = Estimates::default();
        let circumstances = Circumstances { facts: &given, tools: &Bench, left, slots: 3, estimates };
        let found = check(plan.clone(), &circumstances);
        pruned += found.pruned.len();
        let kept: BTreeSet<_> = found.plan.subtasks().iter().map(|it| it.id.clone()).collect();
        for gone in &found.pruned {
            assert!(plan.get(&gone.id).unwrap().optional && !kept.contains(&gone.id), "seed {seed}");
        }
        assert_eq!(kept.len() + found.pruned.len(), plan.subtasks().len(), "seed {seed}");
        if found.of(Check::Preconditions).unwrap().stands == Stands::Holds {
            for _ in 0..12 {
                assert_eq!(unmet_on(&walk(&found.plan, dice), &given), None, "seed {seed}");
            }
        }
        if found.of(Check::Latency).unwrap().stands == Stands::Holds {
            let measured = crate::plan::measure::measure(&found.plan, &estimates);
            assert!(measured.critical_seconds <= seconds, "seed {seed}");
        }
    }
    assert!(pruned > 50, "{pruned}");
}
