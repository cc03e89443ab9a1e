//! What holds exactly at each bound, and what is asked for and stored word for word.

use serde_json::json;

use super::super::*;
use super::{claims, command, concluded, messages, opinion, read_as, result, rubric, tests};
use crate::gate::{Gate, Score};
use crate::quality::Check;

fn sampled(samples: u32, agree: u32) -> CheckHow {
    CheckHow::Consistent(Sampling { samples, by: By::Vote, agree, rivals: 0 })
}

fn cases(most: u32) -> CheckHow {
    CheckHow::EdgeCases(EdgeCases { argv: vec!["x".into()], timeout_ms: 1, cases: most })
}

fn claiming() -> CheckHow {
    CheckHow::Claims(ClaimRules::of(vec!["a".into()]))
}

fn of(how: CheckHow) -> Check {
    Check { name: "c".into(), how, part: None }
}

#[test]
fn a_judge_is_asked_as_often_as_its_check_needs() {
    let thrice = CheckHow::Rubric(Rubric { asks: 3, ..Rubric::default() });
    let kinds = [(thrice, 3), (claiming(), 1), (cases(4), 1), (sampled(5, 0), 5), (command().how, 0)];
    for (how, want) in kinds {
        assert_eq!(asks(&how), want, "{how:?}");
    }
}

#[test]
fn a_judge_is_told_the_form_of_its_answer() {
    let of = |how: &CheckHow, list: &str| schema(how).unwrap()["properties"][list].clone();
    let scores = of(&rubric(), "scores");
    assert_eq!((&scores["minItems"], &scores["maxItems"]), (&json!(4), &json!(4)));
    let names = &scores["items"]["properties"]["name"]["enum"];
    assert_eq!(names, &json!(["correct", "complete", "coherent", "safe"]));
    assert_eq!(of(&claiming(), "claims")["maxItems"], json!(CLAIMS_MAX));
    assert_eq!(of(&cases(4), "cases")["maxItems"], json!(4));
    for free in [sampled(3, 0), command().how] {
        assert_eq!(schema(&free), None, "{free:?}");
    }
}

#[test]
fn another_answer_is_whatever_is_said_and_not_nothing() {
    assert_eq!(read_as(&sampled(3, 0), "42"), Ok(Opinion::Sample(Payload::inline("42"))));
    assert_eq!(read_as(&sampled(3, 0), " \n"), Err("the answer is empty".to_owned()));
    assert!(read_as(&command().how, "42").is_err(), "nobody was asked");
}

#[test]
fn what_is_as_usual_is_left_out_of_what_is_stored() {
    let written =
        |agree| serde_json::to_value(Sampling { samples: 3, by: By::Vote, agree, rivals: 0 }).unwrap();
    assert_eq!((written(0).get("agree"), &written(2)["agree"]), (None, &json!(2)));
    let place = |within| serde_json::to_value(Of { at: "/a".into(), is: json!(1), within }).unwrap();
    assert_eq!((place(Ppm::ZERO).get("within"), &place(Ppm(9))["within"]), (None, &json!(9)));
}

#[test]
fn another_answer_is_named_only_where_more_gave_it_than_gave_the_output() {
    let said = |samples: &[&str]| {
        let samples: Vec<String> = samples.iter().map(ToString::to_string).collect();
        agree(By::Vote, "a", &samples).1.map(str::to_owned)
    };
    assert_eq!(said(&["a", "b"]), None);
    assert_eq!(said(&["a", "b", "b"]), Some("b".to_owned()));
    assert_eq!(said(&["a", "a", "b"]), None);
    let same = vec!["some words".to_owned(); 2];
    assert_eq!(agree(By::Similarity, "some words", &same).0.score, Ppm::ONE);
    let found = confirm(3, "x", &["x".into(), "X ".into(), "y".into()]);
    assert_eq!((found.most_alike, found.score), (3, Ppm::ONE));
}

#[test]
fn edge_cases_and_claims_are_as_long_as_they_may_be_and_no_longer() {
    let case = |input: usize, why: usize| {
        let case = json!({ "input": "i".repeat(input), "expected": "", "why": "w".repeat(why) });
        read_as(&cases(1), &json!({ "cases": [case] }).to_string())
    };
    assert!(case(4096, 0).is_ok() && case(4097, 0).is_err());
    let Ok(Opinion::Cases(read)) = case(1, 501) else { panic!() };
    assert_eq!((read[0].why.len(), read[0].input.as_str()), (500, "i"));
    let rows = |count: usize| vec![("c", "neutral", None); count];
    assert!(read_as(&claiming(), &claims(&rows(CLAIMS_MAX))).is_ok());
    assert!(read_as(&claiming(), &claims(&rows(CLAIMS_MAX + 1))).is_err());
    assert!(read_as(&claiming(), &claims(&rows(CLAIMS_MAX + 2))).is_err());
    let long = "c".repeat(501);
    let Ok(Opinion::Claims(read)) = read_as(&claiming(), &claims(&[(&long, "neutral", None)])) else {
        panic!()
    };
    assert_eq!(read[0].claim.len(), 500);
}

#[test]
fn a_whole_that_is_just_enough_passes() {
    let (just, _) = concluded(&rubric(), &[opinion([0.85, 0.812, 0.8, 0.98])]);
    assert!(just.is_pass(), "{just:?}");
    let (short, _) = concluded(&rubric(), &[opinion([0.85, 0.811, 0.8, 0.98])]);
    assert_eq!(messages(&short), ["rubric: the whole is 0.849 where 0.850 is asked for"]);
}

#[test]
fn a_low_score_is_given_with_the_reason_of_its_own_dimension() {
    let score = |name: &str, score: f64, why: &str| json!({ "name": name, "score": score, "why": why });
    let scores = [
        score("correct", 0.5, "wrong sum"),
        score("complete", 0.5, "half is missing"),
        score("coherent", 1.0, ""),
        score("safe", 1.0, ""),
    ];
    let read = read_as(&rubric(), &json!({ "scores": scores }).to_string()).unwrap();
    let (outcome, _) = concluded(&rubric(), &[read]);
    let told = messages(&outcome);
    assert!(told[0].ends_with("wrong sum") && told[1].ends_with("half is missing"), "{told:?}");
}

#[test]
fn tests_that_passed_count_one_by_one_and_none_counts_as_the_check() {
    let score = |measure| scores(&[command()], &[result(CheckOutcome::Passed, measure)]).tests;
    assert_eq!(score(tests(0, 0)), Score::Measured(Ppm::ONE));
    assert_eq!(score(tests(3, 1)), Score::Measured(Ppm(750_000)));
    let none = features(&[command()], &[result(CheckOutcome::Passed, None)], 0);
    assert_eq!((none.tested, none.verified), (None, Some(Ppm::ONE)));
}

#[test]
fn a_gate_without_a_dimension_of_its_name_does_not_apply() {
    let mut only = Rubric::default();
    only.dimensions.truncate(1);
    let checks = [of(CheckHow::Rubric(only))];
    let found = scores(&checks, &[result(CheckOutcome::CouldNotRun("x".into()), None)]);
    assert_eq!(found.of(Gate::Correct), Score::CouldNotTell);
    assert_eq!(found.of(Gate::Safe), Score::NotApplicable);
}

#[test]
fn agreement_is_measured_where_it_was_and_else_could_not_be_told() {
    let checks = [of(sampled(3, 0))];
    let measure = Measure::Agreement(Agreement { score: Ppm(666_666), samples: 3, most_alike: 2 });
    let found = |measure| scores(&checks, &[result(CheckOutcome::Passed, measure)]).consistent;
    assert_eq!(found(Some(measure)), Score::Measured(Ppm(666_666)));
    assert_eq!(found(None), Score::CouldNotTell);
    assert_eq!(scores(&[command()], &[]).consistent, Score::NotApplicable);
}
