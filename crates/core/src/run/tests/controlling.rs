//! What the controller of repair says, and what a run makes of it.

use super::build::task;
use super::check;
use crate::control::{Obedience, Ppm};

/// A round that fails its check, diagnosed, with the word of the controller.
pub(super) fn failed(round: u32, control: &str) -> String {
    let step = round * 2;
    format!(
        "> check {round}.0 fail
        checked {round} tests: failed
        verified {round}: checks failed
        control: {control}
        begin critique-{round}
        ask {step} for critique {round}
        > reply {step}: {{\"summary\":\"off by one\",\"defects\":[]}}
        heard {step}: end
        diagnosed by critic: off by one
        "
    )
}

/// A repair that gives this answer.
pub(super) fn repaired(round: u32, answer: &str) -> String {
    let step = round * 2 + 1;
    format!(
        "repair {round}
        begin repair-{round}
        ask {step} for repair-{round}
        > reply {step}: {answer}
        heard {step}: end
        done repair-{round}
        repaired {round}
        "
    )
}

pub(super) const ACTED: &str = "
        > reply 1: the first answer, which is not like any other there will be
        heard 1: end
        done main
        acted main
        ";

#[test]
fn a_round_that_brings_nothing_makes_the_next_try_its_hardest_and_the_run_goes_on() {
    let story = [
        ACTED,
        &failed(1, "repair 0.770"),
        &repaired(1, "one two three four five six seven"),
        &failed(2, "repair 1.000"),
        &repaired(2, "a quick brown fox jumps over a lazy dog"),
        &failed(3, "stalled, repair 1.000"),
        "repair 3
        begin repair-3
        ask 7 for repair-3
        ",
    ];
    let driver = check(&task().check("tests").limits(|limits| limits.repairs = 9), &story.concat());
    assert_eq!(driver.run.mending.memory.stalled, 2);
    assert_eq!(driver.run.mending.intensity, Some(Ppm::ONE));
}

#[test]
fn a_task_that_obeys_halts_for_a_person_and_goes_on_when_told() {
    let story = [
        ACTED,
        &failed(1, "repair 0.770"),
        &repaired(1, "one two three four five six seven"),
        "> check 2.0 fail
        checked 2 tests: failed
        verified 2: checks failed
        control: stalled, repair 1.000
        stopping: stuck: the last rounds brought nothing beyond the noise
        halted: stuck: the last rounds brought nothing beyond the noise
        > resume
        resumed by ann
        > claim
        claimed 2
        begin critique-2
        ask 4 for critique 2
        ",
    ];
    let obeys = |control: &mut crate::control::Settings| {
        control.obedience = Obedience::Obey;
        control.stall = 1;
    };
    check(&task().check("tests").control(obeys).limits(|limits| limits.repairs = 9), &story.concat());
}

#[test]
fn what_repairs_have_cost_is_what_the_next_ones_are_foreseen_to() {
    let story = [ACTED, &failed(1, "repair 0.770"), "repair 1\nbegin repair-1\nask 3 for repair-1"].concat();
    let driver = check(&task().check("tests").limits(|limits| limits.repairs = 9), &story);
    assert_eq!(driver.run.mending.units, Ppm(1_770_000));
}

#[test]
fn people_see_the_quality_round_by_round() {
    let story = [
        ACTED,
        &failed(1, "repair 0.770"),
        &repaired(1, "one two three four five six seven"),
        "> check 2.0 pass
        checked 2 tests: passed
        verified 2: passed
        ",
    ];
    let driver = check(&task().check("tests").limits(|limits| limits.repairs = 9), &story.concat());
    let curve = crate::view::quality_curve(driver.events());
    assert_eq!(
        curve,
        [
            "round  1  0.500  ##########..........  section rewrite",
            "round  2  1.000  ####################  passed"
        ]
    );
    let series = crate::view::quality_series(driver.events());
    assert_eq!(series, [(Ppm(500_000), Ppm(770_000)), (Ppm::ONE, Ppm::ZERO)]);
    assert_eq!(crate::view::quality_curve(driver.events().take(5)), Vec::<String>::new());
}
