//! Paths, slack and width, compared with looking at everything.

use super::*;
use crate::plan::Plan;
use crate::plan::made::{Dice, any_plan, choice, node, plan, walk};

fn of(plan: &Plan) -> Measure {
    measure(plan, &Estimates { seconds: 7, tokens: 1 })
}

fn row(measured: &Measure, id: &str) -> (u64, u64, u32) {
    let row = measured.subtasks.iter().find(|row| row.id.as_str() == id).unwrap();
    (row.starts, row.slack, row.downstream)
}

#[test]
fn the_longest_path_and_the_slack_beside_it() {
    let measured = of(&plan("a takes 10\nb after a takes 20\nc after a takes 5\nd after b, c"));
    assert_eq!(measured.critical_seconds, 37);
    assert_eq!(measured.critical_path.iter().map(SubtaskId::as_str).collect::<Vec<_>>(), ["a", "b", "d"]);
    assert_eq!(row(&measured, "c"), (10, 15, 1));
    assert_eq!(row(&measured, "a"), (0, 0, 3));
    assert_eq!(measured.flexibility.orders, Some(2));
    assert_eq!(measured.width, Width { at_least: 2, at_most: 2 });
}

#[test]
fn a_choice_takes_as_long_as_its_longest_branch() {
    let nodes = vec![
        node("a takes 1"),
        choice("c", &[&["b takes 5"], &["d takes 20", "e takes 1"]]),
        node("f after c takes 2"),
    ];
    let measured = of(&Plan::new(nodes).unwrap());
    assert_eq!(measured.critical_seconds, 22);
    assert_eq!(row(&measured, "b").1, 15);
    // Counted where every choice takes its first branch: a, b, f.
    assert_eq!(measured.flexibility.orders, Some(3));
    // And the widest: a beside d and e.
    assert_eq!(measured.width.at_least, 3);
}

#[test]
fn no_way_through_is_longer_than_the_critical_path_and_no_slack_is_too_much() {
    for seed in 0..300 {
        let dice = &mut Dice(seed);
        let size = 2 + dice.below(10);
        let plan = any_plan(dice, size);
        let measured = measure(&plan, &Estimates::default());
        let on_path: u64 = measured
            .critical_path
            .iter()
            .map(|id| Estimates::default().seconds_of(plan.get(id).unwrap()))
            .sum();
        assert_eq!(on_path, measured.critical_seconds, "seed {seed}");
        for row in &measured.subtasks {
            let latest = row.starts + row.slack + row.seconds;
            assert!(latest <= measured.critical_seconds, "seed {seed} {}", row.id);
        }
        // Any chain of waits is a path; walk back from any sub-task along the last that ends.
        let way = walk(&plan, dice);
        for subtask in way {
            let mut seconds = 0;
            let mut here = Some(subtask);
            while let Some(at) = here {
                seconds += Estimates::default().seconds_of(at);
                here = at.after.iter().find_map(|id| plan.get(id));
            }
            assert!(seconds <= measured.critical_seconds, "seed {seed}");
        }
        // The longest path itself is one of things that cannot run at once.
        assert!(measured.width.at_least <= measured.width.at_most && measured.width.at_least > 0);
    }
}

#[test]
fn the_width_is_that_of_the_largest_set_that_may_run_at_once() {
    for seed in 0..200 {
        let dice = &mut Dice(seed);
        let count = 2 + dice.below(8);
        let mut text = String::new();
        for place in 0..count {
            text.push_str(&format!("n{place}"));
            if place > 0 && dice.one_in(2) {
                text.push_str(&format!(" after n{}", dice.below(place)));
                if dice.one_in(2) {
                    text.push_str(&format!(", n{}", dice.below(place)));
                }
            }
            text.push('\n');
        }
        let plan = plan(&text);
        let flat = Flat::new(&plan);
        let all: Vec<usize> = (0..count).collect();
        let reach = crate::plan::graph::Reach::of(&flat.graph, &flat.order, &all);
        let apart = |one: usize, other: usize| {
            reach.rows[one][0] >> other & 1 == 0 && reach.rows[other][0] >> one & 1 == 0
        };
        let widest = (0_usize..1 << count)
            .filter(|set| {
                let members: Vec<usize> = (0..count).filter(|bit| set >> bit & 1 == 1).collect();
                members.iter().all(|&one| members.iter().all(|&other| one == other || apart(one, other)))
            })
            .map(usize::count_ones)
            .max()
            .unwrap();
        let found = of(&plan).width;
        assert_eq!(
            (found.at_least, found.at_most),
            (widest as usize, widest as usize),
            "seed {seed}: {text}"
        );
    }
}
