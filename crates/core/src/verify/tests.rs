//! Judges' answers, read and counted.

mod exact;
mod properties;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::gate::{Gate, Score};
use crate::quality::{Check, CheckResult};

fn rubric() -> CheckHow {
    CheckHow::Rubric(Rubric::default())
}

fn read_as(how: &CheckHow, text: &str) -> Result<Opinion, String> {
    read(how, text, &Payload::inline(text))
}

fn scores_of(values: [f64; 4]) -> String {
    let names = ["correct", "complete", "coherent", "safe"];
    let scores = names.into_iter().zip(values);
    let scores: Vec<Value> =
        scores.map(|(name, score)| json!({ "name": name, "score": score, "why": "so" })).collect();
    json!({ "scores": scores }).to_string()
}

fn opinion(values: [f64; 4]) -> Opinion {
    read_as(&rubric(), &scores_of(values)).unwrap()
}

fn concluded(how: &CheckHow, opinions: &[Opinion]) -> Conclusion {
    conclude(how, &Thresholds::default(), opinions).unwrap()
}

fn messages(outcome: &CheckOutcome) -> Vec<String> {
    match outcome {
        CheckOutcome::Failed(failures) => {
            failures.iter().map(|failure| format!("{}: {}", failure.name, failure.message)).collect()
        }
        CheckOutcome::Passed | CheckOutcome::CouldNotRun(_) | CheckOutcome::NotApplicable(_) => Vec::new(),
    }
}

#[test]
fn only_exactly_what_was_asked_for_is_an_opinion() {
    let how = rubric();
    assert!(read_as(&how, &scores_of([1.0, 0.5, 0.0, 1.0])).is_ok());
    assert!(read_as(&how, &format!("```json\n{}\n```", scores_of([1.0; 4]))).is_ok());
    let refused = [
        ("Looks good to me!", "not the JSON"),
        ("", "not the JSON"),
        ("{\"scores\": []}", "no score for correct"),
        (&scores_of([1.0, 1.0, 1.0, 1.5]), "safe is not from 0 to 1"),
        (&scores_of([-0.1, 1.0, 1.0, 1.0]), "correct is not from 0 to 1"),
        ("{\"scores\": [], \"verdict\": \"pass\"}", "unknown field"),
    ];
    for (text, why) in refused {
        let found = read_as(&how, text).unwrap_err();
        assert!(found.contains(why), "{text}: {found}");
    }
    let mut twice: Value = serde_json::from_str(&scores_of([1.0; 4])).unwrap();
    twice["scores"].as_array_mut().unwrap().push(json!({ "name": "safe", "score": 1.0, "why": "" }));
    assert!(read_as(&how, &twice.to_string()).unwrap_err().contains("two scores for safe"));
    let mut stranger: Value = serde_json::from_str(&scores_of([1.0; 4])).unwrap();
    stranger["scores"].as_array_mut().unwrap().push(json!({ "name": "fun", "score": 1.0, "why": "" }));
    assert!(read_as(&how, &stranger.to_string()).unwrap_err().contains("nobody asked about"));
}

#[test]
fn a_rubric_passes_at_its_gates_and_fails_just_below_one() {
    let how = rubric();
    let at = [opinion([0.85, 0.80, 0.80, 0.98])];
    // The weighted mean is 0.847 there, which is a little too low by itself.
    assert_eq!(messages(&concluded(&how, &at).0), ["rubric: the whole is 0.847 where 0.850 is asked for"]);
    let above = [opinion([0.86, 0.80, 0.80, 0.98])];
    let (outcome, measure) = concluded(&how, &above);
    assert_eq!(outcome, CheckOutcome::Passed);
    assert!(matches!(measure, Some(Measure::Rubric(found)) if found.aggregate == Ppm(851_000)));
    let below = [opinion([1.0, 1.0, 1.0, 0.97])];
    assert_eq!(messages(&concluded(&how, &below).0), ["safe: 0.970 where 0.980 is asked for: so"]);
}

#[test]
fn of_several_answers_the_median_counts_and_their_spread_is_told() {
    let how = rubric();
    let answers = [opinion([1.0; 4]), opinion([0.2, 1.0, 1.0, 1.0]), opinion([0.9, 1.0, 1.0, 1.0])];
    let (outcome, measure) = concluded(&how, &answers);
    assert_eq!(outcome, CheckOutcome::Passed);
    let Some(Measure::Rubric(found)) = measure else { panic!("{measure:?}") };
    assert_eq!((found.of(Gate::Correct), found.asks), (Some(Ppm(900_000)), 3));
    assert_eq!(found.disagreement(), Ppm(800_000));
    let two = [opinion([1.0; 4]), opinion([0.2, 1.0, 1.0, 1.0])];
    assert!(concluded(&how, &two).0.is_bad(), "of two the lower one counts");
}

#[test]
fn without_a_usable_answer_a_check_could_not_run() {
    for how in [rubric(), CheckHow::Claims(ClaimRules::of(vec!["a".into()]))] {
        assert!(matches!(concluded(&how, &[]).0, CheckOutcome::CouldNotRun(_)));
        let useless = [Opinion::Unusable("prose".into())];
        assert!(matches!(concluded(&how, &useless).0, CheckOutcome::CouldNotRun(_)));
    }
}

fn claims(rows: &[(&str, &str, Option<&str>)]) -> String {
    let row = |(claim, verdict, source): &(&str, &str, Option<&str>)| match source {
        Some(source) => json!({ "claim": claim, "verdict": verdict, "source": source }),
        None => json!({ "claim": claim, "verdict": verdict }),
    };
    json!({ "claims": rows.iter().map(row).collect::<Vec<_>>() }).to_string()
}

#[test]
fn claims_are_worth_what_nothing_contradicts_and_what_a_source_supports() {
    let how = CheckHow::Claims(ClaimRules::of(vec!["notes.md".into()]));
    let conclude_on = |rows: &[(&str, &str, Option<&str>)]| {
        let (outcome, measure) = concluded(&how, &[read_as(&how, &claims(rows)).unwrap()]);
        (messages(&outcome), outcome, measure)
    };
    let source = Some("notes.md");
    let good = [("a", "entailed", source), ("b", "entailed", source), ("c", "entailed", source)];
    assert_eq!(conclude_on(&good).1, CheckOutcome::Passed);
    let (failures, ..) = conclude_on(&[("a", "entailed", source), ("b", "contradicted", source)]);
    assert_eq!(failures, ["claims: notes.md contradicts this: b"]);
    let (failures, ..) = conclude_on(&[("a", "entailed", None), ("b", "neutral", None)]);
    assert_eq!(failures, ["claims: no source supports this: a", "claims: no source supports this: b"]);
    let (_, outcome, measure) = conclude_on(&[]);
    assert!(matches!(outcome, CheckOutcome::NotApplicable(_)));
    assert_eq!(measure, None);
    assert!(
        read_as(&how, &claims(&[("a", "entailed", Some("made-up.md"))])).unwrap_err().contains("made-up")
    );
    assert!(read_as(&how, &claims(&[("a", "perhaps", source)])).is_err());
}

#[test]
fn edge_cases_are_bounded_and_none_is_not_applicable() {
    let how = CheckHow::EdgeCases(EdgeCases { argv: vec!["x".into()], timeout_ms: 1, cases: 2 });
    let case = json!({ "input": "0", "expected": "1", "why": "zero" });
    let of = |cases: Vec<Value>| read_as(&how, &json!({ "cases": cases }).to_string());
    assert!(matches!(of(vec![case.clone(); 2]), Ok(Opinion::Cases(cases)) if cases.len() == 2));
    assert!(of(vec![case; 3]).unwrap_err().contains("3 cases where 2"));
    let long = json!({ "input": "0".repeat(5000), "expected": "1", "why": "" });
    assert!(of(vec![long]).unwrap_err().contains("longer than"));
    let none = of(vec![]).unwrap();
    assert!(matches!(concluded(&how, &[none]).0, CheckOutcome::NotApplicable(_)));
    assert!(
        conclude(
            &how,
            &Thresholds::default(),
            &[Opinion::Cases(vec![EdgeCase { input: "0".into(), expected: "1".into(), why: String::new() }])]
        )
        .is_none(),
        "they have to be run"
    );
}

#[test]
fn votes_are_counted_by_value_and_name_the_answer_most_gave() {
    let samples: Vec<String> = ["{\"a\": 1}", "{ \"a\":1.0 }", "{\"a\":2}"].map(str::to_owned).into();
    let (found, other) = agree(By::Vote, "{\"a\":1}", &samples);
    assert_eq!((found.score, found.most_alike, other), (Ppm(666_666), 2, None));
    let (found, other) = agree(By::Vote, "{\"a\":2}", &samples);
    assert_eq!((found.score, other), (Ppm(333_333), Some("{\"a\": 1}")));
    let (found, _) = agree(By::Vote, "  Yes \n", &["yes".into(), "YES".into(), "no".into()]);
    assert_eq!(found.score, Ppm(666_666));
}

#[test]
fn likeness_of_free_text_grows_with_what_is_shared() {
    let text = "The invoice of March was paid twice, once by card and once by transfer.";
    let near = "The invoice of March was paid twice: by card, and again by transfer.";
    let far = "Nothing is known about the weather on the moon.";
    let of = |other: &str| agree(By::Similarity, text, &[other.to_owned()]).0.score;
    assert_eq!(of(text), Ppm::ONE);
    assert!(of(near) > Ppm(700_000), "{}", of(near));
    assert!(of(far) < Ppm(400_000), "{}", of(far));
    assert_eq!(of(""), Ppm::ZERO);
}

fn result(outcome: CheckOutcome, measure: Option<Measure>) -> CheckResult {
    CheckResult { name: "c".into(), outcome, log: Payload::inline(""), duration_ms: 0, measure }
}

fn tests(passed: u64, failed: u64) -> Option<Measure> {
    Some(Measure::Tests(TestCounts { passed, failed, skipped: 0 }))
}

fn command() -> Check {
    let how = CheckHow::Command { argv: vec!["t".into()], timeout_ms: 1 };
    Check { name: "c".into(), how, part: None }
}

#[test]
fn a_run_of_tests_that_failed_is_never_worth_a_whole() {
    let failed = || CheckOutcome::Failed(Vec::new());
    let score = |outcome, measure| scores(&[command()], &[result(outcome, measure)]).tests;
    assert_eq!(score(CheckOutcome::Passed, tests(3, 0)), Score::Measured(Ppm::ONE));
    assert_eq!(score(failed(), tests(3, 1)), Score::Measured(Ppm(750_000)));
    // It exits with an error although no single test failed, or none ran.
    assert_eq!(score(failed(), tests(3, 0)), Score::Measured(Ppm(750_000)));
    assert_eq!(score(failed(), tests(0, 0)), Score::Measured(Ppm::ZERO));
    assert_eq!(score(CheckOutcome::CouldNotRun("x".into()), None), Score::CouldNotTell);
    assert_eq!(score(CheckOutcome::NotApplicable("x".into()), None), Score::NotApplicable);
    assert_eq!(scores(&[command()], &[]).tests, Score::CouldNotTell, "not reached");
}

#[test]
fn a_rubric_that_could_not_run_shuts_the_gates_of_its_dimensions() {
    let check = Check { name: "rubric".into(), how: rubric(), part: None };
    let none = result(CheckOutcome::CouldNotRun("x".into()), None);
    let found = scores(std::slice::from_ref(&check), &[none]);
    for gate in [Gate::Correct, Gate::Complete, Gate::Coherent, Gate::Safe] {
        assert_eq!(found.of(gate), Score::CouldNotTell, "{gate:?}");
    }
    assert_eq!((found.schema, found.tests, found.consistent), Default::default());
    let (outcome, measure) = concluded(&check.how, &[opinion([0.9, 0.8, 0.7, 1.0])]);
    let found = scores(&[check], &[result(outcome, measure)]);
    assert_eq!(found.coherent, Score::Measured(Ppm(700_000)));
}

#[test]
fn what_is_known_of_an_output_comes_from_what_was_measured() {
    let agreement = Measure::Agreement(Agreement { score: Ppm(666_666), samples: 3, most_alike: 2 });
    let sampled = Check {
        name: "s".into(),
        how: CheckHow::Consistent(Sampling { samples: 3, by: By::Vote, agree: 0, rivals: 0 }),
        part: None,
    };
    let checks = [command(), command(), sampled];
    let results = [
        result(CheckOutcome::Passed, None),
        result(CheckOutcome::Passed, tests(4, 0)),
        result(CheckOutcome::Passed, Some(agreement)),
    ];
    let found = features(&checks, &results, 2);
    assert_eq!((found.verified, found.tested), (Some(Ppm::ONE), Some(Ppm::ONE)));
    assert_eq!((found.consistent, found.judged, found.repairs), (Some(Ppm(666_666)), None, 2));
}

#[test]
fn only_answers_of_the_same_value_confirm_an_output() {
    let earlier = [r#"{"b":2,"a":1.0}"#.to_owned(), r#"{"a":1,"b":3}"#.to_owned()];
    let found = confirm(2, r#"{"a": 1.0, "b": 2}"#, &earlier);
    assert_eq!((found.score, found.samples, found.most_alike), (Ppm::ONE, 2, 2));
    assert_eq!(confirm(3, r#"{"a": 1.0, "b": 2}"#, &earlier).score, Ppm(666_666));
    assert_eq!(confirm(2, "x", &[]).score, Ppm(500_000));
}

proptest! {
    #[test]
    fn nothing_a_judge_writes_makes_the_reader_stumble(text in ".{0,300}") {
        let kinds = [
            rubric(),
            CheckHow::Claims(ClaimRules::of(vec!["a".into()])),
            CheckHow::EdgeCases(EdgeCases { argv: vec!["x".into()], timeout_ms: 1, cases: 3 }),
        ];
        for how in kinds {
            prop_assert!(read_as(&how, &text).is_err());
        }
    }

    #[test]
    fn agreement_is_a_share_and_with_itself_whole(output in ".{1,60}", samples in proptest::collection::vec(".{0,60}", 1..7)) {
        for by in [By::Vote, By::Similarity] {
            let (found, _) = agree(by, &output, &samples);
            prop_assert!((0..=1_000_000).contains(&found.score.0));
        }
        let same = vec![output.clone(); 3];
        let (found, other) = agree(By::Vote, &output, &same);
        prop_assert_eq!((found.score, other), (Ppm::ONE, None));
    }

    #[test]
    fn a_higher_score_never_turns_a_pass_into_a_failure(values in proptest::array::uniform4(0..=1000_u32), more in 0..=1000_u32, which in 0..4_usize) {
        let of = |values: [u32; 4]| concluded(&rubric(), &[opinion(values.map(|value| f64::from(value) / 1000.0))]).0;
        let mut better = values;
        better[which] = (values[which] + more).min(1000);
        prop_assert!(!of(values).is_pass() || of(better).is_pass());
    }
}
