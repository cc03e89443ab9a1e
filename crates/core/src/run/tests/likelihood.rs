//! How likely a model finds its words: who is asked for it, what is kept, what it counts for.

use super::build::task;
use super::check;
use super::drive::Driver;
use super::script;
use crate::control::Ppm;
use crate::effect::Effect;
use crate::event::Event;
use crate::gate::{Confidence, Features};
use crate::input::What;
use crate::message::{Payload, Stop, Usage};
use crate::quality::{CheckOutcome, Failure};

/// Whether the model that is asked now shall tell how likely it finds its words.
fn is_asked(driver: &Driver) -> bool {
    let asked = driver.run.due().into_iter().find_map(|effect| {
        if let Effect::CallModel { likelihood, .. } = effect { Some(likelihood) } else { None }
    });
    asked.unwrap()
}

/// What a run is sure of whose model answers so, and whose check then passes.
fn confidence(reply: &str) -> Confidence {
    let mut driver = check(&task().check("tests"), "");
    for line in [reply, "check 1.0 pass"] {
        let what = script::what(&driver, line);
        driver.feed(what).unwrap();
    }
    driver.check_replay();
    driver.run.assurance.unwrap().confidence.unwrap()
}

#[test]
fn an_output_is_less_certain_where_its_model_finds_it_unlikely() {
    let (untold, likely) = (confidence("reply 1: done"), confidence("reply 1 likely=990000: done"));
    let unlikely = confidence("reply 1 likely=200000: done");
    let features = Features { verified: Some(Ppm::ONE), ..Features::default() };
    assert_eq!(untold.features, features);
    assert_eq!(likely.features, Features { likely: Some(Ppm(990_000)), ..features });
    assert!(
        untold.value > likely.value && likely.value > unlikely.value,
        "{untold:?} {likely:?} {unlikely:?}"
    );
}

#[test]
fn what_cannot_be_a_probability_is_not_kept() {
    for odd in ["1000001", "-1"] {
        assert_eq!(confidence(&format!("reply 1 likely={odd}: done")).features.likely, None);
    }
    assert_eq!(confidence("reply 1 likely=1000000: done").features.likely, Some(Ppm::ONE));
    assert_eq!(confidence("reply 1 likely=0: done").features.likely, Some(Ppm::ZERO));
}

#[test]
fn only_who_may_give_the_whole_output_is_asked_for_it() {
    assert!(is_asked(&check(&task().check("tests"), "")));
    assert!(!is_asked(&check(&task().plan("a; b < a").check("tests"), "")), "only b is the output");
    assert!(!is_asked(&check(&task().plan("a; b").check("tests"), "")), "each is a part");
    let critic = check(
        &task().check("tests"),
        "
        > reply 1 likely=900000: done
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 2 for critique 1
        ",
    );
    assert!(!is_asked(&critic), "a critic");
}

#[test]
fn of_a_part_that_is_put_back_the_whole_says_nothing() {
    let mut driver = check(
        &task().check("schema"),
        "
        > reply 1 likely=900000: {\"price\": \"two\"}
        heard 1: end
        done main
        acted main
        ",
    );
    assert_eq!(driver.run.likelihood, Some(Ppm(900_000)));
    let failure = Failure::new("schema", "\"two\" is not a number").at(Some("/price".into()));
    let (outcome, log) = (CheckOutcome::Failed(vec![failure]), Payload::inline(""));
    let misfit = What::CheckReturned { round: 1, index: 0, outcome, measure: None, log, duration_ms: 1 };
    driver.feed(misfit).unwrap();
    assert!(driver.run.mending.window.is_some() && !is_asked(&driver));
    for line in ["reply 2 likely=800000: 2", "spliced 1"] {
        let what = script::what(&driver, line);
        driver.feed(what).unwrap();
    }
    assert_eq!(driver.run.likelihood, None);
    driver.check_replay();
}

#[test]
fn a_repair_brings_the_likelihood_of_its_own_words() {
    let mut driver = check(&task().afresh().check("tests"), "");
    let lines = ["reply 1 likely=900000: done", "check 1.0 fail", "reply 2 likely=700000: done"];
    for line in lines {
        let what = script::what(&driver, line);
        driver.feed(what).unwrap();
    }
    assert_eq!(driver.run.likelihood, Some(Ppm(700_000)));
    driver.check_replay();
}

#[test]
fn a_step_without_it_is_written_as_before_and_one_with_it_comes_back() {
    let finished = |likelihood| Event::StepFinished {
        step: 1,
        stop: Stop::End,
        usage: Usage::default(),
        micros: 0,
        text: Payload::inline("done"),
        calls: Vec::new(),
        heard: None,
        likelihood,
        claim: None,
    };
    let plain = serde_json::to_string(&finished(None)).unwrap();
    assert!(!plain.contains("likelihood") && !plain.contains("claim"), "{plain}");
    let told = finished(Some(Ppm(930_000)));
    let written = serde_json::to_string(&told).unwrap();
    assert!(written.contains("\"likelihood\":930000"), "{written}");
    assert_eq!(serde_json::from_str::<Event>(&written).unwrap(), told);
}
