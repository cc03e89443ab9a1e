//! Committing: who agrees, to which bytes, until when.

use super::build::task;
use super::check;
use crate::input::What;
use crate::provenance::Digest;
use crate::task::Review;

#[test]
fn a_reviewed_output_is_committed_after_a_yes_to_exactly_these_bytes() {
    check(
        &task().review(Review::Always).check("tests"),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        verified 1: passed
        question output
        ? due
        nothing
        ? waits
        answer about output
        ? needs-person
        true
        > approve output other
        not now: the answer is about other bytes
        > approve output
        answer output: yes, says ann
        > approve output
        not now: this was answered before
        ? due
        store
        > stored
        committed: done
        > stored
        refused: the run has ended
        ",
    );
}

#[test]
fn a_record_of_provenance_that_misses_an_event_commits_nothing() {
    let mut driver = check(
        &task().review(Review::Never),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        ? due
        store
        ",
    );
    let stored = |seq| What::ResultStored { provenance: Digest::ZERO, seq, promotes: false };
    let seq = driver.run.seq;
    for earlier in 0..seq {
        assert!(driver.feed(stored(earlier)).is_err(), "after {earlier} of {seq} events");
    }
    assert!(seq > 5, "every event counts: {seq}");
    assert!(driver.run.ending().is_none());
    driver.feed(stored(seq)).unwrap();
    assert!(driver.run.ending().is_some());
}

#[test]
fn a_denied_output_fails_the_run_and_undoes_it() {
    check(
        &task().review(Review::Always),
        "
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
        verified 1: nothing to check
        question output
        > deny output
        answer output: no, says ann: too dear
        stopping: output denied by ann: too dear
        rollback: output denied by ann: too dear
        > restored a1.0
        restored a1.0: as before
        failed: output denied by ann: too dear
        ",
    );
}

#[test]
fn an_output_nobody_agreed_to_in_time_fails_the_run() {
    check(
        &task().review(Review::Always).limits(|limits| limits.approval_ms = 500),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        ? wakes
        +500
        > +500 tick
        answer output: nobody
        stopping: nobody agreed
        failed: nobody agreed
        ",
    );
    check(
        &task().review(Review::Always).limits(|limits| limits.approval_ms = 500),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        > +500 approve output
        not now: the answer comes too late
        answer output: nobody
        stopping: nobody agreed
        failed: nobody agreed
        ",
    );
}

#[test]
fn waiting_for_a_review_uses_no_working_time() {
    let driver = check(
        &task().review(Review::Always).limits(|limits| limits.active_ms = 1000),
        "
        > +10 reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        > +50000 approve output
        answer output: yes, says ann
        > +10 stored
        committed: done
        ",
    );
    assert_eq!(driver.run.spend.active_ms, 20);
}

#[test]
fn a_committed_run_takes_nothing_more() {
    check(
        &task(),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        > stored
        committed: done
        > tick
        refused: the run has ended
        > claim
        refused: the run has ended
        > pause
        refused: the run has ended
        > resume steps=99
        refused: the run has ended
        > cancel
        refused: the run has ended
        ",
    );
}

#[test]
fn an_output_that_is_sent_back_is_mended_checked_and_asked_about_anew() {
    check(
        &task().review(Review::Always).check("tests"),
        "
        > reply 1: long
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        verified 1: passed
        question output
        > back shorter please
        answer output: not like this, says ann: shorter please
        diagnosed by person: ann asks for changes
        repair 1
        begin repair-1
        ask 2 for repair-1
        > reply 2: short
        heard 2: end
        done repair-1
        repaired 1
        ? due
        check 2.0
        > check 2.0 pass
        checked 2 tests: passed
        verified 2: passed
        question output
        > approve output
        answer output: yes, says ann
        > stored
        committed: short
        ",
    );
}

#[test]
fn sending_back_needs_a_repair_that_is_left() {
    let mut setup = task().review(Review::Always);
    setup.0.task.limits.repairs = 0;
    check(
        &setup,
        "
        > reply 1: long
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        > back shorter please
        answer output: not like this, says ann: shorter please
        diagnosed by person: ann asks for changes
        stopping: still wrong after 0 repairs
        failed: still wrong after 0 repairs
        ",
    );
}
