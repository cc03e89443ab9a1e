//! A halted run that goes on with less to do.

use serde_json::json;

use super::build::{Setup, subtask_id, task};
use super::check;
use super::drive::Driver;
use crate::event::{Ending, Event};
use crate::run::BadScope;

/// Three parts, each behind the one before.
fn in_a_row() -> Setup {
    task().plan("a; b < a; c < b")
}

/// The first is done, the second at work.
const HALTED: &str = "
        > reply 1: A
        heard 1: end
        done a
        begin b
        ask 2 for b
        > cancel
        unheard 2: lost, not again
        halted: cancelled by ann
        ";

fn after(rest: &str) -> String {
    format!("{HALTED}{rest}")
}

fn missing(driver: &Driver) -> Vec<String> {
    let Some(Ending::Committed { missing, .. }) = driver.run.ending() else { panic!("not committed") };
    missing.iter().map(ToString::to_string).collect()
}

#[test]
fn what_waits_for_what_is_left_out_goes_with_it_and_a_person_agrees_to_the_part() {
    let driver = check(
        &in_a_row(),
        &after(
            "
            > reduce b
            resumed by ann, without b, c
            > claim
            claimed 2
            drop b
            acted a
            verified 1: nothing to check
            question output
            > stored
            refused: nothing waits for this
            > approve output
            answer output: yes, says ann
            > stored
            committed without b, c: A
            ",
        ),
    );
    assert_eq!(missing(&driver), ["b", "c"]);
    let told = driver.events().find(|event| matches!(event, Event::Resumed { .. })).unwrap();
    assert_eq!(crate::view::line(told), "resumed by ann, without b, c");
}

#[test]
fn what_is_left_goes_on_and_only_the_end_of_a_chain_is_left_out() {
    let driver = check(
        &in_a_row(),
        &after(
            "
            > reduce c
            resumed by ann, without c
            > claim
            claimed 2
            ask 3 for b
            > reply 3: B
            heard 3: end
            done b
            acted b
            verified 1: nothing to check
            question output
            > approve output
            answer output: yes, says ann
            > stored
            committed without c: B
            ",
        ),
    );
    assert_eq!(missing(&driver), ["c"]);
}

#[test]
fn what_cannot_be_left_out_is_refused_with_a_remedy_and_the_run_stays_halted() {
    check(
        &in_a_row(),
        &after(
            "
            > reduce d
            not now: the plan has no sub-task d; name a sub-task of the plan that `show` lists
            > reduce a
            not now: a is done already; what is done stays; name what is not done
            ? phase
            halted
            > resume
            resumed by ann
            > claim
            claimed 2
            ask 3 for b
            > reduce c
            not now: the run is not halted; cancel it first; what has ended for good is not reopened
            ",
        ),
    );
    check(
        &task(),
        "
        > cancel
        unheard 1: lost, not again
        halted: cancelled by ann
        > reduce main
        not now: nothing would be left of the plan; leave out less, or let the run be: it keeps what it did
        ",
    );
}

#[test]
fn a_name_inside_a_choice_and_a_run_without_a_plan_are_refused() {
    let setup = task().nodes(json!([
        { "id": "pick", "branches": [{ "nodes": [{ "id": "near", "goal": "x" }] }, { "nodes": [{ "id": "far", "goal": "x" }] }] },
        { "id": "end", "goal": "x" }
    ]));
    let mut driver = check(&setup, "");
    let cancel = super::script::what(&driver, "cancel");
    driver.feed(cancel).unwrap();
    let inside = driver.run.scope_without(&[subtask_id("far")]);
    assert_eq!(inside, Err(BadScope::Inside { id: subtask_id("far"), choice: subtask_id("pick") }));
    assert_eq!(driver.run.scope_without(&[subtask_id("pick")]), Ok(vec![subtask_id("pick")]));
    let near = driver.run.scope_without(&[subtask_id("pik")]);
    assert_eq!(near, Err(BadScope::Unknown { id: subtask_id("pik"), nearest: Some(subtask_id("pick")) }));

    let mut unplanned = check(&task().planned_by_the_model(1), "");
    let cancel = super::script::what(&unplanned, "cancel");
    unplanned.feed(cancel).unwrap();
    assert_eq!(unplanned.run.scope_without(&[subtask_id("a")]), Err(BadScope::NoPlan));
}

#[test]
fn a_call_in_doubt_of_what_is_left_out_is_settled_before_the_rest_goes_on() {
    check(
        &task().plan("a; b").limits(|limits| limits.parallel = 1),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > cancel
        doubt a1.0: cancelled, ask person
        halted: cancelled by ann
        > reduce a
        resumed by ann, without a
        > claim
        claimed 2
        ? waits
        doubt about a1.0 pay
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        refuse a1.0: cancelled
        drop a
        begin b
        ask 2 for b
        ",
    );
}

#[test]
fn checks_of_what_is_left_out_do_not_apply_and_what_is_left_is_repaired_like_any_output() {
    let mut setup = in_a_row().check("of-b").check("whole").limits(|limits| limits.repairs = 1);
    setup.0.task.checks[0].part = Some(subtask_id("b"));
    let driver = check(
        &setup,
        &after(
            "
            > reduce b
            resumed by ann, without b, c
            > claim
            claimed 2
            drop b
            acted a
            checked 1 of-b: not applicable
            > check 1.1 fail
            checked 1 whole: failed
            verified 1: checks failed
            control: rounds short, repair 0.385
            begin critique-1
            ask 3 for critique 1
            ",
        ),
    );
    assert_eq!(driver.run.missing(), [subtask_id("b"), subtask_id("c")]);
}
