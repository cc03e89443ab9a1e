//! Gates, confidence and who agrees.

mod properties;

use proptest::prelude::*;

use super::*;

fn features() -> impl Strategy<Value = Features> {
    let strength = || proptest::option::of((0..=1_000_000_i64).prop_map(Ppm));
    (strength(), strength(), strength(), strength(), strength(), strength(), 0..50_u32).prop_map(
        |(verified, tested, judged, grounded, consistent, likely, repairs)| Features {
            verified,
            tested,
            judged,
            grounded,
            consistent,
            likely,
            repairs,
        },
    )
}

fn value(features: Features) -> Option<Ppm> {
    Weights::default().confidence(features, None).map(|confidence| confidence.value)
}

fn disposition(features: Features) -> Disposition {
    Disposition::of(Weights::default().confidence(features, None).as_ref(), Doubts::default())
}

#[test]
fn executable_checks_that_all_pass_commit_after_any_number_of_repairs() {
    for repairs in [0, 1, 4, 1000] {
        for (verified, tested) in
            [(Some(Ppm::ONE), None), (None, Some(Ppm::ONE)), (Some(Ppm::ONE), Some(Ppm::ONE))]
        {
            let features = Features { verified, tested, repairs, ..Features::default() };
            assert_eq!(disposition(features), Disposition::Commit, "{features:?}");
        }
    }
}

#[test]
fn executable_checks_and_a_judge_at_its_gate_commit() {
    let features = Features {
        verified: Some(Ppm::ONE),
        tested: Some(Ppm::ONE),
        judged: Some(Ppm(850_000)),
        ..Features::default()
    };
    assert_eq!(disposition(features), Disposition::Commit);
}

#[test]
fn a_model_that_finds_its_words_unlikely_sends_what_took_repairs_to_a_person() {
    let checked = |repairs: u32, likely: i64, tested: Option<Ppm>| {
        let (verified, likely) = (Some(Ppm::ONE), Some(Ppm(likely)));
        disposition(Features { verified, tested, likely, repairs, ..Features::default() })
    };
    for (repairs, likely, want) in [
        (0, 0, Disposition::Commit),
        (1, 400_000, Disposition::Person),
        (1, 410_000, Disposition::Commit),
        (1000, 860_000, Disposition::Person),
        (1000, 880_000, Disposition::Commit),
    ] {
        assert_eq!(checked(repairs, likely, None), want, "{repairs} repairs, {likely}");
        assert_eq!(checked(repairs, likely, Some(Ppm::ONE)), Disposition::Commit, "with tests");
    }
}

#[test]
fn nothing_known_is_for_a_person() {
    assert_eq!(disposition(Features::default()), Disposition::Person);
    assert_eq!(value(Features::default()), None);
}

#[test]
fn a_judge_that_hesitates_is_for_a_person_and_one_that_doubts_is_not_good_enough() {
    let judged = |value| Features { judged: Some(Ppm(value)), ..Features::default() };
    assert_eq!(disposition(judged(850_000)), Disposition::Person);
    assert_eq!(disposition(judged(600_000)), Disposition::Reject);
}

#[test]
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small numbers")]
fn the_logistic_is_what_floats_say() {
    for x in [-30.0, -27.0, -12.0, -3.3, -1.0, -0.001, 0.0, 0.5, 1.0, 2.944_439, 7.0, 26.9, 40.0_f64] {
        let found = logistic(Ppm((x * 1e6) as i64)).0;
        let off = (found as f64 - 1e6 / (1.0 + (-x).exp())).abs();
        assert!(off <= 1.5, "{x}: {found}");
    }
}

#[test]
fn the_logistic_of_the_largest_numbers_is_certain() {
    for (x, want) in
        [(i64::MIN, 0), (-27_000_001, 0), (0, 500_000), (27_000_001, 1_000_000), (i64::MAX, 1_000_000)]
    {
        assert_eq!(logistic(Ppm(x)), Ppm(want), "{x}");
    }
}

#[test]
fn what_counts_for_nothing_is_no_evidence() {
    let weights = Weights { judged: Ppm::ZERO, ..Weights::default() };
    let judged = Features { judged: Some(Ppm::ONE), ..Features::default() };
    assert_eq!(weights.confidence(judged, None), None);
    let tested = Features { tested: Some(Ppm::ONE), ..judged };
    assert_eq!(
        weights.confidence(tested, None).map(|sure| sure.value),
        value(Features { judged: None, ..tested })
    );
}

#[test]
fn every_feature_trigger_and_disposition_has_words_of_its_own() {
    let features = Feature::ALL.map(Feature::words);
    let triggers = Trigger::ALL.map(Trigger::words);
    let dispositions =
        [Disposition::Commit, Disposition::Person, Disposition::Reject].map(Disposition::words);
    let all: Vec<&str> = features.into_iter().chain(triggers).chain(dispositions).collect();
    let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
    assert!(distinct.len() == all.len() && all.iter().all(|words| words.len() > 3), "{all:?}");
}

#[test]
fn outcomes_that_agree_change_little_and_too_few_change_nothing() {
    let logit = Ppm(2_000_000);
    let recorded = |count: usize, right: usize| -> Vec<Recorded> {
        (0..count).map(|place| Recorded { logit, right: place < right }).collect()
    };
    assert_eq!(fit(&recorded(ENOUGH - 1, ENOUGH - 1)), None);
    let fair = fit(&recorded(100, 88)).unwrap();
    let (before, after) = (logistic(logit), logistic(fair.corrected(logit)));
    assert!(before.minus(after).0.abs() < 10_000, "{before} became {after}");
    assert_eq!(fair.outcomes, 100);
}

#[test]
fn a_run_that_is_too_sure_of_itself_learns_to_doubt() {
    let logit = Ppm(2_500_000);
    let recorded: Vec<Recorded> = (0..200).map(|place| Recorded { logit, right: place % 2 == 0 }).collect();
    let before = reliability(&recorded, None);
    let learned = fit(&recorded).unwrap();
    let after = reliability(&recorded, Some(learned));
    assert!(before.error > Ppm(400_000), "{before:?}");
    assert!(after.error < Ppm(60_000), "{after:?}");
    assert_eq!(after.bins.iter().map(|bin| bin.outcomes).sum::<u64>(), 200);
}

#[test]
fn a_judge_that_was_always_right_may_commit_once_outcomes_say_so() {
    let weights = Weights::default();
    let features = Features { judged: Some(Ppm::ONE), ..Features::default() };
    let logit = weights.logit(&features).unwrap();
    let recorded: Vec<Recorded> = (0..400).map(|_| Recorded { logit, right: true }).collect();
    let confidence = weights.confidence(features, fit(&recorded)).unwrap();
    assert!(confidence.calibrated);
    assert_eq!(Disposition::of(Some(&confidence), Doubts::default()), Disposition::Commit);
}

#[test]
fn each_gate_is_judged_by_its_own_threshold() {
    let thresholds = Thresholds::default();
    for gate in Gate::ALL {
        let wanted = thresholds.of(gate);
        let with = |score: Score| {
            let mut scores = Scores::default();
            *slot(&mut scores, gate) = score;
            judge(&scores, &thresholds).into_iter().filter(|result| !result.is_open()).count()
        };
        assert_eq!(with(Score::Measured(wanted)), 0, "{gate:?}");
        assert_eq!(with(Score::Measured(wanted.minus(Ppm(1)))), 1, "{gate:?}");
        assert_eq!(with(Score::CouldNotTell), 1, "{gate:?}");
        assert_eq!(with(Score::NotApplicable), 0, "{gate:?}");
    }
}

fn slot(scores: &mut Scores, gate: Gate) -> &mut Score {
    match gate {
        Gate::Schema => &mut scores.schema,
        Gate::Correct => &mut scores.correct,
        Gate::Complete => &mut scores.complete,
        Gate::Coherent => &mut scores.coherent,
        Gate::Safe => &mut scores.safe,
        Gate::Tests => &mut scores.tests,
        Gate::Consistent => &mut scores.consistent,
    }
}

#[test]
fn every_trigger_has_its_own_cause() {
    let unsafe_gate =
        judge(&Scores { safe: Score::Measured(Ppm(970_000)), ..Scores::default() }, &Thresholds::default());
    let none = Circumstances::default();
    let open = judge(&Scores::default(), &Thresholds::default());
    let of = |disposition, gates: &[GateResult], around| triggers(disposition, gates, around);
    assert_eq!(of(Disposition::Commit, &open, none), []);
    assert_eq!(of(Disposition::Person, &open, none), [Trigger::Unsure]);
    assert_eq!(of(Disposition::Reject, &open, none), [Trigger::Unsure]);
    assert_eq!(of(Disposition::Commit, &unsafe_gate, none), [Trigger::Unsafe]);
    let just_safe = Scores { safe: Score::Measured(Thresholds::default().safe), ..Scores::default() };
    assert_eq!(of(Disposition::Commit, &judge(&just_safe, &Thresholds::default()), none), []);
    let around = |change: fn(&mut Circumstances)| {
        let mut around = none;
        change(&mut around);
        of(Disposition::Commit, &open, around)
    };
    assert_eq!(around(|around| around.irreversible = true), [Trigger::Irreversible]);
    assert_eq!(around(|around| around.demanded = true), [Trigger::Demanded]);
    assert_eq!(around(|around| around.novel = true), [Trigger::Novel]);
    assert_eq!(around(|around| around.unfinished = true), [Trigger::Unfinished]);
}

proptest! {
    #[test]
    fn what_only_a_model_said_never_commits_by_itself(mut features in features()) {
        features.verified = None;
        features.tested = None;
        prop_assert_ne!(disposition(features), Disposition::Commit);
    }

    #[test]
    fn better_is_never_less_sure(features in features(), more in 0..=1_000_000_i64, which in 0..6_usize) {
        let raise = |strength: Option<Ppm>| strength.map(|strength| Ppm((strength.0 + more).min(1_000_000)));
        let mut better = features;
        match which {
            0 => better.verified = raise(better.verified),
            1 => better.tested = raise(better.tested),
            2 => better.judged = raise(better.judged),
            3 => better.grounded = raise(better.grounded),
            4 => better.consistent = raise(better.consistent),
            _ => better.likely = raise(better.likely),
        }
        prop_assert!(value(better) >= value(features));
    }

    #[test]
    fn more_repairs_never_make_one_surer(features in features(), more in 1..50_u32) {
        let repaired = Features { repairs: features.repairs + more, ..features };
        prop_assert!(value(repaired) <= value(features));
    }

    #[test]
    fn confidence_is_a_probability(features in features(), slope in 100_000..3_000_000_i64, shift in -4_000_000..4_000_000_i64) {
        let learned = Calibration { slope: Ppm(slope), shift: Ppm(shift), outcomes: 100 };
        if let Some(confidence) = Weights::default().confidence(features, Some(learned)) {
            prop_assert!((0..=1_000_000).contains(&confidence.value.0));
        }
    }

    #[test]
    fn what_is_learned_keeps_the_order(rights in proptest::collection::vec((any::<bool>(), -3_000_000..4_000_000_i64), 30..120)) {
        let recorded: Vec<Recorded> =
            rights.iter().map(|&(right, logit)| Recorded { logit: Ppm(logit), right }).collect();
        let learned = fit(&recorded).unwrap();
        prop_assert!(learned.slope > Ppm::ZERO);
        prop_assert!(learned.corrected(Ppm(1_000_000)) > learned.corrected(Ppm::ZERO));
    }
}
