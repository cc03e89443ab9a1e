//! What is committed is handed on behind the ending, at least once and not for ever.

use super::build::{Setup, task};
use super::drive::Driver;
use super::{check, play, script};
use crate::effect::Effect;
use crate::event::{Ending, Event, PromotionOutcome};
use crate::id::Millis;
use crate::provenance::Digest;
use crate::run::PROMOTIONS_MAX;
use crate::task::Review;

const ANSWERED: &str = "
    > reply 1: done
    heard 1: end
    done main
    acted main
    verified 1: nothing to check
";

fn story(rest: &str) -> String {
    format!("{ANSWERED}{rest}")
}

fn remembered() -> Setup {
    task().remembered().review(Review::Never)
}

fn committed(setup: &Setup) -> Driver {
    let rest = "
        > stored
        committed: done
        promotes its output
        hands its output on, attempt 1
        ";
    check(setup, &story(rest))
}

/// Feeds a line at once, or when the run wakes for it.
fn feed(driver: &mut Driver, line: &str) {
    let due = driver.run.due();
    if let ([Effect::WakeAt { at }], true) = (due.as_slice(), driver.run.ending().is_some()) {
        driver.now = *at;
        let tick = script::what(driver, "tick");
        driver.feed(tick).unwrap();
    }
    let what = script::what(driver, line);
    driver.feed(what).unwrap();
}

#[test]
fn a_commit_owes_it_in_the_same_record_and_it_is_taken_once() {
    let driver = committed(&remembered());
    play(
        driver,
        "
        ? due
        promote #1
        > taken 2
        refused: nothing waits for this
        > resume steps=99
        refused: the run has ended
        > pause
        refused: the run has ended
        > cancel
        refused: the run has ended
        > taken 1
        promoted: its output was taken
        ? due
        nothing
        > taken 1
        refused: the run has ended
        > promote
        not now: its output was taken already
        ",
    )
    .check_replay();
}

#[test]
fn a_worker_that_has_somebody_to_hand_it_on_to_does_so_without_a_word_of_the_task() {
    let driver = check(
        &task().review(Review::Never),
        &story(
            "
            > stored-to-promote
            committed: done
            promotes its output
            hands its output on, attempt 1
            > taken 1
            promoted: its output was taken
            ",
        ),
    );
    let want = Digest::of_parts(&[b"promote", b"r1"]);
    assert_eq!(driver.run.promotion.unwrap().key, want);
    check(&task().review(Review::Never), &story("> stored\n committed: done\n ? due\n nothing"));
}

#[test]
fn what_is_handed_on_is_what_was_committed_and_says_what_it_is_without() {
    let driver = committed(&remembered());
    let Some(Ending::Committed { output, provenance, missing }) = driver.run.ending() else { panic!() };
    let due = driver.run.due();
    let [Effect::Promote { committed, .. }] = due.as_slice() else { panic!("{due:?}") };
    assert_eq!((&committed.output, &committed.provenance, &committed.missing), (output, provenance, missing));
    assert_eq!(committed.assurance, driver.run.assurance);
}

#[test]
fn what_nobody_takes_is_tried_again_later_given_up_in_the_end_and_the_ending_stays() {
    let mut driver = committed(&remembered());
    let ending = driver.run.ending().cloned();
    for attempt in 1..=PROMOTIONS_MAX {
        assert!(driver.run.is_being_promoted());
        feed(&mut driver, &format!("not-taken {attempt}"));
    }
    let outcome = driver.run.promotion.as_ref().unwrap().outcome.clone();
    assert_eq!(outcome, Some(PromotionOutcome::NotTaken("nobody is at home".into())));
    assert_eq!((driver.run.ending().cloned(), driver.run.due()), (ending, Vec::new()));
    let tried = driver.events().filter(|event| matches!(event, Event::Promoted(_))).count();
    assert_eq!(tried, 1 + 2 * PROMOTIONS_MAX as usize, "begun, tried, and what came of each");
    driver.check_replay();
}

#[test]
fn the_next_attempt_waits_as_long_as_the_run_s_own_chance_says() {
    let mut driver = committed(&remembered());
    for attempt in 1..PROMOTIONS_MAX {
        feed(&mut driver, &format!("not-taken {attempt}"));
        let parts = [b"promote backoff".as_slice(), driver.run.seed.as_bytes(), &attempt.to_be_bytes()];
        let wait = crate::run::backoff::wait_ms(Digest::of_parts(&parts), attempt, None).unwrap();
        let at = driver.now.plus(wait.max(1));
        assert_eq!(driver.run.due(), [Effect::WakeAt { at }], "attempt {attempt}");
        // Not a moment before.
        driver.now = Millis(at.0 - 1);
        let tick = script::what(&driver, "tick");
        assert_eq!(driver.feed(tick).unwrap(), []);
    }
}

#[test]
fn another_worker_makes_the_attempt_again_that_nobody_knows_of() {
    let mut driver = committed(&remembered());
    driver.feed(script::claim(2)).unwrap();
    let driver = play(
        driver,
        "
        ? due
        promote #2
        > taken 1
        refused: nothing waits for this
        > not-taken 2
        attempt 2 at handing it on met trouble: nobody is at home
        > not-taken 2
        refused: nothing waits for this
        ",
    );
    assert_eq!(driver.run.promotion.unwrap().attempt.unwrap().troubles, 1, "a crash is no trouble");
}

#[test]
fn a_person_can_have_it_tried_again_under_the_same_key() {
    let mut driver = committed(&remembered());
    let key = driver.run.promotion.as_ref().unwrap().key;
    (1..=PROMOTIONS_MAX).for_each(|attempt| feed(&mut driver, &format!("not-taken {attempt}")));
    let mut driver = play(
        driver,
        "
        > promote
        ann promotes its output
        > promote
        not now: its output is being handed on already
        ? due
        nothing
        ",
    );
    driver.feed(script::claim(2)).unwrap();
    let driver = play(
        driver,
        "
        ? due
        promote #1
        > taken 1
        promoted: its output was taken
        ",
    );
    assert_eq!(driver.run.promotion.unwrap().key, key);
}

#[test]
fn only_what_is_committed_is_handed_on() {
    let halted = "
        > cancel
        unheard 1: lost, not again
        halted: cancelled by ann
        > promote
        not now: only what is committed is handed on
        ? due
        nothing
        ";
    check(&remembered(), halted);
    let mut failed = check(&remembered().afresh().limits(|limits| limits.repairs = 0).check("tests"), "");
    ["reply 1: done", "check 1.0 fail"].iter().for_each(|line| feed(&mut failed, line));
    assert!(matches!(failed.run.ending(), Some(Ending::Failed { .. })), "{:?}", failed.run.phase);
    assert_eq!((&failed.run.promotion, failed.run.due()), (&None, Vec::new()));
}

#[test]
fn a_run_that_is_undone_hands_nothing_on_any_more() {
    let driver = check(
        &remembered(),
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
        > stored
        committed: done
        promotes its output
        hands its output on, attempt 1
        > undo
        not promoted: it is undone
        ann undoes it
        > taken 1
        refused: the run has ended
        > promote
        not now: what the run did was undone
        ",
    );
    assert!(!driver.run.is_being_promoted());
    driver.check_replay();
}
