//! The token cap. Theirs holds while quality is low and only then; ours always
//! holds, counts every kind of token, and while quality is low it holds from the
//! warning at 80 % on: it may stop earlier, never later.

use bowline::core::guard::loops::Action;
use bowline::core::guard::regulator::{Event, Rule, Tokens, WARN_AT};
use noos::CircuitBreakReason;
use noos::regulator::cost::{POOR_QUALITY_MEAN, QUALITY_DECLINE_WINDOW};
use proptest::prelude::*;

use crate::both::{Both, broken, stops};

#[derive(Clone, Copy, Debug)]
enum Happening {
    Spent { input: u32, output: u32 },
    Judged(f64),
}

/// Few tokens against small caps, so that sums often meet a bound exactly.
fn happening() -> impl Strategy<Value = Happening> {
    let input = prop_oneof![3 => Just(0), 1 => 0_u32..8];
    prop_oneof![
        (input, 0_u32..12).prop_map(|(input, output)| Happening::Spent { input, output }),
        (0_u32..=20).prop_map(|score| Happening::Judged(f64::from(score) / 20.0)),
        (0.0..=1.0).prop_map(Happening::Judged),
    ]
}

fn stream() -> impl Strategy<Value = Vec<Happening>> {
    proptest::collection::vec(happening(), 0..40)
}

/// Their mean of the last three scores, where it is low.
fn is_low(both: &Both) -> bool {
    both.account.mean_quality_last_n(QUALITY_DECLINE_WINDOW).is_some_and(|mean| mean < POOR_QUALITY_MEAN)
}

fn breaks_on_cost(both: &Both) -> bool {
    matches!(broken(both.theirs.decide()), Some(CircuitBreakReason::CostCapReached { .. }))
}

fn tell(both: &mut Both, happening: Happening) {
    match happening {
        Happening::Spent { input, output } => both.spend(input, output),
        Happening::Judged(score) => both.judge(score),
    }
}

proptest! {
    #[test]
    fn the_cap_stops_where_theirs_breaks_and_beyond_it_exactly_as_said(cap in 0_u32..100, stream in stream()) {
        let mut both = Both::new(cap, Action::Both);
        for happening in stream {
            tell(&mut both, happening);
            let (low, output) = (is_low(&both), both.theirs.total_tokens_out());
            let all = u64::from(output) + u64::from(both.account.total_tokens_in());
            prop_assert_eq!(both.ours.spent().tokens, all);
            prop_assert_eq!(breaks_on_cost(&both), low && output >= cap);

            let is_over = all > u64::from(cap);
            let is_early = low && all > 0 && all * 100 >= u64::from(cap) * WARN_AT;
            prop_assert_eq!(stops(&both.ours.decide(), Rule::Cap), is_over || is_early);
        }
    }

    #[test]
    fn ours_never_stops_later_than_theirs(cap in 0_u32..100, stream in stream()) {
        let mut both = Both::new(cap, Action::Both);
        for happening in stream {
            tell(&mut both, happening);
            // A cap of nothing that nothing was spent of: see the test of its own.
            if breaks_on_cost(&both) && both.ours.spent().tokens > 0 {
                prop_assert!(stops(&both.ours.decide(), Rule::Cap));
            }
        }
    }

    /// Where the two are meant to be one rule: low quality, output alone, and not
    /// in the stretch from the warning to the cap.
    #[test]
    fn at_low_quality_and_outside_the_warning_the_two_agree(cap in 1_u32..100, spent in 1_u32..200) {
        let mut both = Both::new(cap, Action::Both);
        both.spend(0, spent);
        for _ in 0..QUALITY_DECLINE_WINDOW {
            both.judge(0.4);
        }
        let in_warning = u64::from(spent) * 100 >= u64::from(cap) * WARN_AT && spent < cap;
        prop_assert_eq!(stops(&both.ours.decide(), Rule::Cap), breaks_on_cost(&both) || in_warning);
    }

    /// Differs on purpose: good or unknown quality lifts their cap altogether.
    #[test]
    fn without_low_quality_only_ours_holds(scores in proptest::collection::vec(0.5..=1.0, 0..6), over in 1_u32..1000) {
        let mut both = Both::new(1000, Action::Both);
        scores.iter().for_each(|score| both.judge(*score));
        both.spend(0, 1000);
        prop_assert!(!breaks_on_cost(&both) && !stops(&both.ours.decide(), Rule::Cap));
        both.spend(0, over);
        prop_assert!(!breaks_on_cost(&both) && stops(&both.ours.decide(), Rule::Cap));
    }
}

/// Differs on purpose: ours lets a run say that it begins before it is ended.
#[test]
fn a_cap_of_nothing_stops_ours_at_the_first_step_and_theirs_on_quality_alone() {
    let mut both = Both::new(0, Action::Both);
    for _ in 0..QUALITY_DECLINE_WINDOW {
        both.judge(0.4);
    }
    assert!(breaks_on_cost(&both) && !stops(&both.ours.decide(), Rule::Cap));
    both.ours.feed(&Event::Step).unwrap();
    assert!(stops(&both.ours.decide(), Rule::Cap));
}

/// Differs on purpose: theirs stays at the largest number it has, ours refuses
/// what it cannot count and keeps what it has.
#[test]
fn a_sum_that_does_not_fit_is_cut_by_theirs_and_refused_by_ours() {
    let mut both = Both::new(u32::MAX, Action::Both);
    both.spend(0, u32::MAX);
    both.spend(0, 7);
    assert_eq!(both.theirs.total_tokens_out(), u32::MAX);
    assert_eq!(both.ours.spent().tokens, u64::from(u32::MAX) + 7);
    let before = both.ours.clone();
    let too_many = Tokens { output: u64::MAX, ..Tokens::default() };
    assert!(both.ours.feed(&Event::Tokens(too_many)).is_err());
    assert_eq!(both.ours, before);
}
