//! What holds of gates, confidence and disposition whatever was measured.

use proptest::prelude::*;

use super::{features, slot, value};
use crate::control::Ppm;
use crate::gate::*;

fn share() -> impl Strategy<Value = Ppm> {
    (0..=1_000_000_i64).prop_map(Ppm)
}

fn score() -> impl Strategy<Value = Score> {
    prop_oneof![Just(Score::NotApplicable), Just(Score::CouldNotTell), share().prop_map(Score::Measured)]
}

fn scores() -> impl Strategy<Value = Scores> {
    proptest::array::uniform7(score()).prop_map(
        |[schema, correct, complete, coherent, safe, tests, consistent]| Scores {
            schema,
            correct,
            complete,
            coherent,
            safe,
            tests,
            consistent,
        },
    )
}

fn thresholds() -> impl Strategy<Value = Thresholds> {
    proptest::array::uniform6(share()).prop_map(|[correct, complete, coherent, safe, tests, consistent]| {
        Thresholds { correct, complete, coherent, safe, tests, consistent }
    })
}

fn open(scores: &Scores, thresholds: &Thresholds) -> Vec<bool> {
    judge(scores, thresholds).iter().map(GateResult::is_open).collect()
}

fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    let outcome = (any::<bool>(), -9_000_000..4_000_000_i64);
    let outcome = outcome.prop_map(|(right, logit)| Recorded { logit: Ppm(logit), right });
    proptest::collection::vec(outcome, 30..90)
}

fn sure(value: i64) -> Confidence {
    Confidence { value: Ppm(value), features: Features::default(), calibrated: false }
}

proptest! {
    #[test]
    fn a_higher_measure_opens_its_own_gate_or_none_and_shuts_none(
        found in scores(), wanted in thresholds(), which in 0..7_usize, more in 0..=1_000_000_i64,
    ) {
        let gate = Gate::ALL[which];
        let mut better = found;
        if let Score::Measured(value) = found.of(gate) {
            *slot(&mut better, gate) = Score::Measured(Ppm((value.0 + more).min(1_000_000)));
        }
        let (before, after) = (open(&found, &wanted), open(&better, &wanted));
        for (at, (was, is)) in before.iter().zip(&after).enumerate() {
            prop_assert!(is == was || (at == which && *is), "{:?}", Gate::ALL[at]);
        }
    }

    #[test]
    fn a_gate_looks_at_its_own_measure_and_at_no_other(found in scores(), other in scores(), wanted in thresholds(), which in 0..7_usize) {
        let gate = Gate::ALL[which];
        let mut mixed = other;
        *slot(&mut mixed, gate) = found.of(gate);
        prop_assert_eq!(open(&mixed, &wanted)[which], open(&found, &wanted)[which]);
        let result = judge(&found, &wanted)[which];
        prop_assert_eq!((result.gate, result.score, result.wanted), (gate, found.of(gate), wanted.of(gate)));
    }

    #[test]
    fn what_could_not_be_told_shuts_its_gate_and_what_does_not_apply_opens_it(wanted in thresholds(), which in 0..7_usize) {
        let with = |score| {
            let mut scores = Scores::default();
            *slot(&mut scores, Gate::ALL[which]) = score;
            open(&scores, &wanted)[which]
        };
        prop_assert!(!with(Score::CouldNotTell) && with(Score::NotApplicable));
    }

    #[test]
    fn who_agrees_changes_exactly_at_the_bounds(review in 1..=1_000_000_i64, above in 0..=1_000_000_i64, value in 0..=1_000_000_i64) {
        let auto = (review + above).min(1_000_000);
        let doubts = Doubts { auto: Ppm(auto), review: Ppm(review) };
        let of = |value: i64| Disposition::of(Some(&sure(value)), doubts);
        prop_assert_eq!(of(auto), Disposition::Commit);
        prop_assert_eq!(of(review - 1), Disposition::Reject);
        if auto > review {
            prop_assert_eq!((of(auto - 1), of(review)), (Disposition::Person, Disposition::Person));
        }
        let want = if value >= auto { Disposition::Commit } else if value >= review { Disposition::Person } else { Disposition::Reject };
        prop_assert_eq!(of(value), want);
        prop_assert_eq!(Disposition::of(None, doubts), Disposition::Person);
    }

    #[test]
    fn a_pulled_trigger_stays_pulled_and_each_is_named_once(found in scores(), wanted in thresholds(), bits in 0..16_u8, more in 0..16_u8) {
        let around = |bits: u8| Circumstances {
            irreversible: bits & 1 > 0, demanded: bits & 2 > 0, novel: bits & 4 > 0, unfinished: bits & 8 > 0,
        };
        let gates = judge(&found, &wanted);
        let of = |disposition, bits| triggers(disposition, &gates, around(bits));
        let (few, many) = (of(Disposition::Commit, bits), of(Disposition::Person, bits | more));
        prop_assert!(few.iter().all(|trigger| many.contains(trigger)));
        prop_assert!(many.windows(2).all(|pair| pair[0] < pair[1]), "{many:?}");
        let unsafe_ = found.safe.measured().is_some_and(|value| value < Thresholds::default().safe);
        prop_assert_eq!(few.contains(&Trigger::Unsafe), unsafe_);
        prop_assert_eq!(few.len(), bits.count_ones() as usize + usize::from(unsafe_));
    }

    #[test]
    fn a_line_through_outcomes_is_bounded_and_keeps_the_order(known in recorded(), low in -12_000_000..4_000_000_i64, more in 0..8_000_000_i64) {
        let learned = fit(&known).unwrap();
        prop_assert!((100_000..=3_000_000).contains(&learned.slope.0), "{learned:?}");
        prop_assert!((-4_000_000..=4_000_000).contains(&learned.shift.0), "{learned:?}");
        prop_assert_eq!(learned.outcomes as usize, known.len());
        let corrected = |logit: i64| logistic(learned.corrected(Ppm(logit)));
        prop_assert!(corrected(low) <= corrected(low + more));
    }

    #[test]
    fn what_is_learned_never_turns_better_into_less_sure(known in recorded(), found in features(), more in share(), which in 0..6_usize) {
        let raise = |strength: Option<Ppm>| strength.map(|strength| strength.plus(more).min(Ppm::ONE));
        let mut better = found;
        let strengths = [
            &mut better.verified, &mut better.tested, &mut better.judged, &mut better.grounded, &mut better.consistent, &mut better.likely,
        ];
        strengths.into_iter().skip(which).take(1).for_each(|strength| *strength = raise(*strength));
        let learned = fit(&known);
        let of = |features| Weights::default().confidence(features, learned).map(|confidence| confidence.value);
        prop_assert!(of(better) >= of(found));
    }

    #[test]
    fn the_logistic_rises_and_is_its_own_mirror(x in -40_000_000..40_000_000_i64, more in 0..1_000_000_i64) {
        prop_assert!(logistic(Ppm(x)) <= logistic(Ppm(x + more)));
        prop_assert!((0..=1_000_000).contains(&logistic(Ppm(x)).0));
        prop_assert!((logistic(Ppm(x)).0 + logistic(Ppm(-x)).0 - 1_000_000).abs() <= 1);
    }

    #[test]
    fn confidence_is_between_what_nothing_and_what_everything_is_worth(found in features()) {
        let Some(value) = value(found) else {
            let known = Feature::ALL.into_iter().filter(|feature| found.of(*feature).is_some());
            prop_assert_eq!(known.collect::<Vec<_>>(), [Feature::Unrepaired]);
            return Ok(());
        };
        let least = Feature::ALL.into_iter().filter_map(|feature| Some(feature.worth().times(found.of(feature)?))).min().unwrap();
        let most = Feature::ALL.into_iter().filter_map(|feature| Some(feature.worth().times(found.of(feature)?))).max().unwrap();
        let of = |mean: Ppm| logistic(Ppm(12_000_000).times(mean.minus(Ppm(700_000))));
        // Each product and the mean are rounded down by less than a few millionths.
        prop_assert!(of(least.minus(Ppm(200))) <= value && value <= of(most.plus(Ppm(200))), "{value} of {least} to {most}");
    }

    #[test]
    fn every_outcome_is_in_one_bin_and_the_error_is_a_share(known in recorded(), learn in any::<bool>()) {
        let learned = if learn { fit(&known) } else { None };
        let found = reliability(&known, learned);
        prop_assert_eq!(found.bins.iter().map(|bin| bin.outcomes).sum::<u64>(), known.len() as u64);
        prop_assert_eq!(found.bins.iter().map(|bin| bin.right).sum::<u64>(), known.iter().filter(|outcome| outcome.right).count() as u64);
        for bin in &found.bins {
            prop_assert!(bin.outcomes > 0 && bin.right <= bin.outcomes);
            prop_assert!(bin.from <= bin.believed && (bin.believed < bin.to || bin.to == Ppm::ONE), "{bin:?}");
            prop_assert_eq!(bin.to.minus(bin.from), Ppm(100_000));
        }
        prop_assert!(found.bins.windows(2).all(|pair| pair[0].to <= pair[1].from));
        let off = found.bins.iter().map(|bin| {
            let right = Ppm::share(bin.right, bin.outcomes);
            i128::from(bin.believed.minus(right).0.abs()) * i128::from(bin.outcomes)
        });
        prop_assert_eq!(i128::from(found.error.0), off.sum::<i128>() / known.len() as i128);
    }
}
