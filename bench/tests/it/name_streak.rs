//! The preset `name-streak` against the rule it is taken from: the same tool five
//! times in a row within a turn.

use bowline::core::guard::Origin;
use bowline::core::guard::loops::Action;
use bowline::core::guard::preset::{Asked, Cause, Preset};
use bowline::core::guard::regulator::{Event, Rule, Verdict};
use noos::CircuitBreakReason;
use noos::regulator::tools::{TOOL_LOOP_THRESHOLD, ToolStatsAccumulator};
use proptest::prelude::*;

use crate::both::{Both, broken, fired};

/// What happens in a loop, as far as this rule cares.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Call {
        tool: &'static str,
        args: u8,
        ok: bool,
    },
    Turn,
    /// The harness writes "go on"; theirs has no such event.
    Harness,
}

/// Mostly one tool, so that streaks of any length come up.
fn happening() -> impl Strategy<Value = Happening> {
    let tool = prop_oneof![12 => Just("search"), 1 => Just("read"), 1 => Just("Search"), 1 => Just("")];
    prop_oneof![
        20 => (tool, any::<u8>(), any::<bool>())
            .prop_map(|(tool, args, ok)| Happening::Call { tool, args, ok }),
        1 => Just(Happening::Turn),
        1 => Just(Happening::Harness),
    ]
}

fn stream() -> impl Strategy<Value = Vec<Happening>> {
    proptest::collection::vec(happening(), 0..120)
}

/// How deep a streak theirs sees, if it is deep enough.
fn their_depth(decision: noos::Decision) -> Option<usize> {
    broken(decision).map(|reason| match reason {
        CircuitBreakReason::RepeatedToolCallLoop { consecutive_count, .. } => consecutive_count,
        other => panic!("no call leads to {other:?}"),
    })
}

fn deep(decision: noos::Decision) -> bool {
    their_depth(decision).is_some()
}

proptest! {
    #[test]
    fn the_rule_fires_on_the_calls_theirs_fires_on_and_names_the_same_depth(stream in stream()) {
        let (mut ours, mut theirs) = (Preset::NameStreak.rule(), ToolStatsAccumulator::new());
        for happening in stream {
            match happening {
                Happening::Call { tool, args, ok } => {
                    let asked = Asked::of(tool, &args.to_string());
                    let cause = ours.check(&asked);
                    match cause {
                        Some(_) => ours.blocked(&asked),
                        None => ours.record(&asked, "output", Some(ok)),
                    }
                    theirs.record_call(tool.into(), Some(args.to_string()));
                    let found = theirs.detected_loop().map(|(name, depth)| {
                        assert_eq!(name, tool);
                        Cause::NameStreak { depth: u32::try_from(depth).unwrap() }
                    });
                    prop_assert_eq!(cause, found);
                }
                Happening::Turn => {
                    ours.user(Origin::Person);
                    theirs.reset_turn();
                }
                Happening::Harness => ours.user(Origin::Harness),
            }
        }
    }

    #[test]
    fn a_regulator_that_blocks_refuses_exactly_the_calls_theirs_breaks_on(stream in stream()) {
        let mut both = Both::new(u32::MAX, Action::Block);
        for happening in stream {
            match happening {
                Happening::Call { tool, .. } => {
                    let (ours, theirs) = both.call(tool);
                    let found = fired(&ours, Rule::ToolLoop);
                    let depth = their_depth(theirs);
                    prop_assert_eq!(found.is_some(), depth.is_some());
                    if let (Some(found), Some(depth)) = (found, depth) {
                        prop_assert_eq!(found.verdict, Verdict::Block);
                        let told = format!("{depth} times in a row");
                        prop_assert!(found.notice.contains(&told), "{}", found.notice);
                    }
                }
                Happening::Turn => both.turn(),
                Happening::Harness => say_go_on(&mut both),
            }
        }
    }

    /// Differs on purpose: theirs forgets a break at the next other tool, if
    /// anybody makes another call; ours stays stopped until a person writes.
    #[test]
    fn a_regulator_that_stops_stays_stopped_until_a_person_writes(stream in stream()) {
        let mut both = Both::new(u32::MAX, Action::Both);
        let mut has_broken = false;
        for happening in stream {
            let decided = match happening {
                Happening::Call { tool, .. } => both.call(tool),
                Happening::Turn => {
                    both.turn();
                    has_broken = false;
                    (both.ours.decide(), both.theirs.decide())
                }
                Happening::Harness => {
                    say_go_on(&mut both);
                    (both.ours.decide(), both.theirs.decide())
                }
            };
            has_broken |= deep(decided.1);
            let verdict = fired(&decided.0, Rule::ToolLoop).map(|fired| fired.verdict);
            prop_assert_eq!(verdict, has_broken.then_some(Verdict::Stop));
        }
    }

    /// Differs: ours counts a call when it comes back, theirs when it is asked
    /// for. Calls of one reply that are out together are seen that much later.
    #[test]
    fn calls_that_are_still_out_are_not_counted(before in 0_usize..5, out in 0_usize..9) {
        let mut both = Both::new(u32::MAX, Action::Block);
        for _ in 0..before {
            let _ = both.call("search");
        }
        for still_out in 0..out {
            let (ours, theirs) = both.ask("search");
            let asked = before + still_out + 1;
            prop_assert_eq!(deep(theirs), asked >= TOOL_LOOP_THRESHOLD);
            prop_assert_eq!(
                fired(&ours, Rule::ToolLoop).is_some(),
                asked - still_out >= TOOL_LOOP_THRESHOLD
            );
        }
    }
}

fn say_go_on(both: &mut Both) {
    both.ours.feed(&Event::User { origin: Origin::Harness, text: None }).unwrap();
}

/// Differs on purpose: what infrastructure lost is asked for again and is no loop.
#[test]
fn a_call_that_infrastructure_lost_is_counted_by_theirs_alone() {
    use bowline::core::guard::regulator::{Outcome, Status};
    let mut both = Both::new(u32::MAX, Action::Block);
    for _ in 0..TOOL_LOOP_THRESHOLD + 3 {
        let (ours, _) = both.ask("search");
        assert!(fired(&ours, Rule::ToolLoop).is_none());
        let lost = Outcome { id: None, tool: "search", status: Status::Retry };
        both.ours.feed(&Event::Result(lost)).unwrap();
    }
    assert_eq!(their_depth(both.theirs.decide()), Some(TOOL_LOOP_THRESHOLD + 3));
}
