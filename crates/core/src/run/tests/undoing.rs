//! What a run did is undone: before it fails, and for a person after it ended.

use super::build::task;
use super::{check, play};
use crate::event::Event;

/// Two files and two bookings, of sub-tasks that overlap, and then a refusal.
const DONE: &str = "
    > reply 1 write(f) book(a) pay(b)
    heard 1: tool use
    start a1.0 write [f]
    > ok a1.0
    finish a1.0: ok
    start a1.1 book
    > ok a1.1
    finish a1.1: ok
    start a1.2 pay
    > ok a1.2
    finish a1.2: ok
    ask 2 for main
";

fn story(rest: &str) -> String {
    format!("{DONE}{rest}")
}

#[test]
fn a_rollback_undoes_calls_and_files_last_first_and_names_what_nothing_undoes() {
    check(
        &task(),
        &story(
            "
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            rollback: model refused: no, a1.2 remains
            a1.1: is undone
            ? due
            undo a1.1 #1
            > undone a1.1
            a1.1: undone
            ? due
            restore a1.0
            > restored a1.0
            restored a1.0: as before
            failed: model refused: no
            ",
        ),
    );
}

#[test]
fn the_order_is_that_of_coming_to_an_end_not_of_starting() {
    check(
        &task().plan("x; y"),
        "
        > reply 1 book(a)
        heard 1: tool use
        start a1.0 book
        > reply 2 write(f)
        heard 2: tool use
        start a2.0 write [f]
        > ok a2.0
        finish a2.0: ok
        ask 3 for y
        > ok a1.0
        finish a1.0: ok
        ask 4 for x
        > reply 3 refused: no
        heard 3: refused
        stopping: model refused: no
        > reply 4: done
        heard 4: end
        rollback: model refused: no
        a1.0: is undone
        > undone a1.0
        a1.0: undone
        > restored a2.0
        restored a2.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn a_call_that_failed_or_that_nobody_knows_of_is_undone_as_well() {
    let driver = check(
        &task(),
        "
        > reply 1 book(a) book(b)
        heard 1: tool use
        start a1.0 book
        > error a1.0
        finish a1.0: error
        start a1.1 book
        > unknown a1.1
        doubt a1.1: lost reply, ask person
        > settle a1.1 given-up
        settled a1.1: given up, says ann
        ask 2 for main
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        rollback: model refused: no
        a1.1: is undone
        > impossible a1.1
        a1.1: cannot be undone: no id
        a1.0: is undone
        > as-before a1.0
        a1.0: was as before
        ALERT: a1.1 could not be undone, a person must look at it
        failed: model refused: no
        ",
    );
    assert!(driver.run.deeds.alerted);
}

#[test]
fn trouble_is_tried_again_with_the_same_key_and_not_for_ever() {
    let driver = check(
        &task(),
        &story(
            "
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            rollback: model refused: no, a1.2 remains
            a1.1: is undone
            > undo-trouble a1.1 5000
            a1.1: cannot be undone now, tries again: busy
            ? due
            nothing
            > +5000 tick
            a1.1: is undone, attempt 2
            > undo-trouble a1.1
            a1.1: cannot be undone now, tries again: busy
            > +60000 tick
            a1.1: is undone, attempt 3
            > undo-trouble a1.1
            a1.1: could not be undone: busy
            > restored a1.0
            restored a1.0: as before
            ALERT: a1.1 could not be undone, a person must look at it
            failed: model refused: no
            ",
        ),
    );
    let keys: Vec<_> = driver
        .events()
        .filter_map(
            |event| {
                if let Event::CompensationStarted { key, .. } = event { Some(*key) } else { None }
            },
        )
        .collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let intents = driver.events().filter_map(|event| {
        if let Event::CallStarted { key, undo: Some(undo), .. } = event {
            Some((*key, undo.key))
        } else {
            None
        }
    });
    for (call, undo) in intents {
        assert!(undo == keys[0] && undo != call, "recorded with the intent, and not the call's key");
    }
}

#[test]
fn a_worker_that_dies_while_undoing_leaves_it_to_the_next_one() {
    check(
        &task(),
        &story(
            "
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            rollback: model refused: no, a1.2 remains
            a1.1: is undone
            > claim
            claimed 2
            a1.1: is undone, attempt 2
            ? due
            undo a1.1 #2
            > undone a1.1
            a1.1: undone
            > claim
            claimed 3
            ? due
            restore a1.0
            > restored a1.0
            restored a1.0: as before
            failed: model refused: no
            ",
        ),
    );
}

#[test]
fn the_command_for_alerts_runs_before_the_run_ends() {
    let mut setup = task();
    setup.0.task.on_alert = Some(vec!["./page".into()]);
    check(
        &setup,
        &story(
            "
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            rollback: model refused: no, a1.2 remains
            a1.1: is undone
            > undo-failed a1.1
            a1.1: could not be undone: no
            > unrestored a1.0
            restored a1.0: failed
            ALERT: a1.1, a1.0 could not be undone, a person must look at it
            ? due
            alert
            > claim
            claimed 2
            ? due
            alert
            > told
            the command for alerts was run
            failed: model refused: no
            ",
        ),
    );
}

#[test]
fn a_late_or_doubled_word_about_an_undo_changes_nothing() {
    check(
        &task(),
        &story(
            "
            > undone a1.1
            refused: nothing waits for this
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            rollback: model refused: no, a1.2 remains
            a1.1: is undone
            > restored a1.0
            refused: nothing waits for this
            > told
            refused: nothing waits for this
            > undone a1.1
            a1.1: undone
            > undone a1.1
            refused: nothing waits for this
            > restored a1.0
            restored a1.0: as before
            failed: model refused: no
            > restored a1.0
            refused: the run has ended
            ",
        ),
    );
}

#[test]
fn a_committed_run_is_undone_for_a_person_and_stays_committed() {
    check(
        &task(),
        &story(
            "
            > undo
            not now: the run has not ended: cancel it first
            > reply 2: done
            heard 2: end
            done main
            acted main
            verified 1: nothing to check
            > stored
            committed: done
            > undo
            ann undoes it; nothing undoes a1.2
            ? due
            nothing
            > undone a1.1
            refused: the run has ended
            > claim
            claimed 2
            a1.1: is undone
            ? due
            undo a1.1 #1
            > undo
            not now: it is being undone already
            > undone a1.1
            a1.1: undone
            > claim
            claimed 3
            ? due
            restore a1.0
            > restored a1.0
            restored a1.0: as before
            undone: 2 calls
            ? phase
            committed
            ? due
            nothing
            > undo
            not now: there is nothing to undo
            > claim
            refused: the run has ended
            ",
        ),
    );
}

#[test]
fn an_undo_to_an_event_leaves_what_began_before_it() {
    let driver = check(
        &task(),
        &story(
            "
            > reply 2: done
            heard 2: end
            done main
            acted main
            verified 1: nothing to check
            > stored
            committed: done
            ",
        ),
    );
    let begun = driver.run.deeds.find(crate::id::ActionId { step: 1, index: 0 }).unwrap().seq;
    let rest = format!(
        "
        > undo {begun}
        ann undoes it back to event {begun}; nothing undoes a1.2
        > claim
        claimed 2
        a1.1: is undone
        > undo-failed a1.1
        a1.1: could not be undone: no
        ALERT: a1.1 could not be undone, a person must look at it
        undone: 0 calls, not a1.1
        > undo
        ann undoes it; nothing undoes a1.2
        > claim
        claimed 3
        a1.1: is undone
        > undone a1.1
        a1.1: undone
        > left a1.0
        restored a1.0: changed since
        undone: 1 calls, not a1.0
        > undo
        ann undoes it; nothing undoes a1.2
        > claim
        claimed 4
        > restored a1.0
        restored a1.0: as before
        undone: 1 calls
        "
    );
    play(driver, &rest);
}

#[test]
fn a_halted_run_that_was_undone_is_not_reopened() {
    check(
        &task(),
        "
        > reply 1 book(a)
        heard 1: tool use
        start a1.0 book
        > cancel
        doubt a1.0: cancelled, ask person
        halted: cancelled by ann
        > undo
        ann undoes it
        > resume
        not now: what the run did was undone
        > claim
        claimed 2
        a1.0: is undone
        > as-before a1.0
        a1.0: was as before
        undone: 1 calls
        > resume
        not now: what the run did was undone
        ? phase
        halted
        ",
    );
}

#[test]
fn a_run_that_failed_and_kept_its_files_can_still_be_undone() {
    let mut setup = task();
    setup.0.task.on_failure = crate::task::OnFailure::Keep;
    check(
        &setup,
        &story(
            "
            > reply 2 refused: no
            heard 2: refused
            stopping: model refused: no
            failed: model refused: no
            > undo
            ann undoes it; nothing undoes a1.2
            > claim
            claimed 2
            a1.1: is undone
            > undone a1.1
            a1.1: undone
            > restored a1.0
            restored a1.0: as before
            undone: 2 calls
            ? phase
            failed
            ",
        ),
    );
}
