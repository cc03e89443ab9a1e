//! Acting: sub-tasks in parallel, and the loop of one conversation.

use super::build::task;
use super::{check, show};

#[test]
fn ready_subtasks_work_beside_each_other_up_to_the_limit() {
    check(
        &task().plan("a; b; c").limits(|limits| limits.parallel = 2),
        "
        ? due
        model 1, model 2
        > reply 2: from b
        heard 2: end
        done b
        begin c
        ask 3 for c
        ? due
        model 1, model 3
        > reply 1: from a
        heard 1: end
        done a
        > reply 3: from c
        heard 3: end
        done c
        acted a, b, c
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_limit_of_no_subtask_at_once_still_lets_one_work() {
    check(
        &task().limits(|limits| limits.parallel = 0),
        "
        ? due
        model 1
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_dependent_subtask_starts_only_afterwards_and_sees_what_was_delivered() {
    let driver = check(
        &task().plan("a; b; c < a b"),
        "
        ? due
        model 1, model 2
        > reply 1: from a
        heard 1: end
        done a
        > reply 2: from b
        heard 2: end
        done b
        begin c
        ask 3 for c
        ? talk c
        user: What a delivered:/<sub-task a: from a>//What b delivered:/<sub-task b: from b>//mend it//Your part of it, c: part c
        > reply 3: from c
        heard 3: end
        done c
        acted c
        verified 1: nothing to check
        > stored
        committed: from c
        ",
    );
    assert_eq!(show::texts(driver.run.output.as_deref().unwrap()), "from c");
}

#[test]
fn outputs_of_several_last_subtasks_are_joined_under_their_names() {
    check(
        &task().plan("a; b"),
        "
        > reply 2: second
        heard 2: end
        done b
        > reply 1: first
        heard 1: end
        done a
        acted a, b
        verified 1: nothing to check
        > stored
        committed: ## a//first//## b//second
        ",
    );
}

#[test]
fn a_cut_reply_never_runs_and_the_third_in_a_row_fails_the_run() {
    check(
        &task(),
        "
        > reply 1 cut read(a) pay(10): half
        heard 1: truncated
        refuse a1.0: truncated
        refuse a1.1: truncated
        notice main
        ask 2 for main
        > reply 2 cut: half again
        heard 2: truncated
        notice main
        ask 3 for main
        > reply 3 cut write(f): and again
        heard 3: truncated
        refuse a3.0: truncated
        stopping: 3 cut replies
        failed: 3 cut replies
        ",
    );
}

#[test]
fn any_other_reply_resets_the_count_of_cut_ones() {
    check(
        &task(),
        "
        > reply 1 cut: half
        heard 1: truncated
        notice main
        ask 2 for main
        > reply 2 cut: half
        heard 2: truncated
        notice main
        ask 3 for main
        > reply 3 read(a)
        heard 3: tool use
        start a3.0 read
        > ok a3.0
        finish a3.0: ok
        ask 4 for main
        > reply 4 cut: half
        heard 4: truncated
        notice main
        ask 5 for main
        > reply 5 cut: half
        heard 5: truncated
        notice main
        ask 6 for main
        > reply 6: whole
        heard 6: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn cut_replies_are_counted_for_each_conversation_alone() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 cut: half
        heard 1: truncated
        notice a
        ask 3 for a
        > reply 2 cut: half
        heard 2: truncated
        notice b
        ask 4 for b
        > reply 3 cut: half
        heard 3: truncated
        notice a
        ask 5 for a
        > reply 4 cut: half
        heard 4: truncated
        notice b
        ask 6 for b
        > reply 5: a
        heard 5: end
        done a
        > reply 6: b
        heard 6: end
        done b
        acted a, b
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_model_that_declines_fails_the_run_and_nothing_it_asked_for_is_done_or_asked_about() {
    check(
        &task(),
        "
        > reply 1 refused wipe(disk) read(a): I will not
        heard 1: refused
        refuse a1.0: cancelled
        refuse a1.1: cancelled
        stopping: model refused: I will not
        failed: model refused: I will not
        ",
    );
    check(
        &task(),
        "
        > reply 1 filtered: half
        heard 1: filtered
        stopping: model refused: half
        failed: model refused: half
        ",
    );
}

#[test]
fn trouble_with_a_model_is_retried_later_and_every_try_is_a_step() {
    let driver = check(
        &task(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        ? due
        nothing
        > tick
        > +1000 tick
        ask 2 for main
        > fail 2 timed_out
        unheard 2: timed out, again later
        > +2000 tick
        ask 3 for main
        > reply 3: done
        heard 3: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
    // A time-out may have been billed, so it is paid as reserved; trouble is not.
    assert!(driver.run.spend.settled.tokens > 4000, "{:?}", driver.run.spend);
}

#[test]
fn a_provider_that_names_its_patience_is_waited_for() {
    check(
        &task(),
        "
        > fail 1 rate_limited 5000
        unheard 1: rate limited, again later
        > +4999 tick
        > +1 tick
        ask 2 for main
        ",
    );
}

#[test]
fn a_model_that_stays_away_halts_the_run() {
    check(
        &task(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > +1000 tick
        ask 2 for main
        > fail 2 transient
        unheard 2: transient, again later
        > +2000 tick
        ask 3 for main
        > fail 3 transient
        unheard 3: transient, not again
        stopping: no model: transient
        halted: no model: transient
        ",
    );
    check(
        &task(),
        "
        > fail 1 permanent
        unheard 1: permanent, not again
        stopping: no model: permanent
        halted: no model: permanent
        ",
    );
    check(
        &task(),
        "
        > fail 1 rate_limited 120001
        unheard 1: rate limited, not again
        stopping: no model: rate limited
        halted: no model: rate limited
        ",
    );
}

#[test]
fn an_answer_resets_the_count_of_unanswered_tries() {
    check(
        &task(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > +1000 tick
        ask 2 for main
        > fail 2 transient
        unheard 2: transient, again later
        > +2000 tick
        ask 3 for main
        > reply 3 read(a)
        heard 3: tool use
        start a3.0 read
        > ok a3.0
        finish a3.0: ok
        ask 4 for main
        > fail 4 transient
        unheard 4: transient, again later
        > +1000 tick
        ask 5 for main
        > fail 5 transient
        unheard 5: transient, again later
        > +2000 tick
        ask 6 for main
        > reply 6: done
        heard 6: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_doubled_or_foreign_reply_is_refused() {
    check(
        &task(),
        "
        > reply 2: foreign
        refused: nothing waits for this
        > fail 7 transient
        refused: nothing waits for this
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        > reply 1: done again
        refused: nothing waits for this
        > fail 1 transient
        refused: nothing waits for this
        ",
    );
}
