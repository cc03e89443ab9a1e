//! The simulator: seeds repeat, promises hold, and the checks bite.

use std::collections::BTreeSet;

use bowline_sim::world::report::{Wanted, hunt, parse};
use bowline_sim::world::{BUGS, Bug, Check, Look, run_once, run_twice};

#[test]
fn a_few_seeds_keep_every_promise_and_leave_the_same_trace_twice() {
    let workspace = tempfile::tempdir().unwrap();
    let mut traces = BTreeSet::new();
    for seed in 1..=12 {
        let outcome = run_twice(seed, Look::default(), workspace.path()).unwrap();
        assert_eq!(outcome.violations, [], "seed {seed}");
        traces.insert(outcome.trace);
    }
    assert_eq!(traces.len(), 12, "every seed is a world of its own");
}

#[test]
fn keeping_the_lines_of_a_trace_changes_nothing_in_it() {
    let workspace = tempfile::tempdir().unwrap();
    let plain = run_once(7, Look::default(), workspace.path()).unwrap();
    let told = run_once(7, Look { keep_lines: true, ..Look::default() }, workspace.path()).unwrap();
    assert_eq!(plain.trace, told.trace);
    assert!(plain.lines.is_empty() && told.lines.iter().any(|line| line.starts_with("record: ")));
}

#[test]
fn both_checkers_find_the_same_double_payment() {
    let workspace = tempfile::tempdir().unwrap();
    let bug = Some(Bug::RetryOfAnIrreversibleCall);
    let look = Look { bug, second_opinion: true, ..Look::default() };
    let found = (1..=60).find_map(|seed| {
        let violations = run_once(seed, look, workspace.path()).unwrap().violations;
        let doubled: Vec<_> = violations.into_iter().filter(|found| found.check == Check::O3).collect();
        (!doubled.is_empty()).then_some(doubled)
    });
    let found = found.unwrap();
    assert!(found.iter().any(|one| one.text.starts_with("second opinion")), "{found:?}");
    assert!(found.iter().any(|one| !one.text.starts_with("second opinion")), "{found:?}");
}

#[test]
fn wrong_keys_and_false_words_of_a_tool_are_noticed_by_the_checks_that_must() {
    for bug in [Bug::KeyChosenByTheModel, Bug::RetryWithANewKey, Bug::TroubleAfterTheEffect] {
        let expected = BUGS.iter().find(|expected| expected.bug == bug).unwrap();
        let found = hunt(expected).unwrap();
        assert!(found.missing.is_empty() && found.unexpected.is_empty(), "{bug:?}: {found:?}");
    }
}

#[test]
fn an_undo_that_is_doubled_or_forgotten_and_an_alert_nobody_hears_are_noticed() {
    for bug in [Bug::UndoDoubled, Bug::UndoForgotten, Bug::AlertSwallowed] {
        let expected = BUGS.iter().find(|expected| expected.bug == bug).unwrap();
        let found = hunt(expected).unwrap();
        assert!(found.missing.is_empty() && found.unexpected.is_empty(), "{bug:?}: {found:?}");
    }
}

#[test]
fn both_checkers_find_the_same_undo_that_was_never_done() {
    let workspace = tempfile::tempdir().unwrap();
    let look = Look { bug: Some(Bug::UndoForgotten), second_opinion: true, ..Look::default() };
    let found = (1..=20).find_map(|seed| {
        let violations = run_once(seed, look, workspace.path()).unwrap().violations;
        let forgotten: Vec<_> = violations.into_iter().filter(|found| found.check == Check::O8).collect();
        (!forgotten.is_empty()).then_some(forgotten)
    });
    let found = found.unwrap();
    assert!(found.iter().any(|one| one.text.starts_with("second opinion")), "{found:?}");
    assert!(found.iter().any(|one| !one.text.starts_with("second opinion")), "{found:?}");
}

#[test]
fn every_bug_names_a_check_and_none_is_listed_twice() {
    let names: BTreeSet<String> = BUGS.iter().map(|expected| format!("{:?}", expected.bug)).collect();
    assert_eq!(names.len(), BUGS.len());
    assert!(BUGS.iter().all(|expected| !expected.caught_by.is_empty()));
}

#[test]
fn the_words_of_the_command_line_are_understood_or_refused() {
    assert_eq!(parse(&["--seeds", "5"]), Some(Wanted::Seeds { first: 1, count: 5 }));
    assert_eq!(parse(&["--seeds", "5", "--seed", "9"]), Some(Wanted::Seeds { first: 9, count: 5 }));
    assert_eq!(parse(&["--seed", "9"]), Some(Wanted::Seed(9)));
    assert_eq!(parse(&["--bugs"]), Some(Wanted::Bugs));
    for wrong in [&[][..], &["--seeds"], &["--seeds", "many"], &["--seed", "1", "--bugs"]] {
        assert_eq!(parse(wrong), None, "{wrong:?}");
    }
}
