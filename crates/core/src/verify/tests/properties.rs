//! What holds of scores and features whatever the checks came to.

use proptest::prelude::*;

use super::super::*;
use crate::gate::Score;
use crate::quality::{Check, CheckResult, TestLevel, TestRun};

/// A check and what it came to.
type Made = (Check, CheckResult);

fn made(how: CheckHow, outcome: CheckOutcome, measure: Option<Measure>) -> Made {
    let result = CheckResult { name: "c".into(), outcome, log: Payload::inline(""), duration_ms: 0, measure };
    (Check { name: "c".into(), how, part: None }, result)
}

fn outcome() -> impl Strategy<Value = CheckOutcome> {
    prop_oneof![
        Just(CheckOutcome::Passed),
        Just(CheckOutcome::Failed(Vec::new())),
        Just(CheckOutcome::CouldNotRun("x".into())),
        Just(CheckOutcome::NotApplicable("x".into())),
    ]
}

fn counts() -> impl Strategy<Value = Option<Measure>> {
    let counts = (0..9_u64, 0..9_u64, 0..3_u64);
    let counts =
        counts.prop_map(|(passed, failed, skipped)| Measure::Tests(TestCounts { passed, failed, skipped }));
    proptest::option::of(counts)
}

/// Something that is executed.
fn executed() -> impl Strategy<Value = Made> {
    (0..3_u8, outcome(), counts()).prop_map(|(kind, outcome, counts)| {
        let (argv, timeout_ms) = (vec!["t".to_owned()], 1);
        match kind {
            0 => made(CheckHow::Schema(Value::Bool(true)), outcome, None),
            1 => made(CheckHow::Command { argv, timeout_ms }, outcome, None),
            _ => {
                let tests = TestRun { argv, timeout_ms, level: TestLevel::Unit, report: None };
                made(CheckHow::Tests(tests), outcome, counts)
            }
        }
    })
}

/// What judges said: a rubric, claims, other answers; each at most once.
fn judged() -> impl Strategy<Value = Vec<Made>> {
    let share = || (0..=1_000_000_i64).prop_map(Ppm);
    let rubric = (outcome(), proptest::option::of(share())).prop_map(|(outcome, score)| {
        let how = Rubric::default();
        let score_of = score.unwrap_or_default();
        let spread = |dimension: &Dimension| Spread {
            name: dimension.name.clone(),
            score: score_of,
            least: score_of,
            most: score_of,
        };
        let dimensions = how.dimensions.iter().map(spread).collect();
        let found = RubricScores { dimensions, aggregate: score_of, asks: 1 };
        made(CheckHow::Rubric(how), outcome, score.map(|_| Measure::Rubric(found)))
    });
    let claims = (outcome(), proptest::option::of(0..5_u64)).prop_map(|(outcome, supported)| {
        let counts = supported.map(|supported| ClaimCounts { claims: 5, uncontradicted: 5, supported });
        made(CheckHow::Claims(ClaimRules::of(vec!["a".into()])), outcome, counts.map(Measure::Claims))
    });
    let sampled = (outcome(), proptest::option::of(share())).prop_map(|(outcome, score)| {
        let how = CheckHow::Consistent(Sampling { samples: 3, by: By::Vote, agree: 0, rivals: 0 });
        let found = score.map(|score| Agreement { score, samples: 3, most_alike: 2 });
        made(how, outcome, found.map(Measure::Agreement))
    });
    let one = |kind: BoxedStrategy<Made>| proptest::option::of(kind);
    (one(rubric.boxed()), one(claims.boxed()), one(sampled.boxed()))
        .prop_map(|(rubric, claims, sampled)| [rubric, claims, sampled].into_iter().flatten().collect())
}

fn found(made: &[Made]) -> (crate::gate::Scores, crate::gate::Features) {
    let (checks, results): (Vec<Check>, Vec<CheckResult>) = made.iter().cloned().unzip();
    (scores(&checks, &results), features(&checks, &results, 1))
}

proptest! {
    #[test]
    fn nothing_a_judge_says_moves_the_schema_or_the_tests(
        ran in proptest::collection::vec(executed(), 0..5), said in judged(), other in judged(),
    ) {
        let with = |judged: &[Made]| found(&[ran.as_slice(), judged].concat());
        let ((before, sure), (after, surer)) = (with(&said), with(&other));
        prop_assert_eq!((before.schema, before.tests), (after.schema, after.tests));
        prop_assert_eq!((sure.verified, sure.tested), (surer.verified, surer.tested));
        prop_assert_eq!((before.schema, before.tests), (with(&[]).0.schema, with(&[]).0.tests));
    }

    #[test]
    fn the_order_of_checks_makes_no_difference(
        ran in proptest::collection::vec(executed(), 0..5), said in judged(), turn in 0..9_usize, back in any::<bool>(),
    ) {
        let all = [ran, said].concat();
        let mut turned = all.clone();
        turned.rotate_left(turn % all.len().max(1));
        if back {
            turned.reverse();
        }
        prop_assert_eq!(found(&all), found(&turned));
    }

    #[test]
    fn a_check_that_passes_instead_of_failing_never_lowers_anything(
        ran in proptest::collection::vec(executed(), 1..5), said in judged(), which in 0..5_usize,
    ) {
        let mut better = ran.clone();
        let at = which % ran.len();
        if let CheckOutcome::Failed(_) = better[at].1.outcome {
            better[at].1.outcome = CheckOutcome::Passed;
            better[at].1.measure = None;
        }
        let with = |ran: &[Made]| found(&[ran, said.as_slice()].concat()).0;
        let (before, after) = (with(&ran), with(&better));
        if let (Score::Measured(before), Score::Measured(after)) = (before.schema, after.schema) {
            prop_assert!(after >= before);
        }
        prop_assert_eq!(before.schema == Score::CouldNotTell, after.schema == Score::CouldNotTell);
        prop_assert_eq!(before.tests == Score::CouldNotTell, after.tests == Score::CouldNotTell);
        prop_assert_eq!((before.correct, before.safe, before.consistent), (after.correct, after.safe, after.consistent));
    }

    #[test]
    fn a_check_that_failed_keeps_its_gate_from_being_whole(ran in proptest::collection::vec(executed(), 1..5)) {
        let (score, _) = found(&ran);
        let failed = |schema: bool| ran.iter().any(|(check, result)| {
            matches!(check.how, CheckHow::Schema(_)) == schema && result.outcome.is_bad()
        });
        prop_assert!(!failed(true) || score.schema != Score::Measured(Ppm::ONE));
        prop_assert!(!failed(false) || score.tests != Score::Measured(Ppm::ONE));
        let all_passed = ran.iter().all(|(_, result)| result.outcome.is_pass() && result.measure.is_none());
        if all_passed {
            for score in [score.schema, score.tests] {
                prop_assert!(score == Score::NotApplicable || score == Score::Measured(Ppm::ONE));
            }
        }
    }

    #[test]
    fn a_check_that_was_not_reached_is_no_pass(ran in proptest::collection::vec(executed(), 1..5)) {
        let (checks, results): (Vec<Check>, Vec<CheckResult>) = ran.iter().cloned().unzip();
        let short = scores(&checks, &results[..results.len() - 1]);
        let last = if matches!(checks.last().unwrap().how, CheckHow::Schema(_)) { short.schema } else { short.tests };
        prop_assert_eq!(last, Score::CouldNotTell);
    }
}
