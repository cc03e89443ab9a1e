//! Runs that were brought back from a backup.

use super::build::task;
use super::check;

#[test]
fn nothing_of_a_run_that_was_brought_back_is_started_until_a_person_takes_it_up() {
    check(
        &task(),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > restore
        brought back from a backup by ann; what was done elsewhere since is not known
        ? due
        nothing
        ? waits
        restored
        ? needs-person
        true
        > ok a1.0
        refused: the run is not claimed
        > claim
        refused: the run was brought back from a backup and must be taken up first
        > resume
        not now: it was brought back from a backup: take it up first
        > tick
        refused: the run is not claimed
        > take-up
        taken up here by ann
        ? due
        nothing
        > claim
        claimed 2
        start a1.0 read #2
        ? due
        tool a1.0 #2
        > take-up
        not now: it was not brought back from a backup, or was taken up before
        ",
    );
}

/// A run that was brought back and taken up, and claimed again.
const HERE: &str = "
        > restore
        brought back from a backup by ann; what was done elsewhere since is not known
        > take-up
        taken up here by ann
        > claim
        claimed 2
";

fn story(before: &str, after: &str) -> String {
    format!("{before}{HERE}{after}")
}

#[test]
fn a_call_that_must_not_be_made_twice_is_in_doubt_before_it_is_made_and_others_are_not() {
    let after = "
        unheard 1: lost, not again
        ask 2 for main
        > reply 2 read(a) put(x) pay(10)
        heard 2: tool use
        start a2.0 read
        > ok a2.0
        finish a2.0: ok
        start a2.1 put
        > ok a2.1
        finish a2.1: ok
        start a2.2 pay
        doubt a2.2: restored, ask person
        ? due
        nothing
        ? needs-person
        true
        > settle a2.2 did-not
        settled a2.2: did not happen, says ann
        start a2.2 pay #2
        ? due
        tool a2.2 #2
        > ok a2.2 #2
        finish a2.2: ok
        ask 3 for main
        > reply 3 pay(10)
        heard 3: tool use
        start a3.0 pay
        doubt a3.0: restored, ask person
        > settle a3.0 happened
        settled a3.0: happened, says ann
        ask 4 for main
    ";
    check(&task(), &story("", after));
}

#[test]
fn a_probe_is_asked_before_anybody_and_a_call_that_was_out_is_in_doubt_as_after_a_crash() {
    let before = "
        > reply 1 send(mail) send(more)
        heard 1: tool use
        start a1.0 send
    ";
    let after = "
        doubt a1.0: crash, ask probe
        > probe a1.0 happened
        settled a1.0: happened, says probe
        start a1.1 send
        doubt a1.1: restored, ask probe
        ? due
        probe a1.1
        > probe a1.1 did-not
        settled a1.1: did not happen, says probe
        start a1.1 send #2
        ? due
        tool a1.1 #2
    ";
    check(&task(), &story(before, after));
}

#[test]
fn a_call_that_was_known_not_to_have_happened_may_have_been_made_since() {
    check(
        &task(),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > claim
        claimed 2
        doubt a1.0: crash, ask person
        > pause
        paused by ann
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        > restore
        brought back from a backup by ann; what was done elsewhere since is not known
        > take-up
        taken up here by ann
        > resume
        resumed by ann
        > claim
        claimed 3
        start a1.0 pay #2
        doubt a1.0: restored, ask person
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 pay #3
        ? due
        tool a1.0 #3
        ",
    );
}

#[test]
fn a_run_that_is_paused_or_halted_stays_so_when_it_is_taken_up() {
    check(
        &task(),
        "
        > pause
        paused by ann
        > restore
        brought back from a backup by ann; what was done elsewhere since is not known
        > take-up
        taken up here by ann
        ? waits
        paused
        > resume
        resumed by ann
        > claim
        claimed 2
        unheard 1: lost, not again
        ask 2 for main
        ",
    );
}

#[test]
fn a_run_that_was_brought_back_can_be_cancelled_without_being_taken_up() {
    check(
        &task(),
        "
        > reply 1 pay(10)
        heard 1: tool use
        start a1.0 pay
        > restore
        brought back from a backup by ann; what was done elsewhere since is not known
        > cancel
        doubt a1.0: cancelled, ask person
        halted: cancelled by ann
        > resume
        not now: it was brought back from a backup: take it up first
        > take-up
        taken up here by ann
        > resume
        resumed by ann
        ",
    );
}
