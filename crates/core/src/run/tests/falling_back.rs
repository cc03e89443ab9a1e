//! Sub-tasks that fail where there is another way; conditions; planning anew.

use serde_json::{Value, json};

use super::build::task;
use super::{check, check_from_start, show};

/// A mirror, and another one if that fails; then a report.
fn two_ways() -> Value {
    json!([
        { "id": "get", "branches": [
            { "name": "near", "nodes": [{ "id": "near", "goal": "ask the near one" }] },
            { "name": "far", "nodes": [{ "id": "far", "goal": "ask the far one" }] },
        ] },
        { "id": "report", "goal": "report", "after": ["get"] },
    ])
}

#[test]
fn a_subtask_that_gives_up_is_followed_by_the_next_branch_and_its_reason() {
    check(
        &task().nodes(two_ways()),
        "
        ? talk near
        user: mend it//Your part of it, near: ask the near one//If it cannot be done this way, reply with a line that begins with CANNOT: and says why; another way is tried then.
        > reply 1: CANNOT: it is down
        heard 1: end
        fail near: gave up: it is down, get 0 to 1
        drop near
        begin far
        ask 2 for far
        ? talk far
        user: mend it//Your part of it, far: ask the far one//Another way was tried before and failed:/<a sub-task that failed: near: gave up: it is down>
        > reply 2: found it
        heard 2: end
        done far
        begin report
        ask 3 for report
        ? talk report
        user: What far delivered:/<sub-task far: found it>//mend it//Your part of it, report: report
        > reply 3: all good
        heard 3: end
        done report
        acted report
        verified 1: nothing to check
        ",
    );
}

#[test]
fn the_last_branch_fails_the_run_as_it_would_have_without_a_plan() {
    check(
        &task().nodes(two_ways()),
        "
        > reply 1 refused: no
        heard 1: refused
        fail near: the model refused: no, get 0 to 1
        drop near
        begin far
        ask 2 for far
        > reply 2 refused: nor I
        heard 2: refused
        stopping: model refused: nor I
        failed: model refused: nor I
        ",
    );
}

#[test]
fn where_there_is_no_other_way_an_answer_that_gives_up_is_an_answer() {
    check(
        &task().plan("a"),
        "
        > reply 1: CANNOT: I will not
        heard 1: end
        done a
        acted a
        verified 1: nothing to check
        ",
    );
}

#[test]
fn what_is_out_comes_home_before_the_next_branch_begins() {
    let nodes = json!([{ "id": "get", "branches": [
        { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
        { "nodes": [{ "id": "c", "goal": "otherwise" }] },
    ] }]);
    check(
        &task().nodes(nodes),
        "
        > reply 2 build(x)
        heard 2: tool use
        start a2.0 build
        > reply 1: CANNOT: no
        heard 1: end
        fail a: gave up: no, get 0 to 1
        drop a
        ? due
        tool a2.0 #1
        > ok a2.0
        finish a2.0: ok
        drop b
        begin c
        ask 3 for c
        ",
    );
}

#[test]
fn a_call_nobody_knows_of_is_settled_before_the_next_branch_begins() {
    let nodes = json!([{ "id": "get", "branches": [
        { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
        { "nodes": [{ "id": "c", "goal": "otherwise" }] },
    ] }]);
    check(
        &task().nodes(nodes),
        "
        > reply 2 pay(x)
        heard 2: tool use
        start a2.0 pay
        > unknown a2.0
        doubt a2.0: lost reply, ask person
        > reply 1: CANNOT: no
        heard 1: end
        fail a: gave up: no, get 0 to 1
        drop a
        ? waits
        doubt about a2.0 pay
        ? due
        nothing
        > settle a2.0 did-not
        settled a2.0: did not happen, says ann
        refuse a2.0: cancelled
        drop b
        begin c
        ask 3 for c
        ",
    );
}

#[test]
fn a_reply_of_work_that_was_given_up_starts_nothing() {
    let nodes = json!([{ "id": "get", "branches": [
        { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
        { "nodes": [{ "id": "c", "goal": "otherwise" }] },
    ] }]);
    check(
        &task().nodes(nodes),
        "
        > reply 1: CANNOT: no
        heard 1: end
        fail a: gave up: no, get 0 to 1
        drop a
        ? due
        model 2
        > reply 2 wipe(x) read(y)
        heard 2: tool use
        refuse a2.0: cancelled
        refuse a2.1: cancelled
        drop b
        begin c
        ask 3 for c
        ",
    );
}

#[test]
fn what_is_finished_stays_when_a_later_branch_is_tried() {
    let nodes = json!([
        { "id": "read", "goal": "read" },
        { "id": "get", "after": ["read"], "branches": [
            { "nodes": [{ "id": "a", "goal": "one way" }] },
            { "nodes": [{ "id": "b", "goal": "other way" }] },
        ] },
    ]);
    check(
        &task().nodes(nodes),
        "
        > reply 1: the text
        heard 1: end
        done read
        begin a
        ask 2 for a
        > reply 2: CANNOT: no
        heard 2: end
        fail a: gave up: no, get 0 to 1
        drop a
        begin b
        ask 3 for b
        ? talk b
        user: What read delivered:/<sub-task read: the text>//mend it//Your part of it, b: other way//Another way was tried before and failed:/<a sub-task that failed: a: gave up: no>
        ",
    );
}

/// A look at it, then one of two things, or nothing.
fn either(second: bool) -> Value {
    let mut branches = vec![json!({ "nodes": [{ "id": "mend", "goal": "mend" }] })];
    if second {
        branches.push(json!({ "nodes": [{ "id": "explain", "goal": "explain" }] }));
    }
    json!([
        { "id": "look", "goal": "look" },
        { "id": "either", "rule": { "when": { "of": "look", "test": { "is": "bug" } } }, "branches": branches },
    ])
}

#[test]
fn a_condition_is_looked_at_once_its_output_is_there_and_chooses_the_branch() {
    check(
        &task().nodes(either(true)),
        "
        > reply 1: bug
        heard 1: end
        done look
        ? due
        weigh 1
        > weighed 1 yes
        choose either: 0
        begin mend
        ask 2 for mend
        > weighed 1 no
        refused: nothing waits for this
        ",
    );
    check(
        &task().nodes(either(true)),
        "
        > reply 1: no bug
        heard 1: end
        done look
        > weighed 1 no
        choose either: 1
        begin explain
        ask 2 for explain
        ",
    );
}

#[test]
fn a_condition_that_does_not_hold_and_has_no_second_branch_does_nothing() {
    check(
        &task().nodes(either(false)),
        "
        > reply 1: fine
        heard 1: end
        done look
        > weighed 1 no
        choose either: nothing
        acted
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_condition_is_due_again_after_a_restart() {
    check(
        &task().nodes(either(true)),
        "
        > reply 1: bug
        heard 1: end
        done look
        > claim
        claimed 2
        ? due
        weigh 1
        > weighed 1 yes
        choose either: 0
        begin mend
        ask 2 for mend
        ",
    );
}

#[test]
fn the_most_urgent_subtask_is_started_first_then_the_one_most_wait_for() {
    let nodes = json!([
        { "id": "a", "goal": "a" },
        { "id": "b", "goal": "b" },
        { "id": "c", "goal": "c", "after": ["b"] },
        { "id": "d", "goal": "d", "priority": 5 },
    ]);
    check_from_start(
        &task().nodes(nodes).limits(|limits| limits.parallel = 2),
        "
        > claim
        claimed 1
        planned a; b; c < b; d
        order a, b, c, d
        retrieved
        begin d
        ask 1 for d
        begin b
        ask 2 for b
        ",
    );
}

const PLAN: &str = r#"{"plan":[{"id":"a","goal":"first"},{"id":"b","goal":"then","after":["a"]}]}"#;

#[test]
fn the_model_makes_the_plan_where_the_task_asks_it_to() {
    let transcript = format!(
        "
        > claim
        claimed 1
        begin plan-1
        ask 1 for plan 1
        ? due
        model 1
        > reply 1: {PLAN}
        heard 1: end
        planned a; b < a
        order a, b
        retrieved
        begin a
        ask 2 for a
        "
    );
    check_from_start(&task().planned_by_the_model(0), &transcript);
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_mended_and_in_the_end_given_up() {
    let bad = r#"{"plan":[{"id":"a","goal":"first","after":["z"]}]}"#;
    let transcript = format!(
        "
        > claim
        claimed 1
        begin plan-1
        ask 1 for plan 1
        > reply 1: I think
        heard 1: end
        notice plan-1
        ask 2 for plan 1
        > reply 2: {bad}
        heard 2: end
        notice plan-1
        ask 3 for plan 1
        > reply 3 read(a): with a tool
        heard 3: tool use
        refuse a3.0: unknown tool
        ask 4 for plan 1
        > reply 4: {bad}
        heard 4: end
        stopping: no plan: plan[0].after: sub-task a waits for z, which is not in the plan; name a sub-task of the plan
        failed: no plan: plan[0].after: sub-task a waits for z, which is not in the plan; name a sub-task of the plan
        "
    );
    let driver = check_from_start(&task().planned_by_the_model(0), &transcript);
    let told = show::talk(&driver.run, "plan-1").join("\n");
    assert!(told.contains("Mend just this") && told.contains("waits for z"), "{told}");
}

#[test]
fn what_failed_is_planned_anew_and_what_is_done_stays() {
    let other = r#"{"plan":[{"id":"c","goal":"otherwise"},{"id":"d","goal":"and then","after":["c"]}]}"#;
    let transcript = format!(
        "
        > reply 1: {PLAN}
        heard 1: end
        planned a; b < a
        order a, b
        retrieved
        begin a
        ask 2 for a
        > reply 2: from a
        heard 2: end
        done a
        begin b
        ask 3 for b
        > reply 3: CANNOT: it is locked
        heard 3: end
        fail b: gave up: it is locked, plan anew
        drop b
        begin plan-2
        ask 4 for plan 2
        > reply 4: {PLAN}
        heard 4: end
        notice plan-2
        ask 5 for plan 2
        > reply 5: {other}
        heard 5: end
        planned a; c < a; d < c for b
        begin c
        ask 6 for c
        ? talk c
        user: What a delivered:/<sub-task a: from a>//mend it//Your part of it, c: otherwise
        > reply 6: CANNOT: nor this
        heard 6: end
        done c
        begin d
        ask 7 for d
        "
    );
    check(&task().planned_by_the_model(1), &transcript);
}

#[test]
fn a_sub_task_that_failed_does_not_hold_up_those_beside_it() {
    let plan = r#"{"plan":[{"id":"a","goal":"one"},{"id":"b","goal":"two"},{"id":"c","goal":"three","after":["b"]}]}"#;
    let transcript = format!(
        "
        > reply 1: {plan}
        heard 1: end
        planned a; b; c < b
        order a, b, c
        retrieved
        begin b
        ask 2 for b
        begin a
        ask 3 for a
        > reply 3: CANNOT: no
        heard 3: end
        fail a: gave up: no, plan anew
        drop a
        begin plan-2
        ask 4 for plan 2
        > reply 2: from b
        heard 2: end
        done b
        begin c
        ask 5 for c
        > reply 5: from c
        heard 5: end
        done c
        ? due
        model 4
        > reply 4: {{\"plan\":[{{\"id\":\"e\",\"goal\":\"instead\"}}]}}
        heard 4: end
        planned e; b; c < b for a
        begin e
        ask 6 for e
        > reply 6: from e
        heard 6: end
        done e
        acted e, c
        verified 1: nothing to check
        "
    );
    check(&task().planned_by_the_model(2), &transcript);
}
