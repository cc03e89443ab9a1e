//! The quality rule. The same fall over the same window below the same mean;
//! ours also sees a recovery, flat badness, and that 0.6 − 0.45 is 0.15.

use bowline::core::guard::loops::Action;
use bowline::core::guard::quality::{Decline, Series, Settings};
use bowline::core::guard::regulator::{Event, Rule};
use noos::regulator::cost::{POOR_QUALITY_MEAN, QUALITY_DECLINE_MIN_DELTA, QUALITY_DECLINE_WINDOW};
use noos::{CircuitBreakReason, CostAccumulator, LLMEvent};
use proptest::prelude::*;

use crate::both::{Both, broken, stops};

/// What ours forgives binary fractions.
const TOLERANCE: f64 = 1e-9;

/// Steps of 0.05 meet every bound exactly, any other number does not.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![3 => (0_u32..=20).prop_map(|score| f64::from(score) / 20.0), 1 => 0.0..=1.0]
}

fn series() -> impl Strategy<Value = Vec<f64>> {
    // Low scores are where rules fire; all others are mixed in.
    let low = proptest::collection::vec((0_u32..=9).prop_map(|score| f64::from(score) / 20.0), 0..20);
    prop_oneof![proptest::collection::vec(score(), 0..20), low]
}

/// Their fall over the last three, or nearly so much, and their mean of them.
fn falls(theirs: &CostAccumulator, by: f64) -> bool {
    let mean = theirs.mean_quality_last_n(QUALITY_DECLINE_WINDOW);
    theirs.quality_decline_over_n(QUALITY_DECLINE_WINDOW, by).is_some()
        && mean.is_some_and(|mean| mean < POOR_QUALITY_MEAN)
}

/// The last score is 0.05 or more above the one before it.
fn rises_at_the_end(theirs: &CostAccumulator) -> bool {
    // Scores are 0 to 1, so no change is below this and all are told.
    theirs.quality_decline_over_n(2, -1.0).is_some_and(|fall| -fall >= 0.05 - TOLERANCE)
}

/// Five bad scores, the last two not better than the first two.
fn is_flat_and_bad(theirs: &CostAccumulator, all: &[f64]) -> bool {
    let [.., first, second, _, fourth, fifth] = all else { return false };
    let rise = f64::midpoint(*fourth, *fifth) - f64::midpoint(*first, *second);
    theirs.mean_quality_last_n(5).is_some_and(|mean| mean < 0.3) && rise < 0.05 - TOLERANCE
}

proptest! {
    #[test]
    fn a_fall_is_theirs_unless_it_recovers_and_flat_badness_is_ours_alone(scores in series()) {
        let mut both = Both::new(u32::MAX, Action::Both);
        let mut ours = Series::new(Settings::default()).unwrap();
        let mut told = Vec::new();
        for score in scores {
            both.judge(score);
            ours.record(score).unwrap();
            told.push(score);
            let falling = falls(&both.account, QUALITY_DECLINE_MIN_DELTA - TOLERANCE)
                && !rises_at_the_end(&both.account);
            let flat = is_flat_and_bad(&both.account, &told);
            let decline = ours.decline();
            prop_assert_eq!(matches!(decline, Some(Decline::Falling { .. })), falling);
            prop_assert_eq!(matches!(decline, Some(Decline::FlatBad { .. })), flat && !falling);
            prop_assert_eq!(stops(&both.ours.decide(), Rule::QualityDecline), falling || flat);
            let breaks = broken(both.theirs.decide()).is_some();
            prop_assert_eq!(breaks, falls(&both.account, QUALITY_DECLINE_MIN_DELTA));
        }
    }

    #[test]
    fn the_fall_and_the_mean_that_are_told_are_theirs(scores in proptest::collection::vec(score(), 3..12)) {
        let mut both = Both::new(u32::MAX, Action::Both);
        let mut ours = Series::new(Settings::default()).unwrap();
        for score in scores {
            both.judge(score);
            ours.record(score).unwrap();
            prop_assert_eq!(ours.mean_of_last_three(), both.account.mean_quality_last_n(3));
            let reason = broken(both.theirs.decide());
            if let (Some(Decline::Falling { fall, mean }), Some(reason)) = (ours.decline(), reason) {
                let CircuitBreakReason::QualityDeclineNoRecovery { mean_delta, .. } = reason else {
                    panic!("no score leads to {reason:?}")
                };
                prop_assert_eq!(fall, mean_delta);
                prop_assert_eq!(Some(mean), both.account.mean_quality_last_n(3));
            }
        }
    }

    /// Differs on purpose: a score that is none is refused by ours and changes
    /// nothing; theirs cuts it to the range, or leaves it out if it is no number.
    #[test]
    fn a_score_that_is_none_is_refused_by_ours_and_bent_by_theirs(scores in proptest::collection::vec(odd(), 0..20)) {
        let mut both = Both::new(u32::MAX, Action::Both);
        let mut bent = CostAccumulator::new();
        for score in scores {
            let before = both.ours.clone();
            let taken = both.ours.feed(&Event::Quality { score }).is_ok();
            prop_assert_eq!(taken, (0.0..=1.0).contains(&score));
            prop_assert_eq!(taken, both.ours != before || score_is_already_known(&before, score));
            both.theirs.on_event(LLMEvent::QualityFeedback { quality: score, fragment_spans: None });
            if score.is_finite() {
                bent.record_quality(score.clamp(0.0, 1.0));
            }
            let breaks = broken(both.theirs.decide()).is_some();
            prop_assert_eq!(breaks, falls(&bent, QUALITY_DECLINE_MIN_DELTA));
        }
    }
}

/// Also what lies outside the range or is no number.
fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => score(),
        1 => -2.0..3.0,
        1 => proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

/// A window full of one score looks the same after one more of it.
fn score_is_already_known(before: &bowline::core::guard::regulator::Regulator, score: f64) -> bool {
    let mut after = before.clone();
    after.feed(&Event::Quality { score }).is_ok() && after == *before
}

/// Differs on purpose: what the numbers say, not what their binary fractions do.
#[test]
fn a_fall_from_060_to_045_is_a_fall_of_015_for_ours_alone() {
    let mut both = Both::new(u32::MAX, Action::Both);
    for score in [0.6, 0.42, 0.45] {
        both.judge(score);
    }
    assert!(stops(&both.ours.decide(), Rule::QualityDecline));
    assert!(broken(both.theirs.decide()).is_none());
}

/// Differs on purpose: the work gets better again.
#[test]
fn a_series_that_recovers_is_ended_by_theirs_alone() {
    let mut both = Both::new(u32::MAX, Action::Both);
    for score in [0.6, 0.2, 0.4] {
        both.judge(score);
    }
    assert!(!stops(&both.ours.decide(), Rule::QualityDecline));
    assert!(broken(both.theirs.decide()).is_some());
}

/// Differs on purpose: useless all along is no better than useless at last.
#[test]
fn a_series_that_stays_bad_is_ended_by_ours_alone() {
    let mut both = Both::new(u32::MAX, Action::Both);
    for _ in 0..20 {
        both.judge(0.1);
    }
    assert!(stops(&both.ours.decide(), Rule::QualityDecline));
    assert!(broken(both.theirs.decide()).is_none());
}
