//! Every order of work that is possible is one that was planned.

mod drawn;

use std::cell::Cell;

use serde_json::{Value, json};

use super::*;
use crate::plan::tests::{id, plan};

thread_local! {
    static VISITS: Cell<u32> = const { Cell::new(0) };
}

/// Counts a node that was looked at.
pub(super) fn visit() {
    VISITS.set(VISITS.get() + 1);
}

fn work(name: &str, after: &[&str]) -> Value {
    json!({ "id": name, "goal": name, "after": after })
}

/// Starts and finishes whatever comes, and says in which order.
fn rest(progress: &mut Progress, plan: &Plan) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(subtask) = progress.next(plan) {
        progress.started(plan, &subtask.id);
        progress.finished(plan, &subtask.id);
        done.push(subtask.id.to_string());
    }
    done
}

#[test]
fn what_may_start_is_started_by_priority_then_by_what_waits_behind_it_then_as_planned() {
    let plan = plan(json!([
        work("first", &[]),
        work("second", &[]),
        work("busy", &[]),
        { "id": "low", "goal": "", "priority": -1 },
        { "id": "high", "goal": "", "priority": 1 },
        { "id": "pick", "priority": 5, "branches": [{ "nodes": [
            { "id": "in", "goal": "", "priority": -5 }, { "id": "best", "goal": "" }] }] },
        work("x", &["busy"]),
        work("y", &["x"]),
    ]));
    let mut progress = Progress::begin(&plan);
    let expected = ["best", "high", "busy", "x", "first", "second", "in", "y", "low"];
    assert_eq!(rest(&mut progress, &plan), expected);
    assert!(progress.is_over());
    assert_eq!(plan.downstream(&id("busy")), 2);
}

#[test]
fn what_waits_behind_a_node_is_counted_through_choices() {
    let plan = plan(json!([
        work("a", &[]),
        { "id": "pick", "after": ["a"], "branches": [
            { "nodes": [work("b", &[]), work("c", &["b"])] },
            { "nodes": [work("d", &[])] }] },
        work("e", &["pick"]),
        work("f", &[]),
    ]));
    let counts = ["a", "b", "c", "d", "e", "f", "pick"].map(|name| plan.downstream(&id(name)));
    assert_eq!(counts, [4, 2, 1, 1, 0, 0, 1]);
}

#[test]
fn what_waits_behind_a_node_is_counted_in_long_plans_too() {
    let name = |place: u32| format!("n{place}");
    let node = |place: u32| json!({ "id": name(place), "goal": "", "after": place.checked_sub(1).map(name).into_iter().collect::<Vec<_>>() });
    let plan = plan((0..3_000).map(node).collect());
    for place in [0, 1, 1_023, 1_024, 1_975, 1_976, 2_999] {
        assert_eq!(plan.downstream(&id(&name(place))), 2_999 - place);
    }
}

#[test]
fn a_choice_falls_back_from_branch_to_branch_and_then_to_the_choice_around_it() {
    let plan = plan(json!([
        { "id": "outer", "branches": [
            { "nodes": [
                work("before", &[]),
                { "id": "inner", "after": ["before"], "branches": [
                    { "nodes": [work("i0", &[])] },
                    { "nodes": [work("i1", &[]), work("i1b", &[])] }] }] },
            { "nodes": [work("o1", &[])] }] },
        work("end", &["outer"]),
    ]));
    let mut progress = Progress::begin(&plan);
    assert_eq!((progress.chosen(&plan, &id("outer")), progress.chosen(&plan, &id("inner"))), (Some(0), None));
    progress.started(&plan, &id("before"));
    progress.finished(&plan, &id("before"));
    let fell = |choice: &str, from: u32, to: u32| Failed::FellBack { choice: id(choice), from, to };
    progress.started(&plan, &id("i0"));
    assert_eq!(progress.failed(&plan, &id("i0")), fell("inner", 0, 1));
    assert!(progress.abandoned(&plan, &id("i0")) && !progress.abandoned(&plan, &id("i1")));
    progress.started(&plan, &id("i1"));
    progress.started(&plan, &id("i1b"));
    assert_eq!(progress.failed(&plan, &id("i1b")), fell("outer", 0, 1));
    let before = progress.clone();
    progress.finished(&plan, &id("i1"));
    assert_eq!(progress.failed(&plan, &id("i1")), Failed::Unwanted);
    assert_eq!(progress, before, "the late answer of an abandoned sub-task is not wanted");
    assert!(["before", "i0", "i1", "inner"].iter().all(|name| progress.abandoned(&plan, &id(name))));
    assert_eq!(rest(&mut progress, &plan), ["o1", "end"]);
    assert!(progress.is_over());
    assert_eq!(progress.outputs_of(&plan, &id("outer")), [&id("o1")]);
}

#[test]
fn a_failure_that_nothing_can_make_good_is_fatal() {
    let plan = plan(json!([
        { "id": "pick", "branches": [{ "nodes": [work("a", &[])] }, { "nodes": [work("b", &[])] }] },
        work("c", &[]),
    ]));
    let mut progress = Progress::begin(&plan);
    assert!(matches!(progress.failed(&plan, &id("a")), Failed::FellBack { .. }));
    assert_eq!(progress.failed(&plan, &id("b")), Failed::Fatal);
    assert_eq!(progress.failed(&plan, &id("b")), Failed::Unwanted);
    assert_eq!(rest(&mut progress, &plan), ["c"]);
    assert!(!progress.is_over());
}

#[test]
fn a_condition_is_decided_when_its_turn_has_come_and_only_once() {
    let when = json!({ "when": { "of": "sort", "test": { "is": "bug" } } });
    let plan = plan(json!([
        work("sort", &[]),
        { "id": "mend", "rule": when, "branches": [
            { "nodes": [work("fix", &[])] }, { "nodes": [work("add", &[])] }] },
        { "id": "tell", "rule": when, "branches": [{ "nodes": [work("write", &[])] }] },
        work("end", &["mend", "tell"]),
    ]));
    let mut progress = Progress::begin(&plan);
    assert!(progress.undecided(&plan).is_none());
    progress.choose(&plan, &id("mend"), Some(0));
    assert_eq!(progress, Progress::begin(&plan), "its turn has not come");
    progress.finished(&plan, &id("sort"));
    assert_eq!(progress.undecided(&plan).unwrap().id, id("mend"));
    let before = progress.clone();
    progress.choose(&plan, &id("mend"), Some(2));
    assert_eq!(progress, before, "there is no such branch");
    progress.choose(&plan, &id("mend"), Some(1));
    progress.choose(&plan, &id("mend"), Some(0));
    assert_eq!(progress.chosen(&plan, &id("mend")), Some(1));
    assert!(progress.abandoned(&plan, &id("fix")) && !progress.abandoned(&plan, &id("add")));
    assert_eq!(progress.undecided(&plan).unwrap().id, id("tell"));
    progress.choose(&plan, &id("tell"), None);
    assert!(progress.undecided(&plan).is_none() && progress.abandoned(&plan, &id("write")));
    assert_eq!(rest(&mut progress, &plan), ["add", "end"]);
    assert!(progress.is_over());
    assert_eq!(progress.outputs_of(&plan, &id("mend")), [&id("add")]);
    assert!(progress.outputs_of(&plan, &id("tell")).is_empty());
}

#[test]
fn a_completion_touches_only_what_waits_for_it() {
    // Ten thousand nodes in layers of a hundred, each waiting for three of the layer before.
    let after = |place: u32| {
        let above = (place / 100).checked_sub(1);
        let name = |step: u32| above.map(|layer| format!("n{}", layer * 100 + (place + step) % 100));
        [0, 1, 7].into_iter().filter_map(name).collect::<Vec<_>>()
    };
    let node = |place: u32| json!({ "id": format!("n{place}"), "goal": "", "after": after(place) });
    let plan = plan((0..10_000).map(node).collect());
    let mut progress = Progress::begin(&plan);
    VISITS.set(0);
    let mut most = 0;
    while let Some(subtask) = progress.next(&plan) {
        let before = VISITS.get();
        progress.started(&plan, &subtask.id);
        progress.finished(&plan, &subtask.id);
        most = most.max(VISITS.get() - before);
    }
    assert!(progress.is_over());
    assert!(most <= 6, "a completion looked at {most} nodes");
    assert_eq!(VISITS.get(), 9_900 * 3 + 9_900, "each wait and each turn once");
}
