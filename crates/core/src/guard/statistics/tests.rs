//! Counting stays true, bounded and the same over a restart.

use proptest::prelude::*;

use super::*;

fn after(calls: &[&str]) -> Statistics {
    let mut statistics = Statistics::default();
    calls.iter().for_each(|tool| statistics.record_call(tool));
    statistics
}

fn depth(calls: &[&str]) -> (String, u64) {
    let statistics = after(calls);
    let trailing = statistics.turn().trailing().unwrap();
    (trailing.tool.to_string(), trailing.depth)
}

#[test]
fn eight_calls_in_a_row_are_reported_as_eight() {
    assert_eq!(depth(&["search"; 8]), ("search".into(), 8));
}

#[test]
fn another_tool_in_between_starts_the_row_again() {
    assert_eq!(depth(&["a", "a", "a", "b", "a", "a"]), ("a".into(), 2));
    assert_eq!(depth(&["a", "b"]), ("b".into(), 1));
    assert_eq!(Statistics::default().turn().trailing(), None);
}

#[test]
fn a_new_turn_forgets_the_turn_and_keeps_the_run() {
    let mut statistics = after(&["a", "a", "b"]);
    statistics.start_turn();
    statistics.record_call("b");
    assert_eq!(statistics.turn().total().calls, 1);
    assert_eq!(statistics.run().total().calls, 4);
    assert_eq!(statistics.run().of("a").calls, 2);
    assert_eq!(statistics.turn().of("a"), Tally::default());
    assert_eq!(statistics.run().trailing().unwrap().depth, 2);
}

#[test]
fn results_are_counted_with_their_durations_and_failures() {
    let mut statistics = Statistics::default();
    statistics.record_result("read", Outcome::Succeeded, 120);
    statistics.record_result("read", Outcome::Failed, 300);
    statistics.record_result("write", Outcome::Succeeded, 80);
    let expected = Tally { calls: 0, results: 2, failures: 1, duration_ms_sum: 420, duration_ms_max: 300 };
    assert_eq!(statistics.turn().of("read"), expected);
    assert_eq!(statistics.turn().total().duration_ms_sum, 500);
    assert_eq!(statistics.turn().total().failures, 1);
}

#[test]
fn names_beyond_the_table_are_counted_together_and_their_rows_are_still_true() {
    let mut statistics = Statistics::default();
    for n in 0..NAMES_MAX {
        statistics.record_call(&format!("tool{n}"));
    }
    (0..3).for_each(|_| statistics.record_call("late"));
    statistics.record_call("tool0");
    (0..5).for_each(|_| statistics.record_call("later"));
    assert_eq!(statistics.run().by_tool().count(), NAMES_MAX);
    assert_eq!(statistics.run().other().calls, 8);
    assert_eq!(statistics.run().of("tool0").calls, 2);
    assert_eq!(statistics.run().trailing().unwrap(), &Trailing { tool: "later".into(), depth: 5 });
}

#[test]
fn two_long_names_that_begin_alike_are_two_tools() {
    let (one, other) = (format!("{}1", "x".repeat(500)), format!("{}2", "x".repeat(500)));
    assert_eq!(depth(&[&one, &other]).1, 1);
    assert!(kept_name(&one).len() <= NAME_BYTES_MAX);
    assert!(kept_name(&"💡".repeat(99)).len() <= NAME_BYTES_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_restart_in_the_middle_changes_nothing(
        steps in prop::collection::vec((0..4_u8, "\\PC{0,120}", any::<u64>()), 0..60),
        cut in 0..60_usize,
    ) {
        let mut live = Statistics::default();
        let mut restarted = Statistics::default();
        for (at, (what, tool, duration)) in steps.iter().enumerate() {
            if at == cut {
                restarted = serde_json::from_str(&serde_json::to_string(&restarted).unwrap()).unwrap();
            }
            for statistics in [&mut live, &mut restarted] {
                match what {
                    0 => statistics.start_turn(),
                    1 => statistics.record_call(tool),
                    2 => statistics.record_result(tool, Outcome::Failed, *duration),
                    _ => statistics.record_result(tool, Outcome::Succeeded, *duration),
                }
            }
        }
        prop_assert_eq!(&live, &restarted);
        let run = live.run();
        prop_assert!(run.by_tool().count() <= NAMES_MAX);
        let by_name: u64 = run.by_tool().map(|(_, tally)| tally.calls).sum();
        prop_assert_eq!(by_name + run.other().calls, run.total().calls);
    }
}
