//! All rules at once: the same order of urgency, and ours tells everything.

use bowline::core::guard::loops::Action;
use bowline::core::guard::regulator::{Decision, Rule, Verdict};
use noos::CircuitBreakReason;
use proptest::prelude::*;

use crate::both::{Both, broken, fired};

#[derive(Clone, Copy, Debug)]
enum Happening {
    Turn,
    Call(&'static str),
    Spent(u32),
    Judged(u32),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        1 => Just(Happening::Turn),
        12 => prop_oneof![8 => Just("search"), 1 => Just("read")].prop_map(Happening::Call),
        3 => (0_u32..30).prop_map(Happening::Spent),
        6 => (0_u32..=20).prop_map(Happening::Judged),
    ]
}

/// The rule of ours that theirs acts by.
fn rule(reason: &CircuitBreakReason) -> Rule {
    match reason {
        CircuitBreakReason::CostCapReached { .. } => Rule::Cap,
        CircuitBreakReason::QualityDeclineNoRecovery { .. } => Rule::QualityDecline,
        CircuitBreakReason::RepeatedToolCallLoop { .. } => Rule::ToolLoop,
        other => panic!("theirs never says {other:?}"),
    }
}

/// The rules of ours that end the run, the acting one first.
fn ending(decision: &Decision) -> Vec<Rule> {
    let stops = decision.fired.iter().filter(|fired| fired.verdict == Verdict::Stop);
    stops.map(|fired| fired.rule).collect()
}

proptest! {
    #[test]
    fn what_theirs_acts_by_is_told_by_ours_and_nothing_less_urgent_acts_before_it(
        cap in 20_u32..200,
        stream in proptest::collection::vec(happening(), 0..120)
    ) {
        let mut both = Both::new(cap, Action::Both);
        let mut recent = Vec::new();
        for happening in stream {
            match happening {
                Happening::Turn => both.turn(),
                Happening::Call(tool) => drop(both.call(tool)),
                Happening::Spent(tokens) => both.spend(0, tokens),
                Happening::Judged(score) => {
                    both.judge(f64::from(score) / 20.0);
                    recent.push(score);
                }
            }
            let (ours, theirs) = (both.ours.decide(), broken(both.theirs.decide()));
            let Some(rule) = theirs.as_ref().map(rule) else { continue };
            // The one break of theirs that ours does not have: a series that recovers.
            let recovers = matches!(recent.as_slice(), [.., before, last] if last > before);
            if rule == Rule::QualityDecline && recovers {
                prop_assert!(!ending(&ours).contains(&Rule::QualityDecline) || is_flat(&ours));
                continue;
            }
            let ending = ending(&ours);
            prop_assert!(ending.contains(&rule), "theirs acts by {rule:?}, ours tells {ending:?}");
            prop_assert!(ending.first().is_some_and(|acting| *acting <= rule), "{ending:?}");
            prop_assert!(ending.is_sorted(), "{ending:?}");
        }
    }
}

/// Ours ends it for another reason: five bad scores.
fn is_flat(decision: &Decision) -> bool {
    fired(decision, Rule::QualityDecline).is_some_and(|fired| fired.reason == "bad")
}
