//! Pause, resume and reopening.

use super::build::task;
use super::check;
use crate::id::ToolName;
use crate::task::Review;

#[test]
fn a_paused_run_starts_nothing_new_and_takes_what_was_in_flight() {
    check(
        &task(),
        "
        > reply 1 read(a) build(b)
        heard 1: tool use
        start a1.0 read
        > pause
        paused by ann
        ? due
        tool a1.0 #1
        > ok a1.0
        finish a1.0: ok
        ? due
        nothing
        ? waits
        paused
        ? needs-person
        true
        > pause
        not now: the run is paused already
        > tick
        > resume
        resumed by ann
        start a1.1 build
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        > resume
        not now: the run is neither paused nor halted
        ",
    );
}

#[test]
fn a_reply_that_comes_during_a_pause_is_kept_and_its_calls_wait() {
    check(
        &task(),
        "
        > pause
        paused by ann
        > reply 1 write(f) read(a)
        heard 1: tool use
        ? due
        nothing
        > resume
        resumed by ann
        ? due
        prepare a1.0
        ",
    );
}

#[test]
fn a_pause_holds_in_every_phase_and_what_was_out_is_taken() {
    check(
        &task().evidence(&["a"]).check("tests").review(Review::Always),
        "
        > pause
        paused by ann
        ? due
        nothing
        > evidence a=1
        retrieved a
        > resume
        resumed by ann
        begin main
        ask 1 for main
        > reply 1: done
        heard 1: end
        done main
        acted main
        > pause
        paused by ann
        ? due
        nothing
        > check 1.0 pass
        checked 1 tests: passed
        > resume
        resumed by ann
        verified 1: passed
        question output
        > pause
        paused by ann
        > approve output
        answer output: yes, says ann
        ? due
        nothing
        > resume
        resumed by ann
        > stored
        committed: done
        ",
    );
}

#[test]
fn a_pause_stops_a_rollback_between_two_undos() {
    check(
        &task(),
        "
        > reply 1 write(f) write(g)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        > prepared a1.1
        start a1.1 write [looked-at]
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        rollback: model refused: no
        > pause
        paused by ann
        ? due
        nothing
        > restored a1.1
        restored a1.1: as before
        ? due
        nothing
        > resume
        resumed by ann
        > restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn a_retry_that_falls_due_during_a_pause_waits_for_its_end() {
    check(
        &task(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > pause
        paused by ann
        > +60000 tick
        ? wakes
        nothing
        > resume
        resumed by ann
        ask 2 for main
        ",
    );
}

#[test]
fn a_halted_run_reopens_with_a_higher_limit_and_goes_on_after_the_next_claim() {
    check(
        &task().limits(|limits| limits.steps = 1),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        stopping: steps 2 of 1
        halted: steps 2 of 1
        > claim
        refused: the run has ended
        > tick
        refused: the run has ended
        > approve a1.0
        refused: the run has ended
        > resume steps=3
        resumed by ann steps=3
        ? due
        nothing
        ? needs-person
        false
        > reply 2: early
        refused: the run is not claimed
        > claim
        claimed 2
        ask 2 for main
        > reply 2: done
        heard 2: end
        done main
        acted main
        verified 1: nothing to check
        > stored
        committed: done
        ",
    );
}

#[test]
fn a_halted_run_that_reopens_with_the_same_limit_halts_again() {
    check(
        &task().limits(|limits| limits.steps = 1),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        stopping: steps 2 of 1
        halted: steps 2 of 1
        > resume
        resumed by ann
        > claim
        claimed 2
        stopping: steps 2 of 1
        halted: steps 2 of 1
        > resume steps=1
        resumed by ann steps=1
        > claim
        claimed 3
        stopping: steps 2 of 1
        halted: steps 2 of 1
        ",
    );
}

#[test]
fn every_limit_can_be_raised() {
    check(
        &task().limits(|limits| {
            limits.tool_calls = 0;
            limits.tokens = 0;
            limits.micros = 0;
            limits.active_ms = 0;
            limits.tools.insert(ToolName::parse("read").unwrap(), 0);
        }),
        "
        > resume active_seconds=100000
        resumed by ann active_seconds=100000
        > claim
        claimed 2
        planned main
        order main
        retrieved
        begin main
        stopping: tokens of 0
        halted: tokens of 0
        > resume tokens=100000
        resumed by ann tokens=100000
        > claim
        claimed 3
        stopping: cost_usd of 0
        halted: cost_usd of 0
        > resume cost_usd=100000
        resumed by ann cost_usd=100000
        > claim
        claimed 4
        ask 1 for main
        > reply 1 read(a)
        heard 1: tool use
        stopping: tool_calls 1 of 0
        halted: tool_calls 1 of 0
        > resume tool_calls=1
        resumed by ann tool_calls=1
        > claim
        claimed 5
        stopping: tools.read 1 of 0
        halted: tools.read 1 of 0
        > resume tools.read=2
        resumed by ann tools.read=2
        > claim
        claimed 6
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        near tool_calls 1 of 1
        ask 2 for main
        > reply 2: done
        heard 2: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_limit_can_be_raised_while_the_run_works() {
    check(
        &task().limits(|limits| limits.steps = 1),
        "
        > resume steps=3
        resumed by ann steps=3
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2: done
        heard 2: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn a_model_that_was_away_gets_all_its_tries_again_after_a_resume() {
    check(
        &task().limits(|limits| limits.attempts = 2),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > +1000 tick
        ask 2 for main
        > fail 2 transient
        unheard 2: transient, not again
        stopping: no model: transient
        halted: no model: transient
        > resume
        resumed by ann
        > claim
        claimed 2
        ask 3 for main
        > fail 3 transient
        unheard 3: transient, again later
        > +1000 tick
        ask 4 for main
        > reply 4: done
        heard 4: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}
