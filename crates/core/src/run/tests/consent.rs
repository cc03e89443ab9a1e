//! Calls that wait for a person.

use super::build::task;
use super::check;
use crate::agent::{Gate, Gates};

#[test]
fn a_call_that_needs_consent_waits_for_it_and_then_runs() {
    check(
        &task(),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        ? due
        nothing
        ? waits
        answer about a1.0
        ? needs-person
        true
        > approve a1.0
        answer a1.0: yes, says ann
        start a1.0 wipe
        ? waits
        nothing
        ? needs-person
        false
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        ",
    );
}

#[test]
fn a_denied_call_is_refused_and_the_same_bytes_are_not_asked_about_again() {
    check(
        &task(),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        > deny a1.0
        answer a1.0: no, says ann: too dear
        refuse a1.0: denied
        ask 2 for main
        > reply 2 wipe(disk) wipe(other)
        heard 2: tool use
        refuse a2.0: denied
        question a2.1
        ? talk main
        user: mend it
        model:  [wipe]
        c0 failed: ann did not allow this: too dear
        model:  [wipe, wipe]
        ",
    );
}

#[test]
fn an_answer_about_other_bytes_or_about_nothing_starts_nothing() {
    check(
        &task(),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        > approve a1.0 other
        not now: the answer is about other bytes
        > deny a1.0 other
        not now: the answer is about other bytes
        > approve a7.0
        not now: nobody asked about this
        > approve output
        not now: nobody asked about this
        ? due
        nothing
        > approve a1.0
        answer a1.0: yes, says ann
        start a1.0 wipe
        > approve a1.0
        not now: this was answered before
        > deny a1.0
        not now: this was answered before
        ",
    );
}

#[test]
fn a_question_nobody_answers_in_time_is_answered_with_no() {
    check(
        &task().limits(|limits| limits.approval_ms = 500),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        ? wakes
        +500
        > +499 tick
        > +1 tick
        answer a1.0: nobody
        refuse a1.0: denied
        ask 2 for main
        > reply 2 wipe(disk)
        heard 2: tool use
        question a2.0
        ",
    );
}

#[test]
fn a_yes_that_comes_too_late_is_no_yes() {
    check(
        &task().limits(|limits| limits.approval_ms = 500),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        > +500 approve a1.0
        not now: the answer comes too late
        answer a1.0: nobody
        refuse a1.0: denied
        ask 2 for main
        ",
    );
}

#[test]
fn two_questions_of_one_reply_expire_together_with_one_wake_up() {
    check(
        &task().limits(|limits| limits.approval_ms = 500),
        "
        > reply 1 wipe(a) wipe(b)
        heard 1: tool use
        question a1.0
        question a1.1
        ? wakes
        +500
        ? waits
        answer about a1.0, answer about a1.1
        > +500 tick
        answer a1.0: nobody
        refuse a1.0: denied
        answer a1.1: nobody
        refuse a1.1: denied
        ask 2 for main
        ",
    );
}

#[test]
fn reads_behind_a_question_go_on_and_changes_wait() {
    check(
        &task(),
        "
        > reply 1 peek(a) read(b) build(c)
        heard 1: tool use
        question a1.0
        start a1.1 read
        ? due
        tool a1.1 #1
        > ok a1.1
        finish a1.1: ok
        ? needs-person
        true
        > approve a1.0
        answer a1.0: yes, says ann
        start a1.0 peek
        > ok a1.0
        finish a1.0: ok
        start a1.2 build
        > ok a1.2
        finish a1.2: ok
        ask 2 for main
        ",
    );
}

#[test]
fn a_call_behind_a_question_waits_for_a_person_and_uses_no_working_time() {
    let driver = check(
        &task(),
        "
        > reply 1 wipe(a) write(f)
        heard 1: tool use
        question a1.0
        ? due
        nothing
        ? wakes
        +604800000
        ? needs-person
        true
        > +100000 approve a1.0
        answer a1.0: yes, says ann
        start a1.0 wipe
        > ok a1.0
        finish a1.0: ok
        ? due
        prepare a1.1
        ",
    );
    assert_eq!(driver.run.spend.active_ms, 0);
}

#[test]
fn other_subtasks_go_on_while_one_waits_for_a_person() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        ? needs-person
        false
        > reply 2 read(x)
        heard 2: tool use
        start a2.0 read
        > ok a2.0
        finish a2.0: ok
        ask 3 for b
        > reply 3: b is done
        heard 3: end
        done b
        ? needs-person
        true
        ? waits
        answer about a1.0
        > deny a1.0
        answer a1.0: no, says ann: too dear
        refuse a1.0: denied
        ask 4 for a
        > reply 4: a is done
        heard 4: end
        done a
        acted a, b
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_value_that_only_untrusted_text_has_named_is_asked_about_though_the_tool_does_not_ask() {
    check(
        &task(),
        "
        > reply 1 write(a.txt~) read(b.txt)
        heard 1: tool use
        question a1.0: \"a.txt\" in /path was named only by a page
        ? waits
        answer about a1.0
        > approve a1.0
        answer a1.0: yes, says ann
        > prepared a1.0
        start a1.0 write [looked-at]
        ",
    );
}

#[test]
fn what_a_gate_refuses_is_not_asked_about_and_what_it_allows_is_made() {
    let refusing = task().gates(Gates { tainted: Gate::Refuse, ..Gates::default() });
    check(
        &refusing,
        "
        > reply 1 write(a.txt~)
        heard 1: tool use
        refuse a1.0: not allowed
        ask 2 for main
        ? talk main
        user: mend it
        model:  [write]
        c0 failed: This was not made: \"a.txt\" in /path was named only by a page.
        ",
    );
    let allowing = task().gates(Gates { tainted: Gate::Allow, ..Gates::default() });
    check(
        &allowing,
        "
        > reply 1 write(a.txt~)
        heard 1: tool use
        start a1.0 write [a.txt]
        ",
    );
}

#[test]
fn a_call_the_agent_has_no_capability_for_is_refused_and_never_asked_about() {
    check(
        &task(),
        "
        > reply 1 -wipe(disk)
        heard 1: tool use
        refuse a1.0: not allowed
        ask 2 for main
        ",
    );
}

#[test]
fn an_approval_under_another_policy_is_another_approval() {
    let question = "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        ";
    let binds = |setup: &super::build::Setup| {
        check(setup, question).run.approvals.values().next().expect("a question").binds
    };
    let strict = task().gates(Gates { tainted: Gate::Refuse, ..Gates::default() });
    assert_ne!(binds(&strict), binds(&task()));
    assert_eq!(binds(&strict), binds(&strict));
}
