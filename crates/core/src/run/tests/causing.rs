//! Root causes of a run, and how repairs go about them.

use super::build::{Setup, task};
use super::controlling::{ACTED, repaired};
use super::drive::Driver;
use super::{check, script, show};
use crate::control::{Rates, Strategy};
use crate::defect::Cause;
use crate::effect::Effect;
use crate::event::Event;
use crate::input::What;
use crate::message::Payload;
use crate::quality::{CheckOutcome, Failure};
use crate::window::Window;

/// The strategies of all repairs, in order.
fn strategies(setup: &Setup, story: &str) -> Vec<Option<Strategy>> {
    let driver = check(setup, story);
    let mut started = Vec::new();
    for event in driver.events() {
        if let Event::RepairStarted { strategy, .. } = event {
            started.push(*strategy);
        }
    }
    started
}

/// A verification that fails, and a critic who says how bad it is and where.
fn failed(round: u32, control: &str, severity: &str, place: &str) -> String {
    let step = round * 2;
    let place = if place.is_empty() { String::new() } else { format!("\"place\": \"{place}\", ") };
    format!(
        "> check {round}.0 fail
        checked {round} tests: failed
        verified {round}: checks failed
        control: {control}
        begin critique-{round}
        ask {step} for critique {round}
        > reply {step}: {{\"summary\": \"s{round}\", \"defects\": [{{\"what\": \"w\", {place}\"severity\": \"{severity}\"}}]}}
        heard {step}: end
        diagnosed by critic: s{round}
        "
    )
}

fn begun(round: u32) -> String {
    format!("repair {round}\nbegin repair-{round}\nask {} for repair-{round}\n", round * 2 + 1)
}

#[test]
fn a_small_defect_whose_place_is_known_is_mended_there() {
    let setup = task().check("tests");
    let story = |severity, place| {
        let failed = failed(1, "repair 0.770", severity, place);
        strategies(&setup, &format!("{ACTED}{failed}{}", begun(1)))
    };
    assert_eq!(story("minor", "sum.rs:4"), [Some(Strategy::MinimalEdit)]);
    assert_eq!(story("minor", ""), [Some(Strategy::SectionRewrite)]);
    assert_eq!(story("major", "sum.rs:4"), [Some(Strategy::SectionRewrite)]);
    assert_eq!(story("major", ""), [Some(Strategy::FullRegeneration)]);
    assert_eq!(story("critical", "sum.rs:4"), [Some(Strategy::FullRegeneration)]);
}

#[test]
fn what_failed_against_a_cause_in_other_runs_is_passed_over() {
    let mut setup = task().check("tests");
    let mut rates = Rates::default();
    rates.note(Some(Cause::LogicError), Strategy::MinimalEdit, false);
    setup.0.rates = rates;
    let story = format!("{ACTED}{}{}", failed(1, "repair 0.770", "minor", "sum.rs:4"), begun(1));
    assert_eq!(strategies(&setup, &story), [Some(Strategy::SectionRewrite)]);
}

#[test]
fn the_cause_is_part_of_the_diagnosis() {
    let story = format!("{ACTED}{}{}", failed(1, "repair 0.770", "minor", "sum.rs:4"), begun(1));
    let driver = check(&task().check("tests"), &story);
    let cause = driver.run.diagnosis.as_ref().and_then(|diagnosis| diagnosis.cause.as_ref());
    assert_eq!(cause.map(|found| found.cause), Some(Cause::LogicError));
}

#[test]
fn the_best_output_is_delivered_when_the_last_one_is_worse() {
    let setup = task().check("tests").check("lint").limits(|limits| limits.repairs = 1);
    let story = "> reply 1: good
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        > check 1.1 fail
        checked 1 lint: failed
        verified 1: checks failed
        control: rounds short, repair 0.385
        begin critique-1
        ask 2 for critique 1
        > reply 2: {\"summary\": \"s\", \"defects\": []}
        heard 2: end
        diagnosed by critic: s
        repair 1
        begin repair-1
        near repairs 1 of 1
        ask 3 for repair-1
        > reply 3: worse
        heard 3: end
        done repair-1
        repaired 1
        > check 2.0 fail
        checked 2 tests: failed
        > check 2.1 fail
        checked 2 lint: failed
        verified 2: checks failed
        control: no round left
        stopping: still wrong after 1 repairs
        failed: still wrong after 1 repairs
        ";
    let driver = check(&setup, story);
    let ended = format!("{:?}", driver.run.ending());
    assert!(ended.contains("good") && !ended.contains("worse"), "{ended}");
    assert_eq!(driver.run.best.as_ref().map(|best| best.round), Some(1));
}

#[test]
fn a_strategy_that_failed_is_not_tried_again_on_the_same_defect() {
    // Twice the same output and diagnosis: the second round is the defect of the first.
    let setup = task().check("tests").limits(|limits| limits.repairs = 9);
    let same = "the answer is forty two and nothing else";
    let failed =
        |round, control: &str| failed(round, control, "minor", "sum.rs:4").replace(&format!("s{round}"), "s");
    let story =
        [ACTED, &failed(1, "repair 0.770"), &repaired(1, same), &failed(2, "repair 1.000"), &begun(2)]
            .concat();
    let tried = strategies(&setup, &story);
    assert_eq!(tried.first(), Some(&Some(Strategy::MinimalEdit)));
    assert_ne!(tried.get(1), Some(&Some(Strategy::MinimalEdit)), "{tried:?}");
}

/// A value of the output does not fit its schema.
fn misfit() -> What {
    let failure = Failure::new("schema", "\"two\" is not a number").at(Some("/price".into()));
    let outcome = CheckOutcome::Failed(vec![failure]);
    What::CheckReturned {
        round: 1,
        index: 0,
        outcome,
        measure: None,
        log: Payload::inline(""),
        duration_ms: 1,
    }
}

fn misfitting() -> Driver {
    let mut driver = check(
        &task().check("schema"),
        "
        > reply 1: {\"price\": \"two\"}
        heard 1: end
        done main
        acted main
        ",
    );
    driver.feed(misfit()).unwrap();
    driver
}

#[test]
fn a_value_that_does_not_fit_is_replaced_where_it_stands() {
    let mut driver = misfitting();
    assert_eq!(driver.run.mending.window, Some(Window::Value("/price".into())));
    let opening = format!("{:?}", driver.run.threads.values().last().unwrap().messages);
    assert!(opening.contains("the value at /price") && opening.contains("nothing of the rest"), "{opening}");
    let form = driver.run.due().into_iter().find_map(|effect| {
        let Effect::CallModel { schema, .. } = effect else { return None };
        Some(schema)
    });
    assert_eq!(form, Some(None), "the form of the whole is not that of a part");
    let reply = script::what(&driver, "reply 2: 2");
    driver.feed(reply).unwrap();
    assert_eq!(show::due(&driver.run), "splice 1 the value at /price");
    assert!(driver.run.has_work(), "nobody else moves it");
    assert!(driver.feed(script::what(&driver, "spliced 2")).is_err(), "another round");
    let spliced = script::what(&driver, "spliced 1");
    driver.feed(spliced).unwrap();
    assert_eq!(driver.run.output, Some(vec![Payload::inline("spliced")]));
    assert!(driver.feed(script::what(&driver, "spliced 1")).is_err(), "only once");
    driver.check_replay();
}

#[test]
fn a_part_that_does_not_fit_back_leaves_the_output_as_it_was() {
    let mut driver = misfitting();
    let before = driver.run.output.clone();
    for line in ["reply 2: about two", "unspliced 1"] {
        let what = script::what(&driver, line);
        driver.feed(what).unwrap();
    }
    assert_eq!(driver.run.output, before);
    assert_eq!(driver.run.phase.word(), "verifying");
}
