//! When a series of signals says stop.

use proptest::prelude::*;

use super::*;

fn series(signals: &[f64]) -> Series {
    let mut series = Series::new(Settings::default()).unwrap();
    signals.iter().for_each(|signal| series.record(*signal).unwrap());
    series
}

fn check(signals: &[f64], expected: &str) {
    let found = match series(signals).decline() {
        Some(Decline::Falling { .. }) => "falling",
        Some(Decline::FlatBad { .. }) => "flat bad",
        None => "goes on",
    };
    assert_eq!(found, expected, "{signals:?}");
}

#[test]
fn a_low_series_that_falls_by_the_limit_stops() {
    check(&[0.6, 0.45, 0.3], "falling");
    check(&[0.45, 0.4, 0.3], "falling");
    check(&[0.9, 0.5, 0.4, 0.3], "falling");
    // In binary a little less than the limit.
    check(&[0.6, 0.42, 0.45], "falling");
}

#[test]
fn a_small_fall_a_high_mean_or_too_few_signals_do_not_stop() {
    check(&[0.4, 0.35, 0.3], "goes on");
    check(&[0.9, 0.8, 0.7], "goes on");
    check(&[0.6, 0.1], "goes on");
    check(&[], "goes on");
    check(&[0.65, 0.5, 0.35], "goes on");
}

#[test]
fn a_recovering_series_goes_on() {
    check(&[0.6, 0.1, 0.4], "goes on");
    check(&[0.1, 0.1, 0.2, 0.35, 0.5], "goes on");
    check(&[0.8, 0.2, 0.3, 0.4], "goes on");
}

#[test]
fn a_bad_series_recovers_when_its_last_two_are_above_its_first_two() {
    check(&[0.2, 0.2, 0.1, 0.26, 0.26], "goes on");
    check(&[0.2, 0.2, 0.1, 0.24, 0.24], "flat bad");
}

#[test]
fn a_series_that_stays_bad_stops_though_it_does_not_fall() {
    check(&[0.2, 0.25, 0.2, 0.22, 0.21], "flat bad");
    check(&[0.0; 5], "flat bad");
    check(&[0.2; 4], "goes on");
    check(&[0.3; 5], "goes on");
}

#[test]
fn what_is_no_share_is_refused_and_changes_nothing() {
    let mut series = series(&[0.6, 0.5]);
    let before = series.clone();
    assert_eq!(series.record(f64::NAN), Err(BadSignal::NotANumber));
    for value in [-0.01, 1.01, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(series.record(value), Err(BadSignal::OutOfRange { value }));
    }
    assert_eq!(series, before);
    assert!(BadSignal::NotANumber.remedy().contains("missing"));
    assert!(BadSignal::OutOfRange { value: 2.0 }.remedy().contains("scale"));
}

#[test]
fn the_cost_rule_sees_the_mean_of_the_last_three() {
    assert_eq!(series(&[0.1, 0.2]).mean_of_last_three(), None);
    let mean = series(&[1.0, 0.3, 0.6, 0.3]).mean_of_last_three().unwrap();
    assert!((mean - 0.4).abs() < 1e-12);
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let bad = |settings| Series::new(settings).unwrap_err();
    let short = bad(Settings { fall_window: 1, ..Settings::default() });
    assert_eq!(short.to_string(), "fall_window is 1 and must be 2 to 32");
    let level = bad(Settings { flat_mean_below: f64::NAN, ..Settings::default() });
    assert_eq!(level.to_string(), "flat_mean_below is NaN and must be between 0 and 1");
    assert!(level.remedy().contains("flat_mean_below"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_restart_in_the_middle_changes_nothing_and_memory_is_bounded(
        signals in prop::collection::vec(-0.2..1.2_f64, 0..80),
        cut in 0..80_usize,
    ) {
        let mut live = Series::new(Settings::default()).unwrap();
        let mut restarted = live.clone();
        for (at, signal) in signals.iter().enumerate() {
            if at == cut {
                restarted = serde_json::from_str(&serde_json::to_string(&restarted).unwrap()).unwrap();
            }
            prop_assert_eq!(live.record(*signal), restarted.record(*signal));
            prop_assert_eq!(live.decline(), restarted.decline());
            prop_assert_eq!(live.decline(), live.decline());
        }
        prop_assert!(live.recent.len() <= WINDOW_MAX);
    }

    #[test]
    fn a_series_that_never_falls_is_never_called_falling(mut signals in prop::collection::vec(0.0..=1.0_f64, 0..12)) {
        signals.sort_by(f64::total_cmp);
        let falling = matches!(series(&signals).decline(), Some(Decline::Falling { .. }));
        prop_assert!(!falling);
    }
}
