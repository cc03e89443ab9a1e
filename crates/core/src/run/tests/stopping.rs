//! Cancel in every state: each open call is answered or stays in doubt.

use super::build::task;
use super::check;
use crate::task::Review;

#[test]
fn a_run_can_be_cancelled_before_it_is_claimed() {
    super::check_from_start(
        &task(),
        "
        > cancel
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 1
        planned main
        order main
        retrieved
        begin main
        ask 1 for main
        ",
    );
}

#[test]
fn cancelling_a_question_to_a_model_pays_it_as_reserved_and_asks_again_after_a_resume() {
    let driver = check(
        &task(),
        "
        > cancel
        unheard 1: lost, not again
        halted: cancelled by ann
        > reply 1: late
        refused: the run has ended
        > resume
        resumed by ann
        > claim
        claimed 2
        ask 2 for main
        ",
    );
    assert!(driver.run.spend.settled.tokens > 4000);
}

#[test]
fn cancelling_answers_every_open_call_and_leaves_the_irreversible_one_in_doubt() {
    check(
        &task().plan("a; b; c; d"),
        "
        > reply 1 read(x) build(y)
        heard 1: tool use
        start a1.0 read
        > reply 2 pay(10)
        heard 2: tool use
        start a2.0 pay
        > reply 3 wipe(disk) write(f)
        heard 3: tool use
        question a3.0
        > reply 4 put(z)
        heard 4: tool use
        start a4.0 put
        > cancel
        finish a1.0: cancelled
        doubt a2.0: cancelled, ask person
        finish a4.0: cancelled
        refuse a1.1: cancelled
        refuse a3.0: cancelled
        refuse a3.1: cancelled
        halted: cancelled by ann
        ? waits
        nothing
        > ok a2.0
        refused: the run has ended
        > settle a2.0 happened
        refused: the run has ended
        > resume
        resumed by ann
        ? waits
        doubt about a2.0 pay
        > settle a2.0 happened
        settled a2.0: happened, says ann
        > claim
        claimed 2
        ask 5 for a
        ask 6 for b
        ask 7 for c
        ask 8 for d
        ? talk b
        user: mend it//Your part of it, b: part b
        model:  [pay]
        c0: ann saw it
        ? talk c
        user: mend it//Your part of it, c: part c
        model:  [wipe, write]
        c0 failed: The run was cancelled before this was started.
        c1 failed: The run was cancelled before this was started.
        ",
    );
}

#[test]
fn a_call_with_a_probe_that_was_cancelled_is_asked_of_a_person() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > cancel
        doubt a1.0: cancelled, ask person
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 2
        ? due
        nothing
        ? waits
        doubt about a1.0 send
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 send #2
        ",
    );
}

#[test]
fn a_probe_that_was_out_at_the_cancel_is_asked_again_after_a_resume() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > unknown a1.0
        doubt a1.0: lost reply, ask probe
        > cancel
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 2
        ? due
        probe a1.0
        > probe a1.0 happened
        settled a1.0: happened, says probe
        ask 2 for main
        ",
    );
}

#[test]
fn a_run_cancelled_while_retrieving_goes_on_there() {
    check(
        &task().evidence(&["a"]),
        "
        > cancel
        halted: cancelled by ann
        > evidence a=1
        refused: the run has ended
        > resume
        resumed by ann
        > claim
        claimed 2
        ? due
        evidence a
        ",
    );
}

#[test]
fn a_run_cancelled_while_verifying_critiquing_repairing_and_committing_goes_on_there() {
    check(
        &task().check("tests"),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > cancel
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 2
        ? due
        check 1.0
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 2 for critique 1
        > cancel
        unheard 2: lost, not again
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 3
        ask 3 for critique 1
        > reply 3: {\"summary\":\"one\",\"defects\":[]}
        heard 3: end
        diagnosed by critic: one
        repair 1
        begin repair-1
        ask 4 for repair-1
        > cancel
        unheard 4: lost, not again
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 4
        ask 5 for repair-1
        > reply 5: mended
        heard 5: end
        done repair-1
        repaired 1
        > check 2.0 pass
        checked 2 tests: passed
        verified 2: passed
        > cancel
        halted: cancelled by ann
        > stored
        refused: the run has ended
        > resume
        resumed by ann
        > claim
        claimed 5
        > stored
        committed: mended
        ",
    );
}

#[test]
fn a_run_cancelled_under_review_keeps_its_question() {
    check(
        &task().review(Review::Always),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        > cancel
        halted: cancelled by ann
        ? waits
        nothing
        > resume
        resumed by ann
        ? waits
        answer about output
        > claim
        claimed 2
        > approve output
        answer output: yes, says ann
        > stored
        committed: done
        ",
    );
}

#[test]
fn a_run_cancelled_while_rolling_back_goes_on_there() {
    check(
        &task(),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        rollback: model refused: no
        > cancel
        halted: cancelled by ann
        > restored a1.0
        refused: the run has ended
        > resume
        resumed by ann
        > claim
        claimed 2
        > restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn cancelling_a_paused_or_backing_off_run_works_too() {
    check(
        &task(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > pause
        paused by ann
        > cancel
        halted: cancelled by ann
        > resume
        resumed by ann
        > claim
        claimed 2
        > +1000 tick
        ask 2 for main
        ",
    );
}

#[test]
fn cancelling_a_run_that_is_stopping_already_does_not_wait() {
    check(
        &task().plan("a; b").limits(|limits| limits.steps = 2),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        stopping: steps 3 of 2
        > cancel
        unheard 2: lost, not again
        halted: cancelled by ann
        ",
    );
}

#[test]
fn the_first_reason_to_stop_stands() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 refused: no
        heard 1: refused
        stopping: model refused: no
        > reply 2 refused: not me either
        heard 2: refused
        failed: model refused: no
        ",
    );
}

#[test]
fn a_model_that_declines_while_the_run_halts_has_asked_for_nothing() {
    check(
        &task().plan("a; b").limits(|limits| limits.steps = 2),
        "
        > reply 1 read(x)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        stopping: steps 3 of 2
        > reply 2 filtered wipe(disk) pay(10): half
        heard 2: filtered
        refuse a2.0: cancelled
        refuse a2.1: cancelled
        halted: steps 3 of 2
        > resume steps=9
        resumed by ann steps=9
        > claim
        claimed 2
        ask 3 for a
        ask 4 for b
        ",
    );
}

#[test]
fn a_stopping_run_that_crashes_ends_with_the_next_claim() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 refused: no
        heard 1: refused
        stopping: model refused: no
        > claim
        claimed 2
        unheard 2: lost, not again
        failed: model refused: no
        ",
    );
}

#[test]
fn a_failing_run_takes_the_results_in_flight_and_starts_nothing_of_them() {
    check(
        &task().plan("a; b; c"),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        > reply 3 wipe(disk) write(f)
        heard 3: tool use
        question a3.0
        ? due
        tool a1.0 #1
        > ok a1.0
        finish a1.0: ok
        refuse a3.0: cancelled
        refuse a3.1: cancelled
        rollback: model refused: no, a1.0 remains
        failed: model refused: no
        ",
    );
}

#[test]
fn a_failing_run_waits_until_a_call_in_doubt_is_settled_because_failing_is_final() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        > unknown a1.0
        doubt a1.0: lost reply, ask person
        ? due
        nothing
        ? waits
        doubt about a1.0 pay
        ? needs-person
        true
        > settle a1.0 happened
        settled a1.0: happened, says ann
        rollback: model refused: no, a1.0 remains
        failed: model refused: no
        ",
    );
}
