//! What an isolated run changed is applied when it commits, or when a person asks.

use super::build::task;
use super::{check, play, script};
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

#[test]
fn an_isolated_run_applies_its_changes_before_it_commits() {
    check(
        &task().isolated(),
        &story(
            "
            applies its changes
            ? due
            changes
            > stored
            refused: nothing waits for this
            > changes 2
            it changed 2 files
            ? due
            land
            > changes 2
            refused: nothing waits for this
            > landed
            changes applied
            ? due
            store
            > landed
            refused: nothing waits for this
            > stored
            committed: done
            > apply
            not now: its changes are applied already
            ",
        ),
    );
}

#[test]
fn nothing_is_looked_for_before_the_output_is_agreed_to() {
    check(
        &task().isolated().review(Review::Always).check("tests"),
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
        > approve output
        answer output: yes, says ann
        applies its changes
        > changes 0
        it changed no files
        changes applied
        ? due
        store
        ",
    );
}

#[test]
fn a_folder_that_moved_on_leaves_the_run_committed_and_not_applied_until_a_person_asks() {
    let mut driver = check(
        &task().isolated(),
        &story(
            "
            applies its changes
            > changes 1
            it changed 1 file
            > moved-on
            NOT APPLIED: changed meanwhile: f
            > stored
            committed: done
            > apply
            ann applies its changes
            > apply
            not now: it is being applied or undone already
            > undo
            not now: its changes are being applied
            ? due
            nothing
            ",
        ),
    );
    driver.feed(script::claim(2)).unwrap();
    let driver = play(
        driver,
        "
        ? due
        land
        > landed
        changes applied
        ? due
        nothing
        > undo
        ann undoes it
        ",
    );
    assert!(driver.run.ending().is_some() && driver.run.has_afterwork());
}

#[test]
fn a_landing_that_is_under_way_is_neither_paused_nor_cancelled() {
    check(
        &task().isolated(),
        &story(
            "
            applies its changes
            > changes 1
            it changed 1 file
            > cancel
            not now: its changes are being applied: what is half done would be worse
            > pause
            paused by ann
            ? needs-person
            false
            ? due
            land
            > landed
            changes applied
            ? due
            nothing
            > resume
            resumed by ann
            ? due
            store
            ",
        ),
    );
}

#[test]
fn a_worker_that_dies_while_it_applies_is_followed_by_one_that_goes_on() {
    let mut driver = check(&task().isolated(), &story("applies its changes\n> changes 1\nit changed 1 file"));
    driver.feed(script::claim(2)).unwrap();
    play(driver, "? due\nland\n> landed\nchanges applied\n> stored\ncommitted: done");
}

#[test]
fn an_undo_takes_the_changes_back_first_and_they_can_be_applied_again() {
    let mut driver = check(
        &task().isolated(),
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
        applies its changes
        > changes 1
        it changed 1 file
        > landed
        changes applied
        > stored
        committed: done
        > undo
        ann undoes it
        ",
    );
    driver.feed(script::claim(2)).unwrap();
    let mut driver = play(
        driver,
        "
        ? due
        take back
        > taken-back
        restored a0.0: as before
        ? due
        restore a1.0
        > restored a1.0
        restored a1.0: as before
        undone: 2 calls
        > apply
        ann applies its changes
        ",
    );
    driver.feed(script::claim(3)).unwrap();
    let driver = play(driver, "? due\nland\n> landed\nchanges applied\n> undo\nann undoes it");
    assert_eq!(driver.run.deeds.done.len(), 2, "it is one deed, however often it is done");
}

#[test]
fn changes_that_moved_on_are_not_taken_back() {
    let mut driver = check(
        &task().isolated(),
        &story(
            "
            applies its changes
            > changes 1
            it changed 1 file
            > landed
            changes applied
            > stored
            committed: done
            > undo
            ann undoes it
            ",
        ),
    );
    driver.feed(script::claim(2)).unwrap();
    play(
        driver,
        "
        > not-taken-back
        restored a0.0: changed since
        undone: 0 calls, not a0.0
        ",
    );
}

#[test]
fn a_run_on_a_copy_is_applied_only_when_a_person_asks_and_one_in_place_never() {
    let mut driver =
        check(&task().copied(), &story("> stored\ncommitted: done\n> apply\nann applies its changes"));
    driver.feed(script::claim(2)).unwrap();
    play(driver, "? due\nchanges\n> no-changes\nNOT APPLIED: too many\n> apply\nann applies its changes");
    check(
        &task(),
        &story("> stored\ncommitted: done\n> apply\nnot now: the run worked in place: its changes are there"),
    );
    check(
        &task().copied(),
        "
        > reply 1 refused: no
        heard 1: refused
        stopping: model refused: no
        failed: model refused: no
        > apply
        not now: only what a committed run changed can be applied
        ",
    );
}
