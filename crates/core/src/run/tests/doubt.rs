//! Crashes and lost replies, one at a time.

use super::build::task;
use super::check;

#[test]
fn a_model_call_that_was_lost_is_paid_as_reserved_and_asked_again() {
    let driver = check(
        &task(),
        "
        > claim
        claimed 2
        unheard 1: lost, not again
        ask 2 for main
        > reply 1: late
        refused: nothing waits for this
        > reply 2: done
        heard 2: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
    assert!(driver.run.spend.settled.tokens > 4000);
    assert_eq!(driver.run.reserved, crate::budget::Cost::default());
}

#[test]
fn what_may_be_repeated_is_made_again_and_the_earlier_attempt_is_not_listened_to() {
    check(
        &task(),
        "
        > reply 1 read(a) read(b)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        > ok a1.0
        finish a1.0: ok
        > claim
        claimed 2
        start a1.1 read #2
        ? due
        tool a1.1 #2
        > ok a1.1 #1
        refused: nothing waits for this
        > ok a1.1 #2
        finish a1.1: ok
        ask 2 for main
        > ok a1.1 #2
        refused: nothing waits for this
        ",
    );
    check(
        &task(),
        "
        > reply 1 write(f) put(x)
        heard 1: tool use
        start a1.0 write [f]
        > claim
        claimed 2
        start a1.0 write [f] #2
        > ok a1.0
        finish a1.0: ok
        start a1.1 put
        > claim
        claimed 3
        start a1.1 put #2
        > claim
        claimed 4
        start a1.1 put #3
        > ok a1.1 #2
        refused: nothing waits for this
        > ok a1.1 #3
        finish a1.1: ok
        ask 2 for main
        ",
    );
}

#[test]
fn what_must_not_be_repeated_is_in_doubt_until_a_person_settles_it() {
    for (how, then) in [
        ("happened", "settled a1.0: happened, says ann\nask 2 for main"),
        ("did-not", "settled a1.0: did not happen, says ann\nstart a1.0 pay #2"),
        ("given-up", "settled a1.0: given up, says ann\nask 2 for main"),
    ] {
        let transcript = format!(
            "
            > reply 1 pay(10)
            heard 1: tool use
            start a1.0 pay
            > claim
            claimed 2
            doubt a1.0: crash, ask person
            ? due
            nothing
            ? waits
            doubt about a1.0 pay
            ? needs-person
            true
            > ok a1.0
            refused: nothing waits for this
            > claim
            claimed 3
            > settle a1.0 {how}
            {then}
            > settle a1.0 happened
            not now: this call is not in doubt
            "
        );
        check(&task(), &transcript);
    }
}

#[test]
fn a_probe_that_saw_the_call_settles_it() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > claim
        claimed 2
        doubt a1.0: crash, ask probe
        ? due
        probe a1.0
        ? needs-person
        false
        > probe a1.0 happened
        settled a1.0: happened, says probe
        ask 2 for main
        > probe a1.0 did-not
        refused: nothing waits for this
        ? talk main
        user: mend it
        model:  [send]
        c0: the probe saw it
        ",
    );
}

#[test]
fn a_probe_that_saw_nothing_lets_the_call_be_made_again() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > claim
        claimed 2
        doubt a1.0: crash, ask probe
        > probe a1.0 did-not
        settled a1.0: did not happen, says probe
        start a1.0 send #2
        > claim
        claimed 3
        doubt a1.0: crash, ask probe
        > probe a1.0 did-not
        settled a1.0: did not happen, says probe
        start a1.0 send #3
        > ok a1.0 #1
        refused: nothing waits for this
        > ok a1.0 #3
        finish a1.0: ok
        ask 2 for main
        ",
    );
}

#[test]
fn a_probe_that_cannot_tell_passes_the_question_on_to_a_person() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > claim
        claimed 2
        doubt a1.0: crash, ask probe
        > probe a1.0 unknown
        doubt a1.0: crash, ask person
        ? due
        nothing
        ? waits
        doubt about a1.0 send
        > probe a1.0 happened
        refused: nothing waits for this
        > claim
        claimed 3
        > settle a1.0 given-up
        settled a1.0: given up, says ann
        ask 2 for main
        ",
    );
}

#[test]
fn a_person_may_be_faster_than_a_probe() {
    check(
        &task(),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > unknown a1.0
        doubt a1.0: lost reply, ask probe
        > settle a1.0 happened
        settled a1.0: happened, says ann
        ask 2 for main
        > probe a1.0 did-not
        refused: nothing waits for this
        ",
    );
}

#[test]
fn a_lost_reply_of_what_must_not_be_repeated_is_doubt_too() {
    check(
        &task(),
        "
        > reply 1 pay(10) pay(20)
        heard 1: tool use
        start a1.0 pay
        > unknown a1.0
        doubt a1.0: lost reply, ask person
        ? due
        nothing
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 pay #2
        > ok a1.0
        finish a1.0: ok
        start a1.1 pay
        ",
    );
}

#[test]
fn a_call_that_loses_its_reply_again_and_again_is_passed_on_to_a_person() {
    check(
        &task().limits(|limits| limits.attempts = 2),
        "
        > reply 1 send(mail)
        heard 1: tool use
        start a1.0 send
        > unknown a1.0
        doubt a1.0: lost reply, ask probe
        > probe a1.0 did-not
        settled a1.0: did not happen, says probe
        start a1.0 send #2
        > unknown a1.0
        doubt a1.0: lost reply, ask person
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 send #3
        > unknown a1.0
        doubt a1.0: lost reply, ask person
        ",
    );
}

#[test]
fn a_worker_that_is_about_to_stop_takes_note_and_starts_nothing() {
    check(
        &task().check("tests"),
        "
        > hold reply 1 read(a) write(f) wipe(disk)
        heard 1: tool use
        question a1.2
        > claim
        claimed 2
        start a1.0 read
        > hold ok a1.0
        finish a1.0: ok
        > claim
        claimed 3
        ? due
        prepare a1.1
        > prepared a1.1
        start a1.1 write [looked-at]
        > hold ok a1.1
        finish a1.1: ok
        > claim
        claimed 4
        > hold approve a1.2
        answer a1.2: yes, says ann
        > claim
        claimed 5
        start a1.2 wipe
        > hold ok a1.2
        finish a1.2: ok
        > claim
        claimed 6
        ask 2 for main
        > hold reply 2: done
        heard 2: end
        > claim
        claimed 7
        done main
        acted main
        > hold check 1.0 pass
        checked 1 tests: passed
        > claim
        claimed 8
        verified 1: passed
        > hold stored
        committed: done
        ",
    );
}

#[test]
fn a_write_in_doubt_keeps_other_writes_away_and_is_made_again_with_its_image() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 stamp(f)
        heard 1: tool use
        start a1.0 stamp [f]
        > unknown a1.0
        doubt a1.0: lost reply, ask person
        > reply 2 write(g)
        heard 2: tool use
        ? due
        nothing
        ? needs-person
        true
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 stamp [f] #2
        > ok a1.0
        finish a1.0: ok
        ask 3 for a
        ? due
        model 3, prepare a2.0
        > prepared a2.0
        start a2.0 write [looked-at]
        > ok a2.0
        finish a2.0: ok
        ask 4 for b
        > reply 3: a
        heard 3: end
        done a
        > reply 4 refused: no
        heard 4: refused
        stopping: model refused: no
        rollback: model refused: no
        > restored a2.0
        restored a2.0: as before
        > restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn an_approval_outlives_a_crash_and_is_used_once() {
    check(
        &task(),
        "
        > reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        > claim
        claimed 2
        ? waits
        answer about a1.0
        > approve a1.0
        answer a1.0: yes, says ann
        start a1.0 wipe
        > claim
        claimed 3
        doubt a1.0: crash, ask person
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 wipe #2
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        ",
    );
}

#[test]
fn a_stale_claim_is_refused() {
    check(
        &task(),
        "
        > claim 1
        refused: epoch 1 is not newer than 1
        > claim 0
        refused: epoch 0 is not newer than 1
        > claim 7
        claimed 7
        unheard 1: lost, not again
        ask 2 for main
        > claim 7
        refused: epoch 7 is not newer than 7
        > claim 3
        refused: epoch 3 is not newer than 7
        ",
    );
}

#[test]
fn other_phases_ask_for_the_same_work_after_a_crash() {
    check(
        &task().evidence(&["a"]).check("tests").limits(|limits| limits.repairs = 0),
        "
        ? due
        evidence a
        > claim
        claimed 2
        ? due
        evidence a
        > evidence a=1
        retrieved a
        begin main
        ask 1 for main
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2: done
        heard 2: end
        done main
        acted main
        ? due
        check 1.0
        > claim
        claimed 3
        ? due
        check 1.0
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: no round left
        stopping: still wrong after 0 repairs
        rollback: still wrong after 0 repairs
        ? due
        restore a1.0
        > claim
        claimed 4
        ? due
        restore a1.0
        > restored a1.0
        restored a1.0: as before
        failed: still wrong after 0 repairs
        ",
    );
    check(
        &task(),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        ? due
        store
        > claim
        claimed 2
        ? due
        store
        > stored
        committed: done
        ",
    );
}

#[test]
fn a_paused_run_stays_paused_over_a_crash() {
    check(
        &task(),
        "
        > pause
        paused by ann
        > claim
        claimed 2
        unheard 1: lost, not again
        ? due
        nothing
        ? waits
        paused
        > resume
        resumed by ann
        ask 2 for main
        ",
    );
}

#[test]
fn an_answer_about_an_earlier_attempt_does_not_settle_a_later_doubt() {
    check(
        &task(),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > claim
        claimed 2
        doubt a1.0: crash, ask person
        > settle a1.0 did-not 1
        settled a1.0: did not happen, says ann
        start a1.0 pay #2
        > claim
        claimed 3
        doubt a1.0: crash, ask person
        > settle a1.0 did-not 1
        not now: the answer is about an earlier attempt
        > settle a1.0 happened 2
        settled a1.0: happened, says ann
        ask 2 for main
        ",
    );
}
