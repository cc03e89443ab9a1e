//! Methods made into plans: what is taken, what is to fall back on, what is refused.

use std::collections::BTreeMap;

use super::*;
use crate::plan::Plan;
use crate::plan::made::{Dice, facts, id, subtask};
use crate::plan::method::{BadMethod, Method, Sequence, Step, TaskStep};

/// A method from `task/name: step; step` with `!task as id` for a task, facts by words.
fn method(head: &str, steps: &[&str]) -> Method {
    let (names, rest) = head.split_once(' ').unwrap_or((head, ""));
    let (task, name) = names.split_once('/').unwrap();
    let mut made = Method {
        task: task.into(),
        name: name.into(),
        when: Vec::new(),
        unless: Vec::new(),
        cost: 0,
        ordering: Sequence::Total,
        steps: steps.iter().map(|it| step(it)).collect(),
    };
    let mut mode = "";
    for word in rest.split_whitespace() {
        match (mode, word) {
            (_, "when" | "unless" | "cost") => mode = word,
            (_, "partial") => made.ordering = Sequence::Partial,
            ("when", _) => made.when.push(crate::plan::made::fact(word)),
            ("unless", _) => made.unless.push(crate::plan::made::fact(word)),
            ("cost", _) => made.cost = word.parse().unwrap(),
            _ => panic!("{word}"),
        }
    }
    made
}

fn step(words: &str) -> Step {
    let Some(words) = words.strip_prefix('!') else { return Step::Subtask(subtask(words)) };
    let mut words = words.split_whitespace();
    let mut made = TaskStep {
        id: id(words.next().unwrap()),
        task: words.next().unwrap().into(),
        after: Vec::new(),
        with: BTreeMap::new(),
    };
    for word in words.filter(|word| *word != "after") {
        match word.split_once('=') {
            Some((key, value)) => drop(made.with.insert(key.into(), value.into())),
            None => made.after.push(id(word)),
        }
    }
    Step::Task(made)
}

fn library(methods: Vec<Method>) -> Library {
    Library::new(methods).unwrap_or_else(|bad| panic!("{bad:?}"))
}

/// The nodes as `id<what it waits for>`, choices with their branches.
fn shape(nodes: &[Node]) -> String {
    let one = |node: &Node| {
        let after: Vec<_> = node.after().iter().map(ToString::to_string).collect();
        let after = if after.is_empty() { String::new() } else { format!("<{}", after.join(",")) };
        let branches: Vec<_> = node.branches().iter().map(|it| format!("[{}]", shape(&it.nodes))).collect();
        format!("{}{after}{}", node.id(), branches.concat())
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn check(methods: Vec<Method>, given: &[&str], expected: &str) {
    let made = decompose(&library(methods), "go", &facts(given));
    let found = match &made {
        Ok(made) => shape(Plan::new(made.nodes.clone()).unwrap().nodes()),
        Err(no) => no.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn steps_take_the_place_of_the_task_and_are_waited_for_by_their_last() {
    let methods = vec![
        method("go/all", &["first", "!mid inner", "end"]),
        method("inner/only partial", &["a", "b", "c after a"]),
    ];
    check(methods, &[], "first mid-a<first mid-b<first mid-c<mid-a end<mid-b,mid-c");
}

#[test]
fn methods_that_fit_become_branches_cheapest_first() {
    let methods = vec![
        method("go/all", &["!get fetch", "use"]),
        method("fetch/slow cost 9", &["walk"]),
        method("fetch/fast cost 1", &["fly"]),
    ];
    check(methods, &[], "get[get-fast-fly][get-slow-walk] use<get");
}

#[test]
fn circumstances_decide_which_methods_fit() {
    let methods =
        || vec![method("go/cached when cache", &["read"]), method("go/plain unless cache", &["load"])];
    check(methods(), &["cache"], "read");
    check(methods(), &[], "load");
}

#[test]
fn what_earlier_steps_change_decides_too() {
    let methods = |ordering: &str| {
        vec![
            method(&format!("go/all {ordering}"), &["warm makes cache", "!get fetch"]),
            method("fetch/cached when cache", &["read"]),
            method("fetch/plain cost 5", &["load"]),
        ]
    };
    check(methods(""), &[], "warm get<warm[get-cached-read][get-plain-load]");
    // Beside each other nothing is sure.
    check(methods("partial"), &[], "warm get-load");
}

#[test]
fn a_method_whose_task_cannot_be_done_is_passed_over() {
    let methods = vec![
        method("go/best", &["!x rare", "end"]),
        method("go/other cost 3", &["plain"]),
        method("rare/only when luck", &["win"]),
    ];
    check(methods, &[], "go-other-plain");
}

#[test]
fn a_task_that_leads_back_to_itself_ends_by_its_other_method() {
    let methods = vec![method("go/again", &["try", "!rest go"]), method("go/once cost 2", &["stop"])];
    // Asked again with nothing changed, `go` has no end; so only the other way works.
    check(methods, &[], "go-once-stop");
}

#[test]
fn values_fill_goals_once_and_other_braces_stay() {
    let mut inner = method("inner/only", &["a"]);
    let Step::Subtask(subtask) = &mut inner.steps[0] else { panic!() };
    subtask.goal = "read {path}, not {other} nor {".into();
    let methods = vec![method("go/all", &["!x inner path={path}"]), inner];
    let made = decompose(&library(methods), "go", &BTreeSet::new()).unwrap();
    let Node::Subtask(made) = &made.nodes[0] else { panic!() };
    assert_eq!(made.goal, "read {path}, not {other} nor {");
}

#[test]
fn what_could_never_become_a_plan_is_refused_at_once_with_its_place() {
    let bad = |methods: Vec<Method>| -> Vec<String> {
        Library::new(methods).unwrap_err().iter().map(BadMethod::to_string).collect()
    };
    assert_eq!(
        bad(vec![method("go/all", &["!x fech"]), method("fetch/one", &["a after b"])]),
        [
            "method[0].step[0]: no method is for \"fech\"; did you mean \"fetch\"?",
            "method[1].step[0]: step a waits for b, which is no step of the method; name a step of the same method",
        ]
    );
    assert_eq!(
        bad(vec![method("go/all", &["!x loop"]), method("loop/one", &["a", "!y go"])]),
        [
            "method[0]: every method of \"go\" leads back to a task that never ends in sub-tasks; add a method of \"go\" that has sub-tasks only",
            "method[1]: every method of \"loop\" leads back to a task that never ends in sub-tasks; add a method of \"loop\" that has sub-tasks only",
        ]
    );
    assert!(bad(vec![method("go/a", &["x after y", "y"])])[0].contains("wait for each other"));
    assert!(bad(vec![method("go/a", &["x"]), method("go/a", &["x"])])[0].contains("another method"));
    assert!(bad(vec![method("go/a", &["!x b k=1"]), method("b/a", &["x"])])[0].contains("mentions {k}"));
    assert!(bad(vec![method("go/a when f unless f", &["x"])])[0].contains("must not hold"));
    assert!(bad(vec![method("go/a", &[])])[0].contains("1 to 256 steps"));
}

#[test]
fn nothing_that_fits_is_told_with_the_reasons() {
    let methods = vec![method("go/a when sun", &["x"]), method("go/b unless rain", &["y"])];
    let no = decompose(&library(methods), "go", &facts(&["rain"])).unwrap_err();
    assert_eq!(
        no.to_string(),
        "no method of \"go\" fits: \"a\" because \"sun\" is not sure to hold; \"b\" because \"rain\" may hold"
    );
    assert!(no.remedy().contains("always fits"));
    let other = library(vec![method("go/a", &["x"])]);
    assert_eq!(decompose(&other, "goo", &BTreeSet::new()).unwrap_err().remedy(), "did you mean \"go\"?");
}

#[test]
fn fall_backs_that_would_be_too_large_are_left_out() {
    // Two ways for each of 8 steps on 8 levels would be far over the cap.
    let mut methods = vec![method("t0/a", &["x"]), method("t0/b cost 1", &["y"])];
    for level in 1..8 {
        let below = format!("t{}", level - 1);
        let steps = [format!("!l {below}"), format!("!r {below}"), format!("!s {below}")];
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        methods.push(method(&format!("t{level}/a"), &steps));
        methods.push(method(&format!("t{level}/b cost 1"), &steps));
    }
    let made = decompose(&library(methods), "t7", &BTreeSet::new()).unwrap();
    assert!(made.fallbacks_within.is_some());
    assert!(Plan::new(made.nodes).unwrap().size() <= NODES_MAX);
}

#[test]
fn whatever_methods_make_is_a_plan() {
    for seed in 0..400 {
        let dice = &mut Dice(seed);
        let tasks = 1 + dice.below(5);
        let methods = (0..tasks).flat_map(|task| {
            (0..1 + dice.below(3))
                .map(|number| {
                    let steps = 1 + dice.below(4);
                    let steps: Vec<String> = (0..steps)
                        .map(|place| {
                            let after = if place > 0 && dice.one_in(2) {
                                format!(" after s{}", dice.below(place))
                            } else {
                                String::new()
                            };
                            let fact = ["x", "y"][dice.below(2)];
                            match dice.below(4) {
                                0 if number > 0 => format!("!s{place} t{}{after}", dice.below(tasks)),
                                1 if task > 0 => format!("!s{place} t{}{after}", dice.below(task)),
                                2 => format!("s{place}{after} breaks {fact}"),
                                _ => format!("s{place}{after} makes {fact}"),
                            }
                        })
                        .collect();
                    let partial = if dice.one_in(2) { " partial" } else { "" };
                    let when = ["", " when x", " unless y"][dice.below(3)];
                    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
                    let cost = dice.below(5);
                    method(&format!("t{task}/m{number}{partial}{when} cost {cost}"), &steps)
                })
                .collect::<Vec<_>>()
        });
        let Ok(library) = Library::new(methods.collect()) else { continue };
        let start = format!("t{}", dice.below(tasks));
        if let Ok(made) = decompose(&library, &start, &facts(&["x"])) {
            Plan::new(made.nodes).unwrap_or_else(|bad| panic!("seed {seed}: {bad}"));
        }
    }
}
